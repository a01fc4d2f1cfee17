r"""Convex problems for the s-vector of knockoffs.

Symbols: :math:`\Sigma` the correlation matrix of the features, D(s) the diagonal matrix of s. A
feature and its knockoff have correlation :math:`1 - s_j`. A feature and the knockoff of another one
have the correlation of the two features. Such copies exist if and only if :math:`s \ge 0` and
:math:`2 \Sigma - D(s) \succeq 0`.
"""

import cvxpy as cp
import numpy as np


def knockoffs_me(Sigma: np.ndarray) -> cp.Problem:
    r"""Maximise the joint entropy of features and knockoffs.

    .. math:: \max_s\; \sum_j \log s_j + \log\det(2 \Sigma - D(s))

    which is the logarithm of the determinant of their joint correlation matrix (Spector &
    Janson 2022). The logarithms keep s inside the cone.
    """
    s = cp.Variable(len(Sigma), name="s")
    rest = 2 * cp.Constant(Sigma) - cp.diag(s)
    return cp.Problem(cp.Maximize(cp.sum(cp.log(s)) + cp.log_det(rest)))


def knockoffs_mvr(Sigma: np.ndarray) -> cp.Problem:
    r"""Minimise the reconstructability of each feature from the others and all knockoffs.

    .. math:: \min_s\; \sum_j 1 / s_j + \mathrm{tr}\,(2 \Sigma - D(s))^{-1}

    which is the trace of their inverse joint correlation matrix: the sum over all of one over
    the variance that the others leave unexplained (Spector & Janson 2022).
    """
    s = cp.Variable(len(Sigma), name="s")
    rest = 2 * cp.Constant(Sigma) - cp.diag(s)
    return cp.Problem(cp.Minimize(cp.sum(cp.inv_pos(s)) + cp.tr_inv(rest)))


def knockoffs_sdp(Sigma: np.ndarray) -> cp.Problem:
    r"""Minimise the total correlation of features with their own knockoffs.

    .. math::
        \max_s\; 1^T s \quad\text{s.t.}\quad 0 \le s \le 1,\; 2 \Sigma - D(s) \succeq 0

    (Candes et al. 2018, Sec. 3.4.)
    """
    s = cp.Variable(len(Sigma), name="s")
    return cp.Problem(cp.Maximize(cp.sum(s)), _copies_exist(s, Sigma))


def knockoffs_equi(Sigma: np.ndarray) -> cp.Problem:
    r"""Maximise the s-vector with equal entries (equicorrelated knockoffs).

    .. math::
        \max_{s,t}\; 1^T s \quad\text{s.t.}\quad s = t 1,\; 0 \le s \le 1,\;
        2 \Sigma - D(s) \succeq 0

    whose optimum is :math:`t = \min(1, 2 \lambda_{\min}(\Sigma))`.
    """
    s, t = cp.Variable(len(Sigma), name="s"), cp.Variable(name="t")
    equal = (s == t).set_label("equal")  # type: ignore[attr-defined]
    return cp.Problem(cp.Maximize(cp.sum(s)), [equal, *_copies_exist(s, Sigma)])


def _copies_exist(s: cp.Variable, Sigma: np.ndarray) -> list[cp.Constraint]:
    return [
        (s >= 0).set_label("sign"),
        (s <= 1).set_label("one"),
        (2 * cp.Constant(Sigma) - cp.diag(s) >> 0).set_label("psd"),
    ]
