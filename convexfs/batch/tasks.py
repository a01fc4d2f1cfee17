"""Tasks: one problem on one data set with one solver, and what doing it returns.

A method may define smaller ones, such as one for each sample: see its ``tasks.py``.
A task is small and holds no arrays. Whoever does it finds the data in
:data:`DATASETS`, which forked workers share without a copy, or loads them again;
computes the numeric half; builds the problem; solves and certifies it.
"""

import hashlib
import inspect
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, wraps
from importlib import metadata
from pathlib import Path
from typing import Any

from convexfs.batch.code_hash import code_sha256
from convexfs.batch.problem_files.base import OWN_DATA, samples_of
from convexfs.batch.problem_files.load import ProblemFile, canonical, load_problem_file, with_fixed
from convexfs.batch.solver_options import solver_fields, tolerance_mode_for
from convexfs.batch.store.schema import CERTIFICATES
from convexfs.data import Dataset, load
from convexfs.data.targets import NUMBERS, require_kind
from convexfs.errors import (
    InputError,
    ProblemFileError,
    RunError,
    SolverUnavailable,
    SolverUnsuitable,
)
from convexfs.methods import FORMULATIONS, stored_formulation, target_of
from convexfs.methods.base.formulation import Solving
from convexfs.methods.base.solve_step import solve_step, stated
from convexfs.records import (
    DEFAULT_ACCURACY,
    INFEASIBLE,
    MEASURED,
    OPTIMAL,
    REFUTED,
    SKIPPED,
    TIMEOUT,
    TRANSLATED,
    UNBOUNDED,
    Certificate,
    Solution,
)

#: Loaded data by digest. Filled before workers are forked, so that they share it.
DATASETS: dict[str, Dataset] = {}
#: First word of a task's failure text if its certificate refutes or leaves open the solution.
CERTIFICATE = "certificate"
#: Fields of a solution that are columns of its task's row.
_STORED = (
    "status", "solver", "solver_version", "objective", "build_seconds", "compile_seconds",
    "solve_seconds", "solve_cpu_seconds", "clock_seconds", "setup_seconds",
)  # fmt: skip
#: Fields of a task that do not affect its key: names, paths, and the hash of the problem file's
#: text.
_WHEREABOUTS = {"problem", "problem_file", "problem_sha256", "data", "data_dir", "read_limit"}


@dataclass(frozen=True)
class Task:
    """Everything that determines a task's result, with its hash ``key``; no arrays.

    ``hyper``, ``options`` (all options of the solver) and ``own_options`` (those of them that were
    asked for by name) are JSON text. Without a ``tol`` the solver works at its own default
    accuracy; else ``asked`` is how it is put to the solver. ``warm_from`` are the
    hyper-parameters of the problem whose solution a warm start begins with; empty: cold.
    ``interface`` is how the solver is called: empty by cvxpy, ``direct`` by its own interface, or
    the name of the Python environment where it is. Problems made in Python have no
    ``problem_file`` and no data to load.
    """

    key: str
    problem: str
    problem_code: str
    method: str
    formulation: str
    data: str
    hyper: str
    solver: str
    solver_version: str
    options: str
    tol: float | None
    time_limit: float | None
    problem_file: str = ""
    problem_sha256: str = ""
    fit: bool | str = False
    data_dir: str | None = None
    read_limit: str | float | None = None
    data_sha256: str = ""
    repeat: int = 0
    seed: int = 0
    asked: str = TRANSLATED
    own_options: str = "{}"
    warm_from: str = ""
    interface: str = ""

    def row(self) -> dict[str, Any]:
        """Return the task's fields as columns of the table of tasks, known before it runs."""
        row = dict(vars(self))
        del row["fit"], row["data_dir"], row["read_limit"]
        return row


@dataclass(frozen=True)
class Result:
    """Result of a task: columns of its row in the store, and one row per solution."""

    row: Mapping[str, Any]
    solutions: tuple[Mapping[str, Any], ...]


