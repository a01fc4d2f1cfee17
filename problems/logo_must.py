"""Logo under orders: as logo, with w_i >= max(w) / 10 for i in IN and w_i = 0 for i in OUT."""

import cvxpy as cp

METHOD = "logo"
DATA = ["wdbc"]
GRID = {"lam": [5.0, 1.0], "sigma": [2.0]}
SOLVERS = ["CLARABEL", "ECOS", "SCS"]
#: wdbc's mean texture must be in; worst radius, perimeter and area must be out.
IN, OUT = [1], [20, 22, 23]


def build(Z, lam):
    w = cp.Variable(Z.shape[1], name="w")
    loss = cp.sum(cp.logistic(-(Z @ w)))
    orders = [w[IN] >= 0.1 * cp.max(w), w[OUT] == 0]
    return cp.Problem(cp.Minimize(loss + lam * cp.sum(w)), [w >= 0, *orders])
