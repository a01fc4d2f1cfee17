"""Samples to be classified, seen from known ones of which values may be missing."""

import numpy as np

from convexfs.neighbors.differences import MixedSamples, as_if_all_seen


def distances_to_known(values: np.ndarray, known: MixedSamples, weights: np.ndarray) -> np.ndarray:
    """Distances of new samples from known ones, at the weights.

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
    """Mean difference of each value from those that are known of its feature."""
    count = np.maximum(known.seen.sum(axis=0), 1.0)
    return (
        np.array(
            [(np.minimum(np.abs(known.x - row), known.cap) * known.seen).sum(axis=0) for row in x]
        )
        / count
    )


def _seen_distances(
    x: np.ndarray, seen: np.ndarray, known: MixedSamples, weights: np.ndarray
) -> np.ndarray:
    apart = np.minimum(np.abs(known.x - x), known.cap)
    return (apart * known.seen) @ (seen * weights)
