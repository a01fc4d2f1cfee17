"""Nearest hits and misses, as one signed graph.

Every RELIEF-like quantity is a sum over pairs (n, i) of a sample and a
neighbour: ``+`` for a miss, ``-`` for a hit, each weighted so that the hits of
a sample sum to -1 and its misses to +1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.data.out_of_core import ColumnSource
from convexfs.errors import InputError, check_choice, check_number, did_you_mean, shortened
from convexfs.neighbors import distances as dense
from convexfs.neighbors import out_of_core
from convexfs.neighbors.distances import BLOCK_CELLS, require_finite, row_blocks
from convexfs.neighbors.kernels import nearest as kernels
from convexfs.neighbors.missing_values import MixedSamples
from convexfs.neighbors.samples import as_samples
from convexfs.neighbors.sparse import SparseSamples

METRICS = ("manhattan", "sqeuclidean")
MISS_RULES = ("nearest", "prior", "uniform")
#: Values of `n_neighbors` that mean all samples within a radius.
RADII = ("surf", "multisurf")
#: Distances that are processed together, in whole rows, so that they stay in cache.
_CACHED = 2**15


@dataclass(frozen=True)
class SignedNeighbors:
    """Neighbours of every sample with their signed weights.

    Attributes
    ----------
    index : int array (N, groups, M)
        Neighbour m of sample n in group g; -1 where there is none.
    coefficient : float array (N, groups, M)
        Negative for hits, positive for misses, 0 where there is no neighbour
        and for samples without a hit.
    """

    index: np.ndarray
    coefficient: np.ndarray

    @property
    def is_dense(self) -> bool:
        """Return whether weights are stored for all N x N pairs, as by :func:`all_pairs`."""
        return self.index.strides[0] == 0 and self.index.shape[1] == 1

    def times(self, terms: np.ndarray) -> "SignedNeighbors":
        """Return a copy with the weights of sample n's neighbours multiplied by ``terms[n]``."""
        return SignedNeighbors(self.index, self.coefficient * terms[:, None, None])


def all_pairs(signed: np.ndarray) -> SignedNeighbors:
    """Wrap a matrix (N, N) of signed weights: every sample is a neighbour of every other."""
    coefficient = signed[:, None, :]
    return SignedNeighbors(np.broadcast_to(np.arange(len(signed)), coefficient.shape), coefficient)


def signed_neighbors(
    X: Any,
    codes: np.ndarray,
    n_neighbors: float | str = 1,
    metric: str = "manhattan",
    miss: str = "nearest",
    map: Callable[..., Any] = map,
) -> SignedNeighbors:
    """Return the nearest hits and misses of every row: a number, a fraction, or within a radius.

    Parameters
    ----------
    X : array (N, J) or MixedSamples
    codes : int array (N,)
        Class of each sample, 0 to K - 1.
    n_neighbors : int, or float below 1
        M; where a class has fewer other members, those there are count. A float is a share
        of each class: its nearest members, of one's own class as hits and of every other as
        misses. A fixed number of a large class is nearer than the same number of a small
        one; equal shares are equally near if the classes are alike. "surf" are all samples
        nearer than the mean distance, each one's own of 0 included; "multisurf" those nearer
        than the mean distance of this sample from the others minus half its deviation.
    metric : {"manhattan", "sqeuclidean"}
    miss : {"nearest", "prior", "uniform"}
        Misses are the M nearest over all other classes (LFE eq. 25), or the M
        nearest of each other class c weighted by P(c) / (1 - P(y)) (Kononenko)
        or equally. With a share of each class "nearest" is the same as "prior".
    map : callable
        Applied over blocks of rows; a thread pool's ``map`` gives the same answer.
    """
    check_neighbors(len(X), n_neighbors, metric, miss)
    if is_radius(n_neighbors) or is_share(n_neighbors):
        return signed_neighbors_at(sample_distances(X, metric, map), codes, n_neighbors, miss)
    groups = _Groups.of(codes, n_neighbors, miss)
    index = _nearest_in_groups(X, codes, groups.number, int(n_neighbors), metric, map)
    return groups.signed(index, codes)


