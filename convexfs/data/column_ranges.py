"""Check the ranges of columns: overflow, underflow and constant columns."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexfs.data.out_of_core import ColumnSource
from convexfs.data.sparse import column_ends as sparse_ends
from convexfs.data.validation import column_label, row_blocks
from convexfs.errors import InputError

#: Larger absolute values, and a smaller range of the widest column (unless 0), raise an error:
#: methods sum fourth powers of differences, which would overflow or underflow.
LARGEST, SMALLEST_SPREAD = 1e60, 1e-60
_CURE = "rescale the features, such as to mean 0 and deviation 1"


def check_range(
    X: np.ndarray, where: str = "X", feature_names: Sequence[str] | None = None
) -> np.ndarray:
    """Raise if powers of differences would over- or underflow; return a mask of constant columns.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Finite.
    where, feature_names
        As for :func:`convexfs.data.validation.check_finite`.

    Returns
    -------
    bool array (n_features,)
        Which columns have a single value.

    Raises
    ------
    InputError
        If a value is beyond ``LARGEST``, or if values differ, but in every column by less
        than ``SMALLEST_SPREAD``.
    """
    return check_ends(*column_ends(X), where, feature_names)


def check_ends(
    low: np.ndarray, high: np.ndarray, where: str = "X", feature_names: Sequence[str] | None = None
) -> np.ndarray:
    """Return what :func:`check_range` does, given the minimum and maximum of each column."""
    _refuse_overflow(low, high, where, feature_names)
    spread = (high.astype(np.float64) - low.astype(np.float64)).max()
    if 0 < spread < SMALLEST_SPREAD:
        raise InputError(
            f"{where} has values that differ by {spread:.1e} at most, and below "
            f"{SMALLEST_SPREAD:.0e} powers of differences vanish: {_CURE}"
        )
    return low == high


def check_largest(
    X: np.ndarray, where: str = "X", feature_names: Sequence[str] | None = None
) -> None:
    """Raise InputError if an absolute value exceeds LARGEST; a tiny range is allowed."""
    _refuse_overflow(*column_ends(X), where, feature_names)


def constant_columns(X: np.ndarray) -> np.ndarray:
    """Return a mask of the columns with a single value; missing values are ignored."""
    low, high = column_ends(X)
    constant = low == high
    for j in np.flatnonzero(low != low):
        known = X[~np.isnan(X[:, j]), j]
        constant[j] = not len(known) or known.min() == known.max()
    return constant


def varying_columns(X: np.ndarray) -> np.ndarray:
    """Return the indices of the columns that vary, or of the first column if none does."""
    varying = np.flatnonzero(~constant_columns(X))
    return varying if len(varying) else np.arange(1)


def _refuse_overflow(
    low: np.ndarray, high: np.ndarray, where: str, feature_names: Sequence[str] | None
) -> None:
    largest = np.maximum(high.astype(np.float64), -low.astype(np.float64))
    worst = int(largest.argmax())
    if largest[worst] > LARGEST:
        raise InputError(
            f"{where} holds values of up to {largest[worst]:.1e} in "
            f"{column_label(worst, feature_names)}, and beyond {LARGEST:.0e} sums of powers of "
            f"differences overflow: {_CURE}"
        )


def column_ends(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return minimum and maximum of each column of X; NaN if a value is missing."""
    if issparse(X):
        return sparse_ends(X)
    low, high = X[0].copy(), X[0].copy()
    for rows in row_blocks(X):
        np.minimum(low, X[rows].min(axis=0), out=low)
        np.maximum(high, X[rows].max(axis=0), out=high)
    return low, high


#: In int8 columns with no value above 2, this is a missing genotype, as in programs around PLINK.
_PLINK_MISSING = -9


def check_columns(source: ColumnSource, where: str, map: Callable[..., Any] = map) -> np.ndarray:
    """Raise if values are missing, infinite or out of range; return a mask of constant columns."""
    low, high = source.ends(map)
    _refuse_missing(source, low, high, where)
    return check_ends(low, high, where)


def _refuse_missing(source: ColumnSource, low: np.ndarray, high: np.ndarray, where: str) -> None:
    if source.dtype.kind == "f":
        bad, what = ~(np.isfinite(low) & np.isfinite(high)), "NaN or infinity"
    elif source.missing is not None:
        bad, what = low == source.missing, "a missing genotype (NaN)"
    elif source.dtype == np.int8:
        bad, what = (low == _PLINK_MISSING) & (high <= 2), "-9, a missing genotype (NaN)"
    else:
        return
    for column in np.flatnonzero(bad)[:1].tolist():
        values = source.take(np.array([column]))[:, 0]
        cells = ~np.isfinite(values) if source.dtype.kind == "f" else values == low[column]
        row = int(np.flatnonzero(cells)[0])
        raise InputError(
            f"{where} contains {what} at data row {row + 1}, column {column + 1} "
            f"({int(bad.sum())} such columns in all); impute such cells first"
        )
