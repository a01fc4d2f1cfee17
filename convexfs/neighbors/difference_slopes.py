"""How distances and margins of samples with missing values change with the weights."""

from dataclasses import dataclass

import numpy as np

from convexfs.neighbors.differences import LEAST_SEEN, MixedSamples


@dataclass(frozen=True)
class Pairs:
    """Differences of some rows from all samples, arrays (rows, N, J).

    Attributes
    ----------
    counted : array
        What margins are means of.
    seen : array
        How much each counts in them.
    slope : array
        That of distances by the weights.
    least : float
        Share of hits and of misses that must be seen; below 0 if none must.
    """

    counted: np.ndarray
    seen: np.ndarray
    slope: np.ndarray
    least: float

    def deviations(self, signed: np.ndarray) -> np.ndarray:
        """Differences from their mean over the hits, or misses, each as it counts in margins."""
        far, enough_far = self._side(np.maximum(signed, 0.0))
        near, enough_near = self._side(np.maximum(-signed, 0.0))
        if self.least >= 0:
            enough_far = enough_near = enough_far & enough_near
        return far * enough_far - near * enough_near

    def _side(self, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share, whole = mass[:, :, None] * self.seen, mass.sum(axis=1)[:, None, None]
        seen = share.sum(axis=1, keepdims=True)
        share /= np.where(seen > 0, seen, 1.0)
        mean = (share * self.counted).sum(axis=1, keepdims=True)
        return whole * share * (self.counted - mean), seen > max(self.least, 0.0) * whole


def pairs_of(samples: MixedSamples, rows: slice, w: np.ndarray) -> Pairs:
    """All differences of some rows, for samples of few features at weights w."""
    seen = samples.seen[rows, None] * samples.seen
    counted = seen * np.minimum(np.abs(samples.x[rows, None] - samples.x), samples.cap)
    if samples.rule == "observed":
        weight = (seen @ w)[:, :, None]
        weight[weight == 0] = 1.0
        mean = (counted @ w)[:, :, None] / weight
        return Pairs(counted, seen, mean + w.sum() * seen * (counted - mean) / weight, -1.0)
    expected, gone = samples.expected, 1.0 - samples.seen
    groups, own = expected.groups, expected.groups[rows]
    apart = counted + expected.one[groups][:, rows].transpose(1, 0, 2) * gone
    apart += gone[rows, None] * (expected.one[own] + gone * expected.both[own][:, groups])
    if samples.rule == "class":
        return Pairs(apart, np.ones(apart.shape), apart, -1.0)
    return Pairs(counted, seen, apart, LEAST_SEEN)
