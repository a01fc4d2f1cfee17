"""Compute the data of RReliefF's problem from samples and a numeric target."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.errors import check_number
from convexfs.neighbors.feature_blocks import exact_scores, score_pairs
from convexfs.neighbors.hits_misses import (
    SignedNeighbors,
    all_pairs,
    nearest,
    nearest_at,
    sample_distances,
)
from convexfs.neighbors.margins import cancelled_sums, margin_vector
from convexfs.neighbors.missing_values import MixedSamples
from convexfs.neighbors.regression import (
    check_difference,
    neighbor_influence,
    rrelief_neighbors,
    signed_shares,
    target_difference,
)
from convexfs.neighbors.shadow_columns import Margins, ShadowDraws, shadow_margins
from convexfs.neighbors.soft import check_sigma

Numbers = tuple[dict[str, np.ndarray], dict[str, float]]


def rrelief(
    X: np.ndarray | MixedSamples,
    y: np.ndarray,
    *,
    n_neighbors: float,
    spread: float | None,
    l1: float,
    map: Callable[..., Any] = map,
) -> Numbers:
    """Return RReliefF's data: z, the weights of its paper, and lam = `l1` times the largest z."""
    _check_l1(l1)
    return _priced(ranked_margin(X, n_neighbors, spread, map)(y), l1)


def rrelief_soft(
    X: np.ndarray | MixedSamples,
    y: np.ndarray,
    *,
    difference: str,
    l1: float,
    sigma: float = 2.0,
    map: Callable[..., Any] = map,
) -> Numbers:
    """Return the data of the soft variant: z from soft hits and misses at weights 1, and lam."""
    _check_l1(l1)
    return _priced(soft_margin(X, sigma, difference, map)(y), l1)


def ranked_margin(
    X: np.ndarray | MixedSamples,
    n_neighbors: float,
    spread: float | None,
    map: Callable[..., Any] = map,
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that maps targets to RReliefF's z; neighbours are searched once."""
    influence = neighbor_influence(len(X), n_neighbors, spread)
    index = nearest(X, len(influence), map)
    # The coefficients sum to 1 over all samples, not for each sample as with classes.
    cancelled = cancelled_sums(X) / len(X)

    def margin(y: np.ndarray) -> np.ndarray:
        z = margin_vector(X, rrelief_neighbors(index, influence, np.asarray(y, np.float64)))
        z[np.abs(z) <= cancelled] = 0.0
        return z

    return margin


def soft_margin(
    X: np.ndarray | MixedSamples, sigma: float, difference: str, map: Callable[..., Any] = map
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that maps targets to margin vectors z with soft hits and misses.

    Distances are computed once.
    """
    check_sigma(sigma)
    check_difference(difference)
    distances, once, cancelled = sample_distances(X, map=map), np.ones(len(X)), cancelled_sums(X)
    every = np.arange(X.shape[1])

    def margin(y: np.ndarray) -> np.ndarray:
        delta = target_difference(np.asarray(y, np.float64), difference)
        signed = signed_shares(distances, delta, sigma)
        if isinstance(X, MixedSamples):
            z = X.scores(signed, once)
        else:
            z = exact_scores(X, every, score_pairs(signed, once))
        z[np.abs(z) <= cancelled] = 0.0
        return z

    return margin


def shadow_margin(
    X: np.ndarray | MixedSamples,
    y: np.ndarray,
    draws: ShadowDraws,
    settings: Any,
) -> Margins:
    """Return z of the features, averaged over draws of shadow columns, and z of the shadows.

    See :func:`convexfs.neighbors.shadow_columns.shadow_margins`.
    """
    sigma = settings.sigma
    if sigma is None:
        influence = neighbor_influence(len(X), settings.n_neighbors, settings.spread)

        def neighbors_at(distances: np.ndarray) -> SignedNeighbors:
            return rrelief_neighbors(nearest_at(distances, len(influence)), influence, y)
    else:
        delta = target_difference(y, settings.difference)

        def neighbors_at(distances: np.ndarray) -> SignedNeighbors:
            return all_pairs(signed_shares(distances, delta, sigma))

    return shadow_margins(X, draws, neighbors_at)


def _check_l1(l1: float) -> None:
    check_number("l1, a share of the largest margin,", l1, 0, 1)


def _priced(z: np.ndarray, l1: float) -> Numbers:
    return {"z": z}, {"lam": l1 * float(max(z.max(initial=0.0), 0.0))}
