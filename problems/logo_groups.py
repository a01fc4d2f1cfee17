"""Logo with a penalty on groups: sum_n log(1 + exp(-z_n'w)) + lam sum_g norm2(w_g),  w >= 0.

A norm has a kink at 0 only, so all weights of a group are zero, or none needs to be.
"""

import cvxpy as cp

METHOD = "logo"
DATA = ["wdbc"]
GRID = {"lam": [20.0, 5.0], "sigma": [2.0]}
SOLVERS = ["CLARABEL", "ECOS"]
#: wdbc has mean, error and worst of ten properties of a cell's nucleus.
GROUPS = [[i, i + 10, i + 20] for i in range(10)]


def build(Z, lam):
    w = cp.Variable(Z.shape[1], name="w")
    loss = cp.sum(cp.logistic(-(Z @ w)))
    price = sum(cp.norm(w[group], 2) for group in GROUPS)
    return cp.Problem(cp.Minimize(loss + lam * price), [w >= 0])
