"""The convex problem."""

import cvxpy as cp
import numpy as np


def soft_margin(Z: np.ndarray, lam: float | cp.Parameter = 1.0) -> cp.Problem:
    """min sum_n log(1 + exp(-w'z_n)) + lam norm2(w)^2   s.t. w >= 0."""
    w = cp.Variable(Z.shape[1], name="w")
    loss = cp.sum(cp.logistic(-Z @ w))
    return cp.Problem(cp.Minimize(loss + lam * cp.sum_squares(w)), [w >= 0])
