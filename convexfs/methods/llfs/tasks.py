"""LLFS's points as batch tasks, with the same keys and rows for batches and fits.

A point is a task with all its betas, one solver, one form and one rounding. Batches of problem
files with ``FIT = "points"``, on this machine or others, and ``LLFS(run_dir=...)`` share
:func:`do_point`, and can resume each other's work.
"""

import hashlib
import inspect
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from convexfs.batch.callable_hash import callable_sha256
from convexfs.batch.problem_files.load import (
    CONSTRAINTS,
    FEASIBLE,
    ProblemFile,
    canonical,
    load_problem_file,
    with_fixed,
)
from convexfs.batch.run import Progress, run_tasks
from convexfs.batch.store.sqlite_file import MOVE
from convexfs.batch.store.store import Store, unpack
from convexfs.batch.tasks import (
    Result,
    Task,
    dataset_of,
    keyed,
    named_in,
    result_of,
    solver_fields,
    solving_of,
)
from convexfs.batch.workers import pool
from convexfs.batch.workers.attempts import one_thread
from convexfs.data import Dataset
from convexfs.errors import (
    ConvexfsError,
    InputError,
    ProblemFileError,
    RunError,
    SolverUnavailable,
    SolverUnsuitable,
    check_number,
)
from convexfs.estimators.callbacks import Report
from convexfs.estimators.custom_formulation import build_of, changed_file, own_values
from convexfs.methods.base.change import added, replacing
from convexfs.methods.base.formulation import taken_by
from convexfs.methods.llfs import METHOD
from convexfs.methods.llfs.fit import PointResult, PointWork, last_pass, point_work, verdict
from convexfs.methods.llfs.relaxation import STATUS_ROW, UNCONVERGED
from convexfs.methods.llfs.settings import PointSettings, Settings
from convexfs.records import ERROR, NATIVE, TIMEOUT, Solution

POINTS, POINT = METHOD.parts or ("", "")
#: Hash of a problem file without changes.
AS_PRINTED = hashlib.sha256(b"").hexdigest()
#: Label prefix of a point's own row, as opposed to the rows of its betas.
POINT_LABEL = f"{POINT} "

log = logging.getLogger(__name__)


def changes_of(formulation: Callable[..., Any] | str | Path | None) -> dict[str, Any]:
    """Return ``{"build": ...}`` or ``{"feasible": ...}`` from the value of ``formulation``.

    A function of ``f`` is a ``feasible``: no ``build`` is offered an f. One that is called
    ``constraints`` is added to the paper's constraints, as in a problem file.
    """
    if callable(formulation) and "f" in inspect.signature(formulation).parameters:
        default = inspect.signature(METHOD.formulations[0].build).parameters[FEASIBLE].default
        is_more = getattr(formulation, "__name__", "") == CONSTRAINTS
        return {"feasible": (added if is_more else replacing)(default, formulation)}
    if isinstance(formulation, str | Path):
        feasible = changed_file(formulation, "llfs").feasible
        if feasible is not None:
            return {"feasible": feasible}
    return {"build": build_of(formulation, "llfs")}


