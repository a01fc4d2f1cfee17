"""Search for multipliers that prove an optimum: by HiGHS, by Clarabel, and inside the cones.

Nothing that is found here is trusted: :class:`~convexfs.certification.optimality.OptimalityProof`
computes a bound from each candidate, rounded outward. Multipliers that come with a solution are
brought into the rows of a standard form; a wrong guess of their order or sign does no harm.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality, NonNeg, Zero

from convexfs.certification.auxiliary import (
    Budget,
    Found,
    Scaling,
    interior_multipliers,
    solved_again,
)
from convexfs.certification.duals.dual_bound import cost_at
from convexfs.certification.exact.linear_program import BasicSolution, LinearProgram
from convexfs.certification.program.cones import NonNegative
from convexfs.certification.program.scaling import units_at
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import Box
from convexfs.records import ConePoint

#: Fractions of the tolerance that may be lost by moving multipliers inside their cones.
INTERIOR_SHARES = (0.3, 0.03)
#: Linear programs with more entries try Clarabel before HiGHS.
LARGE = 100_000


@dataclass(frozen=True)
class Candidate:
    """A point and multipliers to try as a proof, with their simplex basis if there is one.

    `optimal` unless the multipliers were moved inside their cones, away from the optimum.
    """

    by: str
    z: np.ndarray
    y: np.ndarray
    basis: BasicSolution | None = None
    program: LinearProgram | None = None
    optimal: bool = True


@dataclass
class MultiplierSearch:
    """Search for candidate multipliers of a program by HiGHS and Clarabel.

    Parameters
    ----------
    form : StandardForm
        The program, without integers.
    point : ndarray
        Columns of the claimed point.
    box : Box
        Bounds on all points that may be cheaper.
    tol : float
        Gap that counts as none.
    scale : callable
        Returns what gaps are relative to, which is known better the more points are known.
    budget : Budget
        Of all searches together.
    """

    form: StandardForm
    point: np.ndarray
    box: Box
    tol: float
    scale: Callable[[], float]
    budget: Budget
    _found: Found | None = field(default=None, init=False)

    def candidates(self) -> Iterator[Candidate]:
        """Yield candidate points with multipliers, cheap and likely ones first."""
        if self.form.P is None and not self.form.curved.any():
            if self.form.A.nnz <= LARGE:
                yield from self._simplex()
                yield from self._interior()
            else:
                yield from self._interior()
                yield from self._simplex()
        else:
            yield from self._interior()
        yield from self._inside_cones()

    def _simplex(self) -> Iterator[Candidate]:
        program = LinearProgram(self.form)
        found = program.solve(seconds=self.budget.left)
        if found.optimal:
            yield Candidate("HiGHS", found.z, found.y, found, program)
        size = np.where(np.isfinite(self.box.magnitude), self.box.magnitude, np.abs(found.z))
        units = np.exp2(np.round(np.log2(np.where(size > 0, size, 1.0))))
        self.budget.check()
        found = program.solve(units=units, seconds=self.budget.left)
        if found.optimal:
            yield Candidate("HiGHS in units of the bounds", found.z, found.y, found, program)

    def _interior(self) -> Iterator[Candidate]:
        for scaling in self._scalings():
            self.budget.check()
            again = solved_again(self.form, scaling, self.budget.left)
            if again is not None and not again.contradicts:
                self._found = again
                yield Candidate("Clarabel", again.z, again.y)
        if self._found is not None and self.form.P is not None and not self.form.curved.any():
            yield from self._linearised(self._found.z)

    def _scalings(self) -> Iterator[Scaling]:
        """Yield two scalings by the data and the claimed point, and one by what was found."""
        at_point, scale = units_at(self.form, self.point, self.scale()), self.scale()
        yield Scaling.equilibrated(self.form)
        yield Scaling.of(self.form, at_point, scale)
        if self._found is not None:
            z = self._found.z
            size = abs(cost_at(self.form, z)[0]) or self.scale()
            yield Scaling.of(self.form, units_at(self.form, z, size), size)

    def _linearised(self, z: np.ndarray) -> Iterator[Candidate]:
        """Yield HiGHS's multipliers, if any, of the program linearised at z."""
        program = LinearProgram(replace(self.form, P=None, q=self.form.q + self.form.P @ z))
        lower = np.maximum(program.lower, self.box.lower)
        upper = np.minimum(program.upper, self.box.upper)
        for box in (None, (lower, upper)):
            self.budget.check()
            found = program.solve(box=box, seconds=self.budget.left)
            if found.optimal:
                basis = found if box is None else None
                yield Candidate("HiGHS at the tangent", z, found.y, basis, program)
                return

    def _inside_cones(self) -> Iterator[Candidate]:
        """Yield multipliers inside their cones, at a small loss; none if Clarabel failed before."""
        found = self._found
        if found is None:
            return
        rows = bool((~self.form.curved & ~self.form.equalities).any())
        for share, by_units in itertools.product(INTERIOR_SHARES, (False, True)):
            if by_units and not rows:
                continue
            scale = self.scale()
            lift = _lift(self.form, found.z, scale, share * self.tol * scale, by_units)
            units = units_at(self.form, found.z, scale)
            for scaling in (Scaling.of(self.form, units, scale), Scaling.equilibrated(self.form)):
                self.budget.check()
                inside = interior_multipliers(self.form, scaling, lift, self.budget.left)
                if inside is not None:
                    yield Candidate("Clarabel, inside the cones", inside.z, inside.y, optimal=False)


