"""Compute the data of LMNN's problem from samples."""

from typing import Any

import numpy as np

from convexfs.errors import InputError, check_number
from convexfs.neighbors.triplets import target_neighbors

#: Above this product, triplets times squared features, a fit raises: it takes gigabytes and hours.
_MOST_NUMBERS = 50_000_000


def lmnn(
    X: np.ndarray, codes: np.ndarray, *, c: float, n_neighbors: int
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the data of LMNN's problem: samples, target neighbours, all triplets, and c."""
    values, hyper = targets_and_penalty(X, codes, c, n_neighbors)
    pairs = target_pairs(values["targets"])
    return values | {"triplets": triplets(pairs, codes[pairs[:, :1]] != codes)}, hyper


def targets_and_penalty(
    X: np.ndarray, codes: np.ndarray, c: float, n_neighbors: int
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the samples with the indices of their target neighbours, and the penalty c."""
    check_number("c", c, 0, open_ends=True)
    X = np.asarray(X, dtype=np.float64)
    return {"X": X, "targets": target_neighbors(X, codes, n_neighbors).index}, {"c": float(c)}


def target_pairs(targets: np.ndarray) -> np.ndarray:
    """Return index pairs (i, j) of a sample and one of its targets, one per row."""
    i, rank = np.nonzero(targets >= 0)
    return np.column_stack([i, targets[i, rank]])


def triplets(pairs: np.ndarray, listed: np.ndarray) -> np.ndarray:
    """Return index triplets (i, j, p), one row per True entry of the mask (pairs, samples)."""
    pair, p = np.nonzero(listed)
    return np.column_stack([pairs[pair], p])


def check_size(n_triplets: int, n_features: int) -> None:
    """Raise if a problem of so many triplets and features is too large for a solver."""
    numbers = n_triplets * n_features**2
    if numbers > _MOST_NUMBERS:
        raise InputError(
            f"LMNN with {n_features} features and {n_triplets} triplets is a program of "
            f"{numbers:.0e} numbers, too large for a solver: project on fewer components first, "
            "or take fewer samples"
        )
