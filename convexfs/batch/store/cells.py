"""Cells of the store: from Python to SQL, and from SQL to the columns of data frames."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd

from convexfs.batch.store.schema import JSON_OBJECTS, columns, pack, storable
from convexfs.batch.store.sqlite_file import MOVE
from convexfs.errors import RunError

#: Python types that a column of each SQL type may hold. DTYPES has the pandas dtype to read it as.
HELD: dict[str, list[type]] = {
    "TEXT": [str, NoneType], "INTEGER": [int, NoneType], "REAL": [float, int, NoneType],
    "BLOB": [bytes, NoneType],
}  # fmt: skip
_HELD_AS_THEY_ARE = frozenset([float, int, bool, bytes, NoneType])
DTYPES = {"TEXT": "string", "INTEGER": "Int64", "REAL": "float64", "BLOB": "object"}
DTYPES |= {"BOOLEAN": "boolean", "JSON": "string"}


def task_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return task rows, never stored, as the same table as ``Store.tasks``."""
    frame = pd.DataFrame(
        [{name: cell(name, value) for name, value in row.items()} for row in rows],
        columns=list(columns()["tasks"]),
        dtype=object,
    )
    kinds = columns()["tasks"] | {"ok": "BOOLEAN"}
    return frame.astype({name: DTYPES[kind] for name, kind in kinds.items()})


def table_column(values: pd.Series, kind: str, where: str) -> pd.Series:
    """Return a column with its dtype; raise RunError if it holds a value of another type.

    `where` begins the message, up to the table's name.
    """
    wrong = ~values.map(type).isin(HELD[kind])
    if values.name == "ok":
        kind, wrong = "BOOLEAN", ~values.isin([0, 1, None])
    if values.name in JSON_OBJECTS and not wrong.any():
        kind, wrong = "JSON", ~values.map({text: _is_object(text) for text in set(values)})
    if wrong.any():
        found = values[wrong].iloc[0]
        raise RunError(f"{where}.{values.name} holds {found!r:.40}, which is no {kind}; {MOVE}")
    return values.astype(pd.api.types.pandas_dtype(DTYPES[kind]))


def _is_object(text: str | None) -> bool:
    try:
        return text is None or isinstance(json.loads(text), dict)
    except ValueError:
        return False


@lru_cache(maxsize=256)
def insertion(table: str, names: tuple[str, ...]) -> str:
    """Return the SQL that inserts or replaces a row with these columns; cached."""
    quoted, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
    return f"INSERT OR REPLACE INTO {table} ({quoted}) VALUES ({marks})"


def cell(column: str, value: Any) -> Any:
    """Return a value as SQLite stores it: text as UTF-8, mappings as JSON or packed arrays."""
    if type(value) in _HELD_AS_THEY_ARE:
        return value
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        if column in ("primal", "dual"):
            return pack(value)
        return json.dumps(value, sort_keys=True, default=lambda part: part.tolist())
    return value.item() if isinstance(value, np.generic) else value