@contextmanager
def progress(shown: bool, report: Report) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback (points done, total) that, if `shown`, updates a bar and logs progress.

    It calls `report`, if given, once for every finished point.
    """
    reported = 0

    def report_points(done: int, total: int) -> None:
        nonlocal reported
        if report is not None:
            for _ in range(done - reported):
                report()
        reported = max(done, reported)

    if not shown:
        yield report_points
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from convexfs.kernels import announced

    console = Console(stderr=True)
    seen = console.is_terminal or console.is_jupyter
    columns = ("LLFS", BarColumn(), MofNCompleteColumn(), "points", TimeRemainingColumn())
    say = console.print if seen else log.info
    with announced(say), Progress(*columns, console=console, disable=not seen) as bar:
        row = bar.add_task("", total=None)

        def watch(done: int, total: int) -> None:
            report_points(done, total)
            bar.update(row, completed=done, total=total)
            if done == total or done % max(1, total // 20) == 0:
                log.info("%d of %d points", done, total)

        yield watch


# Tasks of a batch


def parts(whole: Task, problem: ProblemFile) -> Iterator[Task]:
    """Yield one task per representative point, or only that of the point that GRID names."""
    chosen, n_samples = json.loads(whole.hyper), dataset_of(whole).n_samples
    points = range(n_samples)
    if POINT in chosen:
        points = [chosen.pop(POINT)]
        check_number(f"{problem.path}: {POINT} in GRID", points[0], 0, n_samples - 1, whole=True)
    settings = Settings(**named_in(Settings, chosen))
    own = {name: value for name, value in chosen.items() if not hasattr(settings, name)}
    whole = replace(whole, hyper=canonical(told(settings) | own), options="{}")
    if problem.build is None:
        whole = replace(whole, problem_code=AS_PRINTED)
    try:
        whole = replace(whole, **_settled(_asked_of(whole).settings))
    except (SolverUnavailable, SolverUnsuitable):
        pass  # Every point will report the error itself.
    except InputError as error:
        raise ProblemFileError(f"{problem.path}, GRID: {error}") from error
    return (_of_point(whole, point) for point in points)


def do(task: Task, problem: ProblemFile) -> Result:
    """Run one point of a batch."""
    hyper = json.loads(task.hyper)
    del hyper[POINT]
    return do_point(_work(replace(task, key="", hyper=canonical(hyper))), task)


@lru_cache(maxsize=4)
def _work(whole: Task) -> PointWork:
    """Return the work of a task on all points, in the last pass."""
    return last_pass(_asked_of(whole))


def _asked_of(whole: Task) -> PointWork:
    """Return the work of a task on all points, before the earlier passes."""
    problem = load_problem_file(whole.problem_file, whole.problem_sha256)
    data, chosen, feasible = dataset_of(whole), json.loads(whole.hyper), problem.feasible
    build = None if feasible else with_fixed(problem.build, chosen)
    settings = Settings(**named_in(Settings, chosen))
    return point_work(data.X, data.y, settings, solving_of(whole, build), feasible, whole.seed)


# Keys that batches and fits share


def told(settings: Settings) -> dict[str, Any]:
    """Return the settings that differ from the defaults, as JSON values."""
    plain = {row.name: np.asarray(getattr(settings, row.name)).tolist() for row in fields(Settings)}
    usual = Settings()
    return {name: value for name, value in plain.items() if value != getattr(usual, name)}


def _settled(settings: PointSettings) -> dict[str, str]:
    """Return a task's formulation, solver ("native" if that is used) and the solver's version."""
    from convexfs.solving.backends import BACKENDS

    known = {name.lower(): name for name in BACKENDS}
    solver = settings.solving.solver.lower()
    name = NATIVE if settings.native else known.get(solver, solver)
    version = solver_fields(name, None, None)["solver_version"]
    return {"formulation": settings.formulation.name, "solver": name, "solver_version": version}


def _of_point(whole: Task, point: int) -> Task:
    known = asdict(whole)
    del known["key"]
    return keyed(**known | {"hyper": canonical({**json.loads(whole.hyper), POINT: point})})


# Running and storing points


def do_point(work: PointWork, task: Task) -> Result:
    """Solve and round all betas of a point, select one, and return the rows to store."""
    point = json.loads(task.hyper)[POINT]
    solved, sets = work.solve(point)
    table = solved.table
    chosen = np.zeros(work.n_features)
    chosen[solved.features] = 1.0
    solution, certificate = verdict(table[None], chosen, work.settings, solved.seconds)
    solution = _ended(solution, table["status"])
    log.info(
        "point %d of %s with %s: %s, features %s at beta %.3g, mean U1 %.6g, %d programs, %.3g s",
        point, task.data or "a fit", task.solver, solution.status, solved.features.tolist(),
        solved.beta, np.nan if solution.objective is None else solution.objective,
        table["programs"].sum(), solved.seconds,
    )  # fmt: skip
    result = result_of(solution, certificate)
    needs = " + ".join(sorted(work.settings.formulation.cones))
    known = {"solver": task.solver, "solver_version": task.solver_version}
    known |= {"needs": needs, "sense": "min"}
    fields = {name: value for name, value in asdict(solved).items() if name != "seconds"}
    primal = fields | {"f": chosen}
    answer = {"step": len(table), "label": f"{POINT_LABEL}{point}", "primal": primal}
    betas = (_beta_row(work, b, sets.masks[b], sets.f, table[b]) for b in range(len(table)))
    return Result({**result.row, **known}, (*betas, {**result.solutions[-1], **answer}))


def _ended(solution: Solution, statuses: np.ndarray) -> Solution:
    """Return the solution with status "timeout", or a note of unconverged betas, if any."""
    if (statuses == TIMEOUT).any():
        return replace(solution, status=TIMEOUT)
    unconverged = int((statuses == UNCONVERGED).sum())
    if unconverged and not solution.failure:
        left = f"{unconverged} of {len(statuses)} betas have not converged"
        return replace(solution, failure=left)
    return solution


def _beta_row(
    work: PointWork, b: int, mask: np.ndarray | None, F: np.ndarray | None, row: Any
) -> dict[str, Any]:
    primal = {} if mask is None else {"mask": work.spread(mask)}
    if F is not None and np.isfinite(F[b]).all():
        primal["f"] = work.spread(F[b])
    short = (row["level"] - row["u2"]) / max(row["level"], 1e-9)
    finite = bool(np.isfinite(row["u1"]))
    return {
        "step": b, "label": f"beta {row['beta']:g}", "status": str(row["status"]),
        "objective": float(row["u1"]) if finite else None,
        "primal_residual": max(float(short), 0.0) if finite else None,
        "dual_residual": float(row["residual"]) if finite else None,
        "iterations": int(row["programs"]), "primal": primal or None,
    }  # fmt: skip


def stored_points(store: Store, keys: Iterable[str]) -> Iterator[PointResult]:
    """Yield the stored results of the points with these keys."""
    tasks, rows = store.tasks(), store.solutions()
    seconds = dict(zip(tasks["key"], tasks["solve_seconds"], strict=True))
    rows = rows[rows["label"].str.startswith(POINT_LABEL, na=False) & rows["key"].isin(set(keys))]
    for key, blob in zip(rows["key"], rows["primal"], strict=True):
        try:
            yield _stored_point(unpack(blob), float(seconds[key]))
        except (KeyError, ValueError, TypeError) as error:
            raise RunError(
                f"{store.path}: is damaged: a point does not match its task ({error!r}); {MOVE}"
            ) from error


def _stored_point(arrays: dict[str, np.ndarray], seconds: float) -> PointResult:
    numbers = {name: arrays[name].item() for name in ("point", "radius", "beta", "score")}
    features, table = arrays["features"], arrays["table"]
    if table.dtype != STATUS_ROW or features.dtype.kind not in "iu" or features.ndim != 1:
        raise ValueError("its arrays are of other kinds")
    return PointResult(features=features, table=table, seconds=seconds, **numbers)


# Tasks of an estimator


def points_map(jobs: int, watch: Callable[[int, int], None]) -> Callable[..., list[PointResult]]:
    """Return a ``map`` over points in `jobs` processes, or in this one if `jobs` is 1.

    `watch` is called with the number of finished points and of all points.
    """

    def mapped(work: PointWork, points: Iterable[int]) -> list[PointResult]:
        todo, done = list(points), []
        watch(0, len(todo))
        for result in _computed(work, todo, jobs):
            done.append(result)
            watch(len(done), len(todo))
        return done

    return mapped


def _computed(work: PointWork, todo: list[int], jobs: int) -> Iterator[PointResult]:
    if jobs == 1:
        # Use one thread as in workers: the order of a sum must not depend on the number of jobs.
        with one_thread():
            yield from map(work, todo)
        return
    for outcome in pool.run(todo, work, jobs=jobs):
        if outcome.status != pool.DONE:
            _fail(outcome.task, outcome.failure)
        yield outcome.value


def _fail(point: int, failure: str) -> None:
    kind, _, reason = failure.partition(": ")
    if kind == InputError.__name__:
        raise InputError(reason)
    raise ConvexfsError(f"point {point} failed: {failure}")


def kept_map(
    model: Any, X: np.ndarray, codes: np.ndarray, jobs: int, watch: Callable[[int, int], None]
) -> Callable[..., list[PointResult]]:
    """Return a ``map`` over points that stores each result in ``run_dir`` and can be resumed.

    Points are kept by all that made them: of a changed formulation by the hash of its file, or
    of its function. A function whose source cannot be read is refused.
    """
    if callable(model.formulation):
        callable_sha256(model.formulation)

    def mapped(work: PointWork, points: Iterable[int]) -> list[PointResult]:
        whole = _asked(model, X, codes, work.settings)
        tasks = [_of_point(whole, point) for point in points]

        def heard(progress: Progress) -> None:
            if progress.failures[ERROR]:
                task, failure = progress.failed[-1]
                _fail(json.loads(task.hyper)[POINT], failure)
            watch(progress.finished, progress.total)

        run_tasks(
            tasks, model.run_dir, work=partial(do_point, work), jobs=jobs, time_limit=None,
            retry_failed=(ERROR,), watch=heard,
        )  # fmt: skip
        with Store.read(model.run_dir) as store:
            return list(stored_points(store, (task.key for task in tasks)))

    return mapped


def _asked(model: Any, X: np.ndarray, codes: np.ndarray, settings: PointSettings) -> Task:
    """Return the task of an estimator on its data, as a batch would define it."""
    formulation, is_function = model.formulation, callable(model.formulation)
    file, name, code = None, METHOD.name, AS_PRINTED
    if is_function:
        name = getattr(formulation, "__name__", name)
        code = callable_sha256(formulation)
    elif formulation is not None:
        file = changed_file(formulation, METHOD.name)
        name, code = file.name, file.code_sha256
    # An earlier pass of a fit is the last pass of a shorter fit.
    asked = replace(Settings(**taken_by(Settings, model)), n_passes=settings.n_passes)
    hyper = told(asked) | ({} if file is None else own_values(file))
    if model.prune_to is not None:
        hyper["prune_to"] = int(model.prune_to)
    limit = settings.solving.time_limit
    path, sha256 = ("", "") if file is None else (str(file.path), file.sha256)
    return Task(
        key="", problem=name, problem_file=path, problem_sha256=sha256, problem_code=code,
        method=METHOD.name, fit=POINTS, data="", data_dir=None, read_limit=None,
        data_sha256=digest(X, codes), hyper=canonical(hyper),
        options=canonical(dict(settings.solving.options or {})), tol=float(settings.solving.tol),
        time_limit=None if limit is None else float(limit), repeat=0, seed=int(settings.seed),
        **_settled(settings),
    )  # fmt: skip


def digest(X: np.ndarray, codes: np.ndarray) -> str:
    """Return the hash of samples, as a batch computes it."""
    return Dataset(np.ascontiguousarray(X), codes, (), ()).digest


def pruned(X: np.ndarray, codes: np.ndarray, prune_to: int | None) -> np.ndarray:
    """Return the features left after pruning by Logo's weights; all without pruning."""
    if prune_to is None:
        return np.arange(X.shape[1])
    check_number("prune_to", prune_to, 1, X.shape[1], whole=True)
    from convexfs.methods.logo.fit import logo

    return np.sort(np.argsort(-logo(X, codes).weights, kind="stable")[:prune_to])
