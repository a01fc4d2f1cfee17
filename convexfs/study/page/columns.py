"""Tables for a page: columns of numbers and words as compact JSON.

Numbers keep all their digits, so that what is downloaded from a page is what was computed;
the page rounds only what it shows.
"""

import json
from base64 import b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

#: Columns of more different words than this share of the rows are written as they are.
CODED_SHARE = 0.5
WORDS = ("text", "code", "long", "outcome")
WHOLE = ("flag", "count", "bad")


@dataclass(frozen=True)
class Column:
    """How a column is called and written.

    ``kind`` is one of the page's: text, code, long (text), outcome, flag, count, bad (a
    count that should be 0), number, seconds, residual, share. A hidden one is shown on
    demand; all are exported.
    """

    label: str
    kind: str = "text"
    hidden: bool = False
    title: str = ""


#: How the columns of runs and studies are shown; others go by their names.
COLUMNS = {
    "problem_class": Column("class"),
    "hyper": Column("hyper-parameters", "code"),
    "instance": Column("instance", "code"),
    "example": Column("example", "code"),
    "repeat": Column("repeat", "count"),
    "outcome": Column("outcome", "outcome"),
    "ok": Column("proven", "flag"),
    "failure": Column("message", "long"),
    "message": Column("message", "long"),
    "error": Column("largest residual", "residual"),
    "primal_residual": Column("primal residual", "residual"),
    "dual_residual": Column("dual residual", "residual"),
    "complementarity": Column("complementarity", "residual"),
    "gap": Column("gap", "residual"),
    "objective_error": Column(
        "objective off", "residual", title="relative distance from a proven objective"
    ),
    "tol": Column("tolerance", "residual"),
    "success_rate": Column("success", "share", title="solved of tried"),
    "wrong_claims": Column("wrong claims", "bad", title="called optimal, but refused"),
    "times_best": Column("× best", "number", title="times the fastest of the same problem"),
    "seconds_low": Column("low", "seconds", title="low end of the interval of seconds"),
    "seconds_high": Column("high", "seconds", title="high end of the interval of seconds"),
    "par10": Column("PAR10", "seconds", title="mean, ten times the limit if not solved"),
    "jaccard": Column("Jaccard", "share"),
    "share": Column("share", "share"),
}


def column_of(frame: Any, name: str, hidden: bool = False) -> Column:
    """How a column is shown, by its name or else by what is in it."""
    known = COLUMNS.get(name) or _guessed(frame[name])
    return replace(known, hidden=True) if hidden else known


def _guessed(values: Any) -> Column:
    name = str(values.name)
    label = name.replace("_", " ")
    if "seconds" in name or name == "time_limit":
        return Column(label.removesuffix(" seconds"), "seconds")
    if pd.api.types.is_bool_dtype(values):
        return Column(label, "flag")
    if pd.api.types.is_integer_dtype(values):
        return Column(label, "count")
    return Column(label, "number" if pd.api.types.is_float_dtype(values) else "text")


@dataclass(frozen=True)
class Table:
    """A frame and how its columns are shown."""

    frame: Any
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, frame: Any, shown: Collection[str] | None = None) -> "Table":
        """All columns of a frame, those in `shown` first; the others and empty ones hidden."""
        first = list(frame) if shown is None else list(shown)
        ordered = [*first, *(name for name in frame if name not in first)]
        hidden = {*ordered[len(first) :], *frame.columns[frame.isna().all()]}
        return cls(frame, {name: column_of(frame, name, name in hidden) for name in ordered})

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        columns = [
            {
                "name": name,
                "label": column.label,
                "kind": column.kind,
                **({"hidden": True} if column.hidden else {}),
                **({"title": column.title} if column.title else {}),
                **encoded(self.frame[name], column.kind),
            }
            for name, column in self.columns.items()
        ]
        return {"rows": len(self.frame), "columns": columns}


def encoded(values: Any, kind: str) -> dict[str, Any]:
    """A column in the fewest letters that keep it whole.

    Words are ``codes`` into ``levels`` with -1 for what is missing, or ``values`` if few
    are alike; whole numbers and flags are ``values``; others are ``doubles``, the bytes of
    little-endian doubles in base 64, which are half as long as digits and quicker to read.
    """
    if kind in WORDS:
        codes, levels = pd.factorize(values)
        if len(levels) > CODED_SHARE * len(values):
            return {"values": [None if pd.isna(value) else str(value) for value in values]}
        return {"levels": [str(level) for level in levels], "codes": codes.tolist()}
    if kind in WHOLE:
        plain = bool if kind == "flag" else int
        return {"values": [None if pd.isna(value) else plain(value) for value in values]}
    doubles = values.to_numpy(dtype="<f8", na_value=np.nan)
    return {"doubles": b64encode(doubles.tobytes()).decode()}


def script_json(value: Any) -> str:
    """JSON that can stand in a script element whatever words are in it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
