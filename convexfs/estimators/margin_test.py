"""Test features by their margins, for methods whose weights are normalised."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.estimators.selector import WeightSelector
from convexfs.methods.base.formulation import parameters
from convexfs.neighbors.hits_misses import NeighborOrder, SignedNeighbors, signed_neighbors_at
from convexfs.neighbors.margins import cancelled_sums, margin_vector
from convexfs.neighbors.sample_weight import alike_pairs
from convexfs.neighbors.shadow_columns import (
    Margins,
    ShadowDraws,
    feature_deviations,
    shadow_margins,
)

#: Fraction of each class that counts as neighbours.
_NEAR = 0.25
_METRIC = "sqeuclidean"


@parameters
class MarginTested(WeightSelector):
    """Base of Simba and Lmba, whose weights are normalised: margins are tested instead.

    Such weights share a sum or a largest value, whatever the labels, so that tests use margins
    instead.
    """

    def _statistic_at_labels(self, X: Any, seed: int) -> Callable[..., Any] | None:
        return margin_at_labels(X)

    def _shadow_margins(self, X: Any, codes: np.ndarray, draws: ShadowDraws) -> Margins | None:
        terms = alike_pairs(codes)

        def near(distances: np.ndarray) -> SignedNeighbors:
            return signed_neighbors_at(distances, codes, _NEAR, "nearest").times(terms)

        return shadow_margins(X, draws, near, _METRIC, codes)

    @property
    def _pairs_alike(self) -> bool:
        return True

    def _evidence_units(self, X: Any) -> np.ndarray:
        return feature_deviations(X) ** 2

    def _operations(self, X: np.ndarray) -> float | None:
        return _NEAR * X.shape[0] * X.size


def margin_at_labels(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that maps class labels to the margin of every feature.

    It is how much farther the nearest samples of other classes are than those of the own,
    squared and with all weights 1. A quarter of each class is near: with some neighbours fixed
    in number, margins of noise scatter more beside true features than at permuted labels.
    Distances are sorted once.
    """
    order, cancelled = NeighborOrder(X, _METRIC), cancelled_sums(X, _METRIC)

    def margin(codes: np.ndarray) -> np.ndarray:
        z = margin_vector(X, order.signed(codes, _NEAR, "nearest"), _METRIC)
        return np.where(np.abs(z) <= cancelled, 0.0, z)

    return margin