def expand(
    problems: Iterable[ProblemFile],
    *,
    tol: float | None = 1e-6,
    time_limit: float | None = None,
    repeats: int = 1,
    seed: int = 0,
    data_dir: str | None = None,
    read_limit: str | float | None = None,
) -> list[Task]:
    """Return tasks for every combination of data, grid and solvers of the files; load the data."""
    reading = {"data_dir": data_dir, "read_limit": read_limit}
    shared = {"tol": tol, "time_limit": time_limit, "seed": seed, **reading}
    tasks: dict[str, Task] = {}
    known: dict[tuple[str, str | None], str] = {}
    for problem in problems:
        kind = target_of(problem.formulation)
        for spec in problem.data:
            if (spec, kind) not in known:
                try:
                    data = _loaded(spec, kind, **reading)
                except InputError as error:
                    raise ProblemFileError(f"{problem.path}, DATA: {error}") from error
                known[spec, kind], DATASETS[data.digest] = data.digest, data
        digests = {spec: known[spec, kind] for spec in problem.data} or {OWN_DATA: ""}
        told = {solver: solver_fields(solver, tol, time_limit) for solver in problem.solvers}
        grid = itertools.product(*problem.grid.values())
        points = [canonical(dict(zip(problem.grid, values, strict=True))) for values in grid]
        combinations = itertools.product(digests.items(), points, range(repeats), problem.solvers)
        for (spec, digest), hyper, repeat, solver in combinations:
            chosen = {"data": spec, "data_sha256": digest, "hyper": hyper, "solver": solver}
            chosen |= told[solver]
            whole = _task(problem, repeat=repeat, **chosen, **shared)
            parts = problem.formulation.tasks.parts if isinstance(problem.fit, str) else None
            for task in parts(whole, problem) if parts else (whole,):
                tasks[task.key] = task
    return list(tasks.values())


def _loaded(spec: str, kind: str | None, **reading: Any) -> Dataset:
    """Return the training rows of a data set, scaled as declared, with a target of this kind."""
    data = load(spec, target_kind=NUMBERS if kind == NUMBERS else None, **reading)
    require_kind(spec, data.numeric, kind)
    return data.training.scaled()


def _task(problem: ProblemFile, **chosen: Any) -> Task:
    own = {} if problem.seed is None else {"seed": problem.seed}
    return keyed(
        problem=problem.name,
        problem_file=str(problem.path),
        problem_sha256=problem.sha256,
        problem_code=problem.code_sha256,
        method=problem.formulation.method.__name__,
        formulation=problem.formulation.name,
        fit=problem.fit,
        **chosen | own,
    )


def keyed(**fields: Any) -> Task:
    """Return a Task with its key, a hash of everything that determines its result."""
    content = {name: value for name, value in fields.items() if name not in _WHEREABOUTS}
    text = f"{canonical(content)} {own_code()} {canonical(versions())}"
    return Task(key=hashlib.sha256(text.encode()).hexdigest(), **fields)


def own_code() -> str:
    """Return the hash of this package's code that affects results."""
    return code_sha256(Path(__file__).parents[1])


@cache
def versions() -> dict[str, str]:
    """Return the versions of convexfs, cvxpy, numpy and scipy; cached."""
    return {name: metadata.version(name) for name in ("convexfs", "cvxpy", "numpy", "scipy")}


def do(task: Task) -> Result:
    """Return the Result of one task: solved and certified, or skipped if the solver cannot."""
    problem = load_problem_file(task.problem_file, task.problem_sha256)
    made: list[Any] = []
    if problem.build is not None:
        problem = replace(problem, build=_keeping(problem.build, made))
    try:
        with tolerance_mode_for(task.tol, task.asked):
            if isinstance(task.fit, str):
                return problem.formulation.tasks.do(task, problem)
            solution, certificate, *history = (_fit if task.fit else _solve_first)(task, problem)
    except (SolverUnavailable, SolverUnsuitable) as reason:
        return skipped_result(reason, **_stated(problem, made))
    result = result_of(over_time(solution, task.time_limit), certificate, history)
    return replace(result, row={**result.row, **_stated(problem, made)})


