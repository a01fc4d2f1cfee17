"""RELIEF in which no feature may dominate: max w'z,  norm2(w) <= 1,  0 <= w <= cap."""

import cvxpy as cp

METHOD = "relief"
DATA = ["wdbc", "twonorm:noise=80,seed=1"]
GRID = {"cap": [0.2, 0.3, 1.0], "n_neighbors": [10]}
SOLVERS = ["CLARABEL", "ECOS", "SCS"]


def build(z, cap):
    w = cp.Variable(len(z), name="w")
    unit_ball = cp.norm(w, 2) <= 1
    return cp.Problem(cp.Maximize(w @ z), [unit_ball, w >= 0, w <= cap])
