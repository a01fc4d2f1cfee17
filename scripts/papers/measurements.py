"""Measurements: tasks that return plain numbers, run and stored as those of a batch are.

Whoever defines them gives the function that does one. They are resumable and go to any executor.
A folder has them in the tables of every run: a row of ``tasks`` each, and a row of ``solutions``
for each number, its name as ``label`` and its value as ``objective``. Several numbers under one
name are the array ``primal``. :func:`convexfs.batch.run_results.read_measurements` reads them.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import convexfs
from convexfs.batch.code_hash import code_sha256
from convexfs.batch.problem_files.base import canonical
from convexfs.batch.run import Progress, describe_environment, print_into_the_log, record, resume
from convexfs.batch.store.store import LOG, Store
from convexfs.batch.tasks import Result, versions
from convexfs.batch.workers import pool
from convexfs.batch.workers.run_log import run_log
from convexfs.records import MEASURED

log = logging.getLogger(__name__)

#: A measurement returns named numbers, or named arrays of numbers.
Numbers = Mapping[str, float | Sequence[float] | np.ndarray]


@dataclass(frozen=True)
class Measurement:
    """A task that returns numbers: everything that determines them, and its hash ``key``.

    ``settings`` are JSON text; ``data`` is what its numbers stand under, ``spec`` and
    ``data_dir`` where it is found.
    """

    key: str
    experiment: str
    method: str
    data: str
    spec: str
    data_dir: str | None
    data_sha256: str
    settings: str
    run: int

    def row(self) -> dict[str, Any]:
        """Return the columns of the table of tasks that are known before the task runs."""
        return {
            "key": self.key,
            "problem": self.experiment,
            "method": self.method,
            "data": self.data,
            "data_sha256": self.data_sha256,
            "hyper": self.settings,
            "repeat": self.run,
        }


def measurement(
    code: str, spec: str, data_dir: str | None, settings: Mapping[str, Any], **fields: Any
) -> Measurement:
    """Return the measurement with these fields; ``code`` is a hash of the measuring code."""
    fields["settings"] = canonical(settings)
    package = code_sha256(Path(convexfs.__file__).parent)
    content = {**fields, "code": [code, package], "versions": versions()}
    key = hashlib.sha256(canonical(content).encode()).hexdigest()
    return Measurement(key=key, spec=spec, data_dir=data_dir, **fields)


def run_measurements(
    tasks: Sequence[Measurement],
    out: str | Path,
    work: Callable[[Measurement], Numbers],
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    retry_failed: bool = True,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Run the measurements that a folder does not have yet, in order, and store each."""
    with Store(out) as store, run_log(Path(out) / LOG) as setup:
        progress, todo = resume(store, tasks, Path(out), retry_failed)
        log.info("%d measurements, %d of them finished earlier", progress.total, progress.resumed)
        watch(progress)
        machine = store.environment(describe_environment())
        started = time.perf_counter()
        outcomes = pool.run(
            todo,
            partial(_measured, work),
            jobs=jobs,
            executor=executor,
            setup=partial(print_into_the_log, setup, Path(out) / LOG),
        )
        for outcome in outcomes:
            record(store, outcome, machine, progress)
            progress.wall_seconds = time.perf_counter() - started
            watch(progress)
    return progress


def _measured(work: Callable[[Measurement], Numbers], task: Measurement) -> Result:
    rows = []
    for step, (name, value) in enumerate(work(task).items()):
        several = {} if np.ndim(value) == 0 else {"primal": {"values": np.asarray(value)}}
        rows.append({"step": step, "label": name, **(several or {"objective": float(value)})})  # type: ignore[arg-type]
    return Result({"status": MEASURED, "failure": ""}, tuple(rows))
