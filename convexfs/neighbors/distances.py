"""Distances between samples in memory, and the nearest of them: each pair is visited once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.neighbors.kernels import distance_sums, nearest

#: Cells of one block's distance matrix; 16 MB whatever N.
_BLOCK_CELLS = 2_000_000
#: Rows of a block at least.
_LEAST_ROWS = 16
#: Samples whose distances from as many others are held at a time while the nearest are sought.
_PANEL = 512


def row_blocks(n: int) -> list[tuple[int, int]]:
    """Ranges of rows whose distances to all n samples fit a small buffer."""
    size = max(_BLOCK_CELLS // max(n, 1), _LEAST_ROWS)
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def distances(X: np.ndarray, squared: bool = False, map: Callable[..., Any] = map) -> np.ndarray:
    """Manhattan or squared Euclidean distances between all rows."""
    out = np.zeros((len(X), len(X)))
    list(map(lambda rows: distance_sums.add_later(X, *rows, squared, out), row_blocks(len(X))))
    distance_sums.mirror(out)
    return require_finite(out)


def distances_between(some: np.ndarray, rows: np.ndarray, squared: bool = False) -> np.ndarray:
    """Distances of some rows from other rows."""
    out = np.zeros((len(some), len(rows)))
    distance_sums.add_between(some, rows, squared, out)
    return require_finite(out)


def distances_of(X: np.ndarray, start: int, stop: int, squared: bool = False) -> np.ndarray:
    """Distances of rows [start, stop) from all rows."""
    if stop - start == len(X):
        return distances(X, squared)
    return distances_between(X[start:stop], X, squared)


def nearest_in_groups(
    X: np.ndarray,
    codes: np.ndarray,
    n_groups: int,
    n_neighbors: int,
    squared: bool = False,
    map: Callable[..., Any] = map,
) -> np.ndarray:
    """As :func:`convexfs.neighbors.kernels.nearest.nearest_in_groups`, of all rows from all rows.

    Panels of samples meet in pairs. Every sample meets the panels in their order, so that of
    equal distances the first stays the nearer, and no two threads have the same sample.
    """
    shape = (len(X), n_groups or 2, n_neighbors)
    best, index = np.full(shape, np.inf), np.full(shape, -1, np.int64)

    def take(dist: np.ndarray, own: slice, others: slice) -> None:
        lists = best[own], index[own]
        nearest.take_nearer(dist, own.start, others.start, codes, n_groups == 0, *lists)

    def meet(later: slice, own: slice) -> np.ndarray:
        dist = distances_between(X[own], X[later], squared)
        take(np.ascontiguousarray(dist.T), later, own)
        return dist

    panels = [slice(start, start + _PANEL) for start in range(0, len(X), _PANEL)]
    for number, own in enumerate(panels):
        take(distances(X[own], squared), own, own)
        later = panels[number + 1 :]
        for others, dist in zip(later, map(partial(meet, own=own), later), strict=True):
            take(dist, own, others)
    return index


def require_finite(dist: np.ndarray) -> np.ndarray:
    """Return the distances, unless one is too large for a number."""
    if not np.isfinite(dist.max(initial=0.0)):
        raise InputError("distances overflow: scale the features to ordinary sizes first")
    return dist
