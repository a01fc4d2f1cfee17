"""Solve one cvxpy problem with one solver, and return plain numbers."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings as cvxpy_settings
from cvxpy.constraints import SOC, ExpCone, PowCone3D
from scipy.sparse import issparse

from convexfs.errors import InputError, SolverUnsuitable, check_number, warn
from convexfs.records import ERROR, TIMEOUT, ConePoint, Solution, symbols
from convexfs.solving.backend import Backend, check_options
from convexfs.solving.backends import BACKENDS, choose
from convexfs.solving.child_process import call_in_child, can_stop
from convexfs.solving.dcp_rules import why_not_convex
from convexfs.solving.direct_calls import timed
from convexfs.solving.parametrized import compile_problem

log = logging.getLogger(__name__)

#: Factory of a context that is entered around every solver call, for measurements.
AROUND: ContextVar[Callable[[], AbstractContextManager[Any]]] = ContextVar(
    "around", default=nullcontext
)
#: Function that gets every compiled program with the returned point, for measurements, or None.
OBSERVER: ContextVar[Callable[[Any, ConePoint], None] | None] = ContextVar("observer", default=None)
#: Function that calls a solver directly, given name, data, options and seconds; None: cvxpy calls
#: it.
DIRECT_CALL: ContextVar[Callable[..., tuple[Any, float, float]] | None] = ContextVar(
    "direct_call", default=None
)
#: Key, in cvxpy's solver cache of a problem, of the sparsity structure that was solved last.
_STRUCTURE = "structure"
_kept: ContextVar[dict[str, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def warm_starts() -> Iterator[None]:
    """Let each solve in this block start from the solver's state after the previous one.

    Both must be of one structure and with one solver; see ``warm`` in the solver table.
    """
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def solve(
    problem: cp.Problem,
    solver: str = "auto",
    tol: float = 1e-6,
    time_limit: float | None = None,
    solver_options: Mapping[str, Any] | None = None,
    verbose: bool = False,
    warm_start: bool = False,
) -> Solution:
    """Solve a DCP problem; if the solver fails, return a Solution with the reason, not raise.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its variables and duals are filled as ``problem.solve`` would, or
        emptied if the solver fails: nothing is left over from an earlier solve.
    solver : str
        A cvxpy solver name, or ``"auto"`` for the table's preference.
    tol, time_limit : float
        One accuracy and one limit in seconds, translated for the solver. A solver without a time
        limit is run in a child process and stopped (status ``timeout``); where
        processes cannot be forked, and inside workers, a warning says that it is not.
    solver_options : mapping, optional
        The solver's own options, on top of the translated ones; a name that the solver does not
        know is an error.
    verbose : bool
        Let the solver print.
    warm_start : bool
        Start from what the solver has kept of its last solve of this same problem, at other
        values of its Parameters; `convexfs solvers` lists what each one keeps, if anything.

    Returns
    -------
    Solution

    Raises
    ------
    InputError
        Before any work: not DCP, unknown, missing or unsuitable solver, unknown option.

    Examples
    --------
    >>> x, low = cp.Variable(name="x"), cp.Parameter(name="low", value=1.0)
    >>> problem = cp.Problem(cp.Minimize(x), [(x >= low).set_label("bound")])
    >>> solution = solve(problem)
    >>> round(solution.objective, 4), round(float(solution.dual["bound"][0]), 4)
    (1.0, 1.0)
    """
    _check(problem, tol, time_limit)
    row = choose(problem, solver, time_limit)
    stopped = time_limit if row.limit is None else None
    if stopped is not None and not can_stop():
        warn(f"{row.name} has no time limit; time_limit is ignored here")
    options = merged(row.options(tol, time_limit), solver_options or {})
    check_options(row.name, solver_options or {})
    clear(problem)
    start = compiled = time.perf_counter()
    try:
        data, chain, inverse = compile_problem(problem, row.name, options)
        compiled = time.perf_counter()
        _refuse_data(data, row)
        with AROUND.get()():
            start_from = _earlier(problem, row.name, data, warm_start)
            arguments = (problem, data, start_from, verbose, dict(options))
            call, direct = partial(timed, chain.solve_via_data, *arguments), DIRECT_CALL.get()
            if direct is not None:
                call = partial(direct, row.name, data, options, time_limit)
            apart = row.aborts or stopped is not None
            raw, solve_seconds, cpu_seconds = call_in_child(call, stopped) if apart else call()
        answer = _answer(problem, data, chain, inverse, raw)
    except (SolverUnsuitable, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as failure:
        clear(problem)
        solve_seconds, cpu_seconds = time.perf_counter() - compiled, None
        answer = _failed(row.name, failure)
    return Solution(
        solver=row.name, solver_version=row.version, compile_seconds=compiled - start,
        solve_seconds=solve_seconds, solve_cpu_seconds=cpu_seconds, tol=tol, **answer,
    )  # fmt: skip


def _failed(solver: str, failure: BaseException) -> dict[str, Any]:
    """Return status and failure of a Solution for an exception that ended a solve.

    Solvers raise TypeError, ValueError, SolverError and their own classes. Panics of solvers
    written in Rust do not derive from Exception.
    """
    if isinstance(failure, TimeoutError):
        return {"status": TIMEOUT, "failure": f"{solver} was {failure}, its time limit"}
    log.warning("%s failed: %s", solver, failure)
    return {"status": ERROR, "failure": f"{type(failure).__name__}: {failure}"}


def _refuse_data(data: Mapping[str, Any], row: Backend) -> None:
    """Raise if the solver takes no problem without rows, or if the compiled data contain NaN.

    On NaN solvers may abort or hang.
    """
    for part in data.values():
        numbers = part.data if issparse(part) else part
        floats = isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f"
        if floats and np.isnan(numbers).any():
            raise ValueError("the problem has NaN among its numbers; check its data")
    if row.needs_rows and not data[cvxpy_settings.B].size:
        raise SolverUnsuitable(f"{row.name} takes no problem without constraints")


def _earlier(problem: cp.Problem, solver: str, data: Mapping[str, Any], warm_start: bool) -> bool:
    """Set the problem's solver cache for a warm start; return whether the solver may use it.

    In :func:`warm_starts`, raise SolverUnsuitable if the structure is another.
    """
    kept = _kept.get()
    if kept is None and not warm_start:
        return False
    # cvxpy only compares the number of entries. If their positions differ, it would solve a mixture
    # of both programs.
    structure = [solver, *(_places(part) for part in data.values() if issparse(part))]
    if kept is None:
        if problem._solver_cache.get(_STRUCTURE) != structure:
            problem._solver_cache = {_STRUCTURE: structure}
        return True
    if kept.setdefault("structure", structure) != structure:
        raise SolverUnsuitable("the program to start from has another structure")
    problem._solver_cache = kept.setdefault("cache", {})
    return bool(kept["cache"])


def _places(matrix: Any) -> tuple[Any, ...]:
    sparse = matrix.tocsc()
    return (sparse.shape, sparse.indices.tobytes(), sparse.indptr.tobytes())


def merged(translated: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return translated options overridden by the user's; nested dicts are merged."""
    if not isinstance(own, Mapping):
        raise InputError(f"solver_options must be a dict of options, not {type(own).__name__}")
    if "use_quad_obj" in own:
        raise InputError("use_quad_obj changes the program that is verified: leave it out")
    return {**translated, **own} | {
        name: {**translated[name], **value}
        for name, value in own.items()
        if isinstance(value, Mapping) and isinstance(translated.get(name), Mapping)
    }


