"""Compute the data of Logo's step from samples."""

import numpy as np

from convexfs.errors import InputError, check_number
from convexfs.neighbors.feature_blocks import margin_columns, weighted_distances
from convexfs.neighbors.soft import check_sigma, has_hit, signed_probabilities


def logo_penalised(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    sigma: float,
    lam: float,
    weights: np.ndarray | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the data of eq. 7: margin matrix Z at given feature weights (default 1), and lam."""
    check_number("lam", lam, 0)
    return {"Z": margin_matrix(X, codes, sigma, weights)}, {"lam": lam}


def logo_constrained(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    sigma: float,
    beta: float = 1.0,
    weights: np.ndarray | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the data of eq. 8: margin matrix Z at given feature weights (default 1), and beta."""
    check_number("beta", beta, 0, open_ends=True)
    return {"Z": margin_matrix(X, codes, sigma, weights)}, {"beta": beta}


def margin_matrix(
    X: np.ndarray, codes: np.ndarray, sigma: float = 2.0, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the margin matrix in memory: rows ``zbar_n`` of eq. 3 for samples with a hit."""
    check_sigma(sigma)
    X = np.asarray(X, dtype=np.float64)
    weights = np.ones(X.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (X.shape[1],) or not np.all(weights >= 0):
        raise InputError(f"weights must be {X.shape[1]} numbers of at least 0, one a feature")
    signed = signed_probabilities(weighted_distances(X, weights), codes, sigma)
    return margin_columns(X, signed)[has_hit(codes)]
