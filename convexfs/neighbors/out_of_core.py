"""Distances and margins of out-of-core samples, by passes over their columns.

The results are those of :mod:`convexfs.neighbors.hits_misses` for rows in memory: distances are
summed over blocks of features, in float64 or as bit counts, and margins are one more pass over the
relevant pairs. Memory holds the distances of all pairs, 8 N² bytes, or the bits of all columns if
these are fewer, and a few columns.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from convexfs.data.out_of_core import ColumnSource, SlicedColumns, parts
from convexfs.errors import InputError
from convexfs.neighbors import bitpacked
from convexfs.neighbors.feature_blocks import Block, Pairs, add_distances, centred, distances_in
from convexfs.neighbors.kernels import feature_sums as features

#: Columns that are processed together.
_READ = 1024


def distance_rows(
    X: ColumnSource, metric: str = "manhattan", map: Callable[..., Any] = map
) -> Callable[[tuple[int, int]], np.ndarray]:
    """Return a function that maps rows (start, stop) to their distances from all rows."""
    if metric != "manhattan":
        raise InputError(
            f"metric={metric!r} takes samples in memory, as numbers of 4 bytes or more: convert "
            "them by np.asarray(X[:], dtype=float), or use metric='manhattan'"
        )
    words = _all_bits(X, map)
    if words is not None:
        return lambda rows: bitpacked.distances(words, *rows)
    total = distances_in(X, np.float64, map)
    return lambda rows: total[slice(*rows)]


def _all_bits(X: ColumnSource, map: Callable[..., Any]) -> np.ndarray | None:
    """Return all columns packed as bits; None if not all 0 to 2, or if distances are smaller."""
    n_samples, n_features = X.shape
    packable = isinstance(X, SlicedColumns) and X.dtype in bitpacked.PACKABLE
    two_bits_each = n_samples * n_features / 4
    if not packable or two_bits_each > 8.0 * n_samples**2:
        return None
    found = X.gather(_bits, map)
    return None if any(part is None for part in found) else np.hstack(found)


def _bits(block: Block) -> np.ndarray | None:
    words = [bitpacked.packed(part) for part in parts(block.open(), _READ)]
    whole = [part for part in words if part is not None]
    return np.hstack(whole) if len(whole) == len(words) else None


def margin_vector(
    X: ColumnSource, index: np.ndarray, coefficient: np.ndarray, map: Callable[..., Any] = map
) -> np.ndarray:
    """Return RELIEF's margins ``sum_n (mean |x_n - misses| - mean |x_n - hits|)`` in float64."""
    found = coefficient != 0.0
    starts = np.concatenate([[0], np.cumsum(found.sum(axis=(1, 2)))])
    others = index[found].astype(np.int32)
    return pair_sums(X, Pairs(starts, others, coefficient[found], np.zeros(len(X))), map)


def pair_sums(X: ColumnSource, pairs: Pairs, map: Callable[..., Any] = map) -> np.ndarray:
    """Return ``sum of weight |x_n - x_i|`` over these pairs, per feature in float64."""
    return np.concatenate(X.gather(partial(_pair_sums, pairs=pairs), map))


def weighted_distances(
    X: ColumnSource, weights: np.ndarray, map: Callable[..., Any] = map
) -> np.ndarray:
    """Return ``d_ni = sum_j w_j |x_nj - x_ij|`` (N, N) in float64; skip columns of weight 0."""
    total = X.reduce(partial(_weighted_distances, weights=weights), map)
    return total + total.T


def _weighted_distances(block: Block, weights: np.ndarray) -> np.ndarray:
    window = block.open()
    total, first = np.zeros((window.shape[0],) * 2), window.origin + window.start
    for part in parts(window, _READ):
        own = weights[first : first + part.shape[1]]
        used, first = np.flatnonzero(own), first + part.shape[1]
        if len(used):
            add_distances(centred(part[:, used], np.float64) * own[used], total)
    return total


def _pair_sums(block: Block, pairs: Pairs) -> np.ndarray:
    sums = []
    for part in parts(block.open(), _READ):
        out = np.empty(part.shape[1])
        features.pair_sums(centred(part, np.float64), pairs.starts, pairs.others, pairs.weight, out)
        sums.append(out)
    return np.concatenate(sums)
