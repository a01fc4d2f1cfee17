"""Columns that an equation defines are substituted, where that is exact in floating point.

cvxpy and modellers write ``t == expression`` for auxiliary variables without bounds. The reduced
cost of such a column must vanish exactly, which is hard to prove for hundreds at once. Substituting
``t`` leaves the same problem with fewer columns and rows, provided that no coefficient of it is
rounded; other columns stay as they are. Bounds of a column that an equation fixes are left out too:
with ``w >= 0`` beside ``w == 0`` no point would be strictly feasible.
"""

from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import scipy.sparse as sp

from convexfs.certification.program.standard_form import StandardForm

#: Columns that occur in more than this many rows beside their equation are not substituted.
MOST_ROWS = 4
#: All substitutions together may add at most this share of A's entries.
GROWTH = 0.5
#: Substitution stops after copying this multiple of A's entries.
WORK = 10
#: In programs with more entries, no column is substituted.
MOST_ENTRIES = 300_000


@dataclass(frozen=True)
class Eliminated:
    """A program after the elimination of columns, and the equations that define these columns.

    `columns` and `rows` are those that are left; `defined` are, in order, a column and the
    entries and offset that define it.
    """

    form: StandardForm
    columns: np.ndarray
    rows: np.ndarray
    defined: tuple[tuple[int, dict[int, float], float], ...]

    def expanded(self, z: np.ndarray) -> np.ndarray:
        """Return the point of the full program: z, and eliminated columns from their equations."""
        full = np.zeros(self.columns.size + len(self.defined))
        full[self.columns] = z
        for column, entries, offset in reversed(self.defined):
            full[column] = offset + sum(value * full[k] for k, value in entries.items())
        return full


def without_defined_columns(form: StandardForm) -> Eliminated:
    """Return the program with equations substituted for columns without bounds, where exact."""
    working = _Rows(form)
    defined = []
    if form.A.nnz <= MOST_ENTRIES:
        for row in np.flatnonzero(form.equalities):
            found = working.substitute(int(row))
            if found is not None:
                defined.append(found)
    working.leave_out_bounds_of_fixed_columns()
    if not defined and not working.gone:
        everything = np.arange(form.q.size), np.arange(form.b.size)
        return Eliminated(form, *everything, ())
    return working.result(tuple(defined))


