"""Solve one convex step of a method, natively or by cvxpy, and certify it."""

import inspect
import time
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from convexfs import records
from convexfs.errors import ConvexfsError, ConvexfsWarning, InputError, did_you_mean, warn
from convexfs.methods.base.change import PROBLEM, called, is_change, printed_problem
from convexfs.methods.base.formulation import DEFAULT_SOLVING, Formulation, Solving, runs_natively
from convexfs.records import INFEASIBLE, UNBOUNDED, Certificate, Solution

#: Largest relative residual and gap that a certificate of a native solution accepts.
NATIVE_TOL = 1e-9
#: A changed or user-defined problem with one of these statuses is explained, within so many CPU
#: seconds, if it has at most so many rows.
UNSOLVED, EXPLAINED_SECONDS, EXPLAINED_ROWS = (INFEASIBLE, UNBOUNDED), 2.0, 20_000
#: Function that certifies solutions in solver studies. None means: certify to the default
#: tolerance, and explain problems without a solution.
VERIFIER: ContextVar[Callable[[Any, Solution], Certificate] | None] = ContextVar(
    "verifier", default=None
)


def solve_step(
    formulation: Formulation,
    values: Mapping[str, Any],
    hyper: Mapping[str, Any],
    solving: Solving = DEFAULT_SOLVING,
) -> tuple[Solution, Certificate]:
    """Solve and certify a formulation, natively or by cvxpy; warn if cvxpy's is not proven."""
    if runs_natively(formulation, solving):
        solution = formulation.native(**values, **hyper)  # type: ignore[misc]
        return solution, certify_by_formula(formulation, values, hyper, solution)
    from convexfs.certification.certify import certify
    from convexfs.solving.solve import solve

    start = time.perf_counter()
    problem = stated(formulation, {**values, **hyper}, solving.build)
    built, limit = time.perf_counter() - start, solving.time_limit
    told = (solving.solver, solving.tol, limit, solving.options, solving.verbose)
    solution = solve(problem, *told)
    verifier = VERIFIER.get()
    certificate = (verifier or certify)(problem, solution)
    if solution.primal and certificate.ok is False:
        warn(
            f"the solution of {solution.solver} ({solution.status}) is {certificate}; use another "
            "solver, or more of its iterations"
        )
    elif solution.solved and certificate.ok is None:
        warn(
            f"the solution of {solution.solver} is feasible, but its optimality is {certificate}; "
            "it may well be right: compare it with that of another solver"
        )
    if verifier is None and solving.build is not None and solution.status in UNSOLVED:
        solution = replace(solution, failure=solution.failure or explained(problem))
    return replace(solution, build_seconds=built), certificate


def native_solution(
    start: float, primal: Mapping[str, Any], objective: float, *, solved: bool = True, **more: Any
) -> Solution:
    """Return the solution of a native solver that began at `start`, by ``time.perf_counter``.

    `more` are further fields of :class:`convexfs.records.Solution`.
    """
    status, seconds = records.OPTIMAL if solved else records.INACCURATE, time.perf_counter() - start
    known = {"primal": primal, "objective": objective, "iterations": 0, **more}
    return Solution(status, records.NATIVE, solve_seconds=seconds, **known)


def explained(problem: Any) -> str:
    """Explain in a line why a problem is infeasible or unbounded; "" if too large or unproven."""
    from convexfs.diagnosis.explain import explain

    if sum(constraint.size for constraint in problem.constraints) > EXPLAINED_ROWS:
        return ""
    try:
        found = explain(problem, seconds=EXPLAINED_SECONDS)
    except InputError:  # Complex variables, for example, cannot be traced to rows.
        return ""
    return found.short if found.proven else ""


def certify_by_formula(
    formulation: Formulation,
    values: Mapping[str, Any],
    hyper: Mapping[str, Any],
    solution: Solution,
    tol: float = NATIVE_TOL,
) -> Certificate:
    """Return a certificate from the formulation's closed formulas for violation and duality gap.

    The dual point is feasible by construction, so there is no dual residual. A formula may begin
    with the multipliers of the solution.
    """
    gap = abs(formulation.gap(values, hyper, {**solution.dual, **solution.primal}))
    size = abs(solution.objective or 0.0) + gap
    return Certificate.of(
        solution,
        primal_residual=formulation.violation(values, hyper, solution.primal),
        # If the gap is NaN, this comparison is false, so that the certificate gets NaN.
        gap=0.0 if size == 0 else gap / size,
        tol=tol,
        basis="formula",
    )