def skipped_result(reason: object, **known: str) -> Result:
    """Return the Result of a skipped task: its reason, and `known` columns."""
    return Result({"status": SKIPPED, "failure": str(reason), **known}, ())


def _keeping(build: Callable[..., Any], made: list[Any]) -> Callable[..., Any]:
    """Wrap `build` so that the list `made` holds the last problem it returned."""

    @wraps(build)
    def kept(**offered: Any) -> Any:
        made[:] = [build(**offered)]
        return made[0]

    return kept


def _stated(problem: ProblemFile, made: list[Any]) -> dict[str, str]:
    """Return columns ``needs`` (cones) and ``sense`` of a task's problem; {} if never built."""
    from convexfs.solving.backends import Needs, needs_of

    formulation = problem.formulation
    if made:
        needs, sense = needs_of(made[0]), made[0].objective.NAME
    elif problem.build is None:
        needs, sense = Needs(formulation.cones, formulation.integer), formulation.equation
    else:
        return {}
    return {"needs": str(needs), "sense": sense[:3]}


def over_time(solution: Solution, time_limit: float | None) -> Solution:
    """Return the solution, with status "timeout" if unsolved after its time limit."""
    if time_limit is None or solution.solved or solution.solve_seconds < time_limit:
        return solution
    said = f"{solution.solver} stopped at its limit of {time_limit:g} s: {solution.status}"
    return replace(solution, status=TIMEOUT, failure=solution.failure or said)


def result_of(
    solution: Solution, certificate: Certificate | None, history: Sequence[Mapping[str, Any]] = ()
) -> Result:
    """Return the Result to store for a solution, its certificate and the iterations before.

    Without a certificate the verdict is left open.
    """
    ok = None if certificate is None else certificate.ok
    reason = "" if certificate is None else objection(certificate)
    if not solution.solved and failure_kind(solution.status, ok):
        reason = f"{solution.solver} says {solution.status}"
    row = {name: getattr(solution, name) for name in _STORED}
    row |= {"failure": solution.failure or reason, "ok": ok}
    answer = {
        "step": len(history),
        "status": solution.status,
        "objective": solution.objective,
        **({"certificate_tol": None} if certificate is None else certificate_columns(certificate)),
        "iterations": solution.iterations,
        "primal": dict(solution.primal),
        "dual": dict(solution.dual),
    }
    iterations = (
        {"step": step, "label": "iteration", "objective": at["objective"], "change": at["residual"]}
        for step, at in enumerate(history)
    )
    return Result(row, (*iterations, answer))


def failure_kind(status: str, ok: bool | None) -> str:
    """Return the kind of a finished task's failure, such as "refuted"; "" if it did not fail.

    A status that its certificate refutes is ``refuted``; an undecided one is no failure. A solver
    that is not sure has failed, whatever is proven of its point. Contradictions between solvers
    are found by a study of all of them.
    """
    if status in (OPTIMAL, INFEASIBLE, UNBOUNDED):
        return REFUTED if ok is False else ""
    return "" if status in (SKIPPED, MEASURED) else status


def objection(certificate: Certificate) -> str:
    """Return "certificate" and why it refutes or leaves open the solution; "" if proven."""
    return f"{CERTIFICATE} {certificate}" if certificate.ok is False or certificate.reason else ""


