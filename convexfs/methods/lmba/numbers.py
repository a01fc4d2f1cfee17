"""Compute the data of Lmba's problems from samples."""

from typing import Any

import numpy as np

from convexfs.errors import check_number
from convexfs.neighbors.triplets import target_neighbors


def lmba_simplex(
    X: np.ndarray, codes: np.ndarray, *, c: float, n_neighbors: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the data of Lmba's problem: target neighbours and margins at weights 1, and c."""
    check_number("c", c, 0, open_ends=True)
    # Beyond this range, one part of the loss is lost in rounding.
    check_number("c, a penalty,", c, 1e-30, 1e30)
    X = np.asarray(X, dtype=np.float64)
    targets = target_neighbors(X, codes, n_neighbors)
    values = {"X": X, "codes": codes, "targets": targets.index, "theta": targets.theta}
    return values, {"c": float(c)}


lmba_box = lmba_simplex
