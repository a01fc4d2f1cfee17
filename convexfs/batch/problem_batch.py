"""Batches of cvxpy problems made in Python, with the store and certificates of problem files.

A task is identified by the hash of its problem and the values of its parameters. Forked workers
share the problems; other workers receive them once.
"""

import itertools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from convexfs.batch.problem_digest import problem_digest
from convexfs.batch.problem_files.base import OWN_DATA, canonical
from convexfs.batch.run import GRACE_SECONDS, Progress, check_limits, result_rows, run_tasks
from convexfs.batch.run_results import Run
from convexfs.batch.solver_options import solver_fields, tolerance_mode_for
from convexfs.batch.tasks import Result, Task, keyed, over_time, result_of, skipped_result
from convexfs.batch.workers import pool
from convexfs.data.readers.memory_limit import parse_size
from convexfs.errors import InputError, SolverUnavailable, SolverUnsuitable, did_you_mean
from convexfs.methods.base.formulation import OWN
from convexfs.records import DEFAULT_ACCURACY, values_kept

Values = Mapping[str, Iterable[Any]]
#: Least seconds between two updates of the progress line.
SECONDS_BETWEEN_LINES = 0.5


def solve_batch(
    problems: Any,
    parameters: Values | Sequence[Mapping[str, Any]] | None = None,
    *,
    out: str | Path | None = None,
    solver: str | Sequence[str] = "auto",
    tol: float = 1e-6,
    time_limit: float | None = None,
    memory_limit: int | str | None = None,
    solver_options: Mapping[str, Any] | None = None,
    jobs: int = 1,
    executor: Executor | None = None,
    certify: bool = True,
    retry_failed: bool = False,
    verbose: bool | None = None,
) -> Run:
    """Solve many cvxpy problems, or one for many values of its parameters.

    A problem that is DPP in its parameters is compiled once per process. The problems are left
    as they were, values included.

    Parameters
    ----------
    problems : cvxpy.Problem, or a sequence or dict of them
        The keys of a dict name the problems; those of a sequence are named 0, 1, ...
    parameters : dict of name to values, or sequence of dicts, optional
        A dict stands for all combinations of its values, a sequence of dicts for its items. All
        problems must have parameters of these names. Values are numbers or arrays.
    out : path, optional
        Folder of the results. Call again with the same folder to resume: finished tasks are not
        repeated. None keeps the results in memory only.
    solver : str or sequence of str
        Names of solvers; "auto" chooses one for each problem.
    tol, time_limit : float
        Accuracy of every solver, and seconds a task may take.
    memory_limit : int or str, optional
        Bytes a task may take, or a size such as "2GB"; enforced on Linux.
    solver_options : dict, optional
        Options in the solver's own words.
    jobs : int
        Worker processes; 1 solves in this process.
    executor : concurrent.futures.Executor, optional
        Where to run instead, such as a dask client's executor.
    certify : bool
        Prove or refute every solution.
    retry_failed : bool
        Repeat tasks that failed, instead of keeping their failure.
    verbose : bool, optional
        Print progress to standard error; None prints it in notebooks and terminals.

    Returns
    -------
    Run
        With the tasks of this call, in their order.

    Raises
    ------
    InputError
        Before any work: problems that are not convex, parameters without a value.

    Examples
    --------
    >>> import cvxpy as cp, convexfs
    >>> x, floor = cp.Variable(name="x"), cp.Parameter(name="floor")
    >>> problem = cp.Problem(cp.Minimize(x), [x >= floor])
    >>> run = convexfs.solve_batch(problem, {"floor": [1.0, 2.0, 3.0]}, verbose=False)
    >>> run.tasks()["objective"].round(4).tolist()
    [1.0, 2.0, 3.0]
    """
    named = _named(problems)
    points = _points(parameters)
    for name, problem in named.items():
        _check(name, problem, points[0])
    if isinstance(memory_limit, str):
        memory_limit = parse_size(memory_limit, "a memory limit")
    check_limits(tol, time_limit)
    shared = {"tol": tol, "time_limit": time_limit, "own_options": canonical(solver_options or {})}
    solvers = [solver] if isinstance(solver, str) else list(solver)
    held, tasks = {}, []
    for name, problem in named.items():
        code = f"{name} {problem_digest(problem, points[0])}{'' if certify else ' uncertified'}"
        held[code] = type(problem)(problem.objective, problem.constraints)
        tasks += [_task(name, code, *each, shared) for each in itertools.product(points, solvers)]
    tasks = list({task.key: task for task in tasks}.values())
    work = partial(_do, held, certify)
    running: dict[str, Any] = {
        "jobs": jobs,
        "executor": executor,
        "time_limit": None if time_limit is None else time_limit + GRACE_SECONDS,
        "memory_limit": memory_limit,
    }
    watch = _watch(verbose)
    with values_kept(itertools.chain.from_iterable(map(_leaves, named.values()))):
        if out is None:
            return Run(rows=list(_rows_in_memory(tasks, work, watch, running)))
        run_tasks(tasks, out, work=work, retry_failed=retry_failed, watch=watch, **running)
    return Run(Path(out), [task.key for task in tasks])


def _named(problems: Any) -> dict[str, Any]:
    if hasattr(problems, "constraints"):
        return {"problem": problems}
    if isinstance(problems, Mapping):
        named = {str(name): problem for name, problem in problems.items()}
    else:
        try:
            named = {str(number): problem for number, problem in enumerate(problems)}
        except TypeError:
            kind = type(problems).__name__
            raise InputError(f"solve_batch takes cvxpy problems, not {kind}") from None
    if not named:
        raise InputError("give at least one problem")
    return named


