"""What LFE's problems are made of, computed from samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh

from convexfs.errors import check_number
from convexfs.neighbors.hits_misses import SignedNeighbors, signed_neighbors
from convexfs.neighbors.pair_sums import signed_scatter

#: What a term of Sigma errs by, relative to the largest there can be.
_ROUNDING = 1e-15


def lfe(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    n_neighbors: int,
    miss: str,
    map: Callable[..., Any] = map,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The numeric half of eq. 8: Sigma over all features."""
    neighbors = signed_neighbors(X, codes, n_neighbors, "sqeuclidean", miss, map)
    return priced(scatter(X, neighbors), "closed", 0.0)


def lfe_trace(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    n_neighbors: int,
    miss: str,
    lam_share: float = 0.0,
    map: Callable[..., Any] = map,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The numeric half of both forms with a price: Sigma and lam."""
    check_share(lam_share)
    Sigma = lfe(X, codes, n_neighbors=n_neighbors, miss=miss, map=map)[0]["Sigma"]
    return priced(Sigma, "trace", lam_share)


def check_share(lam_share: Any) -> None:
    """Raise unless the price of W is a share, between 0 and 1."""
    check_number("lam, a share of the largest eigenvalue,", lam_share, 0, 1)


def scatter(samples: np.ndarray, neighbors: SignedNeighbors) -> np.ndarray:
    """Sigma, 0 where all that is left of its sums is rounding."""
    Sigma = signed_scatter(samples, neighbors)
    largest = len(samples) * float(np.ptp(samples, axis=0).max()) ** 2
    return Sigma if np.abs(Sigma).max() > _ROUNDING * largest else np.zeros_like(Sigma)


def priced(
    Sigma: np.ndarray, form: str, lam_share: float
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Sigma and, but for the form as printed, lam as this share of its largest eigenvalue."""
    if form == "closed":
        return {"Sigma": Sigma}, {}
    last = len(Sigma) - 1
    largest = eigh(Sigma, eigvals_only=True, subset_by_index=(last, last))[0]
    return {"Sigma": Sigma}, {"lam": lam_share * max(float(largest), 0.0)}


lfe_row_sparse = lfe_trace
