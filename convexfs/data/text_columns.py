"""Describe columns whose cells are not numbers, and the reading options that help."""

import csv
import io
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convexfs.errors import InputError, and_more

if TYPE_CHECKING:
    import pandas as pd

_DAY_OR_YEAR = r"(?:\d{1,2}|\d{4})"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"(?:{_DAY_OR_YEAR}([-./])\d{{1,2}}\1{_DAY_OR_YEAR}"
    rf"|\d{{1,2}}[-./ ]{_MONTH}[-./ ,]+{_DAY_OR_YEAR}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"(?:[ T]\d{1,2}:\d{2}.*)?",
    re.IGNORECASE,
)
#: Pattern of a detection limit such as <0.5 or >= 100; the group is its number.
LIMIT = re.compile(r"\s*[<>\u2264\u2265]\s*=?\s*([+-]?\d*[.,]?\d+(?:[eE][+-]?\d+)?)\s*")
#: Pattern of a number with commas between thousands, as 12,400 or 1,234,567.5.
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?\s*")
#: The same pattern with any separator, which is the group.
GROUPED = re.compile(r"\s*[+-]?[1-9]\d{0,2}([,. '])\d{3}(?:\1\d{3})*(?:[.,]\d+)?\s*")
#: Pattern of a number with a unit or sign, such as 12.5 %, 3.1 mg/l or $5; the groups are prefix,
#: number and suffix.
WITH_UNIT = re.compile(
    r"([$€£¥~≈'\"]?)\s*([+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?)"
    r"(\s*[%‰°'\"][^\d\s]{0,3}|\s+[^\d\s].{0,11})?"
)
#: Pattern of a text that begins with digits, as dates, times and quantities do and ids seldom.
QUANTITY = re.compile(r"\W*\d")
#: A text column with a larger share of numbers counts as numeric with text in some cells.
_MOSTLY = 0.5
#: Most texts that a suggested ``--na`` lists, most columns that a message names, and most columns
#: that a suggested ``--drop`` lists.
_TEXTS, _NAMED, _DROPPED = 5, 5, 30
#: A text column is categorical if it has at most this many distinct values and at most this share
#: of its rows, or at most the third number.
_MOST_VALUES, _MOST_SHARE, _FEW = 50, 0.25, 3
DATES, TEXT = "dates", "text"


@dataclass(frozen=True)
class TextColumn:
    """Description of a column with cells that are not numbers: first such cell, kind, counts.

    Attributes
    ----------
    name : str
    what : {"dates", "text"}
        Dates, if most cells are dates.
    cell : object
        The first cell that is not a number.
    row : int
        Its data row, counted from 1.
    texts : tuple of str
        The different cells that are not numbers.
    others : int
        Number of further such cells.
    mostly_numbers : bool
        Whether most other cells are numbers.
    few_values : bool
        Whether the column has so few values that it may be categorical.
    """

    name: str
    what: str
    cell: Any
    row: int
    texts: tuple[str, ...]
    others: int
    mostly_numbers: bool
    few_values: bool

    @property
    def place(self) -> str:
        """Text about the first such cell: its content, its row and how many more there are."""
        more = f" (and {self.others} more)" if self.others else ""
        return f"such as '{self.cell}' in data row {self.row}{more}"


def few_values(different: int, rows: int) -> bool:
    """Return whether `different` distinct values in `rows` cells are few enough for categories."""
    return different <= min(_MOST_VALUES, max(_FEW, _MOST_SHARE * rows))


def to_numbers(column: "pd.Series") -> "pd.Series":
    """Return a pandas column as numbers, NaN where a cell is not a number."""
    import pandas as pd

    return pd.to_numeric(column, errors="coerce")


