"""Derivatives of distances and margins with respect to weights, with missing values."""

from dataclasses import dataclass

import numpy as np

from convexfs.neighbors.missing_values import MixedSamples


@dataclass(frozen=True)
class Pairs:
    """Differences of some rows from all samples and their derivatives, arrays (rows, N, J).

    Attributes
    ----------
    counted : array
        What margins are means of.
    seen : array
        How much each counts in them.
    slope : array
        That of distances by the weights.
    by_share : bool
        Whether margins are multiplied by the harmonic mean of the shares seen.
    """

    counted: np.ndarray
    seen: np.ndarray
    slope: np.ndarray
    by_share: bool = False

    def deviations(self, signed: np.ndarray) -> np.ndarray:
        """Return the derivative of the margins in the logarithm of each pair's weight.

        Of a mean it is what a difference has beyond the mean, of a share seen what a pair has
        beyond the share.
        """
        far, near = self._side(np.maximum(signed, 0.0)), self._side(np.maximum(-signed, 0.0))
        apart = far.off_mean - near.off_mean
        if not self.by_share:
            return apart
        both = far.share + near.share
        both = np.where(both > 0, both, 1.0)
        # Harmonic mean 2 f n / (f + n); its slope by f is 2 (n / (f + n))^2.
        counts = 2.0 * far.share * near.share / both
        turned = (near.share / both) ** 2 * far.off_share
        turned += (far.share / both) ** 2 * near.off_share
        return counts * apart + 2.0 * (far.mean - near.mean) * turned

    def _side(self, mass: np.ndarray) -> "_Side":
        mass, whole = mass[:, :, None], mass.sum(axis=1)[:, None, None]
        counted = mass * self.seen
        seen = counted.sum(axis=1, keepdims=True)
        counted /= np.where(seen > 0, seen, 1.0)
        mean = (counted * self.counted).sum(axis=1, keepdims=True)
        whole_or_1 = np.where(whole > 0, whole, 1.0)
        share = seen / whole_or_1
        return _Side(
            share=share,
            mean=whole * mean,
            off_mean=whole * counted * (self.counted - mean),
            off_share=mass / whole_or_1 * (self.seen - share),
        )


@dataclass(frozen=True)
class _Side:
    """The hits or the misses: observed fraction and mean difference, with their derivatives."""

    share: np.ndarray
    mean: np.ndarray
    off_mean: np.ndarray
    off_share: np.ndarray


def pairs_of(samples: MixedSamples, rows: slice, w: np.ndarray) -> Pairs:
    """Return some rows' differences from all samples and their derivatives at w; few features."""
    seen = samples.seen[rows, None] * samples.seen
    counted = seen * np.minimum(np.abs(samples.x[rows, None] - samples.x), samples.cap)
    if samples.rule == "observed":
        weight = (seen @ w)[:, :, None]
        weight[weight == 0] = 1.0
        mean = (counted @ w)[:, :, None] / weight
        return Pairs(counted, seen, mean + w.sum() * seen * (counted - mean) / weight)
    expected, gone = samples.expected, 1.0 - samples.seen
    groups, own = expected.groups, expected.groups[rows]
    apart = counted + expected.one[groups][:, rows].transpose(1, 0, 2) * gone
    apart += gone[rows, None] * (expected.one[own] + gone * expected.both[own][:, groups])
    if samples.rule == "class":
        return Pairs(apart, np.ones(apart.shape), apart)
    return Pairs(counted, seen, apart, by_share=True)
