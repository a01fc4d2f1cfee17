"""A cone program as files hold it: what every format is read into and written from.

::

    minimise or maximise  1/2 x'Px + c'x + d
    subject to            Ax + b in K,   lower <= x <= upper,   some x whole

The rows of ``Ax + b`` stand cone after cone. Within a second-order cone they are t, then what
its norm is taken of; within an exponential cone x, y, z of ``y exp(x/y) <= z``; within a power
cone x, y, z of ``x^alpha y^(1-alpha) >= |z|``; a semidefinite matrix stands column by column,
all of it.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

ZERO, NONNEGATIVE = "equal to 0", "at least 0"
SECOND_ORDER, EXPONENTIAL = "second-order cone", "exponential cone"
POWER, SEMIDEFINITE = "power cone", "psd matrix"
KINDS = (ZERO, NONNEGATIVE, SECOND_ORDER, EXPONENTIAL, POWER, SEMIDEFINITE)
#: Limits of at least this absolute size mean no bound; files contain 1e20 with rounding errors.
INFINITE = 1e20 * (1 - 1e-9)
#: Files whose names would make more variables than this become one vector variable.
MOST_VARIABLES = 20
#: Files with more scalar columns than this also become one vector variable.
MOST_SCALARS = 5
_INDEXED = re.compile(r"(?P<base>.+)[_\[(](?P<index>\d+)[\])]?")


@dataclass(frozen=True)
class Cone:
    """Consecutive rows that lie in one cone; `alpha` is a power cone's exponent of x."""

    kind: str
    size: int
    alpha: float = math.nan

    @property
    def side(self) -> int:
        """Return the side of a semidefinite matrix."""
        return math.isqrt(self.size)


@dataclass(frozen=True)
class Variable:
    """Consecutive columns with one name; `semidefinite` ones form a square matrix."""

    name: str
    size: int
    semidefinite: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        side = math.isqrt(self.size)
        return (side, side) if self.semidefinite else (self.size,)


@dataclass(frozen=True)
class Program:
    """A cone program as in the module's docstring; `names` are the columns' names, if any.

    `row_names` are those of the rows of A, or none, with which of them are lower limits.
    """

    c: np.ndarray
    A: Any
    b: np.ndarray
    cones: tuple[Cone, ...]
    lower: np.ndarray
    upper: np.ndarray
    integer: np.ndarray
    d: float = 0.0
    P: Any = None
    maximise: bool = False
    variables: tuple[Variable, ...] = ()
    names: tuple[str, ...] = field(default=(), repr=False)
    row_names: tuple[tuple[str, bool], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, c: Any, A: Any, b: Any, cones: Iterable[Cone], **more: Any) -> "Program":
        """Make a program without bounds and integers, of one vector x, unless given in `more`."""
        c = np.asarray(c, dtype=float)
        free = {
            "lower": np.full(c.size, -np.inf),
            "upper": np.full(c.size, np.inf),
            "integer": np.zeros(c.size, dtype=bool),
            "variables": (Variable("x", c.size),),
        }
        rows = sparse.csr_array(A, shape=(np.size(b), c.size))
        return cls(c, rows, np.asarray(b, dtype=float), tuple(cones), **free | more)

    @property
    def kinds(self) -> set[str]:
        return {cone.kind for cone in self.cones}

    @property
    def blocks(self) -> list[tuple[Cone, slice]]:
        """Return each cone with the slice of its rows."""
        ends = np.cumsum([0, *(cone.size for cone in self.cones)])
        return [
            (cone, slice(int(start), int(stop)))
            for cone, start, stop in zip(self.cones, ends[:-1], ends[1:], strict=True)
        ]

    def rows(self, kind: str) -> np.ndarray:
        """Return the indices of all rows of one kind of cone."""
        own = [np.arange(rows.start, rows.stop) for cone, rows in self.blocks if cone.kind == kind]
        return np.concatenate([np.empty(0, dtype=int), *own])

    def with_bounds_apart(self) -> "Program":
        """Return the program with rows ``a x_j + b >= 0`` of one variable turned into bounds."""
        alone = np.zeros(self.b.size, dtype=bool)
        alone[self.rows(NONNEGATIVE)] = True
        alone &= np.diff(self.A.indptr) == 1
        alone[alone] = self.A.data[self.A.indptr[:-1][alone]] != 0
        if not alone.any():
            return self
        at = self.A.indptr[:-1][alone]
        columns, factors = self.A.indices[at], self.A.data[at]
        limits = -self.b[alone] / factors
        lower, upper = self.lower.copy(), self.upper.copy()
        below = factors > 0
        np.maximum.at(lower, columns[below], limits[below])
        np.minimum.at(upper, columns[~below], limits[~below])
        kept = ~alone
        left = (replace(cone, size=int(kept[rows].sum())) for cone, rows in self.blocks)
        return replace(
            self,
            A=self.A[kept],
            b=self.b[kept],
            row_names=(),
            cones=tuple(cone for cone in left if cone.size),
            lower=lower,
            upper=upper,
        )

    def with_bounds_as_rows(self) -> "Program":
        """Return the program with every finite bound of a variable turned into a row."""
        has_lower, has_upper = np.isfinite(self.lower), np.isfinite(self.upper)
        unit: Any = sparse.eye_array(self.c.size, format="csr")
        rows = [unit[has_lower], -unit[has_upper]]
        sides = [-self.lower[has_lower], self.upper[has_upper]]
        count = int(has_lower.sum() + has_upper.sum())
        return replace(
            self,
            A=sparse.csr_array(sparse.vstack([self.A, *rows])),
            b=np.concatenate([self.b, *sides]),
            row_names=(),
            cones=(*self.cones, Cone(NONNEGATIVE, count)) if count else self.cones,
            lower=np.full(self.c.size, -np.inf),
            upper=np.full(self.c.size, np.inf),
        )

    @property
    def column_names(self) -> list[str]:
        """Return the file's column names or, if none, ``w_0``, ``w_1``, or ``t`` for a scalar."""
        if self.names:
            return list(self.names)
        names = []
        for variable in self.variables:
            base = re.sub(r"\W", "_", variable.name)
            alone = variable.size == 1 and not _INDEXED.fullmatch(base)
            names += [base] if alone else [f"{base}_{i}" for i in range(variable.size)]
        return _distinct(names)


