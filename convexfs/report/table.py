"""A page's table, with all digits of its numbers in few bytes."""

from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from convexfs.report.columns import Column, On, guess_column

#: Text columns with a larger share of distinct values are not dictionary-encoded.
CODED_SHARE = 0.5
#: Numbers whose texts have on average at most this many characters are written as texts.
SHORT = 12


@dataclass(frozen=True)
class Table:
    """A titled DataFrame with the columns that a page shows; others are shown on demand.

    Without ``columns`` all are shown, in the order they have; ``aside`` never, nor empty ones.
    """

    title: str
    frame: pd.DataFrame
    columns: Collection[Column] = ()
    aside: Collection[str] = ()

    @property
    def shown(self) -> list[Column]:
        """The columns that a page shows at first: on the page, not empty, not in `aside`."""
        left_out = {*self.aside, *self.frame.columns[self.frame.isna().all()]}
        known = self.columns or map(guess_column, map(self.frame.get, self.frame))
        return [own for own in known if On.PAGE in own.on and own.name not in left_out]

    def as_json(self) -> dict[str, Any]:
        """Return the table as a dict for JSON: columns with names, kinds and encoded values."""
        known = {own.name: own for own in self.columns}
        shown = {own.name: own for own in self.shown}
        made = []
        for name in [*shown, *(name for name in self.frame if name not in shown)]:
            column = shown.get(name) or known.get(name) or guess_column(self.frame[name])
            told = {"name": name, "label": column.heading, "kind": column.kind}
            told |= {} if name in shown else {"hidden": True}
            told |= {"title": column.meaning} if column.meaning else {}
            made.append(told | encoded(self.frame[name], column.kind))
        return {"rows": len(self.frame), "columns": made}


def encoded(values: Any, kind: str) -> dict[str, Any]:
    """Encode a column losslessly and compactly for JSON, by its kind.

    Words are ``codes`` into ``levels`` with -1 for what is missing, or ``values`` if few
    are alike; integers, flags and numbers of few digits are ``values``; others are
    ``doubles``, the bytes of little-endian doubles in base 64, which are half as long as digits
    and quicker to read: the first bytes of all of them, then the second, because like bytes side
    by side are compressed better.
    """
    if kind in ("text", "code", "long", "outcome", "timed"):
        codes, levels = pd.factorize(values)
        if len(levels) > CODED_SHARE * len(values):
            return {"values": [None if pd.isna(value) else str(value) for value in values]}
        return {"levels": [str(level) for level in levels], "codes": codes.tolist()}
    if kind in ("flag", "count", "bad"):
        plain = bool if kind == "flag" else int
        return {"values": [None if pd.isna(value) else plain(value) for value in values]}
    doubles = values.to_numpy(dtype="<f8", na_value=np.nan)
    known = doubles[~np.isnan(doubles)]
    if np.isfinite(known).all() and sum(map(len, map(repr, known.tolist()))) <= SHORT * len(known):
        return {"values": [None if value != value else value for value in doubles.tolist()]}
    planes = np.frombuffer(doubles.tobytes(), np.uint8).reshape(-1, 8).T
    return {"doubles": b64encode(planes.tobytes()).decode()}
