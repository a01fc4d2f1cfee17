"""Samples of any kind: dense, sparse, with gaps or categories, or with columns elsewhere."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexfs.data.columns import ColumnSource
from convexfs.neighbors.differences import MixedSamples
from convexfs.neighbors.sparse_samples import SparseSamples


def as_samples(X: Any) -> Any:
    """Samples as passes take them: a C-contiguous float64 matrix, or a kind of its own."""
    if isinstance(X, MixedSamples | SparseSamples | ColumnSource):
        return X
    return SparseSamples(X) if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)


def some_features(X: Any, index: np.ndarray) -> Any:
    """Samples of the same kind in a few features; columns that lie elsewhere are read."""
    if isinstance(X, SparseSamples):
        return X.columns(index)
    return as_samples(X[:, index])


def spreads(X: Any) -> np.ndarray:
    """The largest difference of each feature; of sparse samples the largest value."""
    if isinstance(X, SparseSamples):
        # Sums over nonzeros do not take differences first: they err by what they add up.
        return X.largest()
    if isinstance(X, ColumnSource):
        return X.spreads()
    return X.spread if isinstance(X, MixedSamples) else np.ptp(X, axis=0)
