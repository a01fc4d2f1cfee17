"""Logo plus ridge: sum_n log(1 + exp(-z_n'w)) + lam 1'w + mu |w|^2,  w >= 0.

Where features say the same, the price alone leaves open who takes the weight;
the ridge has them share it.
"""

import cvxpy as cp

METHOD = "logo"
DATA = ["iris", "spiral:noise=30,n=60"]
GRID = {"lam": [0.5, 1.0], "mu": [0.1, 1.0], "sigma": [2.0]}
SOLVERS = ["CLARABEL", "ECOS", "SCS"]
FIT = True


def build(Z, lam, mu):
    w = cp.Variable(Z.shape[1], name="w")
    loss = cp.sum(cp.logistic(-(Z @ w)))
    return cp.Problem(cp.Minimize(loss + lam * cp.sum(w) + mu * cp.sum_squares(w)), [w >= 0])
