"""Margins of samples beside shadow columns: a copy of all columns with its rows permuted.

Rows are permuted together, so that the copy has the same values and the same correlations and
no relation to the classes. Neighbours are sought in the columns and their shadows. Distances
add up over columns, so those of the copy are the permuted distances of the samples.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.data.sparse import standard_deviation
from convexfs.neighbors.hits_misses import SignedNeighbors, all_pairs, sample_distances
from convexfs.neighbors.kernels import nearest
from convexfs.neighbors.margins import cancelled_sums, margin_vector
from convexfs.neighbors.missing_values import MixedSamples, of_classes
from convexfs.neighbors.samples import as_samples, beside, some_rows, spreads
from convexfs.neighbors.sparse import SparseSamples

#: Mean margins of the columns (J,), and margins of their shadows (B, J), one row per draw.
Margins = tuple[np.ndarray, np.ndarray]
#: Permutations whose neighbours are held in memory at a time.
_HELD = 16


@dataclass(frozen=True)
class ShadowDraws:
    """Row permutations that make shadow columns, with the seed, weights and threads to use.

    Attributes
    ----------
    rows : int array (B, N)
        Row that stands in row n of the shadows of draw b.
    seed : int
        For estimators that draw samples.
    sample_weight : array (N,), optional
    map : callable
        Applied over the draws.
    """

    rows: np.ndarray
    seed: int = 0
    sample_weight: np.ndarray | None = None
    map: Callable[..., Any] = map


def shadow_margins(
    X: Any,
    draws: ShadowDraws,
    neighbors_at: Callable[[np.ndarray], SignedNeighbors],
    metric: str = "manhattan",
    codes: np.ndarray | None = None,
) -> Margins:
    """Return the columns' margins, averaged over the draws, and the shadows' margins of each draw.

    Parameters
    ----------
    X : array (N, J), SparseSamples or MixedSamples
    draws : ShadowDraws
    neighbors_at : callable
        From distances between all samples to their hits and misses.
    metric : {"manhattan", "sqeuclidean"}
    codes : int array (N,), optional
        Classes, which the rule "class" for missing values needs.

    Returns
    -------
    mean : array (J,)
    shadows : array (B, J)
    """

    def with_classes(samples: Any) -> Any:
        return samples if codes is None else of_classes(samples, codes)

    X = with_classes(as_samples(X))
    distances = sample_distances(X, metric, draws.map)
    mixed = isinstance(X, MixedSamples)
    # Permuting the neighbours is cheaper than copying many or sparse columns.
    moves = not mixed and len(X) < X.shape[1]
    # Under these rules for missing values, distances do not add up over columns.
    joined = mixed and (X.rule == "observed" or (X.rule == "class" and codes is not None))
    cancelled = cancelled_sums(X, metric)

    def draw(order: np.ndarray) -> tuple[Any, np.ndarray]:
        if joined:
            near = neighbors_at(sample_distances(beside(X, with_classes(some_rows(X, order)))))
        else:
            near = neighbors_at(nearest.add_permuted(distances, order))
        if moves and len(np.unique(order)) == len(order):
            margin = margin_vector(X, _moved(near, order), metric)
        else:
            margin = margin_vector(with_classes(some_rows(X, order)), near, metric)
        # Means over observed neighbours are not linear in the weights.
        own = margin_vector(X, near, metric) if mixed else near
        return own, np.where(np.abs(margin) <= cancelled, 0.0, margin)

    mean, shadows = _mean_margin(X, _in_order(draw, draws), metric, draws)
    return np.where(np.abs(mean) <= cancelled, 0.0, mean), shadows


def _moved(near: SignedNeighbors, order: np.ndarray) -> SignedNeighbors:
    """Map neighbours among permuted samples to neighbours among the samples themselves."""
    if near.is_dense:
        inverse = np.argsort(order)
        return all_pairs(near.coefficient[:, 0][np.ix_(inverse, inverse)])
    index, coefficient = np.empty(near.index.shape, np.int64), np.empty(near.coefficient.shape)
    index[order] = np.where(near.index >= 0, order[near.index], -1)
    coefficient[order] = near.coefficient
    return SignedNeighbors(index, coefficient)


def _in_order(draw: Callable[..., Any], draws: ShadowDraws) -> Iterable[Any]:
    for start in range(0, len(draws.rows), _HELD):
        yield from draws.map(draw, draws.rows[start : start + _HELD])


def _mean_margin(X: Any, drawn: Iterable[Any], metric: str, draws: ShadowDraws) -> Margins:
    """Return the margins of X averaged over draws, from averaged pair weights, and the shadows'."""
    mixed = isinstance(X, MixedSamples)
    total = np.zeros(X.shape[1] if mixed else (len(X), len(X)))
    shadows = np.empty((len(draws.rows), X.shape[1]))
    for b, (own, shadow) in enumerate(drawn):
        shadows[b] = shadow
        if mixed:
            total += own
        elif own.is_dense:
            total += own.coefficient[:, 0]
        else:
            nearest.add_signed(own.index, own.coefficient, total)
    total /= len(shadows)
    if mixed:
        return total, shadows
    # Pairs (n, i) and (i, n) have the same difference, so visit each pair once.
    return margin_vector(X, all_pairs(np.triu(total + total.T, 1)), metric, draws.map), shadows


def feature_deviations(X: Any) -> np.ndarray:
    """Return each feature's standard deviation; for categories, the root of half the mean d^2.

    That is ``sqrt(E[d^2] / 2)`` for the difference d of two samples, which also categories have.
    """
    X = as_samples(X)
    spread = spreads(X)
    # Divide by the range first: squares of tiny and huge numbers would underflow or overflow.
    unit = np.where(spread > 0, spread, 1.0)
    if isinstance(X, SparseSamples):
        found = standard_deviation(X.times(1.0 / unit).by_columns)
    elif isinstance(X, MixedSamples):
        found = _mixed_deviations(X, unit)
    else:
        found = (X / unit).std(axis=0)
    return np.where(spread > 0, found, 0.0) * unit


def _mixed_deviations(X: MixedSamples, unit: np.ndarray) -> np.ndarray:
    values, found = np.where(X.seen > 0, X.x / unit, np.nan), np.zeros(X.shape[1])
    for j in np.flatnonzero(X.spread):
        categories = np.isfinite(X.cap[j])
        shares = _shares(values[:, j])
        found[j] = np.sqrt((1 - shares @ shares) / 2) if categories else np.nanstd(values[:, j])
    return found


def _shares(categories: np.ndarray) -> np.ndarray:
    counts = np.unique(categories[~np.isnan(categories)], return_counts=True)[1]
    return counts / max(counts.sum(), 1)
