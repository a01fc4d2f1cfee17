"""RELIEF on iris, natively and by CLARABEL."""

METHOD = "relief"
DATA = ["iris"]
GRID = {"n_neighbors": [1, 3]}
SOLVERS = ["native", "CLARABEL"]
