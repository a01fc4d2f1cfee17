r"""LMNN, the metric of large margin nearest neighbours, as a semidefinite program.

Symbols: x samples, t their target neighbours (-1: none), :math:`d_M(x_i, x_j) =
(x_i - x_j)^T M (x_i - x_j)`, c the penalty of an impostor's invasion. A triplet
(i, j, p) is a sample, one of its targets and a sample of another class.
"""

import cvxpy as cp
import numpy as np


def lmnn(
    X: np.ndarray, targets: np.ndarray, triplets: np.ndarray, c: float | cp.Parameter = 1.0
) -> cp.Problem:
    r"""Keep targets near and impostors farther by 1 (Weinberger & Saul 2009, Sec. 3.2).

    .. math::
        \min_{M,\xi}\; \sum_{i,j} t_{ij} d_M(x_i, x_j) + c \sum_{i,j,p} \xi_{ijp}
        \quad\text{s.t.}\quad d_M(x_i, x_p) - d_M(x_i, x_j) \ge 1 - \xi_{ijp},\;
        \xi \ge 0,\; M \succeq 0

    The second sum is over `triplets`, int array (T, 3). The optimum over all of
    them is that over the few that are invaded, see :func:`convexfs.methods.lmnn.fit.lmnn`.
    """
    i, j, p = triplets.T
    M = cp.Variable((X.shape[1], X.shape[1]), name="M", symmetric=True)
    xi = cp.Variable(len(triplets), name="xi")
    sample, rank = np.nonzero(targets >= 0)
    near = X[sample] - X[targets[sample, rank]]
    farther = (_outer(X[i] - X[p]) - _outer(X[i] - X[j])) @ cp.vec(M, order="F")
    margins = [(farther >= 1 - xi).set_label("margin"), (xi >= 0).set_label("slack")]
    cost = cp.trace(M @ (near.T @ near)) + c * cp.sum(xi)
    return cp.Problem(cp.Minimize(cost), [*margins, (M >> 0).set_label("psd")])


def _outer(differences: np.ndarray) -> np.ndarray:
    """Return rows ``vec(d d')``, whose products with ``vec(M)`` are the distances ``d'Md``."""
    return np.einsum("nf,ng->nfg", differences, differences).reshape(len(differences), -1)
