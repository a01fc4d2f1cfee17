"""Solve LLFS's subproblems by any cvxpy solver."""
