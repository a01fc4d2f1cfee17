"""I-RELIEF's first step: max w'nu,  norm2(w) <= 1,  w >= 0,  nu the margin at equal weights."""

METHOD = "irelief"
DATA = ["wdbc", "wine", "twonorm:noise=60,seed=1"]
GRID = {"sigma": [1.0, 5.0]}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
