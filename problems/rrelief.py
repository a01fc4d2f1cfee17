"""RReliefF, for numbers: max w'z - lam 1'w,  norm2(w) <= 1,  w >= 0,  z as its counts."""

METHOD = "rrelief"
DATA = ["friedman:noise=40", "product:noise=40", "diabetes"]
GRID = {"n_neighbors": [10, 30], "spread": [20.0]}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
