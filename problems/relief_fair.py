"""RELIEF blind to an attribute: max w'z,  norm2(w) <= 1,  g'w <= share 1'w,  w >= 0.

g_i is how far apart feature i has the mean wines above and below the median alcohol, in
standard deviations: what is selected may tell these two groups apart by `share` on average.
"""

import cvxpy as cp
import numpy as np

METHOD = "relief"
DATA = ["wine"]
GRID = {"share": [0.3, 0.6, 2.0], "n_neighbors": [10]}
SOLVERS = ["CLARABEL", "ECOS", "SCS"]
ATTRIBUTE = "alcohol"


def build(z, share, X, names):
    attribute = X[:, names.index(ATTRIBUTE)]
    high = attribute > np.median(attribute)
    gaps = np.abs(X[high].mean(axis=0) - X[~high].mean(axis=0)) / X.std(axis=0)
    g = cp.Constant(gaps, name="g")
    w = cp.Variable(len(z), name="w")
    blind = g @ w <= share * cp.sum(w)
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w, 2) <= 1, blind, w >= 0])
