"""Features on one scale, by what the fitting rows show of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexfs.data.readers.options import SCALE_NAMES
from convexfs.data.sparse import divided


def _mean(X: np.ndarray) -> np.ndarray:
    return X.mean(axis=0)


def _root_mean_square(X: np.ndarray) -> np.ndarray:
    # einsum squares and sums in one pass: no second matrix of X's size
    return np.sqrt(np.einsum("ij,ij->j", X, X) / X.shape[0])


def _smallest(X: np.ndarray) -> np.ndarray:
    return X.min(axis=0)


def _largest(X: np.ndarray) -> np.ndarray:
    return X.max(axis=0)


_Statistic = Callable[[np.ndarray], np.ndarray]
#: What is subtracted, and what the difference is then divided by.
SCALES: dict[str, tuple[_Statistic, _Statistic] | None] = dict(
    zip(SCALE_NAMES, ((_mean, _root_mean_square), (_smallest, _largest), None), strict=True)
)


def rescaled(X: np.ndarray, how: str, fit: Any) -> np.ndarray:
    """Shift and divide each feature by what the rows `fit` show.

    Missing values stay missing, and those that are there make the scale; see
    :meth:`convexfs.data.dataset.Dataset.scaled`.
    """
    statistics = SCALES[how]
    if statistics is None:
        return X
    if issparse(X):
        return divided(X, how, fit)
    Z = _shifted_and_divided(X, fit, *statistics)
    for j in np.flatnonzero(np.isnan(X.sum(axis=0))):
        known = np.zeros(len(X), dtype=bool)
        known[fit] = True
        known &= ~np.isnan(X[:, j])
        if known.any():
            Z[:, j : j + 1] = _shifted_and_divided(X[:, j : j + 1], known, *statistics)
    return Z


def _shifted_and_divided(
    X: np.ndarray, fit: Any, centre: _Statistic, width: _Statistic
) -> np.ndarray:
    seen = X[fit]
    shift = centre(seen)
    # the mean of equal values can be off by a rounding error, and that would be scaled up
    constant = seen.min(axis=0) == seen.max(axis=0)
    shift[constant] = seen[0, constant]
    Z = X - shift
    span = width(Z[fit])
    span[constant | (span == 0)] = 1.0
    Z /= span
    return Z