def _points(parameters: Values | Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return one dict per point: all combinations of a mapping's lists, or the points as given."""
    if parameters is None:
        return [{}]
    if isinstance(parameters, Mapping):
        values = [list(each) for each in parameters.values()]
        points = [dict(zip(parameters, each, strict=True)) for each in itertools.product(*values)]
    else:
        points = [dict(each) for each in parameters]
    if not points:
        raise InputError("the parameters have no values: give at least one of each")
    for point in points:
        if point.keys() != points[0].keys():
            odd = sorted(point.keys() ^ points[0].keys())[0]
            raise InputError(f"all points must have the same parameters; one lacks {odd!r}")
    return points


def _check(name: str, problem: Any, point: Mapping[str, Any]) -> None:
    from convexfs.solving.dcp_rules import why_not_convex

    if not hasattr(problem, "constraints"):
        raise InputError(f"problem {name}: is a {type(problem).__name__}, not a cvxpy.Problem")
    known = [parameter.name() for parameter in problem.parameters()]
    for parameter in point:
        if parameter not in known:
            options = did_you_mean(parameter, known)
            raise InputError(f"problem {name} has no parameter {parameter!r}: {options}")
        if known.count(parameter) > 1:
            raise InputError(f"problem {name} has two parameters named {parameter!r}: rename one")
    unset = [own.name() for own in problem.parameters() if own.value is None]
    if set(unset) - set(point):
        raise InputError(f"problem {name}: give parameter {unset[0]!r} a value")
    if not problem.is_dcp():
        raise InputError(f"problem {name} is not convex by DCP: {why_not_convex(problem)}")


def _task(
    name: str, code: str, point: Mapping[str, Any], solver: str, shared: dict[str, Any]
) -> Task:
    try:
        hyper = canonical({own: _plain(value) for own, value in point.items()})
    except (TypeError, ValueError) as error:
        raise InputError(f"parameters must be real numbers or arrays of them: {error}") from None
    tol, limit, own_options = shared["tol"], shared["time_limit"], shared["own_options"]
    return keyed(
        problem=name,
        problem_code=code,
        method=OWN.method.__name__,
        formulation=OWN.name,
        data=OWN_DATA,
        hyper=hyper,
        solver=solver,
        **solver_fields(solver, tol, limit, own_options=own_options),
        **shared,
    )


def _plain(value: Any) -> Any:
    """Convert a value to a number or nested lists of numbers, as in JSON."""
    array = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{value!r:.60} is none")
    return array.tolist()


def _do(problems: Mapping[str, Any], certified: bool, task: Task) -> Result:
    """Return the Result of one task: solved, and certified if `certified`; or skipped."""
    from convexfs.certification.certify import certify
    from convexfs.solving.backends import needs_of
    from convexfs.solving.solve import solve

    problem = problems[task.problem_code]
    values = json.loads(task.hyper)
    for parameter in problem.parameters():
        if parameter.name() in values:
            parameter.value = np.asarray(values[parameter.name()], dtype=float)
    known = {"needs": str(needs_of(problem)), "sense": problem.objective.NAME[:3]}
    try:
        with tolerance_mode_for(task.tol, task.asked):
            options = json.loads(task.own_options)
            tol = task.tol or DEFAULT_ACCURACY
            solution = solve(problem, task.solver, tol, task.time_limit, options)
    except (SolverUnavailable, SolverUnsuitable) as reason:
        return skipped_result(reason, **known)
    solution = over_time(solution, task.time_limit)
    result = result_of(solution, certify(problem, solution) if certified else None)
    return Result({**result.row, **known}, result.solutions)


def _leaves(problem: Any) -> Iterator[Any]:
    """Yield the variables, parameters and dual variables of a problem."""
    yield from problem.variables()
    yield from problem.parameters()
    for constraint in problem.constraints:
        yield from constraint.dual_variables


def _rows_in_memory(
    tasks: Sequence[Task],
    work: Callable[[Task], Result],
    watch: Callable[[Progress], None],
    running: dict[str, Any],
) -> Iterator[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]:
    """Solve tasks without a store; yield (task row, solution rows) in task order."""
    progress = Progress(Path(), frozenset(task.key for task in tasks))
    started, done = time.perf_counter(), {}
    for outcome in pool.run(tasks, work, **running):
        row, solutions = result_rows(outcome, running["memory_limit"])
        done[outcome.task.key] = (row, solutions)
        progress.done += 1
        progress.count(outcome.task, row["status"], row.get("ok"), row["failure"])
        progress.wall_seconds = time.perf_counter() - started
        watch(progress)
    yield from (done[task.key] for task in tasks)


def _watch(verbose: bool | None) -> Callable[[Progress], None]:
    """Return a function that prints progress to standard error, or does nothing.

    If `verbose` is None, it prints in notebooks and terminals only.
    """
    rewrites = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if not (rewrites if verbose is None else verbose):
        return lambda progress: None
    due = 0.0

    def watch(progress: Progress) -> None:
        nonlocal due
        done = progress.finished == progress.total
        if not done and time.monotonic() < due:
            return
        due = time.monotonic() + SECONDS_BETWEEN_LINES
        line = f"solve_batch: {progress.line()}"
        end = "\n" if done or not rewrites else ""
        sys.stderr.write(f"\r{line:<79}{end}" if rewrites else f"{line}{end}")
        sys.stderr.flush()

    return watch
