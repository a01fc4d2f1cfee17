"""Solve LLFS's problems of one point without cvxpy; formulations look up their solvers here."""

from convexfs.methods.llfs.native.formulations import (
    lfs,
    lfs_gap,
    llfs_compactness,
    llfs_compactness_gap,
    llfs_linear,
    llfs_linear_gap,
    llfs_separation,
    llfs_separation_gap,
    violation,
)

__all__ = [
    "lfs",
    "lfs_gap",
    "llfs_compactness",
    "llfs_compactness_gap",
    "llfs_linear",
    "llfs_linear_gap",
    "llfs_separation",
    "llfs_separation_gap",
    "violation",
]