def sample_distances(
    X: Any, metric: str = "manhattan", map: Callable[..., Any] = map
) -> np.ndarray:
    """Return distances (N, N) between all samples of any kind, in float64."""
    X = as_samples(X)
    if isinstance(X, np.ndarray):
        return dense.distances(X, metric == "sqeuclidean", map)
    return np.concatenate(list(map(distance_rows(X, metric, map), row_blocks(len(X)))))


def nearest(X: Any, number: int, map: Callable[..., Any] = map) -> np.ndarray:
    """Return the indices of the `number` nearest rows of each row, any class: array (N, number)."""
    alike = np.zeros(len(X), dtype=np.int64)
    return _nearest_in_groups(X, alike, 1, number, "manhattan", map)[:, 0]


def nearest_at(distances: np.ndarray, number: int) -> np.ndarray:
    """Return the indices of the `number` nearest samples of each, from distances (N, N)."""
    alike = np.zeros(len(distances), dtype=np.int64)
    return kernels.nearest_in_groups(distances, 0, alike, 1, number)[:, 0]


def _nearest_in_groups(
    X: Any, codes: np.ndarray, n_groups: int, number: int, metric: str, map: Callable[..., Any]
) -> np.ndarray:
    """Return the indices of the nearest samples of each group, for samples of any kind."""
    X = as_samples(X)
    if isinstance(X, np.ndarray):
        return dense.nearest_in_groups(X, codes, n_groups, number, metric == "sqeuclidean", map)
    rows = distance_rows(X, metric, map)

    def search(block: tuple[int, int]) -> np.ndarray:
        return kernels.nearest_in_groups(rows(block), block[0], codes, n_groups, number)

    return np.concatenate(list(map(search, row_blocks(len(X)))))


class NeighborOrder:
    """Samples sorted by distance from each sample, to find neighbours at many labellings.

    Distances do not depend on the classes: they are sorted once, and classes only choose
    hits and misses. :meth:`signed` has the neighbours of :func:`signed_neighbors` of the same
    arguments; with one of `RADII` as `n_neighbors`, that must be the `radius` given here.
    """

    def __init__(self, X: Any, metric: str = "manhattan", radius: str | None = None):
        self._near: _Near | None = None
        if radius is not None:
            self._near = _Near.of(sample_distances(X, metric), radius)
            return
        rows = distance_rows(X, metric)

        def sort(block: tuple[int, int]) -> np.ndarray:
            return np.argsort(rows(block), axis=1, kind="stable").astype(np.int32)

        self._order = np.concatenate(list(map(sort, row_blocks(len(X)))))

    def signed(self, codes: np.ndarray, n_neighbors: float | str, miss: str) -> SignedNeighbors:
        """Return the signed hits and misses for these class labels."""
        if self._near is not None:
            return self._near.signed(codes, miss)
        groups = _Groups.of(codes, n_neighbors, miss)
        if is_share(n_neighbors):
            left, out = np.empty(groups.number, np.int64), np.zeros(self._order.shape)
            weights = groups.share_weights(codes)
            kernels.weigh_first(self._order, codes, groups.limits, weights, left, out)
            return all_pairs(out)
        index = kernels.first_in_groups(self._order, codes, groups.number, int(n_neighbors))
        return groups.signed(index, codes)


