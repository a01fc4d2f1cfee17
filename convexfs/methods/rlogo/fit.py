"""Logo for a target of numbers: the same fixed point, of soft hits and misses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from convexfs.methods.base.parameters import AS_USUAL, Solving, parameters
from convexfs.methods.logo.fit import Locality, LogoRequest, LogoResult, fit_locality
from convexfs.methods.logo.fit import Settings as LogoSettings
from convexfs.neighbors.feature_passes import weighted_distances
from convexfs.neighbors.soft_targets import (
    check_difference,
    has_both,
    signed_shares,
    soft_shares,
    target_difference,
)


@parameters
class Settings(LogoSettings):
    """Parameters of Logo for numbers; :class:`convexfs.LogoRegressor` says what they mean."""

    difference: str = "rank"


@dataclass(frozen=True)
class SoftLocality(Locality):
    """Samples whose ``codes`` are numbers: each is a miss of another by how much they differ."""

    difference: str = "rank"

    @cached_property
    def delta(self) -> np.ndarray:
        return target_difference(self.codes, self.difference)

    @cached_property
    def rows(self) -> np.ndarray:
        return np.flatnonzero(has_both(self.delta))

    def signed_at(self, distances: np.ndarray) -> np.ndarray:
        return signed_shares(distances, self.delta, self.sigma)

    def shares(
        self, columns: np.ndarray, w: np.ndarray, signed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(w)
        distances = weighted_distances(columns[:, used], w[used])
        return soft_shares(distances, self.delta, self.sigma)


def rlogo(
    X: np.ndarray,
    y: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = AS_USUAL,
    *,
    seed: Any = None,
    map: Callable[..., Any] = map,
    watch: Callable[[str], Any] | None = None,
) -> LogoResult:
    r"""Feature weights of Logo for a target of numbers.

    The fixed point of :func:`convexfs.methods.logo.fit.logo`, with the same convex step, proofs
    and parameters. What differs is who is near: every sample is a miss of another by the share
    :math:`\delta` that their targets differ, and a hit by :math:`1 - \delta`; see
    :mod:`convexfs.neighbors.soft_targets`. Classes are the case of :math:`\delta` 0 and 1.

    Parameters
    ----------
    X : array (N, J)
    y : array (N,)
        Numbers.
    settings, solving, seed, map, watch
        As for Logo.
    """
    settings = settings or Settings()
    request = LogoRequest(settings, solving)
    request.check()
    check_difference(settings.difference)
    y = np.asarray(y, dtype=np.float64)
    locality = SoftLocality(X, y, float(settings.sigma), map, difference=settings.difference)
    return fit_locality(locality, request, seed, watch)
