"""Solve linear programs by HiGHS and verify their bases in rational arithmetic.

All data are doubles, so they are rationals. A basis that HiGHS found gives one primal and one dual
point, computed exactly block by block. If both are exactly feasible, they are optimal, and no
tolerance is involved.
"""

import graphlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp
from flint import fmpq as _fmpq
from flint import fmpq_mat as _fmpq_mat
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from convexfs.certification.program.standard_form import StandardForm, reduce_rows
from convexfs.certification.rigorous.implied_bounds import Box
from convexfs.certification.rigorous.rounding import EPSILON

fmpq: Any = _fmpq
fmpq_mat: Any = _fmpq_mat
#: A basis with a diagonal block of more rows is not solved exactly.
LARGEST_BLOCK = 450
#: Programs with more entries are too expensive for exact arithmetic, which is not tried.
MOST_ENTRIES = 60_000
LOWER, BASIC, UPPER = 0, 1, 2


@dataclass(frozen=True)
class BasicSolution:
    """A result of HiGHS: point `z`, multipliers `y` of the form's rows, and the basis.

    `ray` are multipliers that prove infeasibility, if HiGHS returned any.
    """

    status: str
    z: np.ndarray
    y: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    ray: np.ndarray | None = None

    @property
    def optimal(self) -> bool:
        return self.status == "kOptimal"


@dataclass(frozen=True)
class ExactOptimum:
    """Exact objectives of a basis, without constant: `dual` is a bound, `primal` is attained."""

    dual: Fraction | None = None
    primal: Fraction | None = None
    z: np.ndarray | None = None


