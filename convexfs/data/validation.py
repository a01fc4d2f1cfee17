"""Check samples and classes, of files and of arrays.

Every error is one sentence with place and remedy. Rows are data rows, counted from 1 without the
header.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from convexfs.data.targets import (
    looks_measured,
    measured_error,
    refuse_missing,
    regressors,
    several_targets,
)
from convexfs.data.text_columns import TextColumn, reading_options, text_column, text_error
from convexfs.errors import InputError, and_more, did_you_mean, warn

#: Advice how to declare that integers are classes.
_INSIST = "say --target-kind classes (from Python target_kind='classes')"
_BLOCK_CELLS = 2**20
_NAMED_AT_MOST = 5
_CURE = "drop or impute such cells first"
_LABEL = "drop these rows or label them"


def check_finite(
    X: np.ndarray, where: str = "X", feature_names: Sequence[str] | None = None, cure: str = _CURE
) -> None:
    """Raise InputError if a cell is NaN or infinite, naming the first such cell.

    Works through blocks of rows, so that even a very wide matrix needs little
    memory beside itself.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    where : str
        What the message calls the data.
    feature_names : sequence of str, optional
        Without it the column is given by its position, counted from 1.
    cure : str
        Advice about NaN for the message.

    Raises
    ------
    InputError
        With the word "NaN" or "infinity" in the message.
    """
    if X.dtype.kind != "f":
        return
    damaged = [rows for rows in row_blocks(X) if not np.isfinite(X[rows]).all()]
    if not damaged:
        return
    first = X[damaged[0]]
    row, column = np.argwhere(~np.isfinite(first))[0]
    count = sum(int(np.count_nonzero(~np.isfinite(X[rows]))) for rows in damaged)
    label, cell = column_label(column, feature_names), float(first[row, column])
    cure = cure if np.isnan(cell) else _CURE
    raise not_finite(cell, where, damaged[0].start + row, label, count, cure)


def not_finite(cell: float, where: str, row: int, column: str, count: int, cure: str) -> InputError:
    """Return (not raise) the InputError about the first of `count` cells that are not finite."""
    what = "NaN" if np.isnan(cell) else "infinity"
    more = f" ({count} such cells in all)" if count > 1 else ""
    return InputError(f"{where} contains {what} at data row {row + 1}, {column}{more}; {cure}")


def check_classes(codes: np.ndarray, class_names: Sequence[str]) -> None:
    """Raise InputError if there is one class only; warn of classes with one sample.

    Parameters
    ----------
    codes : array of int
        Class of each sample as a position in ``class_names``.
    class_names : sequence of str
        Names that do not occur in ``codes`` are ignored.
    """
    counts = np.bincount(codes, minlength=len(class_names))
    if np.count_nonzero(counts) < 2:
        require_two_classes(codes, class_names)
    single = [class_names[code] for code in np.flatnonzero(counts == 1).tolist()]
    if single:
        warn(
            f"{_listing('class', 'classes', single)} of one sample only: "
            "such a sample has no neighbour of its class; add samples or merge classes"
        )


def require_two_classes(
    codes: np.ndarray, class_names: Sequence[str], where: str = "the target"
) -> None:
    """Raise InputError if all codes are of one class."""
    present = np.flatnonzero(np.bincount(codes))
    if present.size == 1:
        raise InputError(
            f"{where} contains only one class, '{class_names[present[0]]}'; "
            "feature selection needs samples of at least two classes"
        )


def warn_constant_columns(constant: np.ndarray, feature_names: Sequence[str] | None = None) -> None:
    """Warn of the columns in the mask `constant`, naming some; they get weight 0.

    Parameters
    ----------
    constant : bool array (n_features,)
        See :func:`convexfs.data.column_ranges.constant_columns`.
    feature_names : sequence of str, optional
    """
    if not constant.any():
        return
    positions = np.flatnonzero(constant).tolist()
    names = [feature_names[j] if feature_names is not None else str(j + 1) for j in positions]
    warn(f"constant {_listing('column', 'columns', names)} kept, but carrying no information")


def check_unique(names: Sequence[str], where: str) -> None:
    """Raise InputError if two feature names are equal."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(
            f"{where} has duplicate {_listing('column name', 'column names', twice)}; "
            "rename or drop the copies"
        )


def near_column(name: str, columns: Sequence[str]) -> str:
    """Return the end of an error message: the column name most like `name`, or the last ones."""
    hint = did_you_mean(name, columns)
    # A wide table has too many columns for one line.
    return hint if hint.startswith("did you mean") else last_columns(columns)


