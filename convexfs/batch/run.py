"""Run a batch: solve the tasks of problem files into a folder, resumable at any time."""

import logging
import os
import platform
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

from convexfs.batch import preparation
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.store.shards import Shard, claim_shard
from convexfs.batch.store.store import LOG, Store
from convexfs.batch.tasks import DATASETS, Result, Task, do, expand, failure_kind
from convexfs.batch.workers import attempts, pool
from convexfs.batch.workers.run_log import LogLines, run_log
from convexfs.errors import ConvexfsWarning, check_number, check_seed
from convexfs.records import REFUTED, SKIPPED, VERDICTS

log = logging.getLogger(__name__)

#: A worker is ended this many seconds after its solver's time limit.
GRACE_SECONDS = 1.0


@dataclass
class Progress:
    """Counts of a batch's tasks: finished, skipped, failed, and the times spent.

    Attributes
    ----------
    keys : frozenset of str
        Of all its tasks.
    total, resumed, done : int
        Tasks in all, those found finished at the start, and those finished now.
    skips : Counter
        How many could not be tried, by the reason.
    failures : Counter
        How many failed, by kind, those found at the start included.
    failed : list of (task, str)
        The tasks that failed and why.
    wall_seconds, cpu_seconds : float
        Since the start, and of the tasks done.
    """

    folder: Path
    keys: frozenset[str]
    resumed: int = 0
    done: int = 0
    skips: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[Any, str]] = field(default_factory=list)
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def total(self) -> int:
        return len(self.keys)

    @property
    def finished(self) -> int:
        return self.resumed + self.done

    @property
    def rate(self) -> float:
        """Return the tasks finished per second; tasks finished in earlier runs do not count."""
        return self.done / self.wall_seconds if self.wall_seconds else 0.0

    def line(self) -> str:
        """Return one line for the user: tasks done, failures, speed and time left."""
        counts = f"{self.finished} of {self.total} tasks, {self.failures_line()}"
        if not self.rate or self.finished == self.total:
            return counts
        left = (self.total - self.finished) / self.rate
        time_left = f"{left:.0f} s" if left < 120 else f"{left / 60:.0f} min"
        return f"{counts}, {self.rate:.1f}/s, about {time_left} left"

    def failures_line(self) -> str:
        """Return text such as ``2 failed, 1 refuted``; refuted solutions count separately."""
        wrong = self.failures[REFUTED]
        return f"{len(self.failed) - wrong} failed" + (f", {wrong} refuted" if wrong else "")

    @property
    def skipped(self) -> int:
        return self.skips.total()

    @property
    def solved(self) -> int:
        return self.finished - self.skipped - len(self.failed)

    def count(self, task: Any, status: str, ok: bool | None, failure: str) -> None:
        """Count one finished task as solved, skipped or failed."""
        kind = failure_kind(status, ok)
        if status == SKIPPED:
            self.skips[failure] += 1
        if kind:
            self.failures[kind] += 1
            self.failed.append((task, failure or kind))


