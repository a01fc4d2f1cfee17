"""LLFS's points as tasks: over processes, and kept in a folder so that a fit can go on."""

import hashlib
import inspect
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from convexfs.batch import pool
from convexfs.batch.problem_file import ProblemFile, canonical
from convexfs.batch.store import Store, unpack
from convexfs.batch.tasks import code_sha256
from convexfs.errors import ConvexfsError, InputError
from convexfs.methods.base.changed import build_of, changed_file
from convexfs.methods.llfs.fit import PointResult
from convexfs.methods.llfs.settings import PointSettings

log = logging.getLogger(__name__)


def changes_of(formulation: Callable[..., Any] | str | Path | None) -> dict[str, Any]:
    """What an estimator's ``formulation`` changes: ``build``, or ``feasible`` of all stages.

    A function of ``f`` is a ``feasible``: no ``build`` is offered an f.
    """
    if callable(formulation) and "f" in inspect.signature(formulation).parameters:
        return {"feasible": formulation}
    if isinstance(formulation, str | Path):
        feasible = changed_file(formulation, "llfs").feasible
        if feasible is not None:
            return {"feasible": feasible}
    return {"build": build_of(formulation, "llfs")}


@contextmanager
def progress(shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of finished and all points: a bar on a terminal, and twenty log lines."""
    if not shown:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from convexfs.compiling import announced

    console = Console(stderr=True)
    seen = console.is_terminal or console.is_jupyter
    columns = ("LLFS", BarColumn(), MofNCompleteColumn(), "points", TimeRemainingColumn())
    say = console.print if seen else log.info
    with announced(say), Progress(*columns, console=console, disable=not seen) as bar:
        row = bar.add_task("", total=None)

        def watch(done: int, total: int) -> None:
            bar.update(row, completed=done, total=total)
            if done == total or done % max(1, total // 20) == 0:
                log.info("%d of %d points", done, total)

        yield watch


def points_map(
    jobs: int,
    watch: Callable[[int, int], None],
    run_dir: str | Path | None = None,
    formulation: Callable[..., Any] | str | Path | None = None,
) -> Callable[..., list[PointResult]]:
    """A ``map`` over points: `jobs` processes, resumable from `run_dir` if given.

    `watch` is called with the number of finished points and of all points. Results are
    kept by all that made them, so that a changed `formulation` must be a problem file.
    """
    if run_dir is None:
        return partial(_map_points, jobs=jobs, watch=watch)
    if callable(formulation):
        raise InputError(
            "run_dir keeps points by what made them, which cannot be told of a function: "
            "put it into a problem file"
        )
    changed = None if formulation is None else changed_file(formulation, "llfs")
    return partial(_map_points, jobs=jobs, watch=watch, run_dir=run_dir, changed=changed)


def _map_points(
    work: Any,
    points: Iterable[int],
    *,
    jobs: int,
    watch: Callable[[int, int], None],
    run_dir: str | Path | None = None,
    changed: ProblemFile | None = None,
) -> list[PointResult]:
    todo, done = list(points), []
    total = len(todo)
    with ExitStack() as held:
        store = held.enter_context(Store(run_dir)) if run_dir is not None else None
        keys = _keys(work, todo, changed) if store else {}
        if store:
            done = list(_stored(store, keys))
            finished = {result.point for result in done}
            todo = [point for point in todo if point not in finished]
            log.info("%d of %d points were finished earlier", len(done), total)
        watch(len(done), total)
        for result in _computed(work, todo, jobs):
            if store:
                _record(store, keys[result.point], result)
            done.append(result)
            watch(len(done), total)
    return done


def _computed(work: Any, todo: list[int], jobs: int) -> Iterator[PointResult]:
    if jobs == 1:
        yield from map(work, todo)
        return
    for outcome in pool.run(todo, work, jobs=jobs):
        if outcome.status != pool.DONE:
            kind, _, reason = outcome.failure.partition(": ")
            if kind == InputError.__name__:
                raise InputError(reason)
            raise ConvexfsError(f"point {outcome.task} failed: {outcome.failure}")
        yield outcome.value


def _keys(work: Any, points: list[int], changed: ProblemFile | None) -> dict[int, str]:
    """A hash a point of all that determines its result."""
    X, codes, settings = (work.keywords[name] for name in ("X", "codes", "settings"))
    shared = hashlib.sha256(_described(settings).encode())
    shared.update(code_sha256(Path(__file__).parents[1]).encode())
    if changed is not None:
        shared.update(f"{changed.code_sha256} {canonical(changed.grid)}".encode())
    for array in (X, codes):
        shared.update(np.ascontiguousarray(array).tobytes())
    return {
        point: hashlib.sha256(f"{shared.hexdigest()} {point}".encode()).hexdigest()
        for point in points
    }


def _described(settings: PointSettings) -> str:
    """JSON text of the settings but for functions, which their file tells."""
    solving = replace(settings.solving, build=None)
    plain = asdict(replace(settings, solving=solving, feasible=None))
    return json.dumps(plain, sort_keys=True, default=lambda part: np.asarray(part).tolist())


def _record(store: Store, key: str, result: PointResult) -> None:
    arrays = asdict(result)
    task = {"key": key, "problem": "llfs", "method": "llfs", "status": "optimal", "failure": ""}
    row = {"step": 0, "label": f"point {result.point}", "status": "optimal", "primal": arrays}
    store.record(task | {"solve_seconds": result.seconds}, (), (row,))


def _stored(store: Store, keys: dict[int, str]) -> Iterator[PointResult]:
    wanted = set(keys.values())
    rows = store.solutions()
    for key, primal in zip(rows["key"], rows["primal"], strict=True):
        if key in wanted:
            yield _read(unpack(primal))


def _read(arrays: dict[str, np.ndarray]) -> PointResult:
    numbers = {
        name: arrays[name].item() for name in ("point", "radius", "beta", "score", "seconds")
    }
    return PointResult(features=arrays["features"], table=arrays["table"], **numbers)
