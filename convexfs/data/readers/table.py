"""Convert a table to samples and classes: find ids, labels and orientation."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from convexfs.data.build import make_dataset
from convexfs.data.dataset import Dataset
from convexfs.data.readers.cells import numbers_left, read_cells
from convexfs.data.readers.label_file import ID_NAMES, check_ids, join_labels, target_column
from convexfs.data.readers.options import Reading, distinct_names
from convexfs.data.readers.transposed import transposition_hint, turn_table, with_metadata
from convexfs.data.text_columns import QUANTITY
from convexfs.data.validation import near_column
from convexfs.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

#: From this many rows on, the integers 0, 1, 2, ... (or from 1) are taken for ids.
_NUMBERED = 8
#: A text column with a larger share of decimals is taken for numbers with bad cells; one with a
#: larger share of quantities is no id, unless it is first or has an id's name.
_DECIMALS = 0.5
#: Least average number of rows per distinct word in a column that may hold classes.
_ROWS_A_CLASS = 4


def from_table(frame: "pd.DataFrame", reading: Reading, name: str) -> Dataset:
    """Make a Dataset of a DataFrame: find the columns of target and ids, and join labels.

    Parameters
    ----------
    frame : pandas.DataFrame
    reading : Reading
        Read options of the user; notes on what was inferred are appended to it.
    name : str
        What the data set and messages call it.
    """
    hint, metadata = "", {}
    if reading.transpose:
        frame, metadata, reading = turn_table(frame, reading)
    else:
        hint = transposition_hint(frame, reading.target)
    rows = len(frame)
    frame = frame.set_axis(distinct_names(frame.columns, reading.tell), axis=1)
    frame, features = read_cells(frame, reading), list(frame.columns[1:])
    if frame.shape[1] == 1:
        raise InputError(
            f"{name} has a single column '{frame.columns[0]:.40}', so no feature columns beside a "
            "target; check what separates its cells (--sep)"
        )
    own = _id_column(frame, reading, name)
    target = None
    if reading.labels is not None:
        frame, target = _labelled(frame, own, reading, name)
    aside = [_known(column, list(frame.columns), name) for column in reading.aside]
    others = {own, *aside}
    if target is None:
        columns = [column for column in frame.columns if column not in others]
        few = _of_few_words(frame[columns]) if reading.target is None else []
        target = target_column(columns, reading.target, name, hint, few)
        frame = _with_target(frame, target, reading)
    frame = numbers_left(frame, reading) if len(frame) < rows else frame
    ids = None if own is None else [str(value) for value in frame[own]]
    with _rows_counted(left_out=rows - len(frame)):
        data = make_dataset(
            frame[[column for column in frame.columns if column not in {target, *others}]],
            frame[target],
            name=name,
            target=target,
            ids=ids,
            id_name=own or "id",
            aside={column: frame[column] for column in aside},
            **reading.of_data_set,
        )
    return with_metadata(data, features, metadata)


@contextmanager
def _rows_counted(left_out: int) -> Iterator[None]:
    """Explain, in errors raised in this block, that rows are counted without those left out."""
    try:
        yield
    except InputError as error:
        if not left_out or "data row" not in str(error):
            raise
        raise InputError(f"{error}; rows are counted without the {left_out} left out") from None


def _with_target(frame: "pd.DataFrame", target: str, reading: Reading) -> "pd.DataFrame":
    """Return the rows that have a target, and note the others; all rows if none has one."""
    known = frame[target].notna().to_numpy()
    left_out = int((~known).sum())
    if left_out in (0, len(frame)):
        return frame
    reading.tell(f"{left_out} of {len(frame)} rows have no '{target}', and are left out")
    return frame[known]


def _of_few_words(frame: "pd.DataFrame") -> list[str]:
    """Return the text columns that may hold classes: few distinct words, each in several rows."""
    words = (column for column in _no_decimals(frame) if _is_text(frame[column]))
    return [c for c in words if 2 <= frame[c].nunique() <= len(frame) / _ROWS_A_CLASS]


def _no_decimals(frame: "pd.DataFrame") -> "pd.Index":
    """Return the names of the columns that do not hold floats, which are most in wide tables."""
    return frame.columns[[kind.kind != "f" for kind in frame.dtypes]]


def _id_column(frame: "pd.DataFrame", reading: Reading, name: str) -> str | None:
    """Return the id column: the requested one, or one that is clearly an id; None if none is."""
    others = {reading.target, *reading.drop, *reading.aside}
    columns = [column for column in frame.columns if column not in others]
    if reading.id is not None:
        _known(reading.id, list(frame.columns), name)
        check_ids(frame[reading.id], reading.id, name)
        return reading.id
    unique = [c for c in _no_decimals(frame[columns]) if _names_rows(frame[c])]
    for column in unique:
        first = column == frame.columns[0] or column.lower() in ID_NAMES
        words = _is_words(frame[column]) and (first or not _are_quantities(frame[column]))
        if words or _is_numbered(frame[column]) or column.lower() in ID_NAMES:
            reading.tell(f"column '{column}' has a different value in every row: taken as the id")
            return column
    if unique and len(frame) >= _NUMBERED:
        reading.tell(
            f"column '{unique[0]}' has another integer in every row: if it is an id, say "
            f"--id {unique[0]}"
        )
    return None


def _known(column: str, columns: Sequence[str], name: str) -> str:
    if column not in columns:
        raise InputError(f"{name} has no column '{column}'; {near_column(column, columns)}")
    return column


def _names_rows(column: "pd.Series") -> bool:
    """Return whether all values of a column are distinct texts or integers (three rows or more)."""
    if len(column) < 3 or (column.dtype.kind not in "iuOT" and not _is_text(column)):
        return False
    return bool(column.notna().all() and column.is_unique)


def _is_text(column: "pd.Series") -> bool:
    import pandas as pd

    return pd.api.types.is_string_dtype(column) and not pd.api.types.is_numeric_dtype(column)


def _is_words(column: "pd.Series") -> bool:
    """Return whether a column is text in which at most half of the cells are decimals."""
    import pandas as pd

    if not _is_text(column):
        return False
    numbers = pd.to_numeric(column.str.replace(",", "."), errors="coerce")
    return bool((numbers % 1 > 0).mean() <= _DECIMALS)


def _are_quantities(column: "pd.Series") -> bool:
    """Return whether most texts begin like dates, times or quantities with units."""
    return bool(column.str.match(QUANTITY).mean() > _DECIMALS)


def _is_numbered(column: "pd.Series") -> bool:
    return (
        len(column) >= _NUMBERED
        and column.dtype.kind in "iu"
        and any(np.array_equal(column, np.arange(k, k + len(column))) for k in (0, 1))
    )


def _labelled(
    frame: "pd.DataFrame", own: str | None, reading: Reading, name: str
) -> tuple["pd.DataFrame", str]:
    if own is None:
        raise InputError(f"{name} has no column of ids to join its labels by; say --id COLUMN")
    found = join_labels(frame[own], own, reading, name, list(frame.columns))
    frame = frame[found.known].drop(columns=found.target, errors="ignore")
    return frame.assign(**found.aside, **{found.target: found.labels}), found.target