def call_by_name(build: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    """Call `build` with the offered values that it has arguments for; raise if one is missing."""
    parameters = inspect.signature(build).parameters
    wanted = {name: offered[name] for name in parameters if name in offered}
    for name, parameter in parameters.items():
        if name not in offered and parameter.default is parameter.empty:
            raise InputError(
                f"build asks for {name!r}, which is not offered here: {did_you_mean(name, offered)}"
            )
    return build(**wanted)


def stated(
    formulation: Formulation, offered: Mapping[str, Any], build: Callable[..., Any] | None
) -> Any:
    """Build the printed problem, or the one of a user-defined `build`, which is checked.

    The first of the offered values has a column a feature. A change is given the printed problem.
    """
    if build is None:
        return call_by_name(formulation.build, offered)
    n_features = next(iter(offered.values())).shape[-1] if formulation.symbol else 0
    if formulation.symbol and is_change(build):
        offered = {**offered, PROBLEM: printed_problem(formulation.build, offered)}
    try:
        problem = call_by_name(build, offered)
    except (ConvexfsError, ConvexfsWarning):
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        # Report the line of the formula, not that of the library which raised the error.
        origin = [frame for frame in frames if "site-packages" not in frame.filename][-1]
        said = " ".join(str(error).split())
        which = "changed problem" if formulation.symbol else "problem"
        raise InputError(
            f"the {which} cannot be built: {type(error).__name__}: {said} "
            f"({origin.filename}, line {origin.lineno})"
        ) from error
    if formulation.symbol:
        require_variable(problem, formulation.symbol, n_features)
    else:
        require_problem(problem, "problem")
    return problem


def require_problem(problem: Any, called: str) -> None:
    """Raise unless a problem file's function returned a cvxpy problem."""
    if not hasattr(problem, "variables"):
        kind = type(problem).__name__
        raise InputError(f"{called} must return a cvxpy.Problem, not {kind}: is a return missing?")


def require_variable(problem: Any, symbol: str, n_features: int) -> None:
    """Raise unless a changed problem has the weights as a variable `symbol` of the right shape.

    A capital letter is a matrix over pairs of features.
    """
    require_problem(problem, "build")
    shapes = {variable.name(): variable.shape for variable in problem.variables()}
    if symbol not in shapes:
        raise InputError(
            f"the changed problem has no variable named {symbol!r} (it has {', '.join(shapes)}): "
            f"name the feature weights with cp.Variable(..., name={symbol!r})"
        )
    wanted, per = (n_features,), ""
    if symbol.isupper():
        wanted, per = (n_features, n_features), "pair "
    if shapes[symbol] != wanted:
        raise InputError(
            f"the changed problem's {symbol!r} has shape {shapes[symbol]}: it must have one entry "
            f"for each {per}of the {n_features} features"
        )


def require_answer(
    solution: Solution, symbol: str, solving: Solving = DEFAULT_SOLVING, at: str = ""
) -> Any:
    """Return the weights of a solved step; raise, with the solver's status, if there are none.

    `at` names the point at which the step was stated.
    """
    if symbol in solution.primal:
        return solution.primal[symbol]
    reason = f" ({solution.failure})" if solution.failure else ""
    if solution.status in (INFEASIBLE, UNBOUNDED):
        raise InputError(no_optimum(solution.status, solving.build, at) + reason)
    raise ConvexfsError(
        f"{solution.solver} ended with status {solution.status!r}{reason}: "
        "try another solver, a looser solver_tol or other solver_options"
    )


def no_optimum(status: str, build: Callable[..., Any] | None, at: str = "") -> str:
    """Return the error message for an infeasible or unbounded changed problem, with advice."""
    cure = "its constraints cannot all hold: check what the change adds"
    if UNBOUNDED in status:
        cure = (
            "nothing keeps its objective from getting better for ever: check that the change "
            "keeps the constraints of the printed problem"
        )
    who = [] if build is None else [called(build)]
    places = ", ".join([*who, *([at] if at else [])])
    return f"the changed problem{f' ({places})' * bool(places)} is {status}: {cure}"
