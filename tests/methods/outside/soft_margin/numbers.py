"""Compute the data of the problem from samples."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist


def soft_margin(X: np.ndarray, codes: np.ndarray, *, lam: float) -> tuple[dict[str, Any], ...]:
    """Return the rows z_n = |x_n - nearest miss| - |x_n - nearest hit|."""
    far = cdist(X, X, "cityblock")
    np.fill_diagonal(far, np.inf)
    same = codes[:, None] == codes
    hit = np.where(same, far, np.inf).argmin(axis=1)
    miss = np.where(same, np.inf, far).argmin(axis=1)
    return {"Z": np.abs(X - X[miss]) - np.abs(X - X[hit])}, {"lam": lam}
