"""Logo as the nonnegative garrote: sum_n log(1 + exp(-z_n'w)),  1'w <= beta,  w >= 0."""

METHOD = "logo-constrained"
DATA = ["spiral:noise=50", "wdbc", "wine"]
GRID = {"beta": [1.0, 4.0], "sigma": [2.0]}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
