"""LLFS, a step of a point: min tangent of U1,  that of U2 >= eps,  0 <= f <= 1,  1'f <= alpha."""

METHOD = "llfs"
DATA = ["subclasses:noise=20", "wdbc", "wine"]
GRID = {"point": [0, 40], "beta": [0.4, 0.8], "max_features": [3]}
SOLVERS = ["native", "HIGHS", "CLARABEL", "ECOS"]
