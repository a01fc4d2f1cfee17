r"""Proofs that a problem has no feasible point.

Multipliers y of the dual cone with A'y = 0 and b'y < 0 leave no z with Az + b in K, because
y'(Az + b) would be negative (Farkas). They are the multipliers of a bound above 0 for the problem
without an objective, and are corrected and verified as any others (:mod:`dual_correction`); implied
bounds of the columns help, and often prove it alone. Linear programs are decided in rational
arithmetic where floating point is not enough, integer problems by branching.
"""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.certification.auxiliary import Budget, Scaling, Stopped, least_violation
from convexfs.certification.branch_and_bound import integer_point_exists
from convexfs.certification.convex_form import ConvexForm
from convexfs.certification.duals.correction_system import Goal
from convexfs.certification.duals.dual_bound import natural_multipliers
from convexfs.certification.duals.dual_correction import corrected_bound
from convexfs.certification.exact.farkas import (
    LAST_BITS,
    contradicts_exactly,
    least_violation_is_positive,
)
from convexfs.certification.exact.linear_program import LinearProgram
from convexfs.certification.feasible_points import a_feasible_point
from convexfs.certification.optimality import ROUNDING
from convexfs.certification.program.scaling import units_at
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import Box, implied_box
from convexfs.records import INFEASIBLE, PROVEN, REFUTED, UNDECIDED, Certificate

CONTRADICTION = "multipliers that no feasible point allows (Farkas)"
#: Multipliers below this share of the largest are set to 0; the shares are tried in turn.
NOISE = (0.0, 1e-9, 1e-6)
#: Relative depths inside curved cones at which multipliers are searched for, and moved to.
SEARCH_ROOMS, ROOMS = (0.0, 1e-3, 1e-1), (0.0, 1e-9, 1e-6)


def infeasible(problem: cp.Problem, tol: float, nodes: int, budget: Budget) -> Certificate:
    """Return the certificate of the claim that a DCP or DGP problem has no feasible point."""
    form = StandardForm.of(ConvexForm.of(problem).convex)
    try:
        found = proof_of_infeasibility(form, budget)
        if found is not None:
            return certificate(tol, PROVEN, found[0], rounding=found[1] or None)
        return _integer_or_refuted(form, tol, nodes, budget)
    except Stopped:
        reason = "stopped: the budget of CPU time is used up; no proof of infeasibility was found"
        return certificate(tol, UNDECIDED, reason=reason)


def certificate(
    tol: float, verdict: str, by: str = "", basis: str = CONTRADICTION, **fields: Any
) -> Certificate:
    """Return a Certificate with `verdict` on a claim, by default that a problem is infeasible."""
    gap = 0.0 if verdict == PROVEN else None
    fields = {"claim": INFEASIBLE, "verdict": verdict, "by": by, **fields}
    return Certificate(0.0, None, None, gap, tol, basis, **fields)


def _integer_or_refuted(form: StandardForm, tol: float, nodes: int, budget: Budget) -> Certificate:
    unproven = "no proof of infeasibility was found"
    if form.integer.size:
        exists, used = integer_point_exists(form, nodes, budget)
        if exists is None:
            return certificate(tol, UNDECIDED, reason=f"{unproven} in {used} nodes")
        if exists:
            return certificate(tol, REFUTED, reason="a feasible point exists")
        return certificate(tol, PROVEN, f"branch and bound, {used} nodes")
    if has_feasible_point(form, budget):
        return certificate(tol, REFUTED, reason="a feasible point exists")
    return certificate(tol, UNDECIDED, reason=unproven)


def has_feasible_point(form: StandardForm, budget: Budget) -> bool:
    """Return whether a feasible point is found and verified; raise Stopped if time is up."""
    budget.check()
    if a_feasible_point(form) is not None:
        return True
    return not form.curved.any() and has_exact_point(form, budget)


def has_exact_point(form: StandardForm, budget: Budget) -> bool:
    """Return whether a vertex of a linear program is feasible in rational arithmetic."""
    program = LinearProgram(form.without_objective())
    found = program.solve(seconds=budget.left)
    return found.optimal and program.cheap and program.exact_optimum(found).primal is not None


def proof_of_infeasibility(form: StandardForm, budget: Budget) -> tuple[str, float] | None:
    """Return how infeasibility (of the relaxation) is proven, up to which rounding; or None.

    Return None if no proof is found.
    """
    box = implied_box(form)
    if box.empty:
        return "bounds of the variables", 0.0
    flat = not form.curved.any()
    program = LinearProgram(form.without_objective()) if flat else None
    to_rounding: tuple[str, float] | None = None
    for by, y in _candidates(form, program, budget):
        budget.check()
        found = _contradiction(form, y, box, budget)
        if found == 0:
            return by, 0.0
        if found is not None and flat and found <= ROUNDING:
            to_rounding = by, found
        if program is not None and program.cheap and contradicts_exactly(program, y):
            return f"{by}, exact", 0.0
    if flat and program is not None and program.cheap and to_rounding is None:
        budget.check()
        if least_violation_is_positive(form, budget.left):
            return "an exact basis of least violation", 0.0
    return to_rounding


def _contradiction(form: StandardForm, y: np.ndarray, box: Box, budget: Budget) -> float | None:
    """Return the rounding error up to which y proves infeasibility: 0 if exact; None if not."""
    nothing, origin = form.without_objective(), np.zeros(form.q.size)
    natural = natural_multipliers(form, origin, 1.0)
    best: float | None = None
    for share in NOISE:
        cleaned = np.where(np.abs(y) <= share * np.abs(y).max(initial=0.0), 0.0, y)
        depth = -float(form.b @ form.into_dual(cleaned))
        if not depth > 0:
            continue
        goal = Goal(nothing, box, 0.3, 0.05, natural, time=budget)
        for room in ROOMS if form.curved.any() else ROOMS[:1]:
            bound, _ = corrected_bound(goal, cleaned / depth, origin, room)
            if bound.value > max(1e-9, LAST_BITS * float(np.abs(form.b) @ np.abs(bound.y))):
                if bound.rounding == 0:
                    return 0.0
                best = bound.rounding if best is None else min(best, bound.rounding)
    return best


def _candidates(
    form: StandardForm, program: LinearProgram | None, budget: Budget
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (source, multipliers) that may prove infeasibility, from HiGHS and Clarabel."""
    if program is not None:
        found = program.solve(presolve=False, seconds=budget.left)
        if found.ray is not None:
            yield "multipliers of HiGHS", found.ray
            yield "multipliers of HiGHS", -found.ray
    units = units_at(form, np.zeros(form.q.size))
    for scaling in (Scaling.equilibrated(form), Scaling.of(form, units, 1.0)):
        for room in SEARCH_ROOMS if form.curved.any() else SEARCH_ROOMS[:1]:
            budget.check()
            nearest = least_violation(form, scaling, room, budget.left)
            if nearest is not None and -form.b @ nearest.y > 0:
                yield "multipliers of Clarabel", nearest.y
