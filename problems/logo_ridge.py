"""Logo plus ridge: sum_n log(1 + exp(-z_n'w)) + lam 1'w + mu |w|^2,  w >= 0.

Where features say the same, the penalty alone leaves open which one takes the weight;
the ridge has them share it.
"""

import cvxpy as cp

METHOD = "logo"
DATA = ["iris", "spiral:noise=30,n=60"]
GRID = {"lam": [0.5, 1.0], "mu": [0.1, 1.0], "sigma": [2.0]}
SOLVERS = ["CLARABEL", "ECOS", "SCS"]
FIT = True


def change(problem, mu):
    w = problem.var_dict["w"]
    ridge = cp.Minimize(mu * cp.sum_squares(w))
    return cp.Problem(problem.objective + ridge, problem.constraints)
