"""A portfolio, no feature selection: min risk norm2(F'w)^2 - m'w,  1'w = 1,  0 <= w <= most.

A file without METHOD states a user-defined problem on its own data.
"""

import cvxpy as cp
import numpy as np

GRID = {"risk": [0.1, 1.0, 10.0], "most": [0.2], "assets": [30]}
SOLVERS = ["CLARABEL", "OSQP", "HIGHS", "SCS"]
SEED = 1


def problem(risk, most, assets, seed):
    random = np.random.default_rng(seed)
    F = random.standard_normal((assets, 4)) / np.sqrt(assets)
    m = random.uniform(0, 0.1, assets)
    w = cp.Variable(assets, name="w")
    cost = risk * cp.sum_squares(F.T @ w) - m @ w
    budget = np.ones(assets) @ w == 1
    return cp.Problem(cp.Minimize(cost), [budget, w >= 0, w <= most])
