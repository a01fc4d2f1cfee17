"""Judge an answer by the problem's own formula, never by the solver's word.

Every DCP problem is, after canonicalisation, a cone program

    minimise  1/2 x'Px + q'x + d   subject to   Ax + b in K,   l <= x <= u

whose optimum is proven by a point of the stated problem, multipliers y and
bound multipliers r = Px + q - A'y with

    primal    the stated constraints and Ax + b in K hold,
    dual      y in the dual cone K*, r_i >= 0 only where x_i has a lower bound
              and r_i <= 0 only where it has an upper one,
    gap       stated objective - (d - 1/2 x'Px - b'y + l'r+ - u'r-) = 0,

where a reduced cost that no bound carries adds |r_i x_i| to the gap.

The stated objective and constraints are evaluated at ``solution.primal``, the
rest on a fresh canonicalisation. Each residual is divided by the size of the
terms compared: max(1, terms) for constraints; max(terms, 1e-3 x the objective's largest
coefficient) for reduced costs and the gap. So an objective in millionths is judged as
strictly as one in millions, and a large number in one place does not hide an error in
another. (Testing stationarity with gradients of the stated problem instead would fail at
kinks, where no gradient exists.)
"""

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality
from cvxpy.settings import INF_OR_UNB

from convexfs.errors import InputError
from convexfs.records import INFEASIBLE, Certificate, Solution, symbols
from convexfs.solving.cone_program import ConeProgram
from convexfs.solving.infeasibility import refute

BASIS = "cone program"
#: A certificate allows this many times the accuracy asked of the solver.
SLACK = 10.0


def certify(problem: cp.Problem, solution: Solution, tol: float | None = None) -> Certificate:
    """Recompute how far `solution` is from solving `problem`.

    Parameters
    ----------
    problem : cvxpy.Problem
        The problem as stated, its parameters at the values that were solved.
        Its variables are left holding ``solution.primal``.
    solution : Solution
        An answer of :func:`convexfs.solve`, possibly changed since.
    tol : float, optional
        Largest residual accepted; ten times ``solution.tol`` by default.

    Returns
    -------
    Certificate
        ``ok`` is None when the point is feasible but the solver returns no
        multipliers (integer problems). Of an answer that says ``infeasible`` it
        tells whether multipliers were found here that leave no feasible point. One
        that says ``unbounded`` is refused: it comes without a proof.
    """
    tol = SLACK * solution.tol if tol is None else tol
    if solution.solver == "native":
        raise InputError("native answers are certified by their formulation's gap, not here")
    if solution.status == INFEASIBLE:
        proof = refute(ConeProgram.of(problem, solution.solver), tol)
        return proof or Certificate(np.inf, None, None, None, tol, "no proof of infeasibility")
    if solution.status in INF_OR_UNB:
        return Certificate(np.inf, None, None, None, tol, f"no proof: {solution.status}")
    point = solution.cone
    if not solution.primal or point is None:
        return Certificate(np.inf, None, None, None, tol, f"no point: {solution.status}")
    if not (solution.finite and point.finite):
        return Certificate(np.nan, None, None, None, tol, f"not a number: {solution.status}")
    _set_values(problem, solution)
    program = ConeProgram.of(problem, solution.solver)
    program.check_sizes(point.x, point.y)
    primal = float(np.max([_stated_violation(problem), program.violation(point.x)]))
    if point.y is None or problem.is_mixed_integer() or not program.covered:
        return Certificate(primal, None, None, None, tol, BASIS)
    # cvxpy's quadratic interfaces return the multipliers of equalities with the
    # other sign. Either is dual feasible, so whichever proves more is a proof.
    proofs = (
        _proof(problem, program, solution, y, primal, tol)
        for y in (point.y, program.with_equalities_negated(point.y))
    )
    return min(proofs, key=lambda certificate: certificate.worst)


def _proof(
    problem: cp.Problem,
    program: ConeProgram,
    solution: Solution,
    y: np.ndarray,
    primal: float,
    tol: float,
) -> Certificate:
    assert solution.cone is not None
    x = solution.cone.x
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    stated = sign * np.real(np.asarray(problem.objective.value)).item()
    bound = program.dual_objective(x, y)
    size = max(abs(stated), abs(bound), np.abs(program.q) @ np.abs(x), program.floor)
    # The reported objective counts too: a table shows it.
    reported = sign * (solution.objective if solution.objective is not None else np.nan)
    off = max(abs(stated - bound), abs(reported - bound)) + program.looseness(x, y)
    return Certificate(
        primal_residual=primal,
        dual_residual=program.dual_residual(x, y),
        complementarity=program.slackness(x, y) / size,
        gap=off / size,
        tol=tol,
        basis=BASIS,
    )


def _set_values(problem: cp.Problem, solution: Solution) -> None:
    for name, variable in symbols(problem).items():
        if name not in solution.primal:
            raise InputError(
                f"the solution has no value for variable {name!r}: it belongs to another problem"
            )
        if np.size(solution.primal[name]) != variable.size:
            raise InputError(f"the solution's {name!r} has another size: it is of another problem")
        value = np.reshape(solution.primal[name], variable.shape)
        # save_value: a point to be judged may lie outside the variable's domain.
        variable.save_value(value)


def _stated_violation(problem: cp.Problem) -> float:
    """Return the largest violation of a constraint or domain, relative to its own terms."""
    parts = [0.0]
    for constraint in problem.constraints:
        terms = [np.abs(np.asarray(arg.value)) for arg in constraint.args]
        if isinstance(constraint, Inequality | Equality):
            size = 1.0 + np.maximum(*terms)
        else:
            size = 1.0 + np.max([np.max(term, initial=0.0) for term in terms])
        parts.append(np.max(constraint.violation() / size, initial=0.0))
    for variable in problem.variables():
        value = np.asarray(variable.value)
        outside = np.abs(value - variable.project(value))
        parts.append(np.max(outside / (1.0 + np.abs(value)), initial=0.0))
    # np.max, unlike max, lets NaN through.
    return float(np.max(parts))
