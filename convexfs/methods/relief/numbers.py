"""Compute the data of RELIEF's problem from samples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.data.out_of_core import ColumnSource
from convexfs.errors import check_flag, check_number, warn
from convexfs.neighbors.hits_misses import (
    NeighborOrder,
    SignedNeighbors,
    all_pairs,
    check_neighbors,
    is_radius,
    is_share,
    sample_distances,
    signed_neighbors,
    signed_neighbors_at,
)
from convexfs.neighbors.margins import cancelled_sums, margin_vector
from convexfs.neighbors.missing_values import MixedSamples, of_classes
from convexfs.neighbors.sample_weight import SampleWeights, alike_pairs, counted_neighbors
from convexfs.neighbors.shadow_columns import Margins, ShadowDraws, shadow_margins


def relief(
    X: np.ndarray | MixedSamples | ColumnSource,
    codes: np.ndarray,
    *,
    n_neighbors: float | str,
    miss: str,
    metric: str,
    online: bool,
    n_epochs: int,
    l1: float,
    seed: Any = None,
    map: Callable[..., Any] = map,
    weights: SampleWeights | None = None,
    spread: np.ndarray | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the data of RELIEF's problem: margin vector z, and lam = `l1` times the largest z.

    `spread` has the ranges of the features, if they are known.
    """
    check_number("l1, a share of the largest margin,", l1, 0, 1)
    check_number("n_epochs", n_epochs, 1, 1_000_000, whole=True)
    check_flag("online", online)
    X = of_classes(X, codes)
    if weights is None:
        neighbors = signed_neighbors(X, codes, n_neighbors, metric, miss, map)
    else:
        check_neighbors(len(X), n_neighbors, metric, miss)
        neighbors = _weighted(sample_distances(X, metric, map), codes, weights, n_neighbors, miss)
    _warn_of_small_classes(codes, n_neighbors)
    if online:
        neighbors = _drawn(neighbors, n_epochs, np.random.default_rng(seed))
    z = margin_vector(X, neighbors, metric, map)
    z[np.abs(z) <= cancelled_sums(X, metric, spread)] = 0.0
    return {"z": z}, {"lam": l1 * float(max(z.max(initial=0.0), 0.0))}


def margin_at_labels(
    X: np.ndarray | MixedSamples, settings: Any, seed: int, weights: SampleWeights | None
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that maps class labels to margin vectors z; distances are computed once.

    It is the z of :func:`relief` with these `settings`, bit by bit.
    """
    n_neighbors, miss, metric = settings.n_neighbors, settings.miss, settings.metric
    check_neighbors(len(X), n_neighbors, metric, miss)
    radius = str(n_neighbors) if is_radius(n_neighbors) else None
    cancelled = cancelled_sums(X, metric)

    def prepared(samples: np.ndarray | MixedSamples) -> Any:
        """Compute what does not depend on the classes: distances, or the order of neighbours."""
        if weights is not None:
            return sample_distances(samples, metric)
        return NeighborOrder(samples, metric, radius)

    once = prepared(X)

    def margin(codes: np.ndarray) -> np.ndarray:
        samples = of_classes(X, codes)
        near = once if samples is X else prepared(samples)
        if weights is None:
            neighbors = near.signed(codes, n_neighbors, miss)
        else:
            neighbors = _weighted(near, codes, weights, n_neighbors, miss)
        if settings.online:
            neighbors = _drawn(neighbors, settings.n_epochs, np.random.default_rng(seed))
        z = margin_vector(samples, neighbors, metric)
        z[np.abs(z) <= cancelled] = 0.0
        return z

    return margin


def shadow_margin(
    X: np.ndarray | MixedSamples,
    codes: np.ndarray,
    draws: ShadowDraws,
    settings: Any,
    weights: SampleWeights | None,
) -> Margins:
    """Return z of the features, averaged over draws of shadow columns, and z of the shadows.

    Classes are compared pair by pair alike unless `weights` weighs them. See
    :func:`convexfs.neighbors.shadow_columns.shadow_margins`.
    """
    n_neighbors, miss, metric = settings.n_neighbors, settings.miss, settings.metric
    check_neighbors(len(X), n_neighbors, metric, miss)
    rows_count = None if weights is None or (weights.rows == 1).all() else weights.rows
    if weights is not None and (weights.balanced or weights.classes is not None):
        terms = weights.terms(codes)
    else:
        terms = alike_pairs(codes, rows_count) * (1.0 if rows_count is None else rows_count)

    def neighbors_at(distances: np.ndarray) -> SignedNeighbors:
        if rows_count is None:
            neighbors = signed_neighbors_at(distances, codes, n_neighbors, miss)
        else:
            signed = counted_neighbors(distances, codes, rows_count, n_neighbors, miss)
            neighbors = all_pairs(signed)
        neighbors = neighbors.times(terms)
        if settings.online:
            return _drawn(neighbors, settings.n_epochs, np.random.default_rng(draws.seed))
        return neighbors

    return shadow_margins(X, draws, neighbors_at, metric, codes)


def _weighted(
    distances: np.ndarray,
    codes: np.ndarray,
    weights: SampleWeights,
    n_neighbors: float | str,
    miss: str,
) -> SignedNeighbors:
    """Return signed neighbours of weighted samples, each row times its sample's weight."""
    signed = counted_neighbors(distances, codes, weights.rows, n_neighbors, miss)
    return all_pairs(signed).times(weights.terms(codes))


def _warn_of_small_classes(codes: np.ndarray, n_neighbors: float | str) -> None:
    if isinstance(n_neighbors, str) or is_share(n_neighbors):
        return
    fewest = min(count for count in np.bincount(codes) if count > 1) - 1
    if fewest < n_neighbors:
        warn(
            f"n_neighbors={n_neighbors}, but a class has only {fewest} other members: "
            "those there are count for it"
        )


def _drawn(neighbors: SignedNeighbors, n_epochs: int, rng: np.random.Generator) -> SignedNeighbors:
    """Draw samples at random; multiply each sample's row by its number of draws per epoch."""
    n = len(neighbors.index)
    times = np.bincount(rng.integers(n, size=n_epochs * n), minlength=n) / n_epochs
    return neighbors.times(times)
