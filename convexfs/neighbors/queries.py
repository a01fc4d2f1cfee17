"""Distances of new samples from known ones; values may be missing in both."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from convexfs.neighbors.missing_values import MixedSamples, as_if_all_seen, mixed_samples


def known_to(new: np.ndarray, known: np.ndarray | MixedSamples) -> np.ndarray | MixedSamples:
    """Return the known samples, as MixedSamples if the new ones have missing values."""
    if isinstance(known, MixedSamples) or not np.isnan(new).any():
        return known
    return mixed_samples(known, np.zeros(known.shape[1], dtype=bool), "hybrid")


def distances_to(
    known: np.ndarray | MixedSamples, weights: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that maps new samples to their weighted distances from the known ones."""
    used = np.flatnonzero(weights)
    if isinstance(known, MixedSamples):
        few = known[:, used]
        return lambda new: distances_to_known(new[:, used], few, weights[used])
    targets = _weighted(known, used, weights)
    return lambda new: cdist(_weighted(new, used, weights), targets, "cityblock")


def _weighted(X: np.ndarray, used: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray(X[:, used], dtype=np.float64) * weights[used]


def distances_to_known(values: np.ndarray, known: MixedSamples, weights: np.ndarray) -> np.ndarray:
    """Return weighted distances (new, known) of new samples from known ones with missing values.

    What is missing of either is expected to be a known value, of any class: that of a new
    sample is not known. Under the rule "observed" only what both have counts.

    Parameters
    ----------
    values : array (M, J)
        As the known samples were given; NaN where one is missing.
    known : MixedSamples
    weights : array (J,)

    Returns
    -------
    array (M, N)
    """
    gone = np.isnan(values)
    x, seen = np.where(gone, 0.0, (values - known.centre) * known.scale), 1.0 - gone
    d = np.array([_seen_distances(*row, known, weights) for row in zip(x, seen, strict=True)])
    if known.rule == "observed":
        return as_if_all_seen(d, (seen * weights) @ known.seen.T, float(weights.sum()))
    lacking = 1.0 - known.seen
    d += (seen * _from_known(x, known) * weights) @ lacking.T
    d += (gone * weights) @ known.expected.one[0].T
    return d + (gone * (weights * known.expected.both[0, 0])) @ lacking.T


def _from_known(x: np.ndarray, known: MixedSamples) -> np.ndarray:
    """Return the mean difference of each new value from the known values of its feature."""
    apart = (np.minimum(np.abs(known.x - row), known.cap) for row in x)
    sums = np.array([(each * known.seen).sum(axis=0) for each in apart])
    return sums / np.maximum(known.seen.sum(axis=0), 1.0)


def _seen_distances(
    x: np.ndarray, seen: np.ndarray, known: MixedSamples, weights: np.ndarray
) -> np.ndarray:
    apart = np.minimum(np.abs(known.x - x), known.cap)
    return (apart * known.seen) @ (seen * weights)
