"""Logo's convex step as printed: sum_n log(1 + exp(-z_n'w)) + lam 1'w,  w >= 0."""

METHOD = "logo"
DATA = ["spiral:noise=50", "wdbc", "wine"]
GRID = {"lam": [0.5, 1.0, 5.0], "sigma": [2.0]}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
