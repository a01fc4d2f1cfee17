"""Lmba in u = w^2: sum d_u(i,j) + c sum [theta_i + d_u(i,j) - d_u(i,p)]+,  u >= 0,  1'u = n."""

METHOD = "lmba-simplex"
DATA = ["six_gaussians:n=60", "sign_bits:n=60"]
GRID = {"c": [0.1, 1.0], "n_neighbors": [3]}
SOLVERS = ["native", "HIGHS", "CLARABEL"]
