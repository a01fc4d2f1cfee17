"""Optima of quasi-convex problems (DQCP): no point is better by more than the tolerance.

That the objective is at most t is a convex constraint for every t. A bound t on the optimum is
proven by infeasibility (:mod:`infeasibility`) of that constraint together with the others.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import ceil, floor, length
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.error import SolverError
from cvxpy.reductions.dqcp2dcp.dqcp2dcp import Dqcp2Dcp
from cvxpy.reductions.flip_objective import FlipObjective

from convexfs.certification.auxiliary import Budget, Stopped
from convexfs.certification.convex_form import ConvexForm, objective_value
from convexfs.certification.feasibility import value_of, violation
from convexfs.certification.infeasibility import certificate, proof_of_infeasibility
from convexfs.certification.program.scaling import NEAR_ZERO, proof_scale, units_at
from convexfs.certification.program.standard_form import StandardForm
from convexfs.records import PROVEN, REFUTED, UNDECIDED, Certificate, values_kept

#: Random changes of each variable, beside +-1 unit, that estimate the objective's unit.
DIRECTIONS = 5


def quasiconvex_optimum(
    problem: cp.Problem, objective: float, reported: float, tol: float, budget: Budget
) -> Certificate:
    """Return the certificate of the claim that the point in `problem` is optimal up to `tol`."""
    sizes = _sizes(problem)
    worst = min(violation(problem), violation(problem, sizes), key=lambda each: each.value)
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    least, typical = _changes_of_objective(problem, objective, sizes)
    scale = proof_scale(abs(objective), least, tol)
    # If the objective is near 0, a refutation measures the improvement in units of the data.
    coarse = typical if abs(objective) < NEAR_ZERO * typical else abs(objective)
    off = abs(reported - objective) / (max(scale, coarse) or 1.0)
    made = Certificate(
        worst.value, None, None, None, tol, "level sets",
        objective=objective, reported=off, where=(worst.where,) if worst.value > 0 else (),
    )  # fmt: skip

    def decided(verdict: str, reason: str = "", **fields: object) -> Certificate:
        return replace(made, verdict=verdict, reason=reason, **fields)  # type: ignore[arg-type]

    if not worst.value <= tol:
        return decided(REFUTED, f"{worst.where} is violated by {worst.value:.1e}")
    if off > tol:
        return decided(REFUTED, f"the reported objective is off by {off:.1e}")
    margin = tol * scale
    try:
        better = _better_point(problem, sign * objective - tol * max(scale, coarse))
        if better is not None:
            reason = f"a verified feasible point has objective {better:.9g}"
            return decided(REFUTED, reason, better=better)
        if level_is_infeasible(problem, sign * objective - margin, budget, strictly=margin == 0):
            bound = objective - sign * margin
            return decided(PROVEN, gap=tol if margin else 0.0, bound=bound, by="no better level")
    except Stopped:
        return decided(UNDECIDED, "stopped: the budget of CPU time is used up")
    return decided(UNDECIDED, f"no proof that nothing is better by more than {margin:.1e}")


def _sizes(problem: cp.Problem) -> dict[int, Any]:
    """Return units of the variables by id: from the constraints if DCP, else their magnitude."""
    sizes: dict[int, Any] = {
        each.id: np.abs(value_of(each)).max(initial=0.0) for each in problem.variables()
    }
    rows = cp.Problem(cp.Minimize(0), problem.constraints)
    if not rows.variables() or not rows.is_dcp():
        return sizes
    convex, form = ConvexForm.of(rows), StandardForm.of(rows)
    return sizes | convex.sizes(form, units_at(form, convex.columns(form)[0]).columns)


def _changes_of_objective(
    problem: cp.Problem, objective: float, sizes: dict[int, Any]
) -> tuple[float, float]:
    """Return the least and the median change of the objective when a variable changes by a unit.

    Of several changes the least is for proofs, and the median for refutations: single ones may
    cancel, or come near a denominator of 0.
    """
    least, typical, draw = [], [], np.random.default_rng(0)
    for variable in problem.variables():
        value = value_of(variable)
        changes = []
        for shares in (-1.0, 1.0, *draw.uniform(-1.0, 1.0, size=(DIRECTIONS, *value.shape))):
            variable.save_value(value + shares * sizes[variable.id])
            change = abs(objective_value(problem) - objective)
            changes += [change] if np.isfinite(change) and change > 0 else []
        variable.save_value(value)
        if changes:
            least.append(min(changes))
            typical.append(float(np.median(changes)))
    return min(least, default=0.0), min(typical, default=0.0)


class _Levels:
    """The convex feasibility problems of a quasi-convex problem, one per level of the objective."""

    def __init__(self, problem: cp.Problem):
        if isinstance(problem.objective, cp.Maximize):
            problem, _ = FlipObjective().apply(problem)
        self.problem, _ = Dqcp2Dcp().apply(problem)
        self.data = self.problem._bisection_data
        root = problem.objective.expr
        root = root.args[0] if isinstance(root, NegExpression) else root
        # An integer-valued objective has no levels between integers.
        self.integral = isinstance(root, ceil | floor | length)

    def excludes(self, cost: float) -> bool:
        """Return whether `cost` is negative although the objective is known to be nonnegative."""
        return bool(self.data.param.is_nonneg() and cost < 0)

    def at(self, cost: float) -> cp.Problem | None:
        """Return the problem to find a point of cost <= `cost`; None if trivially infeasible."""
        level = self.data.param
        level.value = min(cost, 0.0) if level.is_nonpos() else cost
        rows = [*self.problem.constraints, *(make() for make in self.problem._lazy_constraints)]
        if any(row is False for row in rows):
            return None
        return cp.Problem(cp.Minimize(0), [row for row in rows if row is not True])


def level_is_infeasible(
    problem: cp.Problem, cost: float, budget: Budget, strictly: bool = False
) -> bool:
    """Return whether surely no feasible point costs <= `cost` (< `cost` if `strictly`)."""
    levels = _Levels(problem)
    if levels.excludes(np.nextafter(cost, -np.inf) if strictly else cost):
        return True
    level = levels.at(np.floor(cost) if levels.integral else cost)
    if level is None:
        return True
    if strictly or not level.variables():
        return False
    found = proof_of_infeasibility(StandardForm.of(level), budget)
    return found is not None and found[1] == 0


def infeasible_quasiconvex(problem: cp.Problem, tol: float, budget: Budget) -> Certificate:
    """Return the certificate of a quasi-convex problem's infeasibility: proven or undecided."""
    constraints = cp.Problem(cp.Minimize(0), problem.constraints)
    try:
        if constraints.is_dcp() and constraints.variables():
            found = proof_of_infeasibility(StandardForm.of(constraints), budget)
            if found is not None:
                return certificate(tol, PROVEN, found[0], rounding=found[1] or None)
    except Stopped:
        return certificate(tol, UNDECIDED, reason="stopped: the budget of CPU time is used up")
    return certificate(tol, UNDECIDED, reason="no proof of infeasibility was found")


def _better_point(problem: cp.Problem, cost: float) -> float | None:
    """Return the objective of a feasible point found to cost less than `cost`, or None."""
    levels = _Levels(problem)
    if levels.excludes(cost):
        return None
    level = levels.at(np.floor(cost) if levels.integral else cost)
    if level is None:
        return None
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    with values_kept(problem.variables()), suppress(SolverError, ValueError):
        level.solve(solver=cp.CLARABEL)
        if all(variable.value is not None for variable in problem.variables()):
            value = objective_value(problem)
            if violation(problem).value == 0 and sign * value < cost:
                return value
    return None
