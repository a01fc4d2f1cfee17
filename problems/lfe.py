"""LFE as printed: max tr(W Sigma),  normF(W) <= 1,  W psd."""

METHOD = "lfe"
DATA = ["wine", "twonorm", "wdbc"]
GRID = {"n_neighbors": [1, 10]}
SOLVERS = ["native", "CLARABEL", "SCS"]
