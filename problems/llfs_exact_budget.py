"""LLFS in which every point spends its budget: as llfs, with 1'f = alpha."""

import cvxpy as cp

METHOD = "llfs"
DATA = ["subclasses:noise=20", "iris"]
GRID = {"point": [0, 40], "beta": [0.4, 0.8], "max_features": [3]}
SOLVERS = ["HIGHS", "CLARABEL", "ECOS"]


def constraints(f, max_features):
    return [cp.sum(f) == max_features]
