"""Verify a solution by the problem's own formula, never by the word of the solver.

Each claim has its proof: an optimum needs a feasible point and a bound (:mod:`optimality`; for
integer variables :mod:`branch_and_bound`), infeasibility a contradiction (:mod:`infeasibility`),
unboundedness a point and a ray (:mod:`unboundedness`). A claim that is neither proven nor refuted
is undecided.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings as cvxpy_settings
from cvxpy.settings import INF_OR_UNB
from threadpoolctl import ThreadpoolController

from convexfs.certification.auxiliary import Budget
from convexfs.certification.convex_form import broken_assumption, lacking_values, objective_value
from convexfs.certification.convex_optimum import BASIS, Claimed, ConvexOptimum, Rules
from convexfs.certification.feasibility import violation
from convexfs.certification.infeasibility import infeasible
from convexfs.certification.optimality import ROUNDING
from convexfs.certification.quasiconvex import infeasible_quasiconvex, quasiconvex_optimum
from convexfs.certification.unboundedness import unbounded
from convexfs.errors import InputError, check_number
from convexfs.records import (
    INFEASIBLE,
    OPTIMAL,
    PROVEN,
    REFUTED,
    UNBOUNDED,
    UNDECIDED,
    Certificate,
    Solution,
    symbols,
    values_kept,
)

#: Without `tol`, residuals are accepted up to this multiple of the solution's own tolerance.
SLACK = 10.0
#: Largest residual accepted if neither a tolerance nor a Solution is passed.
TOLERANCE = 1e-5
#: Default limit on the nodes of branch and bound.
NODES = 4000
#: CPU time limit of a certificate: a multiple of the compile and solve time; at least these
#: seconds.
EFFORT, LEAST_SECONDS = 20.0, 2.0


def certify(
    problem: Any,
    solution: Solution | None = None,
    tol: float | None = None,
    *,
    primal: Mapping[Any, Any] | None = None,
    search: bool = True,
    nodes: int = NODES,
    effort: float = EFFORT,
) -> Certificate:
    """Prove or refute the status of a solution: optimal, infeasible or unbounded.

    Parameters
    ----------
    problem : cvxpy.Problem, or a fitted estimator
        As stated, its parameters at the values that were solved; convex by the rules of DCP,
        DGP or DQCP. Without `solution` and `primal`, the values that its last ``solve`` left in
        it are verified; its variables are left holding the point that was verified. Of an
        estimator the convex step is stated anew and proven, then the fixed point if there is one.
    solution : Solution, optional
        A solution of :func:`convexfs.solve`, or of an estimator's native solver.
    tol : float, optional
        Largest residual accepted: 1e-5, or ten times ``solution.tol``.
    primal : mapping, optional
        A point from anywhere that is claimed to be optimal: values by variable, or by its name.
    search : bool
        Whether to search for multipliers where the solution has none that prove it.
    nodes : int
        Relaxations that may be solved for an integer problem.
    effort : float
        CPU time that may be spent, as a multiple of compiling and solving the problem (and at
        least 2 s). A verdict that needs more is undecided and begins with "stopped".

    Returns
    -------
    Certificate
        ``ok`` is True if the claim is proven, False if it is refuted, None if it is undecided.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(name="x")
    >>> problem = cp.Problem(cp.Minimize(x), [x >= 1])
    >>> certify(problem, primal={x: 1.0}).ok, certify(problem, primal={x: 2.0}).ok
    (True, False)
    """
    certify_fit = getattr(problem, "_certify", None)
    if certify_fit is not None and solution is None and primal is None:
        return certify_fit(tol=tol, search=search, nodes=nodes, effort=effort)
    if not isinstance(problem, cp.Problem):
        raise InputError(f"certify takes a cvxpy.Problem, not {type(problem).__name__}")
    if tol is None:
        tol = TOLERANCE if solution is None else SLACK * solution.tol
    check_number("tol", tol, 0, open_ends=True)
    check_number("effort", effort, 0, open_ends=True)
    unset = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if unset:
        raise InputError(f"give parameter {', '.join(unset)} the value that was solved")
    start = time.thread_time()
    claimed = _claimed(problem, solution, primal)
    spent = 0.0
    if solution is not None:
        spent = solution.compile_seconds + solution.solve_seconds
    budget = Budget(start + max(LEAST_SECONDS, effort * spent))
    with (
        warnings.catch_warnings(action="ignore"),
        np.errstate(all="ignore"),
        _linear_algebra().limit(limits=1),
    ):
        return verdict(problem, claimed, Rules(tol, search, nodes, budget))


@cache
def _linear_algebra() -> ThreadpoolController:
    """Return the cached controller that limits BLAS threads; one is fastest for small matrices."""
    return ThreadpoolController()


def assert_optimal(problem: cp.Problem, tol: float = 1e-6) -> None:
    """Raise AssertionError unless the values in `problem` are proven optimal.

    Meant for test suites.

    The message says whether they are refuted or undecided, and why.

    Parameters
    ----------
    problem : cvxpy.Problem
        A problem that has been solved, or whose variables have values.
    tol : float, default=1e-6
        Largest relative residual of a solution that counts as optimal.
    """
    certificate = certify(problem, tol=tol)
    if certificate.claim != OPTIMAL or certificate.ok is not True:
        raise AssertionError(f"not proven optimal\n{certificate.explained()}")


def _claimed(
    problem: cp.Problem, solution: Solution | None, primal: Mapping[Any, Any] | None
) -> Claimed:
    """Load the point to verify into `problem`, and return its claimed status and objective."""
    if solution is not None and primal is not None:
        raise InputError("give a solution or a primal point, not both")
    if primal is not None:
        _check_names(problem, primal)
        _set_values(problem, primal)
        return Claimed(OPTIMAL, objective_value(problem))
    if solution is None:
        return _left_by_solve(problem)
    if solution.primal:
        _set_values(problem, solution.primal)
    elif solution.status not in INF_OR_UNB:
        for variable in problem.variables():
            variable.save_value(None)
    return Claimed(solution.status, solution.objective, solution.cone)


def _left_by_solve(problem: cp.Problem) -> Claimed:
    status: Any = problem.status
    if status is None:
        lacking = list(lacking_values(problem))
        if lacking:
            raise InputError(
                f"there is no solution to verify: solve the problem first, or give {lacking[0]} "
                "and all other variables a value"
            )
        return Claimed(OPTIMAL, objective_value(problem))
    value: Any = problem.value
    return Claimed(status, value)


def _check_names(problem: cp.Problem, values: Mapping[Any, Any]) -> None:
    named, own = symbols(problem), {variable.id for variable in problem.variables()}
    for key in values:
        if not (key.id in own if isinstance(key, cp.Variable) else key in named):
            raise InputError(
                f"the problem has no variable {key}: its variables are {', '.join(named)}"
            )


def _set_values(problem: cp.Problem, values: Mapping[Any, Any]) -> None:
    """Assign `values`, by variable or name, to all variables; raise if one is missing or unfit."""
    named = symbols(problem)
    by_id = {key.id: value for key, value in values.items() if isinstance(key, cp.Variable)}
    names = {variable.id: name for name, variable in named.items()}
    for variable in problem.variables():
        name = names.get(variable.id, variable.name())
        if variable.id not in by_id and name not in values:
            raise InputError(
                f"the solution has no value for variable {name!r}: it belongs to another problem"
            )
        value = np.asarray(by_id[variable.id] if variable.id in by_id else values[name])
        if value.size != variable.size:
            raise InputError(f"the solution's {name!r} has another size: it is of another problem")
        if np.iscomplexobj(value) and not variable.is_complex():
            if np.imag(value).any():
                raise InputError(f"the solution's {name!r} is complex, but the variable is real")
            value = np.real(value)
        if variable.attributes["sparsity"] and _off_pattern(variable, value):
            raise InputError(f"the solution's {name!r} has entries outside its sparsity pattern")
        # save_value: a point to be verified may lie outside the variable's domain.
        variable.save_value(np.reshape(value, variable.shape))


def _off_pattern(variable: cp.Variable, value: np.ndarray) -> bool:
    """Return whether a value has nonzeros outside the variable's declared sparsity pattern."""
    pattern: Any = variable.sparse_idx
    outside = np.reshape(value, variable.shape).copy()
    outside[tuple(pattern)] = 0.0
    return bool(outside.any())


CONSTANTS_DECIDE = "the problem has no variables, and its constraints decide it"


def verdict(problem: cp.Problem, claimed: Claimed, rules: Rules) -> Certificate:
    """Return the certificate of a claimed status of `problem`, whose variables hold the point."""
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
    """Return the certificate of a problem without variables, from its constant constraints."""
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
    with values_kept(problem.variables()):
        if _is_quasiconvex(problem):
            return _quasiconvex(problem, objective, float(reported), rules)
        return ConvexOptimum(problem, claimed, objective, float(reported), rules).certificate()


def _quasiconvex(
    problem: cp.Problem, objective: float, reported: float, rules: Rules
) -> Certificate:
    try:
        return quasiconvex_optimum(problem, objective, reported, rules.tol, rules.budget)
    except RecursionError:
        reason = "cvxpy cannot reduce this quasi-convex problem to convex ones"
        return replace(_refuted(rules.tol, reason), verdict=UNDECIDED)
