"""Samples of any kind: dense, sparse, with missing values or categories, or out of core."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import hstack, issparse

from convexfs.data.out_of_core import ColumnSource
from convexfs.errors import warn
from convexfs.neighbors.missing_values import Expected, MixedSamples
from convexfs.neighbors.sparse import SparseSamples

#: Warn if the range of the widest column over that of the narrowest is larger than this.
_SCALES_APART = 100.0


def as_samples(X: Any) -> Any:
    """Return dense arrays as C-contiguous float64, sparse as SparseSamples, samples unchanged."""
    if isinstance(X, MixedSamples | SparseSamples | ColumnSource):
        return X
    return SparseSamples(X) if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)


def some_features(X: Any, index: np.ndarray) -> Any:
    """Return the samples with some features only; out-of-core columns are read into memory."""
    return X.columns(index) if isinstance(X, SparseSamples) else as_samples(X[:, index])


def some_rows(X: Any, index: np.ndarray) -> Any:
    """Return some rows, which may repeat, as samples of the same kind."""
    if isinstance(X, SparseSamples):
        return SparseSamples(X.by_rows[index])
    if not isinstance(X, MixedSamples):
        return X[index]
    expected = X.expected
    few = Expected(expected.groups[index], expected.one[:, index], expected.both)
    return replace(X, x=X.x[index], seen=X.seen[index], expected=few)


def beside(X: Any, others: Any) -> Any:
    """Return samples of the same kind with the columns of `X`, then those of `others`."""
    if isinstance(X, SparseSamples):
        return SparseSamples(hstack([X.by_columns, others.by_columns], format="csc"))
    if not isinstance(X, MixedSamples):
        return np.hstack([X, others])
    joined = {
        name: np.concatenate([getattr(X, name), getattr(others, name)], axis=-1)
        for name in ("x", "seen", "cap", "centre", "scale")
    }
    own, theirs = X.expected, others.expected
    one = np.concatenate([own.one, theirs.one], axis=-1)
    both = np.concatenate([own.both, theirs.both], axis=-1)
    return replace(X, **joined, expected=Expected(own.groups, one, both))


def spreads(X: Any) -> np.ndarray:
    """Return each feature's range; for sparse samples its largest absolute value."""
    if isinstance(X, SparseSamples):
        # Sums over nonzeros round relative to the values, not to their differences.
        return X.largest()
    if isinstance(X, ColumnSource):
        return X.spreads()
    return X.spread if isinstance(X, MixedSamples) else np.ptp(X, axis=0)


def warn_of_scales(X: Any, names: Any = None, spread: np.ndarray | None = None) -> None:
    """Warn if ranges of varying columns in memory differ by a factor of more than 100.

    `spread` has the ranges of the columns, if they are known.
    """
    if isinstance(X, ColumnSource):
        return
    if spread is not None:
        span = spread
    elif isinstance(X, np.ndarray):  # Of any type, because differences of bytes may not fit a byte.
        span = X.max(axis=0).astype(np.float64) - X.min(axis=0)
    else:
        span = spreads(X)
    varying = np.flatnonzero(np.isfinite(span) & (span > 0))
    if not len(varying) or span[varying].max() <= _SCALES_APART * span[varying].min():
        return
    ends = varying[span[varying].argmax()], varying[span[varying].argmin()]
    wide, narrow = (f"column {j + 1}" if names is None else f"'{names[j]}'" for j in ends)
    warn(
        f"columns differ in scale by a factor of {span[ends[0]] / span[ends[1]]:.2g} ({wide} "
        f"against {narrow}), so that the narrow ones hardly count: scale them first, for example "
        "by StandardScaler in a pipeline"
    )