class LinearProgram:
    """The linear rows of a form as HiGHS takes them: rows of one column become column bounds.

    A bound that is not a double, such as 1/3 from ``3 x <= 1``, stays a row.
    """

    def __init__(self, form: StandardForm, box: Box | None = None):
        self.form = form
        A: Any = form.A
        counts = np.where(form.curved, 0, np.diff(A.indptr))
        rows = np.flatnonzero(counts == 1)
        columns, entries = A.indices[A.indptr[rows]], A.data[A.indptr[rows]]
        limits = -form.b[rows] / entries
        exact = _is_exact(-form.b[rows], entries, limits)
        rows, columns, entries, limits = (each[exact] for each in (rows, columns, entries, limits))
        equal = form.equalities[rows]
        self.lower = np.full(form.q.size, -np.inf)
        self.upper = np.full(form.q.size, np.inf)
        below, above = (entries > 0) | equal, (entries < 0) | equal
        np.maximum.at(self.lower, columns[below], limits[below])
        np.minimum.at(self.upper, columns[above], limits[above])
        if box is not None:
            self.lower = np.maximum(self.lower, box.lower)
            self.upper = np.minimum(self.upper, box.upper)
        general = counts > 0
        general[rows] = False
        self.rows = np.flatnonzero(general)
        self.A: Any = sp.csr_array(A[self.rows])
        self.b, self.equal = form.b[self.rows], form.equalities[self.rows]
        # Rows without entries, such as 0 >= 1, are not handed to HiGHS.
        broken = np.where(form.equalities, form.b != 0, form.b < 0)
        self.constants_hold = not np.any(broken & (counts == 0) & ~form.curved)

    @property
    def cheap(self) -> bool:
        """Return whether A has few enough entries for exact arithmetic to be cheap."""
        return self.A.nnz <= MOST_ENTRIES

    def solve(
        self,
        *,
        q: np.ndarray | None = None,
        box: tuple[np.ndarray, np.ndarray] | None = None,
        units: np.ndarray | None = None,
        presolve: bool = True,
        seconds: float = 60.0,
    ) -> BasicSolution:
        """Return HiGHS's result of minimising q'z (default: the form's q).

        `box` replaces the column bounds, and `units` scale the columns.
        """
        q = self.form.q if q is None else q
        lower, upper = (self.lower, self.upper) if box is None else box
        units = np.ones(q.size) if units is None else units
        A, costs = self.A @ sp.diags_array(units), q * units
        scales, cost = np.ones(self.b.size), 1.0
        if np.any(units != 1):
            sizes = reduce_rows(A, np.abs(A.data), np.maximum, 0.0)
            scales = np.exp2(-np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))
            cost = np.exp2(np.round(np.log2(np.abs(costs).max(initial=0.0) or 1.0)))
        highs = _solver(presolve, seconds)
        scaled = sp.csc_array(sp.diags_array(scales) @ A)
        bounds = lower / units, upper / units
        highs.passModel(highs_model(costs / cost, scaled, scales * self.b, self.equal, bounds))
        highs.run()
        return self._solution(highs, units, scales * cost, scales)

    def model(self, q: np.ndarray) -> Any:
        """Return the HiGHS model of this program, with costs q."""
        bounds = self.lower, self.upper
        return highs_model(q, sp.csc_array(self.A), self.b, self.equal, bounds)

    def _solution(
        self, highs: Any, units: np.ndarray, multiplier: np.ndarray, scales: np.ndarray
    ) -> BasicSolution:
        found, basis = highs.getSolution(), highs.getBasis()
        status = str(highs.getModelStatus()).rpartition(".")[2]
        z, y = np.zeros(units.size), np.zeros(self.form.b.size)
        if len(found.col_value) == units.size and len(found.row_dual) == self.b.size:
            z, y[self.rows] = np.array(found.col_value) * units, found.row_dual * multiplier
        ray = None
        if status == "kInfeasible":
            given = highs.getDualRay()
            given = np.asarray(given[-1] if isinstance(given, tuple) else given, dtype=float)
            if given.size == self.rows.size:
                ray = np.zeros(self.form.b.size)
                ray[self.rows] = given * scales
        statuses = ([int(each) for each in part] for part in (basis.col_status, basis.row_status))
        columns, rows = (np.array(part, dtype=int) for part in statuses)
        return BasicSolution(status, z, y, columns, rows, ray)

    def exact_optimum(
        self, basis: BasicSolution, costs: list[Any] | None = None, primal: bool = True
    ) -> ExactOptimum:
        """Return a basis's rational objectives; None where infeasible or too expensive.

        `costs` are the exact costs if they are no doubles.
        """
        n = self.form.q.size
        costs = [rational(each) for each in self.form.q.tolist()] if costs is None else costs
        basic, active = np.flatnonzero(basis.columns == BASIC), np.flatnonzero(basis.rows != BASIC)
        if basis.columns.size != n or basic.size != active.size:
            return ExactOptimum()
        square = sp.csr_array(self.A[active][:, basic])
        y = solve_exactly(sp.csr_array(square.T), [costs[j] for j in basic])
        dual = None if y is None else self._dual_value(active, y, costs)
        if not primal:
            return ExactOptimum(dual)
        z = self._vertex(basis, square, basic, active)
        if z is None or not (self.constants_hold and self._is_feasible(z)):
            return ExactOptimum(dual)
        value = sum((cost * each for cost, each in zip(costs, z, strict=True) if cost), fmpq(0))
        return ExactOptimum(dual, fraction(value), np.array([float(fraction(each)) for each in z]))

    def _dual_value(self, active: np.ndarray, y: list[Any], costs: list[Any]) -> Fraction | None:
        """Return the dual objective of exact multipliers; None if one is dual infeasible."""
        value, reduced = fmpq(0), list(costs)
        for row, multiplier in zip(active, y, strict=True):
            if multiplier == 0:
                continue
            if multiplier < 0 and not self.equal[row]:
                return None
            value -= multiplier * rational(self.b[row])
            for column, entry in rational_row(self.A, row):
                reduced[column] -= multiplier * entry
        for column, cost in enumerate(reduced):
            if cost == 0:
                continue
            bound = self.lower[column] if cost > 0 else self.upper[column]
            if not np.isfinite(bound):
                return None
            value += cost * rational(bound)
        return fraction(value)

    def _vertex(
        self, basis: BasicSolution, square: Any, basic: np.ndarray, active: np.ndarray
    ) -> list[Any] | None:
        at_bound = np.where(basis.columns == UPPER, self.upper, self.lower)
        other = np.where(np.isfinite(self.lower), self.lower, self.upper)
        fixed = np.where(np.isfinite(at_bound), at_bound, other)
        fixed = np.where(np.isfinite(fixed), fixed, 0.0)
        z = [rational(each) for each in fixed.tolist()]
        of_basis = np.zeros(fixed.size, dtype=bool)
        of_basis[basic] = True
        sides = []
        for row in active:
            others = (each for each in rational_row(self.A, row) if not of_basis[each[0]])
            known = sum((entry * z[column] for column, entry in others), rational(self.b[row]))
            sides.append(-known)
        values = solve_exactly(square, sides)
        if values is None:
            return None
        for column, value in zip(basic, values, strict=True):
            z[column] = value
        return z

    def _is_feasible(self, z: list[Any]) -> bool:
        for column, value in enumerate(z):
            low, high = self.lower[column], self.upper[column]
            if np.isfinite(low) and value < rational(low):
                return False
            if np.isfinite(high) and value > rational(high):
                return False
        for row in range(self.b.size):
            terms = (entry * z[column] for column, entry in rational_row(self.A, row))
            slack = sum(terms, rational(self.b[row]))
            if slack < 0 or (self.equal[row] and slack != 0):
                return False
        return True


