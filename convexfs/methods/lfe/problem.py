r"""LFE, RELIEF with a full distance matrix, as semidefinite programs.

Symbols: :math:`\Sigma = \sum_n m_n m_n^T - h_n h_n^T` with m and h the
differences of a sample to its nearest miss and hit, W the distance matrix,
lam a penalty.
"""

import cvxpy as cp
import numpy as np


def lfe(Sigma: np.ndarray) -> cp.Problem:
    r"""Find the distance matrix that maximises the summed margin (Sun & Wu 2009, eq. 8).

    .. math::
        \max_W\; \mathrm{tr}(W \Sigma)
        \quad\text{s.t.}\quad \|W\|_F \le 1,\; W \succeq 0

    The paper prints :math:`\|W\|_F = 1`, which is not convex; with ``<=`` the
    bound is tight exactly when some eigenvalue of Sigma is positive.
    """
    W, constraints = _unit_psd(len(Sigma))
    return cp.Problem(cp.Maximize(cp.trace(W @ Sigma)), constraints)


def lfe_trace(Sigma: np.ndarray, lam: float | cp.Parameter = 0.0) -> cp.Problem:
    r"""Maximise the margin with a penalty on the trace of W, for fewer components.

    .. math::
        \max_W\; \mathrm{tr}(W \Sigma) - \lambda\, \mathrm{tr}(W)
        \quad\text{s.t.}\quad \|W\|_F \le 1,\; W \succeq 0

    The trace is the nuclear norm of W: eigenvalues of Sigma up to lam drop out.
    """
    W, constraints = _unit_psd(len(Sigma))
    return cp.Problem(cp.Maximize(cp.trace(W @ Sigma) - lam * cp.trace(W)), constraints)


def lfe_row_sparse(Sigma: np.ndarray, lam: float | cp.Parameter = 0.0) -> cp.Problem:
    r"""Maximise the margin with a penalty on the rows of W, for fewer features.

    .. math::
        \max_W\; \mathrm{tr}(W \Sigma) - \lambda \sum_i \|W_{i\cdot}\|_2
        \quad\text{s.t.}\quad \|W\|_F \le 1,\; W \succeq 0

    A feature whose row vanishes has left the metric altogether.
    """
    W, constraints = _unit_psd(len(Sigma))
    price = lam * cp.sum(cp.norm(W, 2, axis=1))
    return cp.Problem(cp.Maximize(cp.trace(W @ Sigma) - price), constraints)


def _unit_psd(size: int) -> tuple[cp.Variable, list[cp.Constraint]]:
    W = cp.Variable((size, size), name="W", symmetric=True)
    return W, [(cp.norm(W, "fro") <= 1).set_label("norm"), (W >> 0).set_label("psd")]
