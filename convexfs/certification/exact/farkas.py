"""Infeasible linear programs proven in rational arithmetic (Farkas)."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from convexfs.certification.exact.linear_program import (
    LinearProgram,
    fmpq,
    fmpq_mat,
    fraction,
    rational,
    rational_row,
    rationals,
)
from convexfs.certification.program.standard_form import StandardForm

#: Multipliers below this share of the largest are set to 0; the shares are tried in turn.
SUPPORTS = (1e-9, 1e-7, 1e-11)
#: Columns whose sums are at most this share of their terms are made to cancel exactly.
CANCELLED = 1e-8
#: Contradictions below this share of their terms count as rounding errors and prove nothing.
LAST_BITS = 2.0**-48
#: Matrices with more entries are not eliminated; then nothing is proven.
MOST_ENTRIES = 100_000


def contradicts_exactly(program: LinearProgram, ray: np.ndarray) -> bool:
    """Return whether multipliers on the support of `ray` prove infeasibility in exact arithmetic.

    The columns whose sums nearly cancel are made to cancel by elimination.
    """
    given = ray[program.rows]
    if not given.any():
        return False
    given = given / np.abs(given).max()
    sums, terms = program.A.T @ given, abs(program.A).T @ np.abs(given)
    cancelled = np.flatnonzero((np.abs(sums) <= CANCELLED * terms) & (terms > 1e-290))
    for share in SUPPORTS:
        support = np.flatnonzero(np.abs(given) > share)
        y = _cancelling(program.A[support][:, cancelled], given[support])
        if y is not None and _is_contradiction(program, support, y):
            return True
    return False


def _cancelling(matrix: Any, given: np.ndarray) -> list[Any] | None:
    """Return rational y near `given` with y'matrix = 0 exactly; None if too large or only y = 0."""
    dense = matrix.toarray()
    dense = dense[:, np.abs(dense).sum(axis=0) > 0]
    y = rationals(given)
    if not dense.size:
        return y
    if dense.size > MOST_ENTRIES:
        return None
    rows, columns = dense.shape
    reduced, rank = fmpq_mat(columns, rows, rationals(dense.T.ravel())).rref()
    pivots = [next(c for c in range(rows) if reduced[k, c] != 0) for k in range(rank)]
    free = sorted(set(range(rows)) - set(pivots))
    if not free:
        return None
    for k, pivot in enumerate(pivots):
        y[pivot] = -sum((reduced[k, each] * y[each] for each in free), fmpq(0))
    return y


def _is_contradiction(program: LinearProgram, support: np.ndarray, y: list[Any]) -> bool:
    """Return whether y'(Az + b) >= 0 contradicts the column bounds, in exact arithmetic.

    It must be so by more than the last bits of the data: 0.1 + 0.2 == 0.3 is meant to hold.
    """
    most, size, sums = fmpq(0), 0.0, {}
    for row, multiplier in zip(support, y, strict=True):
        if multiplier < 0 and not program.equal[row]:
            return False
        if multiplier == 0:
            continue
        most += multiplier * rational(program.b[row])
        size += abs(float(fraction(multiplier)) * program.b[row])
        for column, entry in rational_row(program.A, row):
            sums[column] = sums.get(column, fmpq(0)) + multiplier * entry
    for column, cost in sums.items():
        if cost == 0:
            continue
        bound = program.upper[column] if cost > 0 else program.lower[column]
        if not np.isfinite(bound):
            return False
        most += cost * rational(bound)
        size += abs(float(fraction(cost)) * bound)
    return bool(float(fraction(most)) < -LAST_BITS * size)


def least_violation_is_positive(form: StandardForm, seconds: float) -> bool:
    """Return whether an exact basis proves that every point violates a row; False if too large."""
    program = LinearProgram(softened(form))
    if not program.cheap:
        return False
    for presolve in (True, False):
        found = program.solve(presolve=presolve, seconds=seconds)
        if found.optimal and float(program.form.q @ found.z) > 0:
            dual = program.exact_optimum(found, primal=False).dual
            if dual is not None and float(dual) > LAST_BITS * np.abs(form.b).max(initial=0.0):
                return True
    return False


def softened(form: StandardForm) -> StandardForm:
    """Return the linear program that minimises the total violation of all rows but bounds."""
    program = LinearProgram(form)
    rows, m = program.rows, form.b.size
    equal = rows[program.equal]
    up = sp.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))), (m, rows.size))
    down = sp.csr_array((-np.ones(equal.size), (equal, np.arange(equal.size))), (m, equal.size))
    return form.with_slacks(sp.hstack([up, down]), np.ones(rows.size + equal.size))
