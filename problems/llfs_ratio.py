"""LLFS as a quasi-convex ratio c1'f / U2(f),  U2(f) >= eps:  F(t) = min c1'f - t U2(f)."""

METHOD = "llfs-ratio"
DATA = ["subclasses:noise=20", "wine"]
GRID = {"point": [0, 40], "beta": [0.4, 0.8], "max_features": [3]}
SOLVERS = ["HIGHS", "CLARABEL", "ECOS"]
