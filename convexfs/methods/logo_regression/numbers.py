"""Compute the data of Logo's step for a numeric target."""

import numpy as np

from convexfs.errors import check_number
from convexfs.neighbors.feature_blocks import margin_columns, weighted_distances
from convexfs.neighbors.regression import (
    check_difference,
    has_both,
    signed_shares,
    target_difference,
)
from convexfs.neighbors.soft import check_sigma

Numbers = tuple[dict[str, np.ndarray], dict[str, float]]


def rlogo(X: np.ndarray, y: np.ndarray, *, sigma: float, lam: float, difference: str) -> Numbers:
    """Return the data of the penalised problem: margin matrix Z at feature weights 1, and lam."""
    check_number("lam", lam, 0)
    return {"Z": margin_matrix(X, y, sigma, difference)}, {"lam": lam}


def rlogo_constrained(
    X: np.ndarray, y: np.ndarray, *, sigma: float, difference: str, beta: float = 1.0
) -> Numbers:
    """Return the data of the constrained problem: margin matrix Z at weights 1, and beta."""
    check_number("beta", beta, 0, open_ends=True)
    return {"Z": margin_matrix(X, y, sigma, difference)}, {"beta": beta}


def margin_matrix(
    X: np.ndarray, y: np.ndarray, sigma: float = 2.0, difference: str = "rank"
) -> np.ndarray:
    """Return the margin matrix at w = 1: rows ``zbar_n`` of samples with a hit and a miss."""
    check_sigma(sigma)
    check_difference(difference)
    X = np.asarray(X, dtype=np.float64)
    delta = target_difference(np.asarray(y, dtype=np.float64), difference)
    distances = weighted_distances(X, np.ones(X.shape[1]))
    return margin_columns(X, signed_shares(distances, delta, sigma))[has_both(delta)]
