"""Distances between samples in memory, and the nearest of them: each pair is visited once."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.neighbors.kernels import distance_sums, nearest, rough_sums

#: Most numbers in a block of distances: 16 MB.
BLOCK_CELLS = 2_000_000
#: Rows whose distances are copied to the lower triangle at a time.
_MIRRORED = 128
#: Fewest rows of a block.
_LEAST_ROWS = 16
#: Samples per panel: a nearest-neighbour search computes distances panel by panel.
_PANEL = 512
#: Unit roundoff of float32, a bound on its underflow, and the size of a row from which on float64
#: is used.
_ROUNDOFF, _ROUGH_LEAST, _ROUGH_LARGEST = 2.0**-24, 2.0**-148, 1e37
#: Fewest additional candidates beyond the neighbours, because float32 may misorder near ties.
_SPARE = 4
#: If the first panel has a larger fraction of rows with too many near ties, the search changes to
#: float64.
_FAILED = 0.25


def row_blocks(n: int) -> list[tuple[int, int]]:
    """Return ranges (start, stop) of rows whose distances to all n samples fit a small buffer."""
    size = max(BLOCK_CELLS // max(n, 1), _LEAST_ROWS)
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def distances(X: np.ndarray, squared: bool = False, map: Callable[..., Any] = map) -> np.ndarray:
    """Return Manhattan or squared Euclidean distances of all rows (N, N); raise on overflow."""
    out = np.zeros((len(X), len(X)))
    add_later(X, out, squared, map)
    for start in range(0, len(X), _MIRRORED):
        own, later = slice(start, start + _MIRRORED), slice(start + _MIRRORED, None)
        out[own, own] += out[own, own].T
        out[later, own] = out[own, later].T
    return require_finite(out)


def add_later(
    X: np.ndarray, out: np.ndarray, squared: bool = False, map: Callable[..., Any] = map
) -> None:
    """Add the distances of all rows from later ones to the upper triangle of `out`."""
    for values in _by_feature(X):

        def add(rows: tuple[int, int], values: np.ndarray = values) -> None:
            part, sums = out[slice(*rows)], np.empty((distance_sums.SIDE, distance_sums.SIDE))
            distance_sums.add_tiles(values, values, rows[0], True, squared or None, sums, part)

        list(map(add, row_blocks(len(X))))


def _by_feature(X: np.ndarray) -> Iterator[np.ndarray]:
    """Yield blocks of features as rows; each block overwrites the one before.

    Rows of zeros follow until the last sweep is full, and columns until the last vector is.
    """
    buffer = np.zeros((distance_sums.FEATURES, len(X) + -len(X) % distance_sums.DOUBLES))
    for first in range(0, X.shape[1], distance_sums.FEATURES):
        columns = X[:, first : first + distance_sums.FEATURES].T
        used = len(columns) + -len(columns) % distance_sums.SWEEP
        buffer[: len(columns), : len(X)] = columns
        buffer[len(columns) : used] = 0.0
        yield buffer[:used]


def rough_distances(X: np.ndarray) -> np.ndarray:
    """Return Manhattan distances (N, N) between all rows in float32; raise on overflow.

    Unlike those of :mod:`.kernels.rough_sums` they err relative to the distance, however small.
    """
    out = np.empty((len(X), len(X)), np.float32)
    panels = [slice(start, start + _PANEL) for start in range(0, len(X), _PANEL)]
    for number, own in enumerate(panels):
        for others in panels[number:]:
            out[own, others], out[others, own] = _rough_between(X[own], X[others], own == others)
    return require_finite(out)


def _rough_between(some: np.ndarray, rows: np.ndarray, same: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 Manhattan distances of some rows from others, and their transpose."""
    n, m, group = len(some), len(rows), distance_sums.GROUP
    out = np.zeros((n + -n % group, m + -m % group), np.float32)
    across = out if same else np.empty(out.shape[::-1], np.float32)
    distance_sums.rough_between(some, rows, same, out, across)
    return np.ascontiguousarray(out[:n, :m]), np.ascontiguousarray(across[:m, :n])


