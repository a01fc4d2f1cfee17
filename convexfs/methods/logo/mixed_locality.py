"""Logo's view of samples of any kind: numbers, or with missing values and categories."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from convexfs.methods.logo.locality import Locality, few_rows
from convexfs.neighbors.counted import SampleWeights
from convexfs.neighbors.difference_slopes import pairs_of
from convexfs.neighbors.differences import MixedSamples, of_classes


class MixedLocality(Locality):
    """The same of samples with missing values or categories, in memory."""

    X: MixedSamples

    @cached_property
    def plain_distances(self) -> np.ndarray:
        """Distances with all weights 1."""
        return self.X.distances(map=self.map) if self.known is None else self.known

    def at_labels(self, codes: np.ndarray) -> Locality:
        if self.X.rule != "class":
            return super().at_labels(codes)
        return locality_of(self.X, codes, self.sigma, map, weights=self.weights)

    def take(self, index: np.ndarray) -> MixedSamples:
        return self.X[:, index]

    def distances(self, columns: MixedSamples, w: np.ndarray) -> np.ndarray:
        return columns.distances(w)

    def margins(self, columns: MixedSamples, signed: np.ndarray) -> np.ndarray:
        return columns.margins(signed)[self.rows]

    def scores(
        self, signed: np.ndarray, p: np.ndarray, dropped: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.X.scores(signed, p, self.map), np.zeros(self.X.shape[1])

    def exact_scores(self, index: np.ndarray, signed: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self.X[:, index].scores(signed, p, self.map)

    def turning(
        self,
        columns: MixedSamples,
        w: np.ndarray,
        signed: np.ndarray,
        pulls: np.ndarray,
        dropped_share: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        curved, moved = np.zeros((len(w), len(w))), np.zeros(columns.shape)
        for rows in few_rows(columns.size, len(columns)):
            pairs = pairs_of(columns, rows, w)
            off = pairs.deviations(signed[rows])
            moved[rows] = ((off @ w)[:, None] @ pairs.slope)[:, 0]
            pulled = (off * pulls[rows, None, None]).reshape(-1, len(w))
            curved += pulled.T @ pairs.slope.reshape(-1, len(w))
        return curved, moved


def locality_of(
    X: Any,
    codes: np.ndarray,
    sigma: float,
    map: Callable[..., Any] = map,
    known: np.ndarray | None = None,
    weights: SampleWeights | None = None,
) -> Locality:
    """Samples of any kind as what Logo sees of them."""
    kind = MixedLocality if isinstance(X, MixedSamples) else Locality
    return kind(of_classes(X, codes), codes, sigma, map, known, weights)
