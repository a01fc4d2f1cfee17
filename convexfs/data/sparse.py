"""Checks and scales of sparse matrices, none of which makes them dense."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.data.checks import column_called
from convexfs.errors import InputError


def check_sparse_finite(
    X: Any,
    where: str = "X",
    feature_names: Sequence[str] | None = None,
    cure: str = "drop or impute such cells first",
) -> None:
    """Raise if a stored cell is NaN or infinite, naming the first such cell."""
    if X.dtype.kind != "f" or np.isfinite(X.data).all():
        return
    cells = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(cells.data))
    first = bad[np.lexsort((cells.col[bad], cells.row[bad]))[0]]
    what = "NaN" if np.isnan(cells.data[first]) else "infinity"
    more = f" ({len(bad)} such cells in all)" if len(bad) > 1 else ""
    raise InputError(
        f"{where} contains {what} at data row {cells.row[first] + 1}, "
        f"{column_called(cells.col[first], feature_names)}{more}; {cure}"
    )


def column_ends(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of each column, its zeros included."""
    X = sparse.csc_array(X)
    return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()


def standard_deviation(X: Any) -> np.ndarray:
    """Of each column, its zeros included; 0 where it is constant."""
    X = sparse.csc_array(X)
    n, filled = X.shape[0], np.diff(X.indptr)
    low, high = column_ends(X)
    mean = X.sum(axis=0) / n
    column = np.repeat(np.arange(X.shape[1]), filled)
    squares = np.bincount(column, (X.data - mean[column]) ** 2, minlength=X.shape[1])
    squares += (n - filled) * mean**2
    # The mean of equal values can be off by a rounding error.
    return np.where(low == high, 0.0, np.sqrt(squares / n))


def divided(X: Any, how: str, fit: Any) -> Any:
    """Divide each column by what the rows `fit` show; nothing is subtracted, so zeros stay.

    By the standard deviation ("zscore"), or by the largest minus the least value ("minmax").
    All differences between rows are those of the dense scaling, which shifts as well.
    """
    seen = X[fit]
    if how == "zscore":
        span = standard_deviation(seen)
    else:
        low, high = column_ends(seen)
        span = high - low
    span = np.where(span > 0, span, 1.0)
    # Not a product with a diagonal matrix, which would leave indices out of order.
    out = sparse.csc_array(X, dtype=np.float64, copy=True)
    out.data /= np.repeat(span, np.diff(out.indptr))
    return out.tocsr()