def text_column(column: "pd.Series") -> TextColumn:
    """Return the TextColumn of a pandas column that is not numeric."""
    cells = column.reset_index(drop=True)
    known = cells[cells.notna()]
    if column.dtype.kind in "mM" or not len(known):
        cell, row = (known.iloc[0], known.index[0]) if len(known) else (column.iloc[0], 0)
        return TextColumn(str(column.name), DATES, cell, int(row) + 1, (), 0, False, False)
    texts = known.map(lambda cell: cell.decode() if isinstance(cell, bytes) else str(cell))
    plain = to_numbers(texts).notna()
    with_points = texts.str.replace(",", ".", regex=False)
    number = to_numbers(with_points).notna()
    number &= ~texts.map(lambda cell: THOUSANDS.fullmatch(str(cell)) is not None).astype(bool)
    if number.all():
        # The column has decimal commas, or numbers stored as text.
        number = plain if not plain.all() else ~plain
    odd = texts[~number]
    dates = odd.map(lambda cell: _DATE.fullmatch(str(cell).strip()) is not None)
    return TextColumn(
        name=str(column.name),
        what=DATES if dates.mean() > _MOSTLY and len(odd) > _MOSTLY * len(texts) else TEXT,
        cell=odd.iloc[0],
        row=int(odd.index[0]) + 1,
        texts=tuple(odd.unique()),
        others=len(odd) - 1,
        mostly_numbers=float(number.mean()) > _MOSTLY,
        few_values=few_values(texts.nunique(), len(texts)),
    )


def text_error(where: str, columns: Sequence[TextColumn], out: str) -> InputError:
    """Return (not raise) the InputError about columns that are not numeric; `out` ends it."""
    parts = [f"text in column '{each.name}', {each.place}" for each in columns if _spoilt(each)]
    if len(parts) > _NAMED:
        parts = [*parts[:_NAMED], f"text in {len(parts) - _NAMED} more columns of numbers"]
    whats = [what for what in (DATES, TEXT) if any(c.what == what for c in columns)]
    for what in whats:
        of_kind = [each for each in columns if each.what == what and not _spoilt(each)]
        if of_kind:
            parts.append(f"{what} in {_listing(of_kind)}, such as '{of_kind[0].cell}'")
    what = " and ".join(whats)
    cure = out if out.startswith("; add ") else f"; encode {what} as numbers or leave such "
    cure += "" if cure is out else f"columns out{out}"
    return InputError(f"{where} holds {'; '.join(parts)}{cure}")


def reading_options(columns: Sequence[TextColumn], categorical: bool) -> str:
    """Return the end of an error message: the options with which the table can be read.

    Parameters
    ----------
    columns : sequence of TextColumn
    categorical : bool
        Whether the method takes missing values and categorical columns.
    """
    limits, thousands = False, ""
    dropped, categories, missing = [], [], {}
    for each in columns:
        others = [text for text in each.texts if not LIMIT.fullmatch(text)]
        marked = {text: found.group(1) for text in others if (found := GROUPED.fullmatch(text))}
        mark = next(iter(marked.values()), "")
        grouped = [text for text in marked if marked[text] == mark]
        rest = [text for text in others if text not in grouped]
        if each.what == TEXT and each.few_values and len(rest) == len(each.texts):
            (categories if categorical else dropped).append(each.name)
        elif (not each.mostly_numbers and rest) or len(rest) > _TEXTS:
            dropped.append(each.name)
        else:
            limits |= len(others) < len(each.texts)
            thousands = thousands or mark
            missing |= dict.fromkeys(rest)
    if len(dropped) > _DROPPED:
        return f": --drop {dropped[0]},..., from Python drop=[...]"
    listed = {"na": list(missing), "categorical": categories, "drop": dropped}
    chosen = {"limits": "value"} if limits else {}
    chosen |= {"thousands": thousands} if thousands else {}
    chosen |= {"impute": "median"} if missing and not categorical else {}
    options = [f"--{name} {shlex.quote(value)}" for name, value in chosen.items()]
    options += [f"--{name} {_quoted(names)}" for name, names in listed.items() if names]
    python = [f"{name}={value!r}" for name, value in chosen.items()]
    python += [f"{name}=[...]" for name, names in listed.items() if names]
    notes = ["or --limits missing"] if limits else []
    if categorical and len(dropped) == 1 and columns[0].what == TEXT:
        notes.append(f"or --categorical {_quoted(dropped)}")
    notes.append(f"from Python {', '.join(python)}")
    return f"; add {' '.join(options)} ({'; '.join(notes)})"


def _spoilt(column: TextColumn) -> bool:
    return column.mostly_numbers and column.what == TEXT


def _quoted(names: Any) -> str:
    """Join names by commas, quoted for csv and for the shell."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(list(names))
    return shlex.quote(line.getvalue())


def _listing(columns: Sequence[TextColumn]) -> str:
    names = [f"'{each.name}'" for each in columns[:_NAMED]]
    return f"column{'s' * (len(columns) > 1)} {and_more(names, len(columns))}"
