"""What must hold of columns that lie elsewhere, found in one pass over them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.data.columns import ColumnSource, parts
from convexfs.data.ranges import check_ends
from convexfs.errors import InputError

#: Columns looked at together.
_WIDTH = 1024
#: What programs around PLINK write for a genotype that is missing.
_PLINK_MISSING = -9


def check_columns(source: ColumnSource, where: str, map: Callable[..., Any] = map) -> np.ndarray:
    """Raise if a value is missing, infinite or too large; return the constant columns."""
    found = source.gather(_ends, map)
    low, high = (np.concatenate(ends) for ends in zip(*found, strict=True))
    _refuse_missing(source, low, high, where)
    return check_ends(low, high, where)


def _ends(block: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of each column; NaN of one that has NaN."""
    pairs = [(part.min(axis=0), part.max(axis=0)) for part in parts(block.open(), _WIDTH)]
    return np.concatenate([low for low, _ in pairs]), np.concatenate([high for _, high in pairs])


def _refuse_missing(source: ColumnSource, low: np.ndarray, high: np.ndarray, where: str) -> None:
    if source.dtype.kind == "f":
        bad, what = ~(np.isfinite(low) & np.isfinite(high)), "NaN or infinity"
    elif source.missing is not None:
        bad, what = low == source.missing, "a missing genotype (NaN)"
    elif source.dtype == np.int8:
        bad, what = (low == _PLINK_MISSING) & (high <= 2), "-9, a missing genotype (NaN)"
    else:
        return
    for column in np.flatnonzero(bad)[:1].tolist():
        values = source.take(np.array([column]))[:, 0]
        cells = ~np.isfinite(values) if source.dtype.kind == "f" else values == low[column]
        row = int(np.flatnonzero(cells)[0])
        raise InputError(
            f"{where} contains {what} at data row {row + 1}, column {column + 1} "
            f"({int(bad.sum())} such columns in all); impute such cells first"
        )
