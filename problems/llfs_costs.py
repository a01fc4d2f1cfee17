"""LLFS in which measuring costs something: as llfs, with c'f <= BUDGET for every point."""

import cvxpy as cp

METHOD = "llfs"
DATA = ["wine"]
GRID = {"point": [0, 100], "beta": [0.2, 0.4], "max_features": [3]}
SOLVERS = ["HIGHS", "CLARABEL", "ECOS"]
#: Of wine's 13 features, made up: a look or a spindle is cheap, chromatography is dear.
COSTS = [1, 2, 2, 2, 3, 3, 4, 4, 4, 1, 1, 2, 6]
BUDGET = 4


def constraints(f, max_features):
    c = cp.Constant(COSTS, name="c")
    return [c @ f <= BUDGET]
