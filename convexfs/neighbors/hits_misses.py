"""Nearest hits and misses, as one signed graph.

Every RELIEF-like quantity is a sum over pairs (n, i) of a sample and a
neighbour: ``+`` for a miss, ``-`` for a hit, each weighted so that the hits of
a sample sum to -1 and its misses to +1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.errors import InputError, check_choice, check_number, shortened
from convexfs.neighbors import kernels

METRICS = ("manhattan", "sqeuclidean")
MISS_RULES = ("nearest", "prior", "uniform")
#: Cells of one block's distance matrix; 16 MB whatever N.
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True)
class SignedNeighbors:
    """Neighbours of every sample with their signed weights.

    Attributes
    ----------
    index : int array (N, groups, M)
        Neighbour m of sample n in group g, closest first; -1 where there is none.
    coefficient : float array (N, groups, M)
        Negative for hits, positive for misses, 0 where there is no neighbour
        and for samples without a hit.
    """

    index: np.ndarray
    coefficient: np.ndarray


def signed_neighbors(
    X: np.ndarray,
    codes: np.ndarray,
    n_neighbors: int = 1,
    metric: str = "manhattan",
    miss: str = "nearest",
    map: Callable[..., Any] = map,
) -> SignedNeighbors:
    """The `n_neighbors` nearest hits and misses of every row of `X`.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Class of each sample, 0 to K - 1.
    n_neighbors : int
        M; where a class has fewer other members, those there are count.
    metric : {"manhattan", "sqeuclidean"}
    miss : {"nearest", "prior", "uniform"}
        Misses are the M nearest over all other classes (LFE eq. 25), or the M
        nearest of each other class c weighted by P(c) / (1 - P(y)) (Kononenko)
        or equally.
    map : callable
        Applied over blocks of rows; a thread pool's ``map`` gives the same answer.
    """
    check_neighbors(len(X), n_neighbors, metric, miss)
    squared = metric == "sqeuclidean"
    X = np.ascontiguousarray(X, dtype=np.float64)
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise InputError("no class has two samples, so none has a hit: check the target column")
    groups = 0 if miss == "nearest" else len(counts)

    def search(block: tuple[int, int]) -> np.ndarray:
        dist = kernels.distances(X, *block, squared)
        if not np.isfinite(dist.max()):
            raise InputError("distances overflow: scale the features to ordinary sizes first")
        return kernels.nearest_in_groups(dist, block[0], codes, groups, n_neighbors)

    index = np.concatenate(list(map(search, row_blocks(len(X)))))
    return SignedNeighbors(index, _coefficients(index, codes, counts, miss))


def margin_vector(
    X: np.ndarray,
    neighbors: SignedNeighbors,
    metric: str = "manhattan",
    map: Callable[..., Any] = map,
) -> np.ndarray:
    """``z = sum_n (mean |x_n - misses| - mean |x_n - hits|)``, elementwise (LFE eq. 4).

    With ``metric="sqeuclidean"`` differences are squared.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    squared = metric == "sqeuclidean"

    def partial(block: tuple[int, int]) -> np.ndarray:
        rows = slice(*block)
        return kernels.signed_difference_sum(
            X, block[0], neighbors.index[rows], neighbors.coefficient[rows], squared
        )

    return np.sum(list(map(partial, row_blocks(len(X)))), axis=0)


def row_blocks(n: int) -> list[tuple[int, int]]:
    """Ranges of rows whose distances to all n samples fit a small buffer."""
    size = max(_BLOCK_CELLS // max(n, 1), kernels.ROW_TILE)
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def check_neighbors(n_samples: int, n_neighbors: Any, metric: Any, miss: Any) -> None:
    """Raise if these cannot be had from `n_samples` rows."""
    check_choice("metric", metric, METRICS)
    check_choice("miss rule", miss, MISS_RULES)
    check_number("n_neighbors", n_neighbors, 1, whole=True)
    if n_neighbors >= n_samples:
        raise InputError(
            f"n_neighbors={shortened(n_neighbors)} asks for more neighbours than the {n_samples} "
            f"rows have: use at most {n_samples - 1}, or more rows"
        )


def _coefficients(
    index: np.ndarray, codes: np.ndarray, counts: np.ndarray, miss: str
) -> np.ndarray:
    """-1/M over the hits; over the misses 1/M times the share of their group."""
    found = index >= 0
    per_group = np.maximum(found.sum(axis=2, keepdims=True), 1)
    share = _group_shares(codes, counts, miss)
    has_hit = counts[codes] > 1
    return found / per_group * share[:, :, None] * has_hit[:, None, None]


def _group_shares(codes: np.ndarray, counts: np.ndarray, miss: str) -> np.ndarray:
    n = len(codes)
    if miss == "nearest":
        return np.tile([-1.0, 1.0], (n, 1))
    own = np.equal.outer(codes, np.arange(len(counts)))
    # A class may have no samples here, such as one that only test rows have.
    weight = np.where(own, 0.0, counts if miss == "prior" else counts > 0)
    return np.where(own, -1.0, weight / weight.sum(axis=1, keepdims=True))
