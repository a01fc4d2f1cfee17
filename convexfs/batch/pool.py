"""Runs many tasks in processes that may die or hang, and loses none of them.

A worker has one task at a time and gets the next when it is done: the tasks may be
endless, and when a worker dies only the task it was on is in doubt. Workers are forked:
they see, without a copy, all this process holds when they start. On macOS, whose own
libraries do not survive a fork, and on Windows they are spawned: each is a new Python that
is sent the work, and loads the rest itself. ``CONVEXFS_START=spawn`` in the environment
asks for that elsewhere. Workers are killed when this process ends, however that happens; on
Linux by the kernel, and already when the *thread* ends that takes the outcomes.
"""

import logging
import os
import pickle
import queue
import signal
import socket
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from convexfs.batch import memory
from convexfs.batch.starting import GUARD, Work, end_with, start_context
from convexfs.batch.threads import one_thread
from convexfs.errors import InputError, RunError

T = TypeVar("T")
DONE, ERROR, TIMEOUT, DIED = "done", "error", "timeout", "died"
HOST = socket.gethostname()
CONTEXT = start_context(os.environ.get("CONVEXFS_START"))
FORKS = CONTEXT.get_start_method() == "fork"
#: Deaths, each of a worker on its first task, after which that task is given up. SIGKILL is
#: also what other people and a machine short of memory send: it takes more of those.
FATAL_DEATHS, FATAL_KILLS = 2, 5
#: Workers in a row that may fail to start, and the seconds each may take.
FALSE_STARTS, START_SECONDS = 10, 120.0
#: Tasks an executor holds at a time: enough for a cluster, few enough for memory.
IN_FLIGHT = 256
#: What a worker says when it has prepared a task and begins it; no pickle starts like that.
BEGUN = b"begun"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Attempt:
    """One try at a task, which ended as ``done``, ``error``, ``timeout`` or ``died``."""

    started_utc: str
    seconds: float
    cpu_seconds: float | None  #: None if it was cut short
    pid: int | None  #: None if an executor lost it
    host: str
    ended: str
    failure: str = ""


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of one task: ``done``, ``error`` or ``timeout``.

    ``value`` is what the work returned, None unless done; ``failure`` is the class and
    text of what went wrong, without pid or time, so that equal runs fail in equal words.
    """

    task: T
    status: str
    value: Any
    failure: str
    attempts: tuple[Attempt, ...]


def run(
    tasks: Iterable[T],
    work: Callable[[T], Any],
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    time_limit: Callable[[T], float | None] | float | None = None,
    memory_limit: int | None = None,
    setup: Callable[[], None] | None = None,
    prepare: Callable[[T], object] | None = None,
) -> Generator[Outcome[T], None, None]:
    """Do ``work`` on every task; yield outcomes in order of arrival.

    Closing the generator, or an exception inside it, ends all workers.

    Parameters
    ----------
    tasks : iterable
        Taken when there is a worker for them; picklable, unless done in this process.
    work : callable
        What it raises, or returns and cannot be pickled, is the outcome ``error``; but a
        RunError says that the rest is in vain too, and is raised here.
    jobs : int
        _Worker processes; one job without limits is done in this process.
    executor : concurrent.futures.Executor, optional
        Where to run instead; there only time limits that ``work`` itself keeps hold.
    time_limit : float or callable, optional
        Seconds, or a function from a task to seconds or None. A worker over its limit is
        ended and replaced; limits are watched while the caller waits for an outcome.
    memory_limit : int, optional
        Bytes a task may take beyond what its worker holds; see :mod:`convexfs.batch.memory`.
    setup : callable, optional
        Called in each local worker process before its first task.
    prepare : callable, optional
        Called there with each task before its time begins; what it raises is for ``work`` to tell.
    """
    if jobs < 1:
        raise InputError(f"jobs is {jobs}; give the number of worker processes, 1 or more")
    if executor is not None:
        return _submit_all(executor, iter(tasks), work, max(IN_FLIGHT, 2 * jobs))
    if jobs == 1 and time_limit is None and memory_limit is None:
        return _one_by_one(tasks, work)
    if memory_limit is not None:
        work = partial(memory.call_within, memory_limit, work)
    limit_of = time_limit if callable(time_limit) else lambda _: time_limit
    jobs_to_do = (_Job(task, limit_of(task)) for task in tasks)
    return _Crew(jobs_to_do, jobs, (Work(work), setup, prepare)).outcomes()


def _one_by_one(tasks: Iterable, work: Callable) -> Generator[Outcome, None, None]:
    # One thread here too: the order of a sum must not depend on the number of jobs.
    with one_thread():
        for task in tasks:
            yield _Job(task).ends(*_try(work, task))


def _try(work: Callable, *task: Any) -> tuple[Attempt, Any]:
    """One attempt, in the process that calls this."""
    started, clock, cpu = _utc(time.time()), time.perf_counter(), time.process_time()
    value, failure = None, ""
    try:
        value = work(*task)
    except KeyboardInterrupt:
        raise
    # SystemExit, and the panics of solvers written in Rust, are no Exceptions.
    except BaseException as error:
        value, failure = (error if isinstance(error, RunError) else None), _describe(error)
        logger.exception("a task failed")
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    ended = ERROR if failure else DONE
    return Attempt(started, seconds, cpu, os.getpid(), HOST, ended, failure), value


def _try_in_one_thread(work: Callable, task: Any) -> bytes:
    with one_thread():
        return pack(*_try(work, task))


def _describe(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _utc(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")


def _serve(pipe: Connection, others: tuple, parent: int, work: Work, setup: Any, prepare: Any):
    """Run a worker: say hello, then answer each task until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with(parent)
    for other in others:
        other.close()
    # A parent that is gone has nobody to tell.
    with one_thread(), suppress(EOFError, ConnectionError):
        hello, _ = _try(setup or bool)
        pipe.send(hello.failure)
        while True:
            parcel = pipe.recv_bytes()
            if prepare is not None:
                with suppress(BaseException):
                    prepare(pickle.loads(parcel))
                pipe.send_bytes(BEGUN)
            pipe.send_bytes(pack(*_try(lambda sent: work(pickle.loads(sent)), parcel)))


