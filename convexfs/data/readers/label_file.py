"""Read class labels from a separate file and join them to samples by id."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexfs.data.readers.options import Reading, distinct_names
from convexfs.data.targets import check_single_target
from convexfs.data.validation import last_columns, near_column
from convexfs.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_TARGET_NAMES = frozenset({"target", "class", "label", "y"})
_NAMED_AT_MOST = 5
#: Usual names, in lower case, of columns with sample ids.
ID_NAMES = frozenset({"id", "ids", "sample", "sample_id", "sampleid", "sample id", "patient",
                      "patient_id", "subject", "subject_id", "barcode", "iid"})  # fmt: skip


@dataclass(frozen=True)
class Joined:
    """Labels from another file: a mask of the samples that have one, and the labels.

    Attributes
    ----------
    known : bool array
        Whether a sample has a label.
    target : str
        Name of the labels.
    labels : array
        Those of the known samples.
    aside : mapping of str to array
        Columns of groups and batches of the known samples that only this file has.
    """

    known: np.ndarray
    target: str
    labels: np.ndarray
    aside: Mapping[str, Any] = field(default_factory=dict)


def join_labels(
    ids: Iterable[Any], own: str, reading: Reading, name: str, columns: Sequence[str] = ()
) -> Joined:
    """Join labels to samples by id or, if no id matches, by file name; note those left over.

    Parameters
    ----------
    ids : sequence
        One a sample.
    own : str
        What the ids are called.
    reading : Reading
        With ``labels``, the file and perhaps its column.
    name : str
        What messages call the samples.
    columns : sequence of str
        Of their table, to see whether the samples are columns, and which columns of groups and
        batches it has itself.
    """
    table = _label_column(str(reading.labels), own, reading, columns)
    classes = table.iloc[:, 0]
    texts = np.array([str(value) for value in ids], dtype=object)
    known = np.isin(texts, classes.index.to_numpy(dtype=object))
    if not known.any():
        short = _file_stems(texts, set(classes.index))
        known = np.array([text is not None for text in short])
        if not known.any() or len({*short} - {None}) < known.sum():
            alike = set(columns) & set(classes.index) or any(_file_stems(columns, {*classes.index}))
            raise InputError(
                f"no id of {name} ('{texts[0]}', ...) is in {reading.labels} "
                f"('{classes.index[0]}', ...); "
                + ("but its columns are: try --transpose" if alike
                   else "check that both name the samples alike")
            )  # fmt: skip
        first = int(known.argmax())
        reading.tell(f"samples are matched by file name: '{texts[first]}' is '{short[first]}'")
        texts = np.array(short, dtype=object)
    left, unused = int((~known).sum()), len(classes) - int(known.sum())
    if left:
        reading.tell(f"{left} samples without a label in {reading.labels} are left out")
    if unused:
        reading.tell(f"{unused} labels of {reading.labels} have no sample")
    found = table.loc[texts[known]]
    aside = {str(column): found[column].to_numpy() for column in found.columns[1:]}
    return Joined(known, str(classes.name), found.iloc[:, 0].to_numpy(), aside)


def _file_stems(names: Iterable[str], known: set[str]) -> list[str | None]:
    """Return, per name, the known id it has without folder and suffixes; None if there is none.

    >>> _file_stems(["/data/S01.sorted.bam", "S02"], {"S01"})
    ['S01', None]
    """
    found: list[str | None] = []
    for name in names:
        parts = re.split(r"[/\\]", str(name))[-1].split(".")
        stems = (".".join(parts[:number]) for number in range(len(parts), 0, -1))
        found.append(next((stem for stem in stems if stem in known), None))
    return found


def in_order(n_samples: int, reading: Reading, name: str) -> Joined:
    """Read one label per sample in file order, for samples without ids; raise if counts differ."""
    path, table, column = _label_table(str(reading.labels), reading)
    columns = [str(each) for each in table.columns]
    target = target_column(columns, column or (columns[0] if len(columns) == 1 else None), path)
    labels = table[target]
    if len(labels) != n_samples:
        raise InputError(
            f"{path} has {len(labels)} labels for the {n_samples} samples of {name}, which have no "
            "names to join them by; give one a sample, in their order"
        )
    reading.tell(f"labels of {path} are taken in the order of the samples, which have no names")
    return Joined(np.ones(n_samples, dtype=bool), target, labels.to_numpy())


def target_column(
    columns: list[str], target: str | None, name: str, hint: str = "", likely: Sequence[str] = ()
) -> str:
    """Return the name of the target column: the requested or the only usual one; else raise.

    Where there is none, the error names those that are `likely` to hold classes, and `hint`.
    """
    if target in columns:
        return str(target)
    if target is not None:
        check_single_target(target, columns)
        raise InputError(f"{name} has no column '{target}'; {near_column(target, columns)}{hint}")
    usual = [column for column in columns if column.lower() in _TARGET_NAMES]
    if len(usual) != 1:
        raise InputError(
            f"{name} has {len(usual) or 'no'} columns called target, class, label or y; say which "
            "column holds the classes by target=, in a command or a problem file by --target: "
            f"{_likely_columns(likely) or last_columns(columns)}{hint}"
        )
    return usual[0]


def _likely_columns(columns: Sequence[str]) -> str:
    if not columns:
        return ""
    more = ", ..." if len(columns) > _NAMED_AT_MOST else ""
    return f"it may be {' or '.join(columns[:_NAMED_AT_MOST])}{more}"


def check_ids(column: "pd.Series", called: str, name: str) -> None:
    """Raise InputError if an id in the column is missing or repeated."""
    missing, copies = np.flatnonzero(column.isna()), np.flatnonzero(column.duplicated())
    if missing.size:
        raise InputError(f"{name} has no id in '{called}' at data row {missing[0] + 1}; fill it in")
    if copies.size:
        raise InputError(
            f"{name} has the id '{column.iloc[copies[0]]}' in '{called}' more than once, again at "
            f"data row {copies[0] + 1}; make ids unique, or name another column"
        )


def _label_column(spec: str, own: str, reading: Reading, known: Sequence[str]) -> "pd.DataFrame":
    """Read FILE or FILE:COLUMN as a table indexed by id: classes first, then metadata columns."""
    path, table, column = _label_table(spec, reading)
    usual = [c for c in table.columns if c == own] + [
        c for c in table.columns if c.lower() in ID_NAMES
    ]
    ids = [*usual, str(table.columns[0])][0]
    others = [c for c in table.columns if c != ids]
    if column is None and len(others) == 1:
        column = others[0]
    column = target_column(others, column, path)
    check_ids(table[ids], ids, path)
    labels = table.dropna(subset=[ids, column])
    aside = [name for name in reading.aside if name not in known and name != column]
    for name in aside:
        if name not in others:
            raise InputError(
                f"neither the data nor {path} have a column '{name}'; {near_column(name, others)}"
            )
    return labels.set_axis(labels[ids].astype(str), axis=0)[[column, *aside]]


def label_file(spec: str) -> tuple[str, str | None]:
    """Split FILE or FILE:COLUMN into the path and the column, None if not given."""
    if Path(spec).exists() or ":" not in spec:
        return spec, None
    path, column = spec.rsplit(":", 1)
    return path, column


def _label_table(spec: str, reading: Reading) -> tuple[str, "pd.DataFrame", str | None]:
    """Read FILE or FILE:COLUMN; return path, DataFrame and requested column (or None)."""
    from convexfs.data.readers.files import read_content

    path, column = label_file(spec)
    column = column or reading.target
    content = read_content(Path(path), Reading(limit=reading.limit), path)
    if not hasattr(content, "columns"):
        raise InputError(f"{path} is no table; give labels as a table with ids and classes")
    return path, content.set_axis(distinct_names(content.columns), axis=1), column
