"""Algorithms: outer loops over problems, as plain functions."""