@dataclass(frozen=True)
class _Near:
    """Distances between all samples, and the radius of each sample's neighbourhood."""

    distances: np.ndarray
    radii: np.ndarray

    @classmethod
    def of(cls, distances: np.ndarray, radius: str) -> "_Near":
        n = len(distances)
        if radius == "surf":
            return cls(distances, np.full(n, distances.sum() / n**2))
        size = max(_CACHED // n, 32)
        parts = [_own_radii(distances[k : k + size], k) for k in range(0, n, size)]
        return cls(distances, np.concatenate(parts))

    def signed(self, codes: np.ndarray, miss: str) -> SignedNeighbors:
        """Return the signed weights of all pairs (N, N), which are 0 beyond the radius."""
        groups = _Groups.of(codes, RADII[0], miss)
        counts, rows = np.zeros((len(codes), len(groups.counts))), np.arange(len(codes))
        counts[:] = kernels.count_near(self.distances, self.radii, codes, counts.shape[1])
        if miss == "nearest":
            hits = counts[rows, codes]
            counts[:] = (counts.sum(axis=1) - hits)[:, None]
            counts[rows, codes] = hits
            share = np.ones(counts.shape)
            share[rows, codes] = -1.0
        else:
            share = _group_shares(codes, groups.counts, miss)
        share *= (groups.counts[codes] > 1)[:, None] / np.maximum(counts, 1.0)
        return all_pairs(kernels.weigh_near(self.distances, self.radii, codes, share))


def signed_neighbors_at(
    distances: np.ndarray, codes: np.ndarray, n_neighbors: float | str, miss: str
) -> SignedNeighbors:
    """Return the result of :func:`signed_neighbors` from a matrix of distances (N, N)."""
    if is_radius(n_neighbors):
        return _Near.of(distances, str(n_neighbors)).signed(codes, miss)
    groups = _Groups.of(codes, n_neighbors, miss)
    if is_share(n_neighbors):
        weights = groups.share_weights(codes)
        by_class = np.argsort(codes, kind="stable")
        order = by_class.astype(np.uint64), np.argsort(by_class).astype(np.uint64)
        starts = np.concatenate([[0], np.cumsum(groups.counts)])
        bounds, line = _share_bounds(distances, codes, groups.limits), np.empty(len(codes))
        out = np.empty(distances.shape)
        kernels.weigh_within(
            distances, codes, *order, starts, bounds, groups.limits, weights, line, out
        )
        return all_pairs(out)
    index = kernels.nearest_in_groups(distances, 0, codes, groups.number, int(n_neighbors))
    return groups.signed(index, codes)


def _share_bounds(distances: np.ndarray, codes: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return each sample's distance to its last neighbour in each class; inf if it takes all."""
    bounds = np.full((len(codes), len(limits)), np.inf)
    size = max(BLOCK_CELLS // len(codes), 1)
    for own, other in np.ndindex(limits.shape):
        # Every sample comes first in its own list, at distance 0.
        place = int(limits[own, other]) - (own != other)
        rows, members = np.flatnonzero(codes == own), np.flatnonzero(codes == other)
        for start in range(0, len(rows) if place < len(members) else 0, size):
            part = rows[start : start + size]
            near = np.take(distances[part], members, axis=1)
            near.partition(place, axis=1)
            bounds[part, other] = near[:, place]
    return bounds


@dataclass(frozen=True)
class _Groups:
    """Groups in which neighbours are searched, and how many each sample takes from each group.

    ``number`` is that of the classes, or 0 for two pools: one's own class and all others.
    A sample of class a takes ``limits[a, group]``; see :func:`_coefficients` for ``miss``.
    """

    number: int
    limits: np.ndarray
    counts: np.ndarray
    miss: str

    @classmethod
    def of(cls, codes: np.ndarray, n_neighbors: float | str, miss: str) -> "_Groups":
        counts = np.bincount(codes)
        if counts.max() < 2:
            raise InputError("no class has two samples, so none has a hit: check the target column")
        if isinstance(n_neighbors, float) and is_share(n_neighbors):
            others = counts - np.eye(len(counts))
            limits = np.maximum(np.floor(n_neighbors * others + 0.5), 1).astype(np.int64)
            return cls(len(counts), limits, counts, "prior" if miss == "nearest" else miss)
        number = 0 if miss == "nearest" else len(counts)
        most = len(codes) if is_radius(n_neighbors) else n_neighbors
        limits = np.full((len(counts), number or 2), most)
        return cls(number, limits, counts, miss)

    def signed(self, index: np.ndarray, codes: np.ndarray) -> SignedNeighbors:
        return SignedNeighbors(index, _coefficients(index, codes, self.counts, self.miss))

    def share_weights(self, codes: np.ndarray) -> np.ndarray:
        """Return the signed weight of one neighbour in each class, array (N, classes)."""
        others = self.counts - np.equal.outer(codes, np.arange(len(self.counts)))
        return _group_weights(np.minimum(self.limits[codes], others), codes, self.counts, self.miss)


def distance_rows(
    X: Any, metric: str = "manhattan", map: Callable[..., Any] = map
) -> Callable[[tuple[int, int]], np.ndarray]:
    """Return a function that maps rows (start, stop) to their distances from all samples."""
    squared, X = metric == "sqeuclidean", as_samples(X)
    if isinstance(X, ColumnSource):
        rows = out_of_core.distance_rows(X, metric, map)
    elif isinstance(X, MixedSamples):
        if squared:
            raise InputError(
                f"metric={metric!r} takes numbers without missing values: use 'manhattan', or "
                "impute and encode first"
            )
        whole = X.distances(map=map)
        rows = lambda block: whole[slice(*block)]  # noqa: E731
    elif isinstance(X, SparseSamples):
        rows = lambda block: X.row_distances(block[0], block[1], squared)  # noqa: E731
    else:
        rows = lambda block: dense.distances_of(X, block[0], block[1], squared)  # noqa: E731
    return lambda block: require_finite(rows(block))


def check_neighbors(n_samples: int, n_neighbors: Any, metric: Any, miss: Any) -> None:
    """Raise if `metric`, `miss` or `n_neighbors` is invalid for `n_samples` rows."""
    check_choice("metric", metric, METRICS)
    check_choice("miss rule", miss, MISS_RULES)
    if is_radius(n_neighbors):
        return
    _refuse_near_words(n_neighbors)
    if is_share(n_neighbors):
        return
    check_number("n_neighbors", n_neighbors, 1, whole=True)
    if n_neighbors >= n_samples:
        raise InputError(
            f"n_neighbors={shortened(n_neighbors)} asks for more neighbours than the {n_samples} "
            f"rows have: use at most {n_samples - 1}, or more rows"
        )


def _refuse_near_words(n_neighbors: Any) -> None:
    """Raise if a string looks like a misspelt one of `RADII`; numbers are checked elsewhere."""
    near = did_you_mean(n_neighbors, RADII) if isinstance(n_neighbors, str) else ""
    if near.endswith("?"):
        raise InputError(f"unknown n_neighbors '{n_neighbors}': {near}")


def is_radius(n_neighbors: Any) -> bool:
    """Return whether `n_neighbors` is "surf" or "multisurf": all samples within a radius."""
    return isinstance(n_neighbors, str) and n_neighbors in RADII


def is_share(n_neighbors: Any) -> bool:
    """Return whether `n_neighbors` is a float between 0 and 1: a fraction of each class."""
    return isinstance(n_neighbors, float | np.floating) and bool(0.0 < n_neighbors < 1.0)


def _own_radii(dist: np.ndarray, start: int) -> np.ndarray:
    """Return each sample's MultiSURF radius: mean distance to others minus half their deviation."""
    rows, others = np.arange(len(dist)), dist.shape[1] - 1
    mean = (dist.sum(axis=1) - dist[rows, start + rows]) / others
    apart = dist - mean[:, None]
    apart[rows, start + rows] = 0.0
    return mean - np.sqrt(np.square(apart, out=apart).sum(axis=1) / others) / 2.0


def _coefficients(
    index: np.ndarray, codes: np.ndarray, counts: np.ndarray, miss: str
) -> np.ndarray:
    """Return weights like `index`: -1/M for M hits, the group's weight over M for M misses."""
    found = index >= 0
    each = _group_weights(np.count_nonzero(found, axis=2), codes, counts, miss)
    return np.where(found, each[:, :, None], 0.0)


def _group_weights(
    found: np.ndarray, codes: np.ndarray, counts: np.ndarray, miss: str
) -> np.ndarray:
    """Return the signed weight of one neighbour by sample and group, given how many were found."""
    each = 1.0 / np.maximum(found, 1)
    return each * _group_shares(codes, counts, miss) * (counts[codes] > 1)[:, None]


def _group_shares(codes: np.ndarray, counts: np.ndarray, miss: str) -> np.ndarray:
    n = len(codes)
    if miss == "nearest":
        return np.tile([-1.0, 1.0], (n, 1))
    own = np.equal.outer(codes, np.arange(len(counts)))
    # A class may have no samples here, such as one that occurs only in test rows.
    weight = np.where(own, 0.0, counts if miss == "prior" else counts > 0)
    return np.where(own, -1.0, weight / weight.sum(axis=1, keepdims=True))
