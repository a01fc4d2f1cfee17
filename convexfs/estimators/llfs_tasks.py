"""LLFS's points as tasks: over processes, and kept in a folder so that a fit can go on."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from convexfs.batch import pool
from convexfs.batch.problem_file import load_problem_file
from convexfs.batch.store import Store, unpack
from convexfs.errors import ConvexfsError, InputError
from convexfs.estimators.formulation import build_of
from convexfs.methods.llfs import LlfsSettings, PointResult

log = logging.getLogger(__name__)


def changes_of(formulation: Callable[..., Any] | str | Path | None) -> dict[str, Any]:
    """What an estimator's ``formulation`` changes: ``build``, or ``feasible`` of all stages."""
    if isinstance(formulation, str | Path):
        feasible = load_problem_file(formulation).feasible
        if feasible is not None:
            return {"feasible": feasible}
    return {"build": build_of(formulation)}


def points_map(
    jobs: int, run_dir: str | Path | None, watch: Callable[[int, int], None]
) -> Callable[..., list[PointResult]]:
    """A ``map`` over points: `jobs` processes, resumable from `run_dir` if given.

    `watch` is called with the number of finished points and of all points.
    """
    return partial(_map_points, jobs=jobs, run_dir=run_dir, watch=watch)


def _map_points(
    work: Any, points: Iterable[int], *, jobs: int, run_dir: str | Path | None, watch: Any
) -> list[PointResult]:
    todo, done = list(points), []
    total = len(todo)
    with ExitStack() as held:
        store = held.enter_context(Store(run_dir)) if run_dir is not None else None
        keys = _keys(work, todo) if store else {}
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


def _keys(work: Any, points: list[int]) -> dict[int, str]:
    """A hash a point of all that determines its result."""
    X, codes, settings = (work.keywords[name] for name in ("X", "codes", "settings"))
    shared = hashlib.sha256(_described(settings).encode())
    shared.update(metadata.version("convexfs").encode())
    for array in (X, codes):
        shared.update(np.ascontiguousarray(array).tobytes())
    return {
        point: hashlib.sha256(f"{shared.hexdigest()} {point}".encode()).hexdigest()
        for point in points
    }


def _described(settings: LlfsSettings) -> str:
    """JSON text of the settings; a function is told by its code."""
    plain = asdict(replace(settings, relaxed=replace(settings.relaxed, build=None, feasible=None)))
    plain["functions"] = [
        None if function is None else repr(getattr(function, "__code__", function))
        for function in (settings.relaxed.build, settings.relaxed.feasible)
    ]
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
