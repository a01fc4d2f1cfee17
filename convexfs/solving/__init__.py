"""Solve cvxpy problems with any solver, and return plain numbers."""