def last_columns(columns: Sequence[str]) -> str:
    """Return the end of an error message that lists the last columns, where targets usually are."""
    return f"its last columns are {', '.join(columns[-_NAMED_AT_MOST:])}"


def as_table(X: Any, where: str, feature_names: Sequence[str] | None = None) -> Any:
    """Return samples as a DataFrame or array; raise if sparse, empty or names do not match."""
    _refuse_sparse(X, where)
    if not hasattr(X, "dtypes"):
        X = as_array(X, where)
    check_shape(X.shape, where, feature_names)
    return X


def as_matrix(X: Any, where: str, feature_names: Sequence[str] | None = None) -> np.ndarray:
    """Return samples as a C-contiguous float64 matrix; raise InputError if cells are no numbers.

    Parameters
    ----------
    X : array-like or pandas.DataFrame
        Booleans count as 0 and 1.
    where : str
        What a message calls the data.
    feature_names : sequence of str, optional
        Names for the message, if ``X`` has none.

    Raises
    ------
    InputError
        If ``X`` is sparse, not two-dimensional, empty, complex or not numeric.
    """
    X = as_table(X, where, feature_names)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return np.ascontiguousarray(X, dtype=np.float64)
    return _matrix_of_frame(X, where, feature_names)


def refuse_text(
    X: Any, where: str, hint: Callable[[Sequence[TextColumn]], str] = lambda columns: ""
) -> None:
    """Raise InputError if cells of a table are text or dates, naming the columns.

    What `hint` says of them ends the message. Anything else that is no number is left to
    whoever converts the cells.
    """
    import pandas as pd

    refuse_repeated_names(X, where)
    if not isinstance(X, pd.DataFrame):
        X = as_array(X, where)
        if X.ndim != 2 or X.dtype.kind in "biufc":
            return
        X = pd.DataFrame(X, columns=range(1, X.shape[1] + 1))
    if not len(X):
        return
    frame = X.infer_objects()
    text = [j for j in range(frame.shape[1]) if _is_text_or_date(frame.iloc[:, j])]
    if text:
        columns = [text_column(frame.iloc[:, j]) for j in text]
        raise text_error(where, columns, hint(columns))


def refuse_repeated_names(X: Any, where: str) -> None:
    """Raise InputError if two columns of a table have the same name."""
    names = [str(name) for name in getattr(X, "columns", ())]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"{where} has {names.count(repeated)} columns named {repeated!r}; give every column "
            "its own name"
        )


def as_pandas(X: Any) -> Any:
    """Convert a table of another library, such as polars, to pandas; return others unchanged."""
    if not (hasattr(X, "to_pandas") and hasattr(X, "columns")):
        return X
    try:
        return X.to_pandas()
    except ImportError:
        raise InputError(
            f"tables of {type(X).__module__.partition('.')[0]} need a package to be read: pip "
            "install 'pyarrow' (or convexfs[tables], which has it)"
        ) from None


def as_labels(y: Any, where: str) -> np.ndarray:
    """Return class labels as an array of one type; raise if one is missing or types are mixed.

    Raises
    ------
    InputError
        If a label is missing, or if text and other things are mixed.
    """
    import pandas as pd

    if isinstance(y, np.ndarray) and y.dtype.kind in "biu":
        return y
    labels = as_array(y, where)
    if labels.dtype.names:  # scikit-survival stores events and times as records.
        raise several_targets(labels.dtype.names)
    refuse_missing(labels, where, _LABEL)
    if labels.dtype.kind != "O":
        return labels
    labels = pd.Series(labels.ravel()).infer_objects().to_numpy().reshape(labels.shape)
    kinds = {type(label) for label in labels.ravel().tolist()}
    if str in kinds and len(kinds) > 1:
        first, other = (
            next(label for label in labels.ravel() if isinstance(label, str) is wanted)
            for wanted in (True, False)
        )
        raise InputError(
            f"{where} mixes text such as {first!r} with {type(other).__name__} such as {other!r}: "
            "give all labels as text"
        )
    return labels


