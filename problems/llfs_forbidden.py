"""LLFS without some features: as llfs, with f = 0 for the FORBIDDEN ones."""

METHOD = "llfs"
DATA = ["subclasses:noise=20", "wdbc"]
GRID = {"point": [0, 40], "beta": [0.3, 0.6], "max_features": [3]}
SOLVERS = ["HIGHS", "CLARABEL", "ECOS"]
FORBIDDEN = [4, 5]


def constraints(f, max_features):
    return [f[FORBIDDEN] == 0]