def clear(problem: cp.Problem) -> None:
    """Delete values, duals, status and solution of an earlier solve from a cvxpy problem."""
    for variable in problem.variables():
        variable.save_value(None)
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(None)
    problem._value = problem._status = problem._solution = None


def _check(problem: cp.Problem, tol: float, time_limit: float | None) -> None:
    if not isinstance(problem, cp.Problem):
        raise InputError(f"solve takes a cvxpy.Problem, not {type(problem).__name__}")
    check_number("tol", tol, 0, 1, open_ends=True)
    if time_limit is not None:
        check_number("time_limit, in seconds,", time_limit, 0, open_ends=True)
    if not problem.is_dcp():
        raise InputError(
            "the problem is not convex by cvxpy's rules (DCP), so no answer could be certified: "
            + why_not_convex(problem)
        )
    if not problem.variables():
        raise InputError("the problem has no variables: there is nothing to solve")
    _refuse_twins("variables", [variable.name() for variable in problem.variables()])
    _refuse_twins("constraints", [c.label for c in problem.constraints if c.label])
    unset = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if unset:
        raise InputError(f"give parameter {', '.join(unset)} a value before solving")


def _refuse_twins(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two {what} are named {name!r}: answers go by name, rename one")


def _answer(problem: cp.Problem, data: dict, chain: Any, inverse: Any, raw: Any) -> dict[str, Any]:
    """Return fields of a Solution from the solver's raw result, and fill `problem` with it."""
    answer = chain.invert(raw, inverse)
    found: dict[str, Any] = {"status": answer.status, **_effort(answer.attr, raw)}
    if answer.status in cvxpy_settings.SOLUTION_PRESENT + cvxpy_settings.INF_OR_UNB:
        problem.unpack(answer)
    if answer.status in cvxpy_settings.SOLUTION_PRESENT:
        point, observer = _cone_point(data, chain, inverse, raw), OBSERVER.get()
        if point is not None and observer is not None:
            observer(data[cvxpy_settings.PARAM_PROB], point)
        found |= {
            "primal": {name: _dense(variable.value) for name, variable in symbols(problem).items()},
            "dual": _dual(problem),
            # unpack computed it as the objective at the point.
            "objective": np.real(np.asarray(problem.value)).item(),
            "cone": point,
        }
    return found


def _effort(attributes: Mapping[str, Any], raw: Any) -> dict[str, Any]:
    """Return iterations, and solve and setup seconds by the solver's clock; None if unknown."""
    info = getattr(raw, "info", None)
    setup = attributes.get(cvxpy_settings.SETUP_TIME) or getattr(info, "setup_time", None)
    return {
        "iterations": attributes.get(cvxpy_settings.NUM_ITERS, getattr(info, "iter", None)),
        # Solvers that were built without a clock report 0.
        "clock_seconds": float(attributes.get(cvxpy_settings.SOLVE_TIME) or 0) or None,
        "setup_seconds": setup or None,
    }


def _dense(value: Any) -> np.ndarray:
    return value.toarray() if issparse(value) else np.array(value)


def _dual(problem: cp.Problem) -> dict[str, np.ndarray]:
    """Return the multipliers by constraint label or, without one, by position as text."""
    named = {}
    for position, constraint in enumerate(problem.constraints):
        label = constraint.label or str(position)
        parts = [dual.value for dual in constraint.dual_variables if dual.value is not None]
        if parts:
            named[label] = np.hstack([np.ravel(part, order="F") for part in parts])
    return named


def _cone_point(data: dict, chain: Any, inverse: Any, raw: Any) -> ConePoint | None:
    """Return the cone program's point, with multipliers by row if trusted; None if no program."""
    program = data.get(cvxpy_settings.PARAM_PROB)
    if program is None:
        return None
    answer = chain.solver.invert(raw, inverse[-1])
    # SCIP appends auxiliary variables to those of the program.
    x = np.ravel(next(iter(answer.primal_vars.values())))[: program.x.size]
    duals = answer.dual_vars or {}
    returned = all(duals.get(constraint.id) is not None for constraint in program.constraints)
    if not returned or not BACKENDS[chain.solver.name()].duals:
        return ConePoint(x, None)
    y = [_in_row_order(constraint, duals[constraint.id]) for constraint in program.constraints]
    return ConePoint(x, np.hstack(y or [np.empty(0)]))


def _in_row_order(constraint: Any, multipliers: Any) -> np.ndarray:
    """Reorder a constraint's multipliers from cone after cone to the program's row order.

    Rows of a second-order cone are all t, then X cone by cone; those of
    three-dimensional cones are all first entries, all second, all third.
    """
    flat = np.ravel(multipliers, order="F")
    if isinstance(constraint, SOC):
        cones = flat.reshape(-1, constraint.cone_sizes()[0])
        return np.hstack([cones[:, 0], cones[:, 1:].ravel()])
    if isinstance(constraint, ExpCone | PowCone3D):
        return flat.reshape(-1, 3).T.ravel()
    return flat


def solve_tiny_program(solver: str) -> None:
    """Solve a linear program of one variable, so that the solver's libraries are loaded."""
    x = cp.Variable()
    solve(cp.Problem(cp.Minimize(x), [x >= 1]), solver)
