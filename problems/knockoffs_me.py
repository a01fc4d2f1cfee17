"""Knockoffs of maximum entropy: max sum_j log(s_j) + log det(2 Sigma - diag(s))."""

METHOD = "knockoffs-me"
DATA = ["iris", "wine", "twonorm:noise=10"]
SOLVERS = ["native", "CLARABEL", "SCS"]
