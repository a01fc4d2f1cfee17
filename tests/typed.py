"""What a test knows of a value and its type does not say."""

from typing import Any, TypeVar

import cvxpy as cp

T = TypeVar("T")


def known(value: T | None) -> T:
    """The value of something optional that must be there."""
    assert value is not None
    return value


def number(value: Any) -> float:
    """A number that a library gives as one of many types, or as None where there is none."""
    assert value is not None
    return float(value)


def constraints(*rows: Any) -> list[cp.Constraint]:
    """Comparisons of cvxpy's expressions, which may be typed as Python's."""
    assert all(isinstance(row, cp.Constraint) for row in rows)
    return list(rows)


def labelled(row: Any, label: str) -> Any:
    """A comparison of cvxpy's expressions with a label."""
    assert isinstance(row, cp.Constraint)
    return row.set_label(label)
