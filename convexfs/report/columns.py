"""Columns of a page's or terminal's tables: name, unit, meaning and where they are shown."""

from dataclasses import dataclass
from enum import Flag, auto
from typing import Any

import pandas as pd

#: Format of numbers by kind of column, for the terminal.
_PRINTED = {"share": ".1%", "seconds": ".3g", "number": ".3g", "residual": ".0e"}


class On(Flag):
    """Where a column is shown: terminal, page, both, or on demand only."""

    DEMAND = 0
    TERMINAL = auto()
    PAGE = auto()
    BOTH = TERMINAL | PAGE


@dataclass(frozen=True)
class Column:
    """A column of a study's table: name, kind, meaning, heading and where it is shown.

    ``kind`` is its unit and format: text, code, long (text), outcome, timed (an outcome and
    seconds), flag, count, bad (a count that should be 0), number, seconds, residual, share.
    """

    name: str
    kind: str = "text"
    meaning: str = ""
    label: str = ""
    on: On = On.BOTH

    @property
    def heading(self) -> str:
        """The label or, without one, the name in words, without a final "seconds"."""
        return self.label or self.name.replace("_", " ").removesuffix(" seconds")

    def printed(self, value: Any) -> str:
        """Return the text of a cell's value for the terminal; "-" if missing."""
        if pd.isna(value):
            return "-"
        if self.kind == "flag":
            return "yes" if value else "no"
        return f"{value:{_PRINTED.get(self.kind, '')}}"


def guess_column(values: Any) -> Column:
    """Return a column that suits the name and dtype of a Series."""
    name = str(values.name)
    if "seconds" in name or name == "time_limit":
        return Column(name, "seconds")
    if pd.api.types.is_bool_dtype(values):
        return Column(name, "flag")
    if pd.api.types.is_integer_dtype(values):
        return Column(name, "count")
    return Column(name, "number" if pd.api.types.is_float_dtype(values) else "text")
