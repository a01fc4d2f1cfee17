"""Samples and classes as every comparator takes them."""

from typing import Any

import numpy as np

from convexfs.data.column_ranges import check_range
from convexfs.data.validation import as_labels, as_matrix, check_finite
from convexfs.errors import InputError


def checked(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Float matrix and class codes 0 to K - 1, or one clear error."""
    X, names = as_matrix(X, "X"), getattr(X, "columns", None)
    names = None if names is None else [str(name) for name in names]
    check_finite(X, "X", names)
    check_range(X, "X", names)
    y = as_labels(y, "y")
    if y.shape != (len(X),):
        raise InputError(f"y must have one class for each of the {len(X)} rows of X")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError("y has a single class; ranking features needs samples of at least two")
    return X, codes


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and deviation 1; constant ones become 0."""
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
