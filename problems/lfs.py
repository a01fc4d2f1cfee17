"""LFS, whole points: min a'f,  b'f >= beta max b'f,  0 <= f <= 1,  1 <= 1'f <= alpha."""

METHOD = "llfs"
DATA = ["subclasses:noise=5,n=4"]
GRID = {"form": ["lfs"], "n_passes": [1, 2], "max_features": [2], "betas": [5]}
SOLVERS = ["native", "HIGHS", "CLARABEL"]
FIT = "points"
