"""Decide whether some rows of a problem have a feasible point; every verdict is verified.

"Infeasible" rests on multipliers or branching that certification accepts, "feasible" on a point
that it proves to be feasible, or that breaks no row by more than 1e-8 of its terms.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexfs.certification.auxiliary import Budget, Found, Scaling, Stopped, least_violation
from convexfs.certification.branch_and_bound import integer_point_exists
from convexfs.certification.exact.linear_program import LinearProgram
from convexfs.certification.feasible_points import a_feasible_point as feasible_point_of
from convexfs.certification.feasible_points import change_to_feasible, is_tight, tightened
from convexfs.certification.infeasibility import has_exact_point, proof_of_infeasibility
from convexfs.certification.program.scaling import data_units
from convexfs.certification.program.standard_form import StandardForm, once
from convexfs.diagnosis.ownership import OwnedProgram, StatedRow

#: Most branch-and-bound nodes for one decision; after that it is unknown.
NODES = 500
#: Most CPU seconds for one decision; after that it is unknown.
SECONDS = 10.0
#: If the least violation is at most this share of the rows' units, feasibility is tried first.
NEARLY = 1e-7
#: If infeasibility is not proven, it is tried again without cones whose weights are below this
#: share of the largest.
SUPPORTS = (1e-4, 1e-6)
TIGHT = "a point that breaks no row by more than 1e-8 of its terms"
POINT = "a point that is proven to be feasible"


@dataclass(frozen=True)
class Decision:
    """Verdict whether some rows have a feasible point (None if unknown), and how it is proven.

    `weights` are sizes of multipliers by row of the whole program, where there are any: rows
    without weight are not needed for the contradiction.
    """

    feasible: bool | None
    by: str = ""
    weights: np.ndarray | None = None


class Decisions:
    """Feasibility decisions about subsets of a program's stated rows, cached, in a CPU budget.

    `relaxed` ones allow fractions where variables must be integers.
    """

    def __init__(self, program: OwnedProgram, budget: Budget, relaxed: bool = False):
        self.program, self.budget, self.relaxed, self.taken = program, budget, relaxed, 0
        self._known: dict[frozenset[int], Decision] = {}

    def decide(self, members: Iterable[StatedRow]) -> Decision:
        """Return the Decision about some stated rows; unknown if the CPU budget is exhausted."""
        chosen = list(members)
        key = frozenset(map(id, chosen))
        if key not in self._known:
            if self.budget.left <= 0:
                return Decision(None, "the time is used up")
            self.taken += 1
            self._known[key] = self._decide(chosen)
        return self._known[key]

    def _decide(self, members: list[StatedRow]) -> Decision:
        form, rows = self.program.restricted(members, self.relaxed)
        if not rows.size:
            return Decision(True, POINT)
        limit = Budget.of(min(SECONDS, self.budget.left))
        try:
            found = decide_form(form, limit)
        except Stopped:
            return Decision(None, "the time is used up")
        if found.weights is None:
            return found
        weights = np.zeros(self.program.form.b.size)
        weights[rows] = found.weights
        return Decision(found.feasible, found.by, weights)


def decide_form(form: StandardForm, budget: Budget) -> Decision:
    """Return the Decision whether a program has a feasible point; weights are by its rows."""
    nearest, flat = _nearest(form, budget), not form.curved.any()
    units = data_units(form).rows
    weights, broken = None, np.inf
    if nearest is not None:
        weights = np.abs(nearest.y) * units
        broken = float(np.max(form.outside(form.A @ nearest.z + form.b) / units, initial=0.0))
    for feasible in (True, False) if broken <= NEARLY else (False, True):
        if not feasible:
            by = _proof_of_infeasibility(form, weights, budget)
        elif form.integer.size:
            continue
        else:
            by = _proof_of_feasibility(form, nearest, budget, flat)
        if by is not None:
            return Decision(feasible, by, None if feasible else weights)
    if form.integer.size:
        exists, used = integer_point_exists(form, NODES, budget)
        return Decision(exists, f"branch and bound, {used} nodes")
    return Decision(None, "neither a feasible point nor a contradiction was verified")


def _proof_of_infeasibility(
    form: StandardForm, weights: np.ndarray | None, budget: Budget
) -> str | None:
    """Return text on how infeasibility is proven, or None; try heavy cones alone if needed.

    Where multipliers of all cones prove nothing, those of the cones that weigh most may: the
    others' lie on the boundary of their dual cones, where no correction has room.
    """
    found = proof_of_infeasibility(form, budget)
    if found is None and weights is not None and form.curved.any():
        together = form.together(weights)
        for share in SUPPORTS:
            kept = together > share * together.max(initial=0.0)
            if found is None and not kept.all():
                part = form.restricted(kept, np.unique(form.A[kept].indices))
                found = proof_of_infeasibility(part, budget)
    return None if found is None else found[0] + ", to rounding of the data" * (found[1] > 0)


def _nearest(form: StandardForm, budget: Budget) -> Found | None:
    """Return HiGHS's point and ray or, if curved, Clarabel's of least violation; else None."""
    if form.curved.any():
        return least_violation(form, Scaling.equilibrated(form))
    program = LinearProgram(form.without_objective())
    found = program.solve(presolve=False, seconds=budget.left)
    if found.ray is None:
        return Found(found.z, found.y) if found.optimal else None
    both = [multipliers_with_bounds(program, sign * found.ray) for sign in (1.0, -1.0)]
    return Found(found.z, max(both, key=lambda y: -form.b @ form.into_dual(y)), contradicts=True)


def multipliers_with_bounds(
    program: LinearProgram, ray: np.ndarray, cancelled: np.ndarray | None = None
) -> np.ndarray:
    """Return multipliers of all rows: those of general rows, and matching ones of bounds."""
    form, y = program.form, ray.copy()
    sums = form.A.T @ y
    if cancelled is None:
        cancelled = np.abs(sums) <= 1e-9 * (form.sizes.T @ np.abs(y))
    sums[cancelled] = 0.0
    for column in np.flatnonzero(sums):
        row = bound_row(program, int(column), below=bool(sums[column] < 0))
        if row is not None:
            y[row] = -sums[column] / form.A.data[form.A.indptr[row]]
    return y


def bound_row(program: LinearProgram, column: int, below: bool) -> int | None:
    """Return the index of a row that states a column's lower or upper bound; None if none does."""
    form, by_column = program.form, _by_column(program.form)
    limit = program.lower[column] if below else program.upper[column]
    for row in by_column.indices[by_column.indptr[column] : by_column.indptr[column + 1]]:
        at = form.A.indptr[row]
        if form.A.indptr[row + 1] - at != 1:
            continue
        entry = form.A.data[at]
        if (form.equalities[row] or (entry > 0) == below) and -form.b[row] / entry == limit:
            return int(row)
    return None


@once
def _by_column(form: StandardForm) -> Any:
    return sp.csc_array(form.A)


def _proof_of_feasibility(
    form: StandardForm, nearest: Found | None, budget: Budget, flat: bool
) -> str | None:
    """Return text on how a feasible point is verified, or None."""
    budget.check()
    if nearest is not None and change_to_feasible(form, nearest.z) is not None:
        return POINT
    if has_exact_point(form, budget) if flat else feasible_point_of(form) is not None:
        return POINT
    near = None if nearest is None else tightened(form, nearest.z)
    return TIGHT if near is not None and is_tight(form, near) else None
