"""What Lmba's problems are made of, computed from samples."""

from typing import Any

import numpy as np

from convexfs.errors import check_number
from convexfs.neighbors.triplets import target_neighbors


def lmba_simplex(
    X: np.ndarray, codes: np.ndarray, *, c: float, n_neighbors: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the numeric half: target neighbours and margins, measured with all weights 1."""
    check_number("c", c, 0, open_ends=True)
    check_number("c, a penalty,", c, 1e-30, 1e30)  # beyond, one part of the loss is rounding
    X = np.asarray(X, dtype=np.float64)
    targets = target_neighbors(X, codes, n_neighbors)
    values = {"X": X, "codes": codes, "targets": targets.index, "theta": targets.theta}
    return values, {"c": float(c)}


lmba_box = lmba_simplex
