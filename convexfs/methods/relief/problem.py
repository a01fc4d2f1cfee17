"""RELIEF as a second-order cone program."""

import cvxpy as cp
import numpy as np


def relief(z: np.ndarray, lam: float | cp.Parameter = 0.0) -> cp.Problem:
    r"""Maximise the summed margin over the weights (Sun & Wu 2009, eq. 4).

    .. math::
        \max_w\; w^T z - \lambda 1^T w
        \quad\text{s.t.}\quad \|w\|_2 \le 1,\; w \ge 0

    z is the margin vector :math:`\sum_n |x_n - NM(x_n)| - |x_n - NH(x_n)|`, w
    the feature weights; lam > 0 leaves out every feature with z <= lam.

    The paper prints :math:`\|w\|_2 = 1`, which is not convex; with ``<=`` the
    bound is tight exactly when some z exceeds lam.
    """
    w = cp.Variable(len(z), name="w")
    unit_ball = (cp.norm(w, 2) <= 1).set_label("norm")
    nonnegative = (w >= 0).set_label("sign")
    return cp.Problem(cp.Maximize(w @ z - lam * cp.sum(w)), [unit_ball, nonnegative])
