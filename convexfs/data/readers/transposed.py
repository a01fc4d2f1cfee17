"""Transpose tables whose samples are columns, and keep metadata columns of the features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from convexfs.data.dataset import Dataset
from convexfs.data.readers.cells import number_text
from convexfs.data.readers.options import Reading, unused_name
from convexfs.data.readers.text import ROW_NAMES, is_number

if TYPE_CHECKING:
    import pandas as pd

#: Most rows, and most columns, that are inspected for the orientation.
_LOOKED_AT = 50
#: A column with a larger share of words describes features and holds no values.
_MOSTLY = 0.5
#: At least this many last columns are samples, not metadata columns of the features.
_LEAST_SAMPLES = 2
#: Usual names of metadata columns about genes that may be numeric (featureCounts, cBioPortal, GEO).
_ABOUT_FEATURES = frozenset({
    "entrez_gene_id", "entrez", "entrezid", "entrez_id", "chr", "chrom", "chromosome", "start",
    "end", "strand", "length", "gene_length", "position", "pos", "gene_id", "ncbi_id",
})  # fmt: skip

Metadata = Mapping[str, Sequence[str]]


def turn_table(frame: "pd.DataFrame", reading: Reading) -> tuple["pd.DataFrame", Metadata, Reading]:
    """Transpose a table of features in rows; return it, the features' metadata, and options.

    Returns
    -------
    turned : DataFrame
        A column of ids, then one column per row of the table.
    metadata : mapping of str to sequence of str
        Columns about the features, such as gene symbols, by name.
    reading : Reading
        Its `drop` without the columns about features, which are left out.
    """
    names, first = [str(column) for column in frame.columns], _first_sample(frame)
    dropped = {name for name in names[1:] if name in reading.drop}
    about = [j for j in range(1, first) if names[j] not in dropped]
    samples = [j for j in range(first, len(names)) if names[j] not in dropped]
    metadata = {names[j]: _texts(frame.iloc[:, j]) for j in about}
    if about:
        listed = ", ".join(f"'{names[j]}'" for j in about)
        reading.tell(f"reported beside the names of features: {listed}")
    turned = _columns(frame.iloc[:, samples], reading)
    turned.columns = [str(value) for value in frame.iloc[:, 0]]
    turned.insert(0, unused_name(ROW_NAMES, turned.columns), [names[j] for j in samples])
    left = [name for name in reading.drop if name not in dropped]
    return turned, metadata, replace(reading, drop=left)


def with_metadata(data: Dataset, rows: Sequence[str], metadata: Metadata) -> Dataset:
    """Return the data with `metadata` of its features; `rows` names the feature of each entry."""
    if not metadata:
        return data
    places = {name: i for i, name in enumerate(rows)}
    found = [places[name] for name in data.feature_names]
    columns = {name: tuple(values[i] for i in found) for name, values in metadata.items()}
    return replace(data, feature_metadata=columns)


def transposition_hint(frame: "pd.DataFrame", target: str | None) -> str:
    """Return the end of an error message if samples seem to be columns: try --transpose; else "".

    Then the target is the name of a row; or a row of words is among rows of numbers, and every
    column is mixed; or numbered columns of numbers follow a column of distinct words.
    """
    if target is not None and len(frame.columns) and target in set(frame.iloc[:, 0]):
        return f"; but it has a row '{target}', as if samples were columns: try --transpose"
    part = frame.iloc[:_LOOKED_AT, 1 : _LOOKED_AT + 1]
    if min(part.shape) < 2:
        return ""
    word = np.array([[_is_word(cell) for cell in row] for row in part.to_numpy()])
    mixed = word.any(axis=0) & ~word.all(axis=0)
    rows = word.all(axis=1)
    if mixed.all() and rows.any() and not word[~rows].any():
        called = frame.iloc[int(np.flatnonzero(rows)[0]), 0]
        return f"; its samples seem to be columns (row '{called}' holds words): try --transpose"
    samples = [str(name) for name in frame.columns[_first_sample(frame) :]]
    names = frame.iloc[:, 0]
    if (
        not word[:, -1].any()
        and names.is_unique
        and _words(names) == 1.0
        and all(any(map(str.isdigit, name)) for name in samples)
    ):
        return "; if its samples are columns, add --transpose --labels FILE:COLUMN"
    return ""


def _first_sample(frame: "pd.DataFrame") -> int:
    """Return the index of the first sample column; those before it describe features."""
    first, last = 1, frame.shape[1] - _LEAST_SAMPLES
    if last < 1 or _words(frame.iloc[:, -1]) > _MOSTLY:
        return first
    while first <= last and (
        str(frame.columns[first]).lower() in _ABOUT_FEATURES
        or _words(frame.iloc[:, first]) > _MOSTLY
    ):
        first += 1
    return first if first <= last else 1


def _words(column: "pd.Series") -> float:
    """Return the fraction of words among the non-missing cells of a column."""
    if column.dtype.kind in "biufc":
        return 0.0
    cells = column.dropna()
    return float(cells.map(_is_word).mean()) if len(cells) else 0.0


def _columns(values: "pd.DataFrame", reading: Reading) -> "pd.DataFrame":
    """Return the transposed table, each column numeric if all its cells are numbers."""
    import pandas as pd

    if all(pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes):
        return pd.DataFrame(np.ascontiguousarray(values.to_numpy(np.float64).T))
    cells = values.astype(object).to_numpy()
    cells = np.where(values.isna().to_numpy(), np.nan, cells)
    number = number_text(reading)
    numbers, text = np.empty(cells.T.shape), {}
    for i, row in enumerate(cells):
        try:
            numbers[:, i] = row if number is str else [number(cell) for cell in row]
        except ValueError:
            text[i] = row
    parts = [pd.DataFrame(numbers)] if not text else [
        pd.DataFrame(numbers).drop(columns=list(text)),
        pd.DataFrame({i: pd.Series(list(row)) for i, row in text.items()}),
    ]  # fmt: skip
    return pd.concat(parts, axis=1).sort_index(axis=1)


def _texts(column: "pd.Series") -> list[str]:
    return column.astype(object).where(column.notna(), "").map(str).tolist()


def _is_word(cell: Any) -> bool:
    return isinstance(cell, str) and not is_number(cell.replace(",", "."))
