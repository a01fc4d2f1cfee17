"""RELIEF's margins: signed sums of differences between samples and their neighbours."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.data.out_of_core import ColumnSource
from convexfs.neighbors import out_of_core
from convexfs.neighbors.distances import row_blocks
from convexfs.neighbors.hits_misses import SignedNeighbors
from convexfs.neighbors.kernels import nearest as kernels
from convexfs.neighbors.kernels.sparse_sums import fill_upper
from convexfs.neighbors.missing_values import MixedSamples, NeighborLists
from convexfs.neighbors.samples import as_samples, spreads
from convexfs.neighbors.sparse import SparseSamples

#: Relative rounding error of one term of a margin; margins below the sum of these count as 0.
_ROUNDING = 1e-15


def margin_vector(
    X: Any, neighbors: SignedNeighbors, metric: str = "manhattan", map: Callable[..., Any] = map
) -> np.ndarray:
    """Return RELIEF's margin ``sum_n (mean |x_n - misses| - mean |x_n - hits|)`` per feature.

    With ``metric="sqeuclidean"`` differences are squared.
    """
    if isinstance(X, ColumnSource):
        return out_of_core.margin_vector(X, neighbors.index, neighbors.coefficient, map)
    if isinstance(X, MixedSamples):
        flat = [each.reshape(len(X), -1) for each in (neighbors.coefficient, neighbors.index)]
        return X.margin_sum(NeighborLists.of(*flat), map)
    X = as_samples(X)
    squared = metric == "sqeuclidean"
    if isinstance(X, SparseSamples):
        return _sparse_margin(X, neighbors, squared, map)
    return _dense_margin(X, _merged_pairs(neighbors), squared, map)


def _dense_margin(
    X: np.ndarray, pairs: tuple[np.ndarray, ...], squared: bool, map: Callable[..., Any]
) -> np.ndarray:
    starts, stops, *listed = pairs

    def partial(block: tuple[int, int]) -> np.ndarray:
        rows, z = slice(*block), np.zeros(X.shape[1])
        own, places = (starts[rows], stops[rows], *listed), starts[rows].copy()
        kernels.add_pair_differences(X, block[0], *own, squared or None, places, z)
        return z

    return np.sum(list(map(partial, row_blocks(len(X)))), axis=0)


def _sparse_margin(
    X: SparseSamples, neighbors: SignedNeighbors, squared: bool, map: Callable[..., Any]
) -> np.ndarray:
    """Sum over lists of neighbours or, if long (Manhattan only), over pairs of nonzeros."""
    full, tile, thin = X.split
    listed = np.count_nonzero(neighbors.coefficient) * (thin.size / len(X))
    if not squared and listed > thin.matrix_work:
        z, pairs = np.empty(X.shape[1]), _merged_pairs(neighbors)
        z[full] = _dense_margin(tile, pairs, squared, map)
        z[~full] = thin.scores(fill_upper(*pairs), map)
        return z

    def partial(block: tuple[int, int]) -> np.ndarray:
        rows = slice(*block)
        # The index array of all pairs is one broadcast row.
        index = np.ascontiguousarray(neighbors.index[rows])
        coefficient = np.ascontiguousarray(neighbors.coefficient[rows])
        return X.signed_difference_sum(block[0], index, coefficient, squared)

    return np.sum(list(map(partial, row_blocks(len(X)))), axis=0)


def _merged_pairs(neighbors: SignedNeighbors) -> tuple[np.ndarray, ...]:
    """Return pairs n < i with the sum of the weights of (n, i) and (i, n), as lists of partners."""
    index, coefficient = neighbors.index, neighbors.coefficient
    if neighbors.is_dense:
        n = len(index)
        # Row n has space for all later samples.
        starts = np.arange(n) * np.arange(2 * n - 1, n - 1, -1) // 2
        room = n * (n - 1) // 2
        pairs = starts, starts.copy(), np.empty(room, np.int32), np.empty(room)
        kernels.merge_all(coefficient[:, 0], *pairs)
        return pairs
    n, room = len(index), np.count_nonzero(coefficient)
    ends, starts = np.zeros((2, n + 1), np.int64)
    places, stops = np.empty((2, n), np.int64)
    (lower, others), (value, weight) = np.empty((2, room), np.int32), np.empty((2, room))
    kernels.merge_lists(
        np.ascontiguousarray(index), np.ascontiguousarray(coefficient), ends, places, lower,
        value, starts, stops, others, weight,
    )  # fmt: skip
    return starts[:n], stops, others, weight


def cancelled_sums(
    X: Any, metric: str = "manhattan", spread: np.ndarray | None = None
) -> np.ndarray:
    """Return a bound on the rounding error of each feature's margin; smaller margins count as 0.

    `spread` has the ranges of the features, if they are known.
    """
    spread = spreads(X) if spread is None else spread
    return _ROUNDING * len(X) * spread ** (2 if metric == "sqeuclidean" else 1)
