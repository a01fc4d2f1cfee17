"""Knockoffs hard to reconstruct: min sum_j 1/s_j + tr(inv(2 Sigma - diag(s)))."""

METHOD = "knockoffs-mvr"
DATA = ["iris", "wine"]
SOLVERS = ["native", "CLARABEL"]
