"""Sums over pairs of neighbours of the outer products of their differences."""

import numpy as np
from scipy import sparse

from convexfs.neighbors.hits_misses import SignedNeighbors


def signed_scatter(X: np.ndarray, neighbors: SignedNeighbors) -> np.ndarray:
    r"""``Sigma = sum_n (mean m m' over its misses - mean h h' over its hits)`` (LFE eq. 12).

    With C the signed weights of all pairs,

    .. math::
        \Sigma = \sum_{n,i} C_{ni} (x_n - x_i)(x_n - x_i)^T = X^T L X,\qquad
        L = \mathrm{diag}((C + C^T) 1) - C - C^T,

    so that the work is one sparse and one dense product.
    """
    # Differences do not see the mean; taking it off keeps their rounding small.
    centred = X - X.mean(axis=0)
    Sigma = centred.T @ (signed_laplacian(neighbors) @ centred)
    return 0.5 * (Sigma + Sigma.T)


def signed_laplacian(neighbors: SignedNeighbors) -> sparse.csr_array:
    """L of :func:`signed_scatter`, sparse."""
    n = len(neighbors.index)
    row, group, rank = np.nonzero(neighbors.coefficient)
    index = neighbors.index[row, group, rank]
    weight = neighbors.coefficient[row, group, rank]
    C = sparse.csr_array((weight, (row, index)), shape=(n, n))
    both = C + C.T
    return sparse.csr_array(sparse.diags_array(both.sum(axis=1)) - both)