def pack(attempt: Attempt, value: Any) -> bytes:
    """Pickle an attempt and what it returned; a result that cannot be pickled is a failure."""
    try:
        return pickle.dumps((attempt, value))
    except Exception as error:
        logger.exception("a result cannot be sent")
        return pickle.dumps((replace(attempt, ended=ERROR, failure=_describe(error)), None))


def _unpack(parcel: bytes, unreadable: Callable[[str, str], Attempt]) -> tuple[Attempt, Any]:
    """Undo :func:`pack`. This runs code of the result's own, which may do anything."""
    try:
        return pickle.loads(parcel)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return unreadable(ERROR, _describe(error)), None


@dataclass
class _Job:
    """A task on its way: what was tried, and how many fresh workers it killed."""

    task: Any
    limit: float | None = None
    attempts: list[Attempt] = field(default_factory=list)
    deaths: int = 0
    kills: int = 0

    @property
    def hopeless(self) -> bool:
        return self.deaths == FATAL_DEATHS or self.kills == FATAL_KILLS

    def ends(self, attempt: Attempt, value: Any = None) -> Outcome:
        if isinstance(value, RunError):
            raise value
        self.attempts.append(attempt)
        status = ERROR if attempt.ended == DIED else attempt.ended
        return Outcome(self.task, status, value, attempt.failure, tuple(self.attempts))


class _Worker:
    """One process, the pipe to it, and the job it was started for or is on."""

    def __init__(self, recipe: tuple, siblings: Iterable["_Worker"], job: _Job):
        self.pipe, theirs = CONTEXT.Pipe()
        # A copy of a sibling's pipe would hide from that sibling that this process is gone.
        inherited = (self.pipe, *(sibling.pipe for sibling in siblings)) if FORKS else ()
        arguments = (theirs, inherited, os.getpid(), *recipe)
        self.process = CONTEXT.Process(target=_serve, args=arguments, daemon=True)
        with warnings.catch_warnings():
            # Python 3.12 warns of forking beside threads. Those here are the log's, which
            # takes no lock that a worker needs, and BLAS's, which forks safely.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()
        self.pid = self.process.pid
        self.job, self.served, self.ready = job, 0, False
        self.began: float | None = None
        self.deadline = time.monotonic() + START_SECONDS
        self.prepares = recipe[-1] is not None

    def take(self, job: _Job) -> None:
        """Send a job; it counts as begun unless the worker is dead already."""
        self.job, self.began, self.deadline = job, None, float("inf")
        parcel = pickle.dumps(job.task)
        with suppress(OSError):
            self.pipe.send_bytes(parcel)
            self.begin(limit=None if self.prepares else job.limit)

    def begin(self, limit: float | None) -> None:
        """Take note of when the job was begun, and of when it must end."""
        self.began = time.time()
        if limit is not None:
            self.deadline = time.monotonic() + limit

    def cut_short(self, ended: str, failure: str) -> Attempt:
        """Describe the attempt at a job this worker gave no readable answer to."""
        began = self.began or time.time()
        seconds = time.time() - began
        return Attempt(_utc(began), seconds, None, self.pid, HOST, ended, failure)

    def end(self, patience: float = 0.0) -> str:
        """Hang up, wait, kill if need be; return how the process ended."""
        self.pipe.close()
        self.process.join(patience)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        self.process.close()
        names = {int(known): known.name for known in signal.Signals}
        return names.get(-code, f"exit code {code}")