def certificate_columns(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate's fields as columns of the table of solutions."""
    columns = certificate.as_dict()
    return {"certificate_tol": columns.pop("tol"), **columns, "certificates": CERTIFICATES}


def _solve_first(task: Task, problem: ProblemFile) -> tuple[Solution, Certificate]:
    """Solve the method's first convex problem; return solution and certificate."""
    values, hyper = first_numbers(task, problem)
    return solve_step(problem.formulation, values, hyper, solving_of(task, problem.build))


def solving_of(task: Task, build: Callable[..., Any] | None) -> Solving:
    """Return the Solving of a task: solver, tolerance, limits, and `build` (None: as printed)."""
    return Solving(
        solver=task.solver,
        tol=task.tol or DEFAULT_ACCURACY,
        time_limit=task.time_limit,
        options=json.loads(task.own_options) or None,
        build=build,
    )


def first_numbers(task: Task, problem: ProblemFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two dicts: data and hyperparameters of a task's first convex problem."""
    chosen = json.loads(task.hyper)
    build = problem.build or problem.formulation.build
    if problem.is_own:
        samples = samples_of(dataset_of(task), build) if problem.data else {}
        return {}, {"seed": task.seed, **samples, **chosen}
    name, data = problem.formulation.name, dataset_of(task)
    numbers = _numeric_half(name)
    offered = canonical(named_in(numbers, chosen))
    values, hyper = _numbers(name, data, offered, _seed(task, numbers))
    samples = samples_of(data, build, values) if problem.build else {}
    return values, samples | hyper | named_in(build, chosen)


def first_problem(task: Task, problem: ProblemFile) -> Any:
    """Return the first convex problem of a task as a cvxpy problem."""
    values, hyper = first_numbers(task, problem)
    return stated(problem.formulation, {**values, **hyper}, problem.build)


def _fit(task: Task, problem: ProblemFile) -> tuple[Any, ...]:
    """Fit the entire method; return solution, certificate and the iterations."""
    data, chosen = dataset_of(task), json.loads(task.hyper)
    method, settings = problem.formulation.method, problem.formulation.settings
    more: dict[str, Any] = {"seed": _seed(task, settings)}
    build = with_fixed(problem.build, chosen)
    if problem.feasible is not None:
        build, more["feasible"] = None, problem.feasible
    own, solving = settings(**named_in(settings, chosen)), solving_of(task, build)
    result = method(data.X, data.y, own, solving, **named_in(method, more))
    return result.solution, result.certificate, *getattr(result, "history", ())


def named_in(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items of `offered` whose names are parameters of `function`."""
    takes = _parameter_names(function)
    return {name: value for name, value in offered.items() if name in takes}


@lru_cache(maxsize=256)
def _parameter_names(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def dataset_of(task: Task) -> Dataset:
    """Return a task's data from the shared registry, or load them and check their digest."""
    if task.data_sha256 not in DATASETS:
        kind = target_of(stored_formulation(task.formulation))
        data = _loaded(task.data, kind, data_dir=task.data_dir, read_limit=task.read_limit)
        if data.digest != task.data_sha256:
            raise RunError(f"{task.data} is not the data the run started with: it has changed")
        DATASETS[data.digest] = data
    return DATASETS[task.data_sha256]


@lru_cache(maxsize=4)  # Tasks of one problem with different solvers follow each other.
def _numbers(
    formulation: str, data: Dataset, chosen: str, seed: tuple[int, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    numbers = _numeric_half(formulation)
    return numbers(data.X, data.y, **named_in(numbers, {"seed": seed}) | json.loads(chosen))


@lru_cache(maxsize=64)
def _numeric_half(formulation: str) -> Callable[..., Any]:
    return FORMULATIONS[formulation].numbers


def _seed(task: Task, numeric: Callable[..., Any]) -> tuple[int, int]:
    """Return a task's random seed (run's seed, hash), the same for all its solvers."""
    hyper = named_in(numeric, json.loads(task.hyper))
    content = canonical([task.data_sha256, task.formulation, hyper, task.repeat])
    drawn = hashlib.sha256(content.encode()).digest()
    return (task.seed, int.from_bytes(drawn[:4], "big"))