class Session:
    """A HiGHS instance for repeated solves, each warm-started from the last basis."""

    def __init__(self, program: LinearProgram):
        self.program = program
        self.highs = _solver(presolve=False, seconds=600.0)
        self.highs.passModel(program.model(program.form.q))
        self.columns = np.arange(program.form.q.size, dtype=np.int32)

    def solve(self, lower: np.ndarray, upper: np.ndarray) -> BasicSolution:
        self.highs.changeColsBounds(self.columns.size, self.columns, lower, upper)
        self.highs.run()
        ones = np.ones(self.program.b.size)
        return self.program._solution(self.highs, np.ones(self.columns.size), ones, ones)


def highs_model(
    costs: np.ndarray, A: Any, b: np.ndarray, equal: np.ndarray, bounds: tuple[Any, Any]
) -> Any:
    """Return the HiGHS model with rows ``Ax + b >= 0``, ``== 0`` where `equal`; A is CSC."""
    program: Any = highspy.HighsLp()
    program.num_col_, program.num_row_ = costs.size, b.size
    program.col_cost_ = costs
    program.col_lower_, program.col_upper_ = bounds
    program.row_lower_, program.row_upper_ = -b, np.where(equal, -b, np.inf)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = A.indptr
    program.a_matrix_.index_ = A.indices
    program.a_matrix_.value_ = A.data
    return program