def solve_files(
    files: Iterable[str | Path],
    out: str | Path,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    tol: float = 1e-6,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    solvers: Sequence[str] | None = None,
    data_dir: str | None = None,
    read_limit: str | float | None = None,
    retry_failed: bool = False,
    shard: Shard | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Solve every task of problem files into the folder `out`; skip those finished earlier.

    Parameters
    ----------
    files : paths or bare names in ``./problems``
    out : path
        Folder of the results; the same folder and files resume.
    jobs : int
        Local worker processes.
    executor : concurrent.futures.Executor, optional
        Where to run instead. There only the solvers' own time limits hold.
    tol, time_limit
        Accuracy asked of every solver, and seconds a task may take.
    memory_limit : int, optional
        Bytes a task may take beyond those of its process; see
        :mod:`convexfs.batch.workers.attempts`.
    repeats, seed : int
        Runs of each task, and what anything random starts from.
    solvers : sequence of str, optional
        Names that take the place of every file's SOLVERS.
    data_dir : str, optional
        Folder behind ``data:NAME``.
    read_limit : str or number, optional
        Memory that reading a data set may take, as in :func:`convexfs.load`.
    retry_failed : bool
        Do failed tasks again instead of keeping them.
    shard : Shard, optional
        Do this part of the tasks only; :func:`convexfs.batch.store.merge.merge` joins the parts.
    watch : callable
        Called with the progress so far, before the first task and after each.

    Returns
    -------
    Progress
    """
    check_number("repeats", repeats, 1, whole=True)
    check_seed("seed", seed)
    check_limits(tol, time_limit)
    problems = [load_problem_file(file) for file in files]
    if solvers is not None:
        problems = [replace(problem, solvers=tuple(solvers)) for problem in problems]
    reading = {"data_dir": data_dir, "read_limit": read_limit}
    tasks = expand(problems, tol=tol, time_limit=time_limit, repeats=repeats, seed=seed, **reading)
    return run_tasks(
        tasks,
        out,
        jobs=jobs,
        executor=executor,
        time_limit=None if time_limit is None else time_limit + GRACE_SECONDS,
        memory_limit=memory_limit,
        retry_failed=retry_failed,
        shard=shard,
        watch=watch,
    )


def check_limits(tol: float, time_limit: float | None) -> None:
    """Raise InputError unless 0 < tol < 1 and time_limit is None or positive."""
    check_number("tol", tol, 0, 1, open_ends=True)
    if time_limit is not None:
        check_number("time_limit, in seconds,", time_limit, 0, open_ends=True)


def run_tasks(
    tasks: Sequence[Task],
    out: str | Path,
    *,
    work: Callable[[Task], Result] = do,
    jobs: int,
    executor: Executor | None = None,
    time_limit: float | None,
    memory_limit: int | None = None,
    retry_failed: bool | Container[str],
    shard: Shard | None = None,
    watch: Callable[[Progress], None],
    study: Mapping[str, Any] | None = None,
) -> Progress:
    """Run tasks that the folder `out` lacks or that are to be retried; store them, return counts.

    ``time_limit`` is when a worker is ended; ``retry_failed`` may name kinds of failure, which
    are :func:`~convexfs.batch.tasks.failure_kind`'s; ``study`` is what it takes to do a
    comparison again; the rest is as in :func:`solve_files`.
    """
    if memory_limit is not None:
        _check_memory_limit(memory_limit, executor)
    own = tasks if shard is None else shard.part(tasks)
    preparation.state_custom_problems(own)
    with Store(out) as store, run_log(Path(out) / LOG) as setup, clear_after(DATASETS):
        claim_shard(store, shard, tasks)
        if study is not None:
            store.keep_study(study)
        progress, todo = resume(store, own, Path(out), retry_failed)
        log.info("%d tasks, %d of them finished earlier", progress.total, progress.resumed)
        log.info("%s: %s", store.path.name, store.journal)
        watch(progress)
        if todo and executor is None:
            preparation.warm_up(task.formulation for task in todo)
        machine = store.environment(describe_environment())
        started = time.perf_counter()
        kept = store.stated()
        # Use all tasks, so that every shard states a problem on the same data.
        problems = preparation.pending_statements(
            tasks, (key for key in kept if not (retry_failed and kept[key]))
        )
        here = pool.runs_here(jobs, executor, time_limit, memory_limit)
        doing = partial(preparation.run_or_render, work)
        outcomes = pool.run(
            [*problems, *todo],
            partial(_printing_into_the_log, doing) if here else doing,
            jobs=jobs,
            executor=executor,
            time_limit=time_limit,
            memory_limit=memory_limit,
            setup=partial(print_into_the_log, setup, Path(out) / LOG),
            prepare=None if pool.FORKS else preparation.prepare,
        )
        for outcome in outcomes:
            if isinstance(outcome.task, preparation.StatementTask):
                failure = {"failure": _why(outcome, memory_limit)}
                known = preparation.file_row(outcome.task.task)
                store.keep_problem(known | (outcome.value or {}) | failure)
                continue
            record(store, outcome, machine, progress, memory_limit)
            progress.wall_seconds = time.perf_counter() - started
            watch(progress)
        store.check_in_place()
        log.info("finished: %d tasks", progress.finished)
    return progress


def print_into_the_log(setup: Callable[[], None] | None, path: Path) -> None:
    """Run `setup` in a worker, then redirect its standard output for good to the log."""
    if setup is not None:
        setup()
    sys.stdout = LogLines()
    # Compiled code writes to file descriptor 1, so that goes to the log file directly.
    with suppress(OSError):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), 1)


def _printing_into_the_log(work: Callable[[Any], Any], task: Any) -> Any:
    """Run a task in this process with its standard output redirected to the log."""
    lines = LogLines()
    try:
        with redirect_stdout(lines):
            return work(task)
    finally:
        lines.finish()


@contextmanager
def clear_after(registry: dict[str, Any]) -> Iterator[None]:
    """Empty a dict of data sets at the end of the block, because they may be large."""
    try:
        yield
    finally:
        registry.clear()


def resume(
    store: Store, tasks: Sequence[Any], folder: Path, retry_failed: bool | Container[str]
) -> tuple[Progress, list[Any]]:
    """Return the Progress so far, and the tasks to run: new ones and failed ones to retry."""
    progress, todo = Progress(folder, frozenset(task.key for task in tasks)), []
    finished = store.finished()
    for task in tasks:
        status, ok, failure = finished.get(task.key, (None, None, ""))
        kind = "" if status is None else failure_kind(status, ok)
        again = retry_failed if isinstance(retry_failed, bool) else kind in retry_failed
        if status is None or (kind and again):
            todo.append(task)
        else:
            progress.resumed += 1
            progress.count(task, status, ok, failure)
    return progress, todo


def result_rows(
    outcome: pool.Outcome[Any], memory_limit: int | None = None
) -> tuple[dict[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the row of a finished task, and the rows of its solutions, to be stored."""
    result: Result | None = outcome.value
    ended = result.row if result else {"status": outcome.status}
    last = outcome.attempts[-1]
    row = outcome.task.row() | {
        "wall_seconds": last.seconds,
        "cpu_seconds": last.cpu_seconds,
        **ended,
        "failure": _why(outcome, memory_limit),
    }
    return row, result.solutions if result else ()


def record(
    store: Store,
    outcome: pool.Outcome[Any],
    machine: int,
    progress: Progress,
    memory_limit: int | None = None,
) -> None:
    """Store the outcome of a task, log it, and count it in `progress`."""
    row, solutions = result_rows(outcome, memory_limit)
    store.record(row | {"environment": machine}, map(vars, outcome.attempts), solutions)
    # Log here and not in the worker: sending a log record takes longer than many tasks.
    log.info(
        "%s on %s %s with %s: %s, %s, %.3g s in process %s",
        row["problem"], row["data"], row["hyper"], row.get("solver"), row["status"],
        VERDICTS[row.get("ok")], row["wall_seconds"], outcome.attempts[-1].pid,
    )  # fmt: skip
    progress.done += 1
    progress.cpu_seconds += sum(attempt.cpu_seconds or 0.0 for attempt in outcome.attempts)
    progress.count(outcome.task, row["status"], row.get("ok"), row["failure"])


def _why(outcome: pool.Outcome[Any], memory_limit: int | None) -> str:
    """Return why a task failed, "" if it did not; a timeout names the user's limit."""
    if outcome.status == pool.TIMEOUT and isinstance(outcome.task, Task):
        return f"TimeLimit: was ended, over its limit of {outcome.task.time_limit:g} s"
    failure = outcome.failure
    if isinstance(outcome.value, Result):
        failure = outcome.value.row["failure"]
    return attempts.name_limit(failure, memory_limit)


def _check_memory_limit(limit: int, executor: Executor | None) -> None:
    check_number("memory_limit, in bytes,", limit, 1, whole=True)
    if executor is not None or not attempts.HOLDS:
        where = "on this system" if executor is None else "with an executor"
        warnings.warn(f"the memory limit does not hold {where}", ConvexfsWarning, stacklevel=3)


def command_line() -> list[str]:
    """Return the command line of this process, the program without its folder."""
    name = Path(sys.argv[0]).name
    return [*(["python", "-m", "convexfs"] if name == "__main__.py" else [name]), *sys.argv[1:]]


def describe_environment() -> dict[str, Any]:
    """Return a dict of the machine, package versions, thread limits and git revision."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "packages": _installed_packages(),
        "threads": {name: os.environ.get(name) for name in attempts.THREAD_VARIABLES},
        "revision": _revision(),
    }


@cache
def _installed_packages() -> dict[str, str]:
    """Return the versions of all installed packages; cached, because it is slow."""
    about = (distribution.metadata for distribution in metadata.distributions())
    return dict(sorted((own["Name"], own["Version"]) for own in about if own["Name"]))


def _revision() -> str | None:
    """Return ``git describe`` of the package's checkout; None if git fails."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.strip()