@dataclass(frozen=True)
class _RoughRows:
    """Samples in float32, padded by zeros as :mod:`.kernels.rough_sums` takes them.

    Attributes
    ----------
    shape : tuple of int
        Numbers of samples N and features J.
    values : float32 array, of more rows and columns
        Values less the means of their features: differences stay, and roundings are smaller.
    sums, sizes : arrays, one number per row
        Sums of each row's values and of their absolute values.
    """

    shape: tuple[int, int]
    values: np.ndarray
    sums: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> "_RoughRows":
        lanes, height = rough_sums.LANES, len(X) + rough_sums.GROUP
        # An odd number of cache lines a row keeps rows from pushing each other out of the cache.
        width = (-(-X.shape[1] // lanes) | 1) * lanes
        room = np.zeros(height * width + lanes, np.float32)
        first = -room.ctypes.data % (4 * lanes) // 4
        values = room[first : first + height * width].reshape(height, width)
        sums, sizes = np.zeros((2, height))
        with np.errstate(over="ignore", invalid="ignore"):
            centres = X.mean(axis=0)
        rough_sums.centre(X, centres, values, sums, sizes)
        return cls(X.shape, values, sums, sizes)

    def between(self, own: slice, others: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return distances of two panels of samples, and the same transposed."""
        parts, sizes = [], []
        for panel in (own, others):
            sizes.append(min(panel.stop, self.shape[0]) - panel.start)
            rows = slice(panel.start, panel.start + sizes[-1] + -sizes[-1] % rough_sums.GROUP)
            parts.append((self.values[rows], self.sums[rows]))
        (some, some_sums), (rows, row_sums) = parts
        out, same = np.empty((len(some), len(rows)), np.float32), own == others
        across = out if same else np.empty(out.shape[::-1], np.float32)
        rough_sums.distances_between(
            some, rows, self.shape[1], some_sums, row_sums, same, out, across
        )
        n, m = sizes
        return np.ascontiguousarray(out[:n, :m]), np.ascontiguousarray(across[:m, :n])

    def bounds(self) -> tuple[np.ndarray, float]:
        """Return `slack` and `relative`: distance d of row n errs by ``slack[n] + relative * d``.

        The sum of the least of each two values has at most the `roundings` below, relative to
        half of both sizes and the distance. The size of the other row is at most that of this
        one and the distance. One percent more covers the rounding of float64 and of the bound.
        """
        features, lanes = rough_sums.FEATURES, rough_sums.LANES
        terms = min(self.shape[1], features) / lanes + math.log2(lanes)
        roundings = terms + self.shape[1] / features + 5
        relative = 2.0 * 1.01 * _ROUNDOFF * roundings
        return relative * self.sizes + self.shape[1] * _ROUGH_LEAST, relative


def distances_between(some: np.ndarray, rows: np.ndarray, squared: bool = False) -> np.ndarray:
    """Return Manhattan or squared Euclidean distances of some rows from other rows."""
    out = np.zeros((len(some), len(rows)))
    sums = np.empty((distance_sums.SIDE, distance_sums.SIDE))
    for values, others in zip(_by_feature(some), _by_feature(rows), strict=True):
        distance_sums.add_tiles(values, others, 0, False, squared or None, sums, out)
    return require_finite(out)


def distances_of(X: np.ndarray, start: int, stop: int, squared: bool = False) -> np.ndarray:
    """Return Manhattan (or squared Euclidean) distances of rows [start, stop) from all rows."""
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
    """Return indices (N, groups, n_neighbors) of each row's nearest rows in each group; -1 pads.

    Arguments and result are those of :func:`convexfs.neighbors.kernels.nearest.nearest_in_groups`.

    Manhattan distances are computed in float32 first. Samples whose distances differ by less
    than the proven error of float32 are compared in float64, so that the neighbours are those
    of float64 distances. Where too many are almost equally near all distances are in float64.
    """
    index = None if squared else _by_rough_distances(X, codes, n_groups, n_neighbors, map)
    if index is None:
        shape = (len(X), n_groups or 2, n_neighbors)
        best, index = np.full(shape, np.inf), np.full(shape, -1, np.int64)

        def between(own: slice, others: slice) -> tuple[np.ndarray, np.ndarray]:
            if own == others:
                dist = distances(X[own], squared)
            else:
                dist = distances_between(X[own], X[others], squared)
            return dist, np.ascontiguousarray(dist.T)

        list(_search_panels(between, nearest.take_nearer, codes, n_groups == 0, best, index, map))
    return index


def _by_rough_distances(
    X: np.ndarray, codes: np.ndarray, n_groups: int, n_neighbors: int, map: Callable[..., Any]
) -> np.ndarray | None:
    """Search neighbours by float32 distances; None if values are too large or often tied."""
    rough = _RoughRows.of(X)
    if not rough.sizes.max(initial=0.0) < _ROUGH_LARGEST:
        return None
    slack, relative = rough.bounds()
    room = n_neighbors + _SPARE
    shape = (len(X), n_groups or 2, room + -room % rough_sums.LANES)
    best, index = np.full(shape, np.inf, np.float32), np.full(shape, -1, np.int32)
    failed, exact = np.zeros(len(X), dtype=bool), np.empty(shape[2])
    search = rough_sums.take_nearer
    for own in _search_panels(rough.between, search, codes, n_groups == 0, best, index, map):
        lists = best[own], index[own]
        nearest.settle(X, own.start, n_neighbors, slack, relative, *lists, exact, failed[own])
        if own.start == 0 and failed[own].mean() > _FAILED:
            return None
    found = index[:, :, :n_neighbors].astype(np.int64)
    again = np.flatnonzero(failed)
    for rows in (again[start : start + _PANEL] for start in range(0, len(again), _PANEL)):
        for row, dist in zip(rows, distances_between(X[rows], X), strict=True):
            found[row] = nearest.nearest_in_groups(dist[None], row, codes, n_groups, n_neighbors)
    return found


def _search_panels(
    between: Callable[[slice, slice], tuple[np.ndarray, np.ndarray]],
    take_nearer: Callable[..., None],
    codes: np.ndarray,
    pooled: bool,
    best: np.ndarray,
    index: np.ndarray,
    map: Callable[..., Any],
) -> Iterator[slice]:
    """Fill `best` and `index` with the nearest samples; yield the slice of each finished panel.

    `between` returns the distances of two panels, and the same transposed. Panels meet in pairs.
    Every sample meets the panels in their order, so that of equal distances the first stays the
    nearer, and no two threads have the same sample.
    """

    def take(dist: np.ndarray, own: slice, others: slice) -> None:
        take_nearer(dist, own.start, others.start, codes, pooled, best[own], index[own])

    def meet(later: slice, own: slice) -> np.ndarray:
        dist, across = between(own, later)
        take(across, later, own)
        return dist

    panels = [slice(start, start + _PANEL) for start in range(0, len(index), _PANEL)]
    for number, own in enumerate(panels):
        take(between(own, own)[0], own, own)
        later = panels[number + 1 :]
        for others, dist in zip(later, map(partial(meet, own=own), later), strict=True):
            take(dist, own, others)
        yield own


def require_finite(dist: np.ndarray) -> np.ndarray:
    """Return the distances unchanged; raise if one is not finite."""
    if not np.isfinite(dist.max(initial=0.0)):
        raise InputError("distances overflow: scale the features to ordinary sizes first")
    return dist
