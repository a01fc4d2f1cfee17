"""Solve one convex step of a method, natively or with any backend, and certify it."""

import inspect
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from convexfs.errors import (
    ConvexfsError,
    ConvexfsWarning,
    InputError,
    check_number,
    did_you_mean,
)
from convexfs.formulations import Formulation
from convexfs.solution import Certificate, Solution

NATIVE, AUTO = "native", "auto"
#: A native answer must satisfy its formula this much better than a solver's.
NATIVE_TOL = 1e-9


def solve_step(
    formulation: Formulation,
    values: Mapping[str, Any],
    hyper: Mapping[str, Any],
    *,
    solver: str = AUTO,
    tol: float = 1e-6,
    solver_options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    build: Callable[..., Any] | None = None,
    verbose: bool = False,
) -> tuple[Solution, Certificate]:
    """Answer and certificate of ``formulation`` at the given values.

    ``solver="auto"`` takes the native twin where there is one; a cvxpy name
    forces that backend. A changed `build` replaces the formulation's own and
    has no native twin.
    """
    if runs_natively(formulation, solver, build):
        solution = formulation.native(**values, **hyper)  # type: ignore[misc]
        return solution, certify_by_formula(formulation, values, hyper, solution)
    from convexfs.solving.certify import certify
    from convexfs.solving.solve import solve

    start = time.perf_counter()
    problem = call_by_name(build or formulation.build, {**values, **hyper})
    built = time.perf_counter() - start
    require_variable(problem, formulation.symbol)
    solution = solve(problem, solver, tol, time_limit, solver_options, verbose)
    certificate = certify(problem, solution)
    if solution.primal and certificate.ok is False:
        warnings.warn(
            f"the answer of {solution.solver} ({solution.status}) is not proven: "
            f"its certificate is {certificate}; use another solver, or more of its iterations",
            ConvexfsWarning,
            stacklevel=3,
        )
    return replace(solution, build_seconds=built), certificate


def check_solver(
    formulation: Formulation, solver: Any, tol: Any, build: Callable[..., Any] | None = None
) -> None:
    """Raise before any work if `solver` is unknown, missing or cannot take the problem.

    What a changed `build` needs is known only once it is built.
    """
    if not isinstance(solver, str):
        raise InputError(f"solver must be a name such as 'CLARABEL', not {solver!r}")
    check_number("solver_tol", tol, 0, 1, open_ends=True)
    if solver.lower() == AUTO or runs_natively(formulation, solver, build):
        return
    from convexfs.solving.backends import Needs, backend, check_takes

    row = backend(solver)
    if build is None:
        check_takes(row, Needs(formulation.cones, formulation.integer))


def runs_natively(formulation: Formulation, solver: str, build: Callable[..., Any] | None) -> bool:
    """Whether this solver choice means the native twin; an error if there is none."""
    if solver.lower() == AUTO:
        return build is None and formulation.native is not None
    if solver.lower() != NATIVE:
        return False
    if build is not None or formulation.native is None:
        raise InputError(
            f"solver='native' solves {formulation.name} as printed, not a changed formulation: "
            "use solver='auto' or name a cvxpy solver"
        )
    return True


def certify_by_formula(
    formulation: Formulation,
    values: Mapping[str, Any],
    hyper: Mapping[str, Any],
    solution: Solution,
    tol: float = NATIVE_TOL,
) -> Certificate:
    """Feasibility and duality gap from the formulation's own formula.

    The dual point is feasible by construction, so there is no dual residual.
    """
    gap = abs(formulation.gap(values, hyper, solution.primal))
    size = abs(solution.objective or 0.0) + gap
    return Certificate(
        primal_residual=formulation.violation(values, hyper, solution.primal),
        dual_residual=None,
        complementarity=None,
        gap=gap / size if size > 0 else 0.0,
        tol=tol,
        basis="formula",
    )


def call_by_name(build: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    """Call `build` with those of the offered values it names."""
    parameters = inspect.signature(build).parameters
    wanted = {name: offered[name] for name in parameters if name in offered}
    for name, parameter in parameters.items():
        if name not in offered and parameter.default is parameter.empty:
            raise InputError(
                f"build asks for {name!r}, which is not offered here: {did_you_mean(name, offered)}"
            )
    return build(**wanted)


def require_variable(problem: Any, symbol: str) -> None:
    """Raise unless a changed problem still is one and has the feature weights."""
    if not hasattr(problem, "variables"):
        kind = type(problem).__name__
        raise InputError(f"build must return a cvxpy.Problem, not {kind}: is a return missing?")
    names = [variable.name() for variable in problem.variables()]
    if symbol not in names:
        raise InputError(
            f"the changed problem has no variable named {symbol!r} (it has {', '.join(names)}): "
            f"name the feature weights with cp.Variable(..., name={symbol!r})"
        )


def require_answer(solution: Solution, symbol: str, size: int | None = None) -> Any:
    """The weights of a solved step, or an error that says how the solver ended."""
    if symbol not in solution.primal:
        reason = f" ({solution.failure})" if solution.failure else ""
        raise ConvexfsError(
            f"{solution.solver} ended with status {solution.status!r}{reason}: "
            "try another solver, a looser solver_tol or other solver_options"
        )
    weights = solution.primal[symbol]
    if size is not None and weights.shape != (size,):
        raise InputError(
            f"the changed problem's {symbol!r} has shape {weights.shape}: it must have one entry "
            f"for each of the {size} features"
        )
    return weights
