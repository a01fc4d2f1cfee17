"""Check and scale sparse matrices without making them dense."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.data.readers.options import Reading
from convexfs.data.validation import check_shape, column_label, not_finite
from convexfs.errors import InputError

#: Memory in bytes: per feature name, and per stored number with its index.
_NAME, _STORED = 150, 16


def stored_or_dense(X: Any, reading: Reading, name: str) -> Any:
    """Return a sparse X as CSR if option `sparse` is set, else dense; raise if too large."""
    if not sparse.issparse(X):
        return X
    check_stored(X.shape, X.nnz, reading, name)
    return sparse.csr_array(X) if reading.sparse else X.toarray(order="C")


def check_stored(shape: Sequence[int], stored: int, reading: Reading, name: str) -> None:
    """Raise if a sparse matrix, or its dense form unless `sparse` is set, exceeds the limit."""
    rows, columns = shape
    if reading.sparse:
        reading.limit.check(_STORED * stored + _NAME * columns, f"{name}, of {columns} features,")
        return
    reading.limit.check(
        rows * columns * 8,
        f"{name}, as a dense matrix of {rows} x {columns},",
        f"keep fewer rows or columns, or use {sparse_method_names()}, which take it sparse",
    )


def sparse_method_names() -> str:
    """Return the names, joined by commas, of the methods that accept sparse samples."""
    from convexfs.methods import estimator_homes  # A higher layer, imported for the message only.

    models = {name: home.estimator(name) for name, home in estimator_homes().items()}
    return ", ".join(
        name
        for name, model in models.items()
        if getattr(getattr(model, "_accepts", None), "sparse", False)
    )


def sparse_matrix(X: Any, where: str, feature_names: Sequence[str] | None) -> Any:
    """Return a copy of sparse samples as float64 CSR with sorted, unique indices."""
    check_shape(X.shape, where, feature_names)
    if X.dtype.kind not in "biuf":
        raise InputError(f"{where} holds no real numbers in its sparse matrix; pass some")
    matrix = sparse.csr_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    return matrix


def content(X: Any) -> bytes:
    """Return bytes of a sparse matrix to hash, the same for equal matrices."""
    X = sparse.csr_array(X, copy=True)
    X.eliminate_zeros()
    X.sort_indices()
    places = (X.indptr.astype("<i8"), X.indices.astype("<i8"))
    return b"".join(part.tobytes() for part in (*places, X.data.astype("<f8")))


def check_sparse_finite(
    X: Any,
    where: str = "X",
    feature_names: Sequence[str] | None = None,
    cure: str = "drop or impute such cells first",
) -> None:
    """Raise InputError if a stored cell is NaN or infinite, naming the first such cell."""
    if X.dtype.kind != "f" or np.isfinite(X.data).all():
        return
    cells = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(cells.data))
    first = bad[np.lexsort((cells.col[bad], cells.row[bad]))[0]]
    label = column_label(cells.col[first], feature_names)
    raise not_finite(cells.data[first], where, cells.row[first], label, len(bad), cure)


def column_ends(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return minimum and maximum of each column of a sparse matrix, including zeros."""
    X = sparse.csc_array(X)
    return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()


def standard_deviation(X: Any) -> np.ndarray:
    """Return each column's standard deviation, including zeros; exactly 0 if constant."""
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
    """Return X with columns divided by a statistic of rows `fit`, not shifted: zeros stay.

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
    # A product with a diagonal matrix would leave the indices unsorted.
    out = sparse.csc_array(X, dtype=np.float64, copy=True)
    out.data /= np.repeat(span, np.diff(out.indptr))
    return out.tocsr()