def silent_highs(**options: Any) -> Any:
    """Return an instance of HiGHS that prints nothing, with these options."""
    highs = highspy.Highs()
    for name, value in {"output_flag": False, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def _solver(presolve: bool, seconds: float) -> Any:
    return silent_highs(
        threads=1, presolve="on" if presolve else "off", primal_feasibility_tolerance=1e-9,
        dual_feasibility_tolerance=1e-9, time_limit=float(max(seconds, 0.01)),
        small_matrix_value=1e-12,
    )  # fmt: skip


def _is_exact(above: np.ndarray, below: np.ndarray, quotients: np.ndarray) -> np.ndarray:
    """Return a mask of the quotients that are exact in double precision."""
    simple = np.isin(np.abs(below), (1.0, 2.0, 4.0, 0.5, 0.25)) | (above == 0)
    for k in np.flatnonzero(~simple):
        simple[k] = Fraction(above[k]) == Fraction(quotients[k]) * Fraction(below[k])
    return simple


def rational(value: Any) -> Any:
    """Return a double as an exact rational."""
    return fmpq(*float(value).as_integer_ratio())


def fraction(value: Any) -> Fraction:
    """Convert a flint rational to a Python Fraction."""
    return Fraction(int(value.p), int(value.q))


def rounded_down(value: Fraction) -> float:
    """Return a double that is no larger than a rational and near to it."""
    nearest = float(value)
    return nearest - 4 * EPSILON * abs(nearest)


def rationals(values: np.ndarray) -> list[Any]:
    """Return doubles as exact rationals."""
    return [rational(each) for each in values.tolist()]


def rational_row(matrix: Any, row: int) -> Iterator[tuple[int, Any]]:
    """Yield (column, exact rational) of the stored entries of a row of a CSR matrix."""
    for at in range(matrix.indptr[row], matrix.indptr[row + 1]):
        yield int(matrix.indices[at]), rational(matrix.data[at])


def solve_exactly(matrix: Any, sides: list[Any]) -> list[Any] | None:
    """Solve a square sparse system in rationals; None if it is singular or too expensive."""
    side = len(sides)
    if side == 0:
        return []
    match = maximum_bipartite_matching(sp.csr_array(matrix), perm_type="column")
    if np.any(match < 0):
        return None
    matched = sp.csr_array(matrix[:, match])
    number, label = connected_components(matched, directed=True, connection="strong")
    if np.bincount(label).max() > LARGEST_BLOCK:
        return None
    x: list[Any] = [None] * side
    members: list[list[int]] = [[] for _ in range(number)]
    for row, each in enumerate(label):
        members[each].append(row)
    for each in _in_order(matched, label, number):
        if not _solve_block(matched, sides, members[each], x):
            return None
    solution: list[Any] = [None] * side
    for row, column in enumerate(match):
        solution[column] = x[row]
    return solution


def _in_order(matched: Any, label: np.ndarray, number: int) -> list[int]:
    """Return block numbers in solution order: each after the blocks whose unknowns it uses."""
    entries = sp.coo_array(matched)
    needs: dict[int, set[int]] = {each: set() for each in range(number)}
    for own, other in zip(label[entries.row], label[entries.col], strict=True):
        if own != other:
            needs[int(own)].add(int(other))
    return list(graphlib.TopologicalSorter(needs).static_order())


def _solve_block(matched: Any, sides: list[Any], rows: list[int], x: list[Any]) -> bool:
    """Solve one block, writing its unknowns into x; return False if it is singular."""
    place = {row: k for k, row in enumerate(rows)}
    size = len(rows)
    block, known = [fmpq(0)] * (size * size), []
    for k, row in enumerate(rows):
        side = sides[row]
        for column, value in rational_row(matched, row):
            if column in place:
                block[k * size + place[column]] = value
            else:
                side -= value * x[column]
        known.append(side)
    try:
        if size == 1:
            found = [known[0] / block[0]]
        else:
            solved = fmpq_mat(size, size, block).solve(fmpq_mat(size, 1, known))
            found = [solved[k, 0] for k in range(size)]
    except ZeroDivisionError:
        return False
    for row, value in zip(rows, found, strict=True):
        x[row] = value
    return True


def lagrangian_costs(
    form: StandardForm, y: np.ndarray, z: np.ndarray
) -> tuple[list[Any], Fraction]:
    """Return rational costs, one per column, and constant of the Lagrangian's tangent at z."""
    costs, constant = rationals(form.q), fmpq(0)
    for row in np.flatnonzero(y).tolist():
        multiplier = rational(y[row])
        constant -= multiplier * rational(form.b[row])
        for column, entry in rational_row(form.A, row):
            costs[column] -= multiplier * entry
    if form.P is not None:
        point, entries = rationals(z), form.P.tocoo()
        for i, j, value in zip(entries.row, entries.col, rationals(entries.data), strict=True):
            costs[i] += value * point[j]
            constant -= value * point[i] * point[j] / 2
    return costs, fraction(constant)
