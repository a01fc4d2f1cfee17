"""Logo for numbers: sum_n log(1 + exp(-z_n'w)) + lam 1'w,  w >= 0,  z_n from soft misses."""

METHOD = "rlogo"
DATA = ["product:noise=40", "friedman:noise=40", "ring:noise=40"]
GRID = {"lam": [1.0, 5.0], "difference": ["rank", "range"]}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
