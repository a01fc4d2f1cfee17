"""What the columns of a table are: numbers, or categories that become codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.data.checks import as_array, check_finite, near_column, refuse_text, row_blocks
from convexfs.errors import InputError

#: Values that a column of text may have, also as a share of its rows, to be noticed as a category.
_MOST_VALUES, _MOST_SHARE = 50, 0.5
_NAME_IT = (
    f"; a category of more than {_MOST_VALUES} values, or of more than half as many as rows, must "
    "be named in categorical_features"
)
#: The code of a value that was not there when the codes were made: it differs from all.
_UNKNOWN = -1.0


@dataclass(frozen=True)
class Coding:
    """Which columns are categories, and what their codes stand for.

    Attributes
    ----------
    categorical : bool array (n_features,)
    values : mapping of int to pandas.Index
        Of each categorical column its values, in the order of their codes.
    """

    categorical: np.ndarray
    values: Mapping[int, Any]

    def coded(self, X: Any, where: str) -> Any:
        """Put codes for the categories of a table; NaN stands for what is missing.

        Raises
        ------
        InputError
            If there is text in a column that is no category.
        """
        import pandas as pd

        if not self.values:
            refuse_text(X, where, _NAME_IT)
            return _plain_numbers(X)
        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
        others = [j for j in range(frame.shape[1]) if j not in self.values]
        named = frame.iloc[:, others]
        refuse_text(named if X is frame else named.rename(columns=lambda j: j + 1), where, _NAME_IT)
        matrix = np.empty(frame.shape)
        for j in range(frame.shape[1]):
            column = frame.iloc[:, j]
            matrix[:, j] = self._codes(column, j) if j in self.values else _floats(column, where)
        return pd.DataFrame(matrix, frame.index, frame.columns) if X is frame else matrix

    def _codes(self, column: Any, j: int) -> np.ndarray:
        cells = column.astype(object)
        codes = self.values[j].get_indexer(cells.map(_plain))
        return np.where(cells.isna(), np.nan, np.where(codes < 0, _UNKNOWN, codes))


def coding_of(X: Any, categorical_features: Any, where: str) -> Coding:
    """Find the categories of a table, named or noticed.

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


def is_category(column: Any) -> bool:
    """Whether a column is pandas' categorical, or text of few values."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if not (column.dtype.kind in "OSU" or isinstance(column.dtype, pd.StringDtype)):
        return False
    cells = column.dropna()
    if not len(cells) or not cells.map(lambda cell: isinstance(cell, str)).all():
        return False
    return cells.nunique() <= min(_MOST_VALUES, max(2, _MOST_SHARE * len(cells)))


def has_missing(X: np.ndarray) -> bool:
    """Whether a cell is NaN; works through blocks of rows."""
    return X.dtype.kind == "f" and any(np.isnan(X[rows]).any() for rows in row_blocks(X))


def check_not_infinite(X: np.ndarray, where: str, names: Sequence[str] | None) -> None:
    """Raise if a cell is infinite; NaN may be."""
    for rows in row_blocks(X):
        if np.isinf(X[rows]).any():
            check_finite(np.where(np.isnan(X), 0.0, X), where, names)


def _may_hold_categories(X: Any, where: str) -> bool:
    """Whether a table has cells that are not plainly numbers."""
    if hasattr(X, "dtypes") and hasattr(X, "iloc"):
        return any(getattr(kind, "kind", "O") not in "biufc" for kind in X.dtypes)
    # Whatever has a type is not looked into: it may be sparse, or larger than memory.
    kind = getattr(X, "dtype", None)
    return getattr(as_array(X, where).dtype if kind is None else kind, "kind", "f") in "OSU"


def _two_dimensional(X: Any, where: str) -> np.ndarray:
    array = as_array(X, where)
    if array.ndim != 2:
        raise InputError(f"{where}: give a table with one row per sample, not {array.ndim} axes")
    return array


def _positions(chosen: Any, frame: Any, where: str) -> list[int]:
    listed = [chosen] if isinstance(chosen, str) else list(chosen)
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
    """A table without pandas' own numbers: they may be NA, which floats have as NaN."""
    import pandas as pd

    if isinstance(X, pd.DataFrame) and any(map(_is_nullable, X.dtypes)):
        return X.astype(dict.fromkeys(X.columns[list(map(_is_nullable, X.dtypes))], "float64"))
    return X


def _is_nullable(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "biuf" and not isinstance(kind, np.dtype)


def _floats(column: Any, where: str) -> np.ndarray:
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} has no number in column '{column.name}': {error}") from None


def _plain(cell: Any) -> Any:
    """A number of any type as a float, so that 1, 1.0 and True are one category; else itself."""
    if isinstance(cell, bool | np.bool_ | int | float | np.integer | np.floating):
        return float(cell)
    return cell


def _sorted(values: Any) -> list[Any]:
    return sorted(values, key=lambda value: (str(type(value)), value))
