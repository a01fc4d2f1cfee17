"""Knockoffs least correlated with their features: max 1's,  0 <= s <= 1,  2 Sigma - diag(s) psd."""

METHOD = "knockoffs-sdp"
DATA = ["iris", "wine", "twonorm:noise=10"]
SOLVERS = ["CLARABEL", "SCS"]
