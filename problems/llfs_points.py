"""LLFS, whole points: min U1(f),  U2(f) >= beta max U2,  0 <= f <= 1,  1 <= 1'f <= alpha."""

METHOD = "llfs"
DATA = ["subclasses:noise=5,n=4"]
GRID = {"form": ["compactness", "bisection"], "max_features": [2], "betas": [5]}
SOLVERS = ["CLARABEL", "ECOS", "HIGHS"]  # "native" has no bisection
FIT = "points"
