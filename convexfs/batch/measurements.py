"""Measurements: tasks of others that return plain numbers, run and kept as those of a batch are.

Whoever defines them gives the function that does one; they are resumable, go to any executor,
and a folder has them in the tables of every run: a row of ``tasks`` each, and a row of
``solutions`` for each number, its name as ``label`` and its value as ``objective``; of several
numbers under one name the array is the ``primal``.
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
import pandas as pd

from convexfs.batch.code_hash import code_sha256
from convexfs.batch.problem_files.base import canonical
from convexfs.batch.run import Progress, describe_environment, print_into_the_log, record, resume
from convexfs.batch.store.store import LOG, Store, unpack
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
    package = code_sha256(Path(__file__).parents[1])
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


def are_measurements(tasks: Any) -> bool:
    """Return whether a store's table of tasks holds measurements."""
    return len(tasks) > 0 and bool((tasks["status"] == MEASURED).any())


def read_measurements(folder: str | Path, keys: frozenset[str] | None = None) -> pd.DataFrame:
    """Return the latest stored numbers of these keys, or of all keys.

    Returns
    -------
    DataFrame
        Columns data, method, run, measure, position and value; a single number has the
        position 0, and so has the first of several under one name.
    """
    with Store.read(folder) as store:
        tasks, numbers = store.tasks(), store.solutions()
    told: Any = tasks[tasks["status"] == MEASURED]
    if keys is None:
        told = told.sort_values("finished_utc", kind="stable")
        told = told.drop_duplicates(["problem", "data", "method", "repeat"], keep="last")
    else:
        told = told[told["key"].isin(list(keys))]
    told = told[["key", "data", "method", "repeat"]]
    told = told.merge(numbers[["key", "step", "label", "objective", "primal"]], on="key")
    rows = [
        (row.data, row.method, int(row.repeat), row.label, position, float(value))
        for row in told.itertuples()
        for position, value in enumerate(_values(row))
    ]
    return pd.DataFrame(rows, columns=["data", "method", "run", "measure", "position", "value"])


def _values(row: Any) -> Sequence[float]:
    return [row.objective] if row.primal is None else unpack(row.primal)["values"].tolist()
