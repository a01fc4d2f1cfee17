"""Detect categorical columns of a table and encode their values as codes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from convexfs.data.text_columns import TextColumn, few_values, reading_options
from convexfs.data.validation import (
    as_array,
    as_matrix,
    as_table,
    check_finite,
    near_column,
    refuse_text,
    row_blocks,
)
from convexfs.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

#: Code of a value that was not seen when the categories were coded; it equals no other code.
_UNKNOWN = -1.0


Hint = Callable[[Sequence[TextColumn]], str]


def name_it(_: Sequence[TextColumn]) -> str:
    """Return the end of an error message: how to declare a text column categorical."""
    return "; what is a category must be named in categorical_features"


@dataclass(frozen=True)
class Coding:
    """A mask of the categorical columns, and for each the values that its codes 0, 1, ... mean.

    Attributes
    ----------
    categorical : bool array (n_features,)
    values : mapping of int to pandas.Index
        Of each categorical column its values, in the order of their codes.
    """

    categorical: np.ndarray
    values: Mapping[int, Any]

    def coded(self, X: Any, where: str, hint: Hint = name_it) -> Any:
        """Return a table with categories as codes; missing values are NaN, unseen ones -1.

        Raises
        ------
        InputError
            If there is text in a column that is no category; `hint` ends the message.
        """
        import pandas as pd

        if not self.values:
            refuse_text(X, where, hint)
            return _plain_numbers(X)
        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
        others = [j for j in range(frame.shape[1]) if j not in self.values]
        named = frame.iloc[:, others]
        refuse_text(named if X is frame else named.rename(columns=lambda j: j + 1), where, hint)
        matrix = np.empty(frame.shape)
        for j in range(frame.shape[1]):
            column = frame.iloc[:, j]
            matrix[:, j] = self._codes(column, j) if j in self.values else _floats(column, where)
        return pd.DataFrame(matrix, frame.index, frame.columns) if X is frame else matrix

    def _codes(self, column: "pd.Series", j: int) -> np.ndarray:
        cells = column.astype(object)
        codes = self.values[j].get_indexer(cells.map(_plain))
        return np.where(cells.isna(), np.nan, np.where(codes < 0, _UNKNOWN, codes))


def coding_of(X: Any, categorical_features: Any, where: str) -> Coding:
    """Return the Coding of a table's categorical columns: those named, or else detected.

    Parameters
    ----------
    X : array-like or pandas.DataFrame
    categorical_features : None, or sequence of int, str or bool
        Positions, names or a mask. None: pandas' categoricals, and text of few values.
    where : str
        What a message calls the data.
    """
    import pandas as pd

    if categorical_features is None and not _may_hold_categories(X, where):
        return Coding(np.zeros(0, bool), {})
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(_two_dimensional(X, where))
    if categorical_features is None:
        chosen = [j for j in range(frame.shape[1]) if is_category(frame.iloc[:, j])]
    else:
        chosen = _positions(categorical_features, frame, where)
    categorical = np.zeros(frame.shape[1], dtype=bool)
    categorical[chosen] = True
    values = {}
    for j in chosen:
        cells = frame.iloc[:, j].astype(object).map(_plain)
        values[j] = pd.Index(_sorted(pd.unique(cells[cells.notna()])), dtype=object)
    return Coding(categorical, values)


def mixed_table(
    X: Any, names: Sequence[str] | None, named: Sequence[str], where: str
) -> tuple[np.ndarray, dict[int, tuple[str, ...]], list[str]]:
    """Convert a table with categories and missing values; return matrix, categories and notes.

    Parameters
    ----------
    X : array-like or pandas.DataFrame
    names : sequence of str, optional
        Of the columns.
    named : sequence of str
        Columns that are categories, beside those that plainly are.
    where : str
        What a message calls the data.

    Returns
    -------
    matrix : array (n_samples, n_features)
        NaN where a value is missing.
    categories : dict of int to tuple of str
        By position of a category, its values in the order of their codes.
    told : list of str
        Which columns were detected as categorical, one sentence each.
    """
    import pandas as pd

    table = as_table(X, where, names)
    columns = range(1, table.shape[1] + 1) if names is None else names
    frame = pd.DataFrame(table) if not isinstance(table, pd.DataFrame) else table
    frame = frame.set_axis(list(columns), axis=1).infer_objects()
    noticed = [name for name in frame.columns if is_category(frame[name])]
    for name in named:
        if name not in frame.columns:
            raise InputError(
                f"{where} has no column '{name}' to be a category; "
                f"{near_column(name, [str(each) for each in frame.columns])}"
            )
    coding = coding_of(frame, [str(name) for name in [*named, *noticed]], where)
    told = [
        f"column '{name}' holds text, {frame[name].nunique()} values: taken as a category"
        for name in noticed
        if name not in named
    ]
    coded = coding.coded(frame, where, partial(reading_options, categorical=True))
    matrix = as_matrix(coded, where, None if names is None else list(names))
    categories = {
        j: tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
        for j, values in coding.values.items()
    }
    check_not_infinite(matrix, where, names)
    return matrix, categories, told


def is_category(column: "pd.Series") -> bool:
    """Return whether a column is a pandas Categorical, or text (no numbers) with few values."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if not (column.dtype.kind in "OSU" or isinstance(column.dtype, pd.StringDtype)):
        return False
    cells = column.dropna()
    if not len(cells) or not cells.map(lambda cell: isinstance(cell, str)).all():
        return False
    numbers = pd.to_numeric(cells, errors="coerce")
    if numbers.notna().any():
        return False  # The column holds numbers, some of them written in another way.
    return few_values(cells.nunique(), len(cells))