class _Rows:
    """The program's rows as dictionaries {column: entry}, changed by exact substitutions."""

    def __init__(self, form: StandardForm):
        A = form.A
        self.form, self.b, self.q = form, form.b.tolist(), form.q.tolist()
        self.rows: list[dict[int, float]] = [
            dict(zip(A.indices[start:stop].tolist(), A.data[start:stop].tolist(), strict=True))
            for start, stop in zip(A.indptr[:-1], A.indptr[1:], strict=True)
        ]
        self.users: list[set[int]] = [set() for _ in range(form.q.size)]
        for row, entries in enumerate(self.rows):
            for column in entries:
                self.users[column].add(row)
        self.bounded = np.zeros(form.q.size, dtype=bool)
        self.bounded[form.single_rows[1]] = True
        self.bounded[form.integer] = True
        if form.P is not None:
            self.bounded |= np.diff(form.P.indptr) > 0
        self.gone: set[int] = set()
        self.room, self.work = GROWTH * form.A.nnz, WORK * form.A.nnz

    def leave_out_bounds_of_fixed_columns(self) -> None:
        """Mark bound rows a x + b >= 0 that follow from an equation x == value as removed."""
        fixed = {}
        for row in np.flatnonzero(self.form.equalities).tolist():
            if len(self.rows[row]) == 1 and row not in self.gone:
                ((column, entry),) = self.rows[row].items()
                if abs(entry) == 1.0:
                    fixed[column] = -entry * self.b[row]
        for row in self.form.single_rows[0].tolist():
            if len(self.rows[row]) == 1:
                ((column, entry),) = self.rows[row].items()
                known = abs(entry) == 1.0 and column in fixed
                # The sign of a floating-point sum of two numbers is always right.
                if known and entry * fixed[column] + self.b[row] >= 0:
                    self.gone.add(row)

    def substitute(self, row: int) -> tuple[int, dict[int, float], float] | None:
        """Eliminate one column by the equation in `row`; return its definition, or None."""
        entries = self.rows[row]
        candidates = [
            (len(self.users[column]), column)
            for column, value in entries.items()
            if abs(value) == 1.0 and not self.bounded[column]
        ]
        for used, column in sorted(candidates):
            if not 1 < used <= MOST_ROWS + 1 or (used - 1) * len(entries) > self.room:
                continue
            # column = -(b + others) / value, where value is 1 or -1.
            sign = -entries[column]
            others = {k: sign * value for k, value in entries.items() if k != column}
            if self._try(row, column, others, sign * self.b[row]):
                self.gone.add(row)
                self.room -= (used - 2) * len(entries)
                return column, others, sign * self.b[row]
        return None

    def _try(self, row: int, column: int, others: dict[int, float], offset: float) -> bool:
        """Substitute `column` in all rows; False, changing nothing, if inexact or WORK is spent."""
        users = self.users[column] - {row}
        self.work -= sum(len(self.rows[user]) + len(others) for user in users)
        if self.work < 0:
            return False
        changed: dict[int, dict[int, float]] = {}
        offsets: dict[int, float] = {}
        for user in users:
            entries = dict(self.rows[user])
            factor = entries.pop(column)
            for k, value in others.items():
                total = _exact(entries.get(k, 0.0), factor, value)
                if total is None:
                    return False
                entries[k] = total
            moved = _exact(self.b[user], factor, offset)
            if moved is None:
                return False
            changed[user] = {k: value for k, value in entries.items() if value != 0.0}
            offsets[user] = moved
        costs = {k: _exact(self.q[k], self.q[column], value) for k, value in others.items()}
        if self.q[column] and (offset or any(cost is None for cost in costs.values())):
            return False  # A constant of the objective would be rounded.
        for user, entries in changed.items():
            for k in chain(self.rows[user], entries):
                self.users[k].discard(user)
            for k in entries:
                self.users[k].add(user)
            self.rows[user], self.b[user] = entries, offsets[user]
        if self.q[column]:
            for k, cost in costs.items():
                self.q[k] = 0.0 if cost is None else cost
            self.q[column] = 0.0
        for k in self.rows[row]:
            self.users[k].discard(row)
        return True

    def result(self, defined: tuple[tuple[int, dict[int, float], float], ...]) -> Eliminated:
        columns = np.setdiff1d(np.arange(len(self.q)), [column for column, _, _ in defined])
        rows = np.setdiff1d(np.arange(len(self.b)), sorted(self.gone))
        counts = [len(self.rows[row]) for row in rows]
        indices = [k for row in rows for k in self.rows[row]]
        data = [value for row in rows for value in self.rows[row].values()]
        A = sp.csr_array(
            (data, indices, np.concatenate([[0], np.cumsum(counts)])), (rows.size, len(self.q))
        )
        mask = np.zeros(len(self.b), dtype=bool)
        mask[rows] = True
        reduced = self.form.restricted(mask, columns)
        A = sp.csr_array(A[:, columns])
        A.sort_indices()
        form = replace(reduced, A=A, b=np.array(self.b)[rows], q=np.array(self.q)[columns])
        return Eliminated(form, columns, rows, defined)


def _exact(start: float, factor: float, value: float) -> float | None:
    """Return start + factor * value if it is exactly a double, else None."""
    product = factor * value
    if abs(factor) != 1.0 and abs(value) != 1.0 and abs(np.frexp(factor)[0]) != 0.5:
        return None
    total = start + product
    back = total - start
    error = (start - (total - back)) + (product - back)
    return total if error == 0.0 else None
