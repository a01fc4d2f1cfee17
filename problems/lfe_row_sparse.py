"""LFE with fewer features: max tr(W Sigma) - lam sum_i norm2(W_i),  normF(W) <= 1,  W psd."""

METHOD = "lfe-row-sparse"
DATA = ["wine", "twonorm:n=200,noise=10,seed=1"]
GRID = {"n_neighbors": [10], "lam_share": [0.05, 0.15]}
SOLVERS = ["CLARABEL", "SCS"]