def _lift(
    form: StandardForm, z: np.ndarray, scale: float, budget: float, by_units: bool
) -> np.ndarray:
    """Return how far multipliers may move inside their cones if the bound may drop by `budget`."""
    inside = form.interior()
    terms = form.together(np.abs(form.b) + form.sizes @ np.abs(z))
    terms = np.where(terms > 0, terms, float(terms.max(initial=0.0)) or 1.0)
    slack = form.together(np.where(form.equalities, 0.0, np.abs(form.A @ z + form.b)))
    number = max(int((~form.equalities).sum()), 1)
    lift = np.minimum(budget / number / np.maximum(slack, 1e-9 * terms), 1e-3 * scale / terms)
    if by_units:
        units = form.together(units_at(form, z, scale).rows)
        lift = np.where(form.curved, lift, budget / number / np.maximum(slack, 1e-2 * units))
    lift = np.where(form.equalities, 0.0, lift) * inside
    # A column that occurs only in its bounds and has no cost needs multipliers of 0.
    counts = np.diff(form.A.indptr)
    entries = form.A.tocoo()
    shared = np.zeros(form.q.size, dtype=bool)
    shared[entries.col[(counts[entries.row] > 1) | form.curved[entries.row]]] = True
    if form.P is not None:
        shared |= np.diff(form.P.indptr) > 0
    rows, columns = form.single_rows
    lift[rows[~shared[columns]]] = 0.0
    return lift


#: Most row orders and signs of a solver's multipliers to try, smallest reduced costs first.
TRIED = 2


def of_cone_point(form: StandardForm, point: ConePoint) -> Iterator[np.ndarray]:
    """Yield up to TRIED readings of a solver's multipliers by row, if it solved this program.

    Solvers that take quadratic objectives as cones are given another program.
    """
    if point.x.size != form.q.size or point.y is None:
        return
    found = [each for y in form.multipliers(point.y) for each in _both_signs(form, y)]
    gradient = form.q + form.curvature(point.x)
    # Try the order and sign with the smallest reduced costs first.
    left = [float(np.abs(gradient - form.transposed @ form.into_dual(y)).sum()) for y in found]
    for k in np.argsort(left)[:TRIED]:
        yield found[k]


def of_constraints(problem: cp.Problem, form: StandardForm) -> Iterator[np.ndarray]:
    """Yield multipliers from ``dual_value`` if all constraints are linear.

    cvxpy keeps no multipliers of rows that it added itself: those of variables' attributes are
    taken for 0, before or after the stated rows.
    """
    equal, unequal = [], []
    for constraint in problem.constraints:
        value: Any = constraint.dual_value
        linear = isinstance(constraint, Equality | Zero | Inequality | NonNeg)
        if not linear or value is None or np.iscomplexobj(value):
            return
        into = equal if isinstance(constraint, Equality | Zero) else unequal
        into.append(np.ravel(np.asarray(value, dtype=float), order="F"))
    of_equations, of_others = (np.concatenate([np.empty(0), *part]) for part in (equal, unequal))
    free = np.flatnonzero(form.equalities)
    signed = np.concatenate([
        np.arange(block.rows.start, block.rows.stop) if isinstance(block.cone, NonNegative)
        else np.empty(0, dtype=int)
        for block in form.blocks
    ] or [np.empty(0, dtype=int)])  # fmt: skip
    fits = of_equations.size == free.size and of_others.size <= signed.size
    if not fits or free.size + signed.size != form.b.size:
        return
    spare = signed.size - of_others.size
    for rows in {0: (signed,)}.get(spare, (signed[spare:], signed[: of_others.size])):
        y = np.zeros(form.b.size)
        y[free], y[rows] = of_equations, of_others
        yield from _both_signs(form, y)


def _both_signs(form: StandardForm, y: np.ndarray) -> Iterator[np.ndarray]:
    """Yield y with the likelier sign of the equations' multipliers, and the other if unclear.

    The sign that leaves smaller reduced costs is right; both are yielded where that is unclear.
    """
    if not form.equalities.any():
        yield y
        return
    other = np.where(form.equalities, -y, y)
    left = [float(np.abs(form.q - form.transposed @ each).sum()) for each in (other, y)]
    better, worse = (other, y) if left[0] <= left[1] else (y, other)
    yield better
    if min(left) > 0.5 * max(left):
        yield worse