class _Crew:
    """The local workers, and the jobs still to be given out."""

    def __init__(self, jobs: Iterator[_Job], size: int, recipe: tuple):
        self._jobs, self._size, self._recipe = jobs, size, recipe
        self._workers: list[_Worker] = []
        self._resting: list[_Worker] = []
        self._false_starts = 0

    def outcomes(self) -> Generator[Outcome, None, None]:
        try:
            for job in islice(self._jobs, self._size):
                self._hire(job)
            while self._workers:
                # At most a second: a dead worker's pipe stays open while its children live.
                soonest = min(worker.deadline for worker in self._workers) - time.monotonic()
                wait([worker.pipe for worker in self._workers], max(0.0, min(1.0, soonest)))
                for worker in tuple(self._workers):
                    outcome = self._hear(worker)
                    if outcome is not None:
                        yield outcome
        finally:
            for worker in self._workers:
                worker.end()
            for worker in self._resting:
                worker.end(patience=1.0)

    def _hire(self, job: _Job | None) -> None:
        if job is not None:
            self._workers.append(_Worker(self._recipe, self._workers + self._resting, job))

    def _hear(self, worker: _Worker) -> Outcome | None:
        """Deal with what a worker has said, or not said in time."""
        late, alive = worker.deadline < time.monotonic(), worker.process.is_alive()
        if not worker.pipe.poll():
            return self._replace(worker, late) if late or not alive else None
        try:
            parcel = worker.pipe.recv_bytes()
        except (EOFError, OSError):
            return self._replace(worker)
        if not worker.ready:
            if failure := pickle.loads(parcel):
                raise RunError(f"a worker process could not be set up ({failure}); see the log")
            worker.ready, self._false_starts = True, 0
            return worker.take(worker.job)
        if parcel == BEGUN:
            return worker.begin(worker.job.limit)
        outcome = worker.job.ends(*_unpack(parcel, worker.cut_short))
        worker.served += 1
        job = next(self._jobs, None)
        if job is None:
            self._workers.remove(worker)
            self._resting.append(worker)
        else:
            worker.take(job)
        return outcome

    def _replace(self, worker: _Worker, late: bool = False) -> Outcome | None:
        """Put a fresh worker in place of a dead or late one, starting on what that died on."""
        self._workers.remove(worker)
        if late:
            worker.process.kill()
        how, job = worker.end(patience=1.0), worker.job
        logger.warning("worker %d ended: %s", worker.pid, "over its time limit" if late else how)
        if worker.began is None:
            self._false_starts += not worker.ready
            if self._false_starts == FALSE_STARTS:
                why = how if FORKS else f"{how}; {GUARD}"
                raise RunError(f"{FALSE_STARTS} workers in a row ended at their start ({why})")
            return self._hire(job)
        if late:
            attempt = worker.cut_short(TIMEOUT, f"TimeLimit: over {job.limit:g} s")
        else:
            attempt = worker.cut_short(DIED, f"WorkerDied: {how}")
            killed = how == "SIGKILL"
            job.kills += killed and worker.served == 0
            job.deaths += not killed and worker.served == 0
        if late or job.hopeless:
            self._hire(next(self._jobs, None))
            return job.ends(attempt)
        job.attempts.append(attempt)
        return self._hire(job)


def _submit_all(
    executor: Executor, tasks: Iterator, work: Callable, window: int
) -> Generator[Outcome, None, None]:
    finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
    pending: dict[Future, Any] = {}

    def submit(count: int) -> None:
        for task in islice(tasks, count):
            future = executor.submit(_try_in_one_thread, work, task)
            pending[future] = task
            future.add_done_callback(finished.put)

    try:
        submit(window)
        while pending:
            future = finished.get()
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                raise error
            submit(1)
            job = _Job(pending.pop(future))
            if error is not None:
                yield job.ends(_lost(ERROR, _describe(error)))
            else:
                yield job.ends(*_unpack(future.result(), _lost))
    except (BrokenExecutor, CancelledError) as error:
        raise RunError(f"the executor stopped before its tasks ({_describe(error)})") from error
    finally:
        for future in pending:
            future.cancel()


def _lost(ended: str, failure: str) -> Attempt:
    """Describe an attempt of which an executor brought nothing back."""
    return Attempt(_utc(time.time()), 0.0, None, None, HOST, ended, failure)
