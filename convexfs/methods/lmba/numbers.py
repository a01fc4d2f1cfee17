"""What Lmba's problems are made of, computed from samples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.errors import check_number
from convexfs.neighbors.hits_misses import NeighborOrder, cancelled_sums, margin_vector
from convexfs.neighbors.triplets import target_neighbors

_METRIC = "sqeuclidean"
#: Share of each class that counts as near where margins are held against permuted labels.
NEAR_SHARE = 0.25


def lmba_simplex(
    X: np.ndarray, codes: np.ndarray, *, c: float, n_neighbors: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the numeric half: target neighbours and margins, measured with all weights 1."""
    check_number("c", c, 0, open_ends=True)
    check_number("c, a price,", c, 1e-30, 1e30)  # beyond, one part of the loss is rounding
    X = np.asarray(X, dtype=np.float64)
    targets = target_neighbors(X, codes, n_neighbors)
    values = {"X": X, "codes": codes, "targets": targets.index, "theta": targets.theta}
    return values, {"c": float(c)}


lmba_box = lmba_simplex


def margin_at_labels(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from classes to a margin of every feature.

    It is how much farther the nearest samples of other classes are than those of the own,
    squared and with all weights 1. A quarter of each class is near: with some neighbours fixed
    in number, margins of noise scatter more beside true features than at permuted labels.
    Distances are sorted once.
    """
    order, cancelled = NeighborOrder(X, _METRIC), cancelled_sums(X, _METRIC)

    def margin(codes: np.ndarray) -> np.ndarray:
        z = margin_vector(X, order.signed(codes, NEAR_SHARE, "nearest"), _METRIC)
        return np.where(np.abs(z) <= cancelled, 0.0, z)

    return margin