def has_missing(X: np.ndarray) -> bool:
    """Return whether any cell of X is NaN, checked in blocks of rows."""
    return X.dtype.kind == "f" and any(np.isnan(X[rows]).any() for rows in row_blocks(X))


def check_not_infinite(X: np.ndarray, where: str, names: Sequence[str] | None) -> None:
    """Raise InputError if a cell is infinite, naming the first; NaN is allowed."""
    for rows in row_blocks(X):
        if np.isinf(X[rows]).any():
            check_finite(np.where(np.isnan(X), 0.0, X), where, names)


def _may_hold_categories(X: Any, where: str) -> bool:
    """Return whether a table's column types allow cells that are not numbers."""
    if hasattr(X, "dtypes") and hasattr(X, "iloc"):
        return any(getattr(kind, "kind", "O") not in "biufc" for kind in X.dtypes)
    # Typed arrays are not inspected: they may be sparse, or larger than memory.
    kind = getattr(X, "dtype", None)
    return getattr(as_array(X, where).dtype if kind is None else kind, "kind", "f") in "OSU"


def _two_dimensional(X: Any, where: str) -> np.ndarray:
    array = as_array(X, where)
    if array.ndim != 2:
        raise InputError(f"{where}: give a table with one row per sample, not {array.ndim} axes")
    return array


def _positions(chosen: Any, frame: "pd.DataFrame", where: str) -> list[int]:
    try:
        listed = [chosen] if isinstance(chosen, str) else list(chosen)
    except TypeError:
        raise InputError(
            f"categorical_features is {chosen!r}: give a list of positions, names or a mask"
        ) from None
    names = [str(name) for name in frame.columns]
    if listed and all(isinstance(entry, bool | np.bool_) for entry in listed):
        if len(listed) != len(names):
            raise InputError(
                f"categorical_features is a mask of {len(listed)} for {len(names)} features: give "
                "one each, or positions, or names"
            )
        return np.flatnonzero(listed).tolist()
    found = []
    for entry in listed:
        if isinstance(entry, str):
            if entry not in names:
                raise InputError(
                    f"{where} has no column '{entry}' to be categorical; "
                    f"{near_column(entry, names)}"
                )
            found.append(names.index(entry))
        elif isinstance(entry, int | np.integer) and -len(names) <= entry < len(names):
            found.append(int(entry) % len(names))
        else:
            raise InputError(
                f"categorical_features has {entry!r}: give positions from 0 to {len(names) - 1}, "
                "names or a mask"
            )
    return found


def _plain_numbers(X: Any) -> Any:
    """Convert pandas' nullable numbers to floats, with NA as NaN."""
    import pandas as pd

    if isinstance(X, pd.DataFrame) and any(map(_is_nullable, X.dtypes)):
        return X.astype(dict.fromkeys(X.columns[list(map(_is_nullable, X.dtypes))], "float64"))
    return X


def _is_nullable(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf" and not isinstance(kind, np.dtype)


def _floats(column: "pd.Series", where: str) -> np.ndarray:
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} has no number in column '{column.name}': {error}") from None


def _plain(cell: Any) -> Any:
    """Convert a number to a float, so that 1, 1.0 and True are one category."""
    if isinstance(cell, bool | np.bool_ | int | float | np.integer | np.floating):
        return float(cell)
    return cell


def _sorted(values: Any) -> list[Any]:
    return sorted(values, key=lambda value: (str(type(value)), value))
