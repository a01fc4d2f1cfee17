"""RELIEF as printed: max w'z - lam 1'w,  norm2(w) <= 1,  w >= 0."""

METHOD = "relief"
DATA = ["wdbc", "wine", "iris", "waveform:noise=60"]
GRID = {"n_neighbors": [1, 10], "l1": [0.0, 0.2]}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
