"""LMNN, all triplets: min sum d_M(i,j) + c sum xi,  d_M(i,p) - d_M(i,j) >= 1 - xi,  M psd."""

METHOD = "lmnn"
DATA = ["sign_bits:n=40,features=4"]
GRID = {"c": [1.0, 0.1], "n_neighbors": [3]}
SOLVERS = ["CLARABEL"]
