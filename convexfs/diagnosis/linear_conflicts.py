"""Irreducible conflicts of linear rows, proven in rational arithmetic.

Rows S with multipliers y that cancel all columns prove that S has no feasible point, if y has the
signs of the rows and b'y < 0 (Farkas). If moreover the multipliers that cancel all columns are
the multiples of y alone, and y has no 0, then S is irreducible: without any one row the others
are linearly independent, and have no such multipliers. One elimination proves both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from convexfs.certification.auxiliary import Budget
from convexfs.certification.exact.linear_program import (
    BASIC,
    LinearProgram,
    fmpq,
    rational,
    silent_highs,
)
from convexfs.certification.program.standard_form import StandardForm
from convexfs.diagnosis.decisions import bound_row, multipliers_with_bounds

#: A column's sum below this share of its terms counts as 0: if it is nonbasic, and if basic.
CANCELLED, BASIC_CANCELLED = 1e-14, 1e-6
#: Multipliers, times the size of their rows, below this share of the largest count as 0.
SUPPORT = 1e-13
#: Value of HiGHS's option iis_strategy: reduce the conflict until it is irreducible.
IRREDUCIBLE = 6
#: HiGHS options that are tried in turn to get different rays.
RAYS: tuple[dict[str, Any], ...] = (
    {"presolve": "off"},
    {"presolve": "off", "simplex_strategy": 4},
    {"presolve": "off", "simplex_dual_edge_weight_strategy": 1},
    {"presolve": "off", "simplex_scale_strategy": 0},
)
#: Conflicts with more rows are not proven by exact elimination.
MOST_ROWS = 4000


@dataclass(frozen=True)
class ExactConflict:
    """Row indices of a conflict that is exactly proven irreducible, with their multipliers.

    `decimal` tells that the numbers were taken as they are written in decimals, 0.1 for 1/10.
    """

    rows: np.ndarray
    multipliers: list[Any]
    decimal: bool


def exact_conflict(form: StandardForm, budget: Budget) -> ExactConflict | None:
    """Return an exactly proven irreducible conflict of a linear program, or None."""
    for rows in _candidates(form, budget):
        found = _proven(form, rows)
        if found is not None:
            return found
        if budget.left <= 0:
            break
    return None


def _proven(form: StandardForm, rows: np.ndarray) -> ExactConflict | None:
    if not 0 < rows.size <= MOST_ROWS:
        return None
    for decimal in (False, True):
        y = _null_vector(form.A[rows], decimal)
        if y is None:
            continue
        support = np.flatnonzero([each != 0 for each in y])
        if support.size < rows.size:  # Repeat the elimination with only the necessary rows.
            return _proven(form, rows[support])
        signed = _signed(form, rows, y, decimal)
        if signed is not None:
            return ExactConflict(rows, signed, decimal)
    return None


def _signed(form: StandardForm, rows: np.ndarray, y: list[Any], decimal: bool) -> list[Any] | None:
    """Return y or -y, whichever exactly proves the rows infeasible; None if neither does."""
    depth = sum((_number(form.b[row], decimal) * each for row, each in zip(rows, y, strict=True)),
                fmpq(0))  # fmt: skip
    if depth == 0:
        return None
    y = y if depth < 0 else [-each for each in y]
    fits = all(each > 0 or form.equalities[row] for row, each in zip(rows, y, strict=True))
    return y if fits else None


def _number(value: Any, decimal: bool) -> Any:
    if not decimal:
        return rational(value)
    written = Fraction(repr(float(value)))
    return fmpq(written.numerator, written.denominator)


def _null_vector(A: Any, decimal: bool) -> list[Any] | None:
    """Return the exact null vector y with A'y = 0 if it is unique up to scale, else None.

    Gaussian elimination of sparse equations, one for each column, the shortest first.
    """
    A, size = sp.csc_array(A), A.shape[0]
    spans = zip(A.indptr[:-1].tolist(), A.indptr[1:].tolist(), strict=True)
    equations = [{int(A.indices[at]): _number(A.data[at], decimal) for at in range(start, stop)}
                 for start, stop in spans]  # fmt: skip
    where: list[set[int]] = [set() for _ in range(size)]
    for number, equation in enumerate(equations):
        for row in equation:
            where[row].add(number)
    left = {number for number, equation in enumerate(equations) if equation}
    solved: list[tuple[int, dict[int, Any]]] = []
    while left and len(solved) < size:
        number = min(left, key=lambda each: len(equations[each]))
        left.discard(number)
        equation = equations[number]
        if equation:
            pivot = min(equation, key=lambda row: len(where[row]))
            for other in where[pivot] & left:
                _subtract(equations[other], equation, pivot, where, other)
            solved.append((pivot, equation))
    free = set(range(size)) - {pivot for pivot, _ in solved}
    if len(free) != 1:
        return None
    y = {free.pop(): fmpq(1)}
    for pivot, equation in reversed(solved):
        total = sum((entry * y[row] for row, entry in equation.items() if row != pivot), fmpq(0))
        y[pivot] = -total / equation[pivot]
    return [y[row] for row in range(size)]


def _subtract(
    target: dict[int, Any], by: dict[int, Any], pivot: int, where: list[set[int]], number: int
) -> None:
    """Subtract a multiple of equation `by` from `target`, in place, to eliminate `pivot`."""
    factor = target[pivot] / by[pivot]
    for row, entry in by.items():
        value = target.get(row, 0) - factor * entry
        if value == 0:
            target.pop(row, None)
            where[row].discard(number)
        else:
            target[row] = value
            where[row].add(number)


def _candidates(form: StandardForm, budget: Budget) -> Iterator[np.ndarray]:
    """Yield row indices that may be irreducible conflicts, from HiGHS; nothing if it finds none."""
    program = LinearProgram(form)
    own = _reduced_conflict(program, budget)
    if own is not None:
        yield own
    sizes = np.abs(form.b) + np.asarray(form.sizes.max(axis=1).todense()).ravel()
    for settings in RAYS:
        for y in _rays(program, settings, budget):
            weights = np.abs(y) * sizes
            yield np.flatnonzero(weights > SUPPORT * weights.max(initial=0.0))


def _highs(program: LinearProgram, settings: dict[str, Any], budget: Budget) -> Any:
    """Run HiGHS on the feasibility problem; return it if it finds infeasibility, else None."""
    limit = max(0.05, min(30.0, budget.left))
    highs = silent_highs(threads=1, time_limit=limit, **settings)
    highs.passModel(program.model(np.zeros(program.form.q.size)))
    highs.run()
    infeasible = highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible
    return highs if infeasible else None


def _rays(program: LinearProgram, settings: dict[str, Any], budget: Budget) -> Iterator[np.ndarray]:
    """Yield multipliers of all rows from HiGHS's dual ray, with both signs.

    Where a column is basic its sum is 0, however large its rounding error.
    """
    form, highs = program.form, _highs(program, settings, budget)
    if highs is None:
        return
    given = highs.getDualRay()
    values = np.asarray(given[-1] if isinstance(given, tuple) else given, dtype=float)
    if values.shape != program.rows.shape or not values.any():
        return
    basic = np.array([int(each) for each in highs.getBasis().col_status]) == BASIC
    ray = np.zeros(form.b.size)
    ray[program.rows] = values
    sums, terms = np.abs(form.A.T @ ray), form.sizes.T @ np.abs(ray)
    cancelled = sums <= np.where(basic, BASIC_CANCELLED, CANCELLED) * terms
    for sign in (1.0, -1.0):
        yield multipliers_with_bounds(program, sign * ray, cancelled)


def _reduced_conflict(program: LinearProgram, budget: Budget) -> np.ndarray | None:
    """Return the row indices of HiGHS's own irreducible subsystem, not verified; None if none."""
    limit = max(0.05, min(10.0, budget.left))
    highs = _highs(program, {"iis_strategy": IRREDUCIBLE, "iis_time_limit": limit}, budget)
    if highs is None:
        return None
    _, conflict = highs.getIis()
    rows = [int(program.rows[row]) for row in conflict.row_index_]
    for column, kind in zip(conflict.col_index_, conflict.col_bound_, strict=True):
        # HiGHS's codes: 2 is the lower bound, 3 the upper bound, 4 both.
        below = [True] * (int(kind) in (2, 4)) + [False] * (int(kind) in (3, 4))
        rows += [bound_row(program, int(column), each) for each in below]
    found = [row for row in rows if row is not None]
    return np.unique(found).astype(int)
