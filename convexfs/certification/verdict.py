"""One proof for each claim: an optimum, no feasible point, no optimum."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
from cvxpy import settings as cvxpy_settings

from convexfs.certification.assumptions import broken_assumption
from convexfs.certification.convex_form import lacking_values, objective_value
from convexfs.certification.convex_optimum import BASIS, Claimed, ConvexOptimum, Rules
from convexfs.certification.feasibility import (
    violation,
)
from convexfs.certification.infeasibility import infeasible
from convexfs.certification.optimality import ROUNDING
from convexfs.certification.quasiconvex import infeasible_quasiconvex, quasiconvex_optimum
from convexfs.certification.unboundedness import unbounded
from convexfs.records import (
    INFEASIBLE,
    OPTIMAL,
    PROVEN,
    REFUTED,
    UNBOUNDED,
    UNDECIDED,
    Certificate,
)

CONSTANTS_DECIDE = "the problem has no variables, and its constraints decide it"


def verdict(problem: cp.Problem, claimed: Claimed, rules: Rules) -> Certificate:
    """Verify a claim about `problem`, which holds the claimed point."""
    status = claimed.status.removesuffix("_inaccurate")
    if not problem.variables():
        return _of_constants(problem, claimed, rules)
    if broken := broken_assumption(problem):
        reason = f"the problem is not convex, though it was assumed to be: {broken}"
        claim = status if status in (INFEASIBLE, UNBOUNDED) else OPTIMAL
        return replace(_refuted(rules.tol, reason), verdict=UNDECIDED, claim=claim)
    if status == INFEASIBLE:
        return _infeasible(problem, rules)
    if status == UNBOUNDED:
        return unbounded(problem, rules.tol, rules.budget)
    if status == cvxpy_settings.INFEASIBLE_OR_UNBOUNDED:
        proof = _infeasible(problem, rules)
        return proof if proof.ok else unbounded(problem, rules.tol, rules.budget)
    return _optimal(problem, claimed, rules)


def _is_quasiconvex(problem: cp.Problem) -> bool:
    return not problem.is_dcp() and not problem.is_dgp() and problem.is_dqcp()


def _infeasible(problem: cp.Problem, rules: Rules) -> Certificate:
    if _is_quasiconvex(problem):
        return infeasible_quasiconvex(problem, rules.tol, rules.budget)
    return infeasible(problem, rules.tol, rules.nodes, rules.budget)


def _refuted(tol: float, reason: str, residual: float = np.inf) -> Certificate:
    return Certificate(residual, None, None, None, tol, BASIS, reason=reason, verdict=REFUTED)


def _of_constants(problem: cp.Problem, claimed: Claimed, rules: Rules) -> Certificate:
    """Verify a status of a problem without variables, which is feasible or not."""
    status = claimed.status.removesuffix("_inaccurate")
    worst, objective = violation(problem), objective_value(problem)
    feasible, reported = worst.value <= ROUNDING, claimed.reported
    reason = "" if status == {True: OPTIMAL, False: INFEASIBLE}[feasible] else CONSTANTS_DECIDE
    if not reason and feasible:
        off = np.nan if reported is None else abs(reported - objective)
        if not off <= rules.tol * abs(objective):
            reason = f"the reported objective is off by {off:.1e}"
    return Certificate(
        worst.value if reason else 0.0,
        None, None, 0.0, rules.tol, "constants",
        claim=status if status in (INFEASIBLE, UNBOUNDED) else OPTIMAL,
        by="constants only",
        reason=reason,
        verdict=REFUTED if reason else PROVEN,
    )  # fmt: skip


def _optimal(problem: cp.Problem, claimed: Claimed, rules: Rules) -> Certificate:
    if lacking := list(lacking_values(problem)):
        if all(variable.value is None for variable in problem.variables()):
            if claimed.status.startswith(OPTIMAL):
                return _refuted(rules.tol, f"no point: {claimed.status}")
            return replace(
                _refuted(rules.tol, f"no solution to verify: {claimed.status}"), verdict=UNDECIDED
            )
        return _refuted(rules.tol, f"not a number: {lacking[0]}", np.nan)
    if claimed.cone is not None and not claimed.cone.finite:
        return _refuted(rules.tol, f"not a number: {claimed.status}", np.nan)
    objective, reported = objective_value(problem), claimed.reported
    if reported is None or not np.isfinite(reported):
        return _refuted(rules.tol, f"not a number: the reported objective, {reported}", np.nan)
    if not np.isfinite(objective):
        return _refuted(rules.tol, "the objective has no value at the point", np.nan)
    point = [(variable, variable.value) for variable in problem.variables()]
    try:
        if _is_quasiconvex(problem):
            return _quasiconvex(problem, objective, float(reported), rules)
        return ConvexOptimum(problem, claimed, objective, float(reported), rules).certificate()
    finally:
        for variable, value in point:
            variable.save_value(value)


def _quasiconvex(
    problem: cp.Problem, objective: float, reported: float, rules: Rules
) -> Certificate:
    try:
        return quasiconvex_optimum(problem, objective, reported, rules.tol, rules.budget)
    except RecursionError:
        reason = "cvxpy cannot reduce this quasi-convex problem to convex ones"
        return replace(_refuted(rules.tol, reason), verdict=UNDECIDED)
