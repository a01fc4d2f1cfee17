"""LLFS's subproblems through any cvxpy backend."""
