r"""The largest tail of a unimodal law by its extreme points, and its duality gap.

Unimodal laws are mixtures of uniform ones on intervals that hold the mode. With one bound, on
the mean, two intervals are enough: the optimum is where the least concave function above the
points (mean, tail) of all intervals is at the mean allowed, and its slope there is the dual
multiplier.
"""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from convexfs.methods.base.solve_step import native_solution
from convexfs.records import Solution

Numbers = Mapping[str, Any]
#: Rounding error of a probability.
_ROUNDING = 1e-15


def stability_unimodal(tail: np.ndarray, share: np.ndarray, eta: float, mode: int = 0) -> Solution:
    """Solve the linear program: mix the two uniform laws whose chord is highest at `eta`."""
    start = time.perf_counter()
    laws = _uniform_laws(len(tail), mode)
    first, second, weight, slope = _highest_chord(laws @ share, laws @ tail, eta)
    p = (1.0 - weight) * laws[first] + weight * laws[second]
    return native_solution(start, {"p": p}, float(tail @ p), dual={"mean": np.array(slope)})


def violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of p's constraints: unimodal, sum 1, mean at most eta."""
    p, mode = np.asarray(primal["p"]), hyper.get("mode", 0)
    steps = np.diff(p)
    steps[:mode] *= -1.0  # Before the mode the probabilities rise.
    mean = np.asarray(values["share"]) @ p - hyper["eta"]
    return float(max(steps.max(initial=0.0), -p.min(), abs(p.sum() - 1.0), mean, 0.0))


def gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap: min over mu of ``mu eta + max (tail - mu mean)``, minus the tail.

    Where the tail is 0, rounding errors would be all there is: a gap within them is 0.
    """
    tail, share, eta = np.asarray(values["tail"]), np.asarray(values["share"]), hyper["eta"]
    laws = _uniform_laws(len(tail), hyper.get("mode", 0))
    means, tails = laws @ share, laws @ tail
    mu = _highest_chord(means, tails, eta)[3]
    apart = float(mu * eta + (tails - mu * means).max() - tail @ np.asarray(primal["p"]))
    return 0.0 if abs(apart) <= _ROUNDING else apart


def _uniform_laws(n: int, mode: int) -> np.ndarray:
    """Return the uniform laws on intervals of 0..n-1 that contain the mode, one per row."""
    first, last = (side.ravel() for side in np.mgrid[: mode + 1, mode:n])
    at = np.arange(n)
    inside = (at >= first[:, None]) & (at <= last[:, None])
    return inside / inside.sum(axis=1, keepdims=True)


def _highest_chord(
    means: np.ndarray, tails: np.ndarray, eta: float
) -> tuple[int, int, float, float]:
    """Return the chord that is highest at `eta`: two points, weight of the second, slope.

    The mean may be smaller than `eta`, so that a point left of it is a chord of slope 0.
    """
    low = means <= eta + _ROUNDING
    left, right = np.flatnonzero(low), np.flatnonzero(~low)
    best = int(left[np.argmax(tails[left])])
    if not len(right):
        return best, best, 0.0, 0.0
    rise = tails[right] - tails[left][:, None]
    slopes = rise / (means[right] - means[left][:, None])
    heights = tails[left][:, None] + slopes * (eta - means[left])[:, None]
    i, j = np.unravel_index(np.argmax(heights), heights.shape)
    if heights[i, j] <= tails[best]:
        # Multiplier of the mean constraint, from complementary slackness.
        steepest = ((tails[right] - tails[best]) / (means[right] - means[best])).max()
        return best, best, 0.0, max(float(steepest), 0.0)
    first, second = int(left[i]), int(right[j])
    weight = max((eta - means[first]) / (means[second] - means[first]), 0.0)
    return first, second, float(weight), float(slopes[i, j])
