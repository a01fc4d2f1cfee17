"""LLFS's problems of one point without cvxpy; the formulations find their solvers here."""

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
