"""Samples seen from weights: who is near, and the margins that makes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexfs.neighbors.feature_passes import (
    all_distances,
    feature_scores,
    margin_columns,
    score_pairs,
    take_columns,
    weighted_distances,
)
from convexfs.neighbors.soft import has_hit, signed_probabilities

#: Columns of which a float64 copy is small.
MOST_COLUMNS = 1000
#: A kernel width so small, relative to the largest distance, that only the nearest counts.
_NEAREST = 1e-9


@dataclass(frozen=True)
class Locality:
    """Samples with everything that turns weights into margins.

    Attributes
    ----------
    X : array (N, J)
        Any real dtype, in memory or memory-mapped.
    codes : int array (N,)
    sigma : float
    map : callable
        Carries passes over blocks of features.
    known : array (N, N), optional
        Distances with all weights 1, if they are known already.
    """

    X: np.ndarray
    codes: np.ndarray
    sigma: float
    map: Callable[..., Any] = map
    known: np.ndarray | None = None

    @cached_property
    def plain_distances(self) -> np.ndarray:
        """Distances with all weights 1."""
        if self.known is not None:
            return self.known
        if self.X.shape[1] <= MOST_COLUMNS:
            columns = take_columns(self.X, np.arange(self.X.shape[1]))
            return weighted_distances(columns, np.ones(self.X.shape[1]))
        return all_distances(self.X, self.map)

    @cached_property
    def rows(self) -> np.ndarray:
        """Samples that have a margin."""
        return np.flatnonzero(has_hit(self.codes))

    def signed(self, columns: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Signed neighbour probabilities at the weights of a few columns."""
        used = np.flatnonzero(w)
        return self.signed_at(weighted_distances(columns[:, used], w[used]))

    def signed_at(self, distances: np.ndarray) -> np.ndarray:
        return signed_probabilities(distances, self.codes, self.sigma)

    def shares(
        self, columns: np.ndarray, w: np.ndarray, signed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of misses and of hits at w, whose difference is `signed`."""
        return np.maximum(signed, 0.0), np.maximum(-signed, 0.0)

    def margins(self, columns: np.ndarray, signed: np.ndarray) -> np.ndarray:
        """Return the margin matrix of a few columns."""
        return margin_columns(columns, signed)[self.rows]

    def on_all_samples(self, p: np.ndarray) -> np.ndarray:
        full = np.zeros(len(self.codes))
        full[self.rows] = p
        return full


def lam_max(locality: Locality) -> float:
    """Return the least lam at which w = 0 is a fixed point: ``max_j sum_n zbar_n(j) / 2``."""
    signed = locality.signed_at(np.zeros((len(locality.codes), len(locality.codes))))
    half = locality.on_all_samples(np.full(len(locality.rows), 0.5))
    scores, _ = feature_scores(locality.X, score_pairs(signed, half), locality.map)
    return float(np.max(scores, initial=0.0))


def relief_margin(locality: Locality) -> np.ndarray:
    """Return RELIEF's margin vector: the nearest miss of each sample minus its nearest hit."""
    distances = locality.plain_distances
    width = _NEAREST * max(float(distances.max()), np.finfo(float).tiny)
    signed = replace(locality, sigma=width).signed_at(distances)
    once = np.ones(len(locality.codes))
    return feature_scores(locality.X, score_pairs(signed, once), locality.map)[0]
