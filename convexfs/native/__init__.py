"""Specialised solvers: a formulation's inputs in, the same Solution out, without cvxpy."""