def encode_labels(y: Any, where: str, insisted: bool = False) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return class codes 0..K-1 and sorted class names; raise if labels look like numbers.

    Parameters
    ----------
    y : array-like or pandas.Series
        Integers, whole floats, booleans or text.
    where : str
        What a message calls the target.
    insisted : bool
        Whether integers are classes however many there are.

    Raises
    ------
    InputError
        If a label is missing or the values look like measurements.
    """
    labels = as_array(y, where)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise InputError(f"{where} has {labels.ndim} dimensions; give one label per row")
    if labels.dtype.kind not in "biuUS":
        labels = _discrete(labels, where)
    if labels.dtype.kind == "S":
        labels = np.char.decode(labels, "utf-8")
    values, codes = np.unique(labels, return_inverse=True)
    if values.size == labels.size > 2:
        raise InputError(
            f"{where} looks continuous or like an identifier: every row has a different value; "
            f"classes are shared by several rows, and for numbers there are {regressors()}"
        )
    if looks_measured(labels) and not insisted:
        raise measured_error(labels, where, _INSIST)
    return codes, tuple(str(value) for value in values)


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Return an iterator of slices that cover the rows of X, about 8 MB each."""
    step = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    return (slice(start, start + step) for start in range(0, X.shape[0], step))


def as_array(values: Any, where: str) -> np.ndarray:
    """Convert values to an array; raise InputError if rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(
            f"{where} has rows of unequal length; give as many values in each"
        ) from None


def _refuse_sparse(X: Any, where: str) -> None:
    from scipy.sparse import issparse

    if issparse(X):
        raise InputError(f"{where} is a sparse matrix, which is not taken here; pass X.toarray()")


def check_shape(shape: tuple[int, ...], where: str, feature_names: Sequence[str] | None) -> None:
    """Raise InputError unless a shape has rows and columns, and one name per column."""
    if len(shape) != 2:
        raise InputError(
            f"{where} has {len(shape)} dimension(s); give a table with one row per sample, "
            "for a single feature X.reshape(-1, 1)"
        )
    if shape[0] == 0:
        raise InputError(f"{where} has no rows; give at least two samples of different classes")
    if shape[1] == 0:
        raise InputError(f"{where} has no feature columns; give at least one beside the target")
    if feature_names is not None and len(feature_names) != shape[1]:
        raise InputError(
            f"{where} has {shape[1]} feature columns but {len(feature_names)} feature names; "
            "give one each"
        )


def _matrix_of_frame(X: Any, where: str, feature_names: Sequence[str] | None) -> np.ndarray:
    import pandas as pd

    if not isinstance(X, pd.DataFrame):
        X = pd.DataFrame(X, columns=list(feature_names or range(1, X.shape[1] + 1)))
    frame = X.infer_objects()
    if any(dtype.kind == "c" for dtype in frame.dtypes):
        raise InputError(f"{where} holds complex numbers; pass their real parts or magnitudes")
    is_number = pd.api.types.is_numeric_dtype
    other = [j for j, dtype in enumerate(frame.dtypes) if not is_number(dtype)]
    # A column without any value is not text; its missing cells are reported later.
    text = [j for j in other if frame.iloc[:, j].notna().any()]
    if text:
        columns = [text_column(frame.iloc[:, j]) for j in text]
        cure = "" if feature_names is None else reading_options(columns, categorical=False)
        raise text_error(where, columns, cure)
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def _is_text_or_date(column: Any) -> bool:
    if column.dtype.kind in "mMSU":
        return True
    if column.dtype.kind != "O":
        return False
    return column.map(lambda cell: isinstance(cell, str | bytes)).any()


def how_to_drop(names: Sequence[str]) -> str:
    """Return the command-line and Python option that drops columns, naming up to five."""
    listed = shlex.quote(",".join(names[:_NAMED_AT_MOST]))
    return f"convexfs select --drop {listed}, from Python drop=[...]"


def _discrete(labels: np.ndarray, where: str) -> np.ndarray:
    import pandas as pd

    refuse_missing(labels, where, _LABEL)
    if labels.dtype.kind == "O":
        labels = pd.Series(labels).infer_objects().to_numpy()
    if labels.dtype.kind == "O":
        return labels.astype(str)
    if labels.dtype.kind in "biu":
        return labels
    odd = np.ones(labels.shape, dtype=bool)
    if labels.dtype.kind == "f":
        odd = ~np.isfinite(labels) | (labels != np.rint(labels))
    if odd.any():
        raise InputError(
            f"{where} looks continuous (such as {labels[odd][0]}), where this needs classes: for "
            f"numbers there are {regressors()}; else bin the values or name another target"
        )
    return labels.astype(np.int64)


def column_label(position: int, names: Sequence[str] | None) -> str:
    """Return text that names a column: ``column 'age'``, or its position if there are no names."""
    if names is None:
        return f"column {position + 1} (counted from 1)"
    return f"column '{names[position]}'"


def _listing(one: str, many: str, names: Sequence[str]) -> str:
    shown = [f"'{name}'" for name in names[:_NAMED_AT_MOST]]
    return f"{one if len(names) == 1 else many} {and_more(shown, len(names))}"
