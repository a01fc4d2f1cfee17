"""Fit Logo for regression: the same fixed point, with soft hits and misses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, Step, parameters, taken_by
from convexfs.methods.logo.fit import (
    Locality,
    LogoRequest,
    LogoResult,
    MixedLocality,
    fit_locality,
    step_at,
)
from convexfs.methods.logo.fit import Settings as LogoSettings
from convexfs.neighbors import regression
from convexfs.neighbors.missing_values import MixedSamples


@parameters
class Settings:
    """Parameters of Logo for regression; see :class:`convexfs.LogoRegressor`."""

    difference: str = "rank"
    algorithm: str = LogoSettings.algorithm
    damping: float = LogoSettings.damping
    tol: float = LogoSettings.tol
    max_iter: int = LogoSettings.max_iter
    sigma: float = LogoSettings.sigma
    lam: float | str = LogoSettings.lam
    n_permutations: int = LogoSettings.n_permutations
    beta: float | None = LogoSettings.beta
    prune: bool = LogoSettings.prune
    start: Any = LogoSettings.start
    n_starts: int = LogoSettings.n_starts


@dataclass(frozen=True)
class SoftLocality(Locality):
    """Locality of a numeric target: a pair is a miss to the degree that its targets differ."""

    difference: str = "rank"

    @cached_property
    def delta(self) -> np.ndarray:
        return regression.target_difference(self.codes, self.difference)

    @cached_property
    def rows(self) -> np.ndarray:
        return np.flatnonzero(regression.has_both(self.delta))

    def signed_at(self, distances: np.ndarray) -> np.ndarray:
        return regression.signed_shares(distances, self.delta, self.sigma)

    def soft_margins(self, distances: np.ndarray, signed: np.ndarray) -> np.ndarray:
        near = -distances[self.rows] / self.sigma
        rest = 1.0 - self.delta - np.eye(len(self.delta))
        miss, hit = (
            np.asarray(logsumexp(near, 1, part / part.sum(1, keepdims=True)))
            for part in (self.delta[self.rows], rest[self.rows])
        )
        return self.sigma * (hit - miss)

    def hit_shares(self, distances: np.ndarray, signed: np.ndarray) -> np.ndarray:
        return regression.soft_shares(distances, self.delta, self.sigma)[1]


class SoftMixedLocality(SoftLocality, MixedLocality):
    """SoftLocality of samples with missing values or categorical features."""

    # Signs do not separate misses from hits here, because every sample is partly both.
    at_labels, turning = Locality.at_labels, Locality.turning

    def products(
        self, columns: MixedSamples, signed: np.ndarray, p: np.ndarray, dropped_share: float
    ) -> np.ndarray:
        curved = np.zeros((columns.shape[1], columns.shape[1]))
        for n, weights in enumerate(self.on_all_samples(p)[:, None] * signed):
            apart = differences(columns, n)
            curved += apart.T @ (apart * weights[:, None])
        return curved


def differences(samples: MixedSamples, n: int) -> np.ndarray:
    """Return the differences (N, J) of one sample from all; expected ones for missing values."""
    gone, one, both = 1.0 - samples.seen, samples.expected.one[0], samples.expected.both[0, 0]
    apart = np.minimum(np.abs(samples.x[n] - samples.x), samples.cap)
    apart *= samples.seen[n] * samples.seen
    return apart + one[n] * gone + gone[n] * (one + both * gone)


def logo_regression(
    X: np.ndarray | MixedSamples,
    y: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    seed: Any = None,
    map: Callable[..., Any] = map,
    watch: Callable[[str], Any] | None = None,
    permuted: Callable[..., np.ndarray] | None = None,
) -> LogoResult:
    r"""Compute feature weights by Logo for a numeric target.

    The fixed point of :func:`convexfs.methods.logo.fit.logo`, with the same convex step, proofs
    and parameters. What differs is who is near: every sample is a miss of another by the share
    :math:`\delta` that their targets differ, and a hit by :math:`1 - \delta`; see
    :mod:`convexfs.neighbors.regression`. Classes are the case of :math:`\delta` 0 and 1.

    Parameters
    ----------
    X : array (N, J), or MixedSamples
    y : array (N,)
        Numbers.
    settings, solving, seed, map, watch, permuted
        As for Logo.
    """
    settings = settings or Settings()
    request = _request(settings, solving)
    request.check()
    return fit_locality(_locality(X, y, settings, map), request, seed, watch, permuted)


def step(
    X: np.ndarray | MixedSamples,
    y: np.ndarray,
    settings: Settings,
    solving: Solving,
    *,
    at: np.ndarray | None = None,
    lam: float | None = None,
    permuted: Callable[..., np.ndarray] | None = None,
) -> Step:
    """Return the convex problem (Step) over all features with neighbours at weights `at`."""
    return step_at(_locality(X, y, settings), _request(settings, solving), at, lam, permuted)


def _request(settings: Settings, solving: Solving) -> LogoRequest:
    return LogoRequest(LogoSettings(**taken_by(LogoSettings, settings)), solving)


def _locality(
    X: np.ndarray | MixedSamples, y: np.ndarray, settings: Settings, map: Callable[..., Any] = map
) -> SoftLocality:
    regression.check_difference(settings.difference)
    y = np.asarray(y, dtype=np.float64)
    kind = SoftMixedLocality if isinstance(X, MixedSamples) else SoftLocality
    return kind(X, y, float(settings.sigma), map, difference=settings.difference)