def _distinct(names: list[str]) -> list[str]:
    """Append positions to all names if some names are equal."""
    if len(set(names)) == len(names):
        return names
    return [f"{name}__{position}" for position, name in enumerate(names)]


def between(A: Any, low: np.ndarray, high: np.ndarray) -> tuple[Any, np.ndarray, tuple[Cone, ...]]:
    """Return A, b and cones of ``low <= Ax <= high``: equations, lower limits, upper limits."""
    low = np.where(low <= -INFINITE, -np.inf, low)
    high = np.where(high >= INFINITE, np.inf, high)
    equal = low == high
    at_least, at_most = np.isfinite(low) & ~equal, np.isfinite(high) & ~equal
    counts = ((ZERO, equal.sum()), (NONNEGATIVE, at_least.sum() + at_most.sum()))
    return (
        sparse.csr_array(sparse.vstack([A[equal], A[at_least], -A[at_most]])),
        np.concatenate([-low[equal], -low[at_least], high[at_most]]),
        tuple(Cone(kind, int(count)) for kind, count in counts if count),
    )


def names_between(
    names: Sequence[str], low: np.ndarray, high: np.ndarray
) -> tuple[tuple[str, bool], ...]:
    """Return pairs for the rows of :func:`between`: the name, and False for upper limits.

    A range has two rows of its name.
    """
    numbers = sparse.csr_array(np.arange(len(names), dtype=float)[:, None] + 1)
    rows, _, _ = between(numbers, low, high)
    found: list[float] = rows.toarray().ravel().tolist()
    return tuple((names[round(abs(each)) - 1], each > 0) for each in found)


def _parsed(name: str) -> tuple[str, int | None]:
    match = _INDEXED.fullmatch(name)
    return (match["base"], int(match["index"])) if match else (name, None)


def by_index(names: Sequence[str]) -> list[int]:
    """Return column indices in an order that puts each variable's columns together, by index."""
    places: dict[str, int] = {}
    keys = []
    for base, index in map(_parsed, names):
        keys.append((places.setdefault(base, len(places)), -1 if index is None else index))
    return sorted(range(len(names)), key=keys.__getitem__)


def grouped(names: Sequence[str]) -> tuple[Variable, ...]:
    """Return variables for columns named ``w_0``, ``w_1``, ...; one vector x if many or irregular.

    Names without numbers are those of another program's columns, not of variables, unless they
    are few.
    """
    found: list[Variable] = []
    for name in names:
        base, index = _parsed(name)
        last = found[-1] if found else None
        if last is not None and last.name == base and index == last.size:
            found[-1] = Variable(base, last.size + 1)
        elif index in (None, 0):
            found.append(Variable(base, 1))
        else:
            return (Variable("x", len(names)),)
        if len(found) > MOST_VARIABLES:
            return (Variable("x", len(names)),)
    scalars = [variable for variable in found if variable.size == 1]
    if len({variable.name for variable in found}) < len(found) or len(scalars) > MOST_SCALARS:
        return (Variable("x", len(names)),)
    return tuple(found)
