"""Compute the data of LFE's problems from samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from convexfs.errors import check_number
from convexfs.neighbors.hits_misses import SignedNeighbors, signed_neighbors

#: Sigma is 0 if its entries are below this fraction of the largest possible: they are rounding
#: errors.
_ROUNDING = 1e-15


def lfe(
    X: np.ndarray, codes: np.ndarray, *, n_neighbors: int, miss: str, map: Callable[..., Any] = map
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the data of eq. 8: the matrix Sigma over all features."""
    neighbors = signed_neighbors(X, codes, n_neighbors, "sqeuclidean", miss, map)
    return with_penalty(scatter(X, neighbors), "closed", 0.0)


def lfe_trace(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    n_neighbors: int,
    miss: str,
    lam_share: float = 0.0,
    map: Callable[..., Any] = map,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the data of both penalised forms: Sigma, and `lam_share` of its largest eigenvalue."""
    check_share(lam_share)
    Sigma = lfe(X, codes, n_neighbors=n_neighbors, miss=miss, map=map)[0]["Sigma"]
    return with_penalty(Sigma, "trace", lam_share)


def check_share(lam_share: Any) -> None:
    """Raise unless the penalty is between 0 and 1, as a fraction of the largest eigenvalue."""
    check_number("lam, a share of the largest eigenvalue,", lam_share, 0, 1)


def scatter(samples: np.ndarray, neighbors: SignedNeighbors) -> np.ndarray:
    """Return Sigma of samples and their signed neighbours; all 0 if it is only rounding error."""
    Sigma = signed_scatter(samples, neighbors)
    largest = len(samples) * float(np.ptp(samples, axis=0).max()) ** 2
    return Sigma if np.abs(Sigma).max() > _ROUNDING * largest else np.zeros_like(Sigma)


def signed_scatter(X: np.ndarray, neighbors: SignedNeighbors) -> np.ndarray:
    r"""Return ``Sigma = sum_n (mean m m' over its misses - mean h h' over its hits)`` (eq. 12).

    With C the signed weights of all pairs,

    .. math::
        \Sigma = \sum_{n,i} C_{ni} (x_n - x_i)(x_n - x_i)^T = X^T L X,\qquad
        L = \mathrm{diag}((C + C^T) 1) - C - C^T,

    so that the work is one sparse and one dense product.
    """
    # Centring leaves differences unchanged and reduces rounding.
    centred = X - X.mean(axis=0)
    Sigma = centred.T @ (signed_laplacian(neighbors) @ centred)
    return 0.5 * (Sigma + Sigma.T)


def signed_laplacian(neighbors: SignedNeighbors) -> sparse.csr_array:
    """Return the sparse Laplacian L of :func:`signed_scatter`."""
    n = len(neighbors.index)
    row, group, rank = np.nonzero(neighbors.coefficient)
    index = neighbors.index[row, group, rank]
    C = sparse.csr_array((neighbors.coefficient[row, group, rank], (row, index)), shape=(n, n))
    both = C + C.T
    return sparse.csr_array(sparse.diags_array(both.sum(axis=1)) - both)


def with_penalty(
    Sigma: np.ndarray, form: str, lam_share: float
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return Sigma and, for penalised forms, lam: `lam_share` times its largest eigenvalue."""
    if form == "closed":
        return {"Sigma": Sigma}, {}
    last = len(Sigma) - 1
    largest = eigh(Sigma, eigvals_only=True, subset_by_index=(last, last))[0]
    return {"Sigma": Sigma}, {"lam": lam_share * max(float(largest), 0.0)}


lfe_row_sparse = lfe_trace
