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
import struct
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from convexfs.batch.workers import attempts
from convexfs.batch.workers.attempts import DIED, DONE, ERROR, TIMEOUT, Attempt, Outcome, T, pack
from convexfs.errors import RunError, check_number

__all__ = ["DIED", "DONE", "ERROR", "TIMEOUT", "Attempt", "Outcome", "pack", "run"]

CONTEXT = attempts.start_context(os.environ.get("CONVEXFS_START"))
FORKS = CONTEXT.get_start_method() == "fork"
#: A task is given up after this many workers died on it as their first task: by any cause but
#: SIGKILL, or by SIGKILL. SIGKILL may also come from other users or a lack of memory, so more of
#: those are allowed.
FATAL_DEATHS, FATAL_KILLS = 2, 5
#: The run ends if this many workers in a row fail to start; a start that takes more seconds than
#: this fails.
FALSE_STARTS, START_SECONDS = 10, 120.0
#: Tasks submitted to an executor at a time (two per job if that is more): enough for a cluster, few
#: enough for memory.
IN_FLIGHT = 256
#: Message of a worker that has prepared a task and begins it; no pickle starts like this.
BEGUN = b"begun"
#: More workers raise an error, because they must be a typing error.
MOST_JOBS = 10_000
#: Header of every message: the number of its job, and the pid of the sender.
_HEADER = struct.Struct("<QQ")
#: Job number of a worker's first message, before it has a job.
_HELLO = 0

logger = logging.getLogger(__name__)


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
    """Run ``work`` on tasks in workers, an executor or here; yield Outcomes as they finish.

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
        Bytes a task may take beyond those of its worker; see
        :mod:`convexfs.batch.workers.attempts`.
    setup : callable, optional
        Called in each local worker process before its first task.
    prepare : callable, optional
        Called there with each task before its time begins; `work` reports its errors.
    """
    check_number("jobs", jobs, 1, MOST_JOBS, whole=True)
    if executor is not None:
        return _submit_all(executor, iter(tasks), work, max(IN_FLIGHT, 2 * jobs))
    if runs_here(jobs, executor, time_limit, memory_limit):
        return _one_by_one(tasks, work)
    if memory_limit is not None:
        work = partial(attempts.call_within, memory_limit, work)
    limit_of = time_limit if callable(time_limit) else lambda _: time_limit
    jobs_to_do = (_Job(number, task, limit_of(task)) for number, task in enumerate(tasks, 1))
    return _Crew(jobs_to_do, jobs, (attempts.Work(work), setup, prepare)).outcomes()


def runs_here(jobs: int, executor: object, time_limit: object, memory_limit: object) -> bool:
    """Return whether :func:`run` runs the tasks in this process, without workers."""
    return jobs == 1 and executor is None and time_limit is None and memory_limit is None


def _one_by_one(tasks: Iterable, work: Callable) -> Generator[Outcome, None, None]:
    # Use one thread here too: the order of a sum must not depend on the number of jobs.
    with attempts.one_thread():
        for task in tasks:
            yield _Job(0, task).ends(*attempts.attempt(work, task, interruptible=True))


def _serve(
    pipe: Connection, others: tuple, parent: int, work: attempts.Work, setup: Any, prepare: Any
):
    """Run in a worker: report the setup, then do each task received until the pipe closes."""
    for ignored in _IGNORED:
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    attempts.end_with(parent)
    pid = os.getpid()
    for other in others:
        other.close()

    def reply(number: int, message: bytes) -> None:
        pipe.send_bytes(_HEADER.pack(number, os.getpid()) + message)

    # The loop ends when the parent closes the pipe or has ended; then nobody reads a reply.
    with attempts.one_thread(), suppress(EOFError, ConnectionError):
        hello, _ = attempts.attempt(setup or bool)
        reply(_HELLO, pickle.dumps(hello.failure))
        while True:
            message = pipe.recv_bytes()
            number, parcel = _HEADER.unpack_from(message)[0], message[_HEADER.size :]
            if prepare is not None:
                with suppress(BaseException):
                    prepare(pickle.loads(parcel))
                attempts.end_if_forked(pid)
                reply(number, BEGUN)
            reply(number, pack(*attempts.attempt(lambda sent: work(pickle.loads(sent)), parcel)))


@dataclass
class _Job:
    """A task in progress: its number, its attempts, and how many fresh workers died on it."""

    number: int
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


#: A worker that ends by this signal counts as timed out: its task set itself an alarm.
ALARM = "SIGALRM"
#: Signals that workers ignore, because the parent handles them: Ctrl-C, a scheduler's warning.
_IGNORED = [signal.SIGINT, *([signal.SIGUSR1] if hasattr(signal, "SIGUSR1") else [])]


class _Worker:
    """One worker process, its pipe, and its current job."""

    def __init__(self, recipe: tuple, siblings: Iterable["_Worker"], job: _Job):
        self.pipe, theirs = CONTEXT.Pipe()
        # A copy of a sibling's pipe would hide from the sibling that this process has ended.
        inherited = (self.pipe, *(sibling.pipe for sibling in siblings)) if FORKS else ()
        arguments = (theirs, inherited, os.getpid(), *recipe)
        self.process = CONTEXT.Process(target=_serve, args=arguments, daemon=True)
        with warnings.catch_warnings():
            # Python 3.12 warns about forking with threads. The threads here belong to the log,
            # which takes no lock that a worker needs, and to BLAS, which supports forking.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()
        self.pid = self.process.pid
        self.job, self.served, self.ready = job, 0, False
        self.began: float | None = None
        self.deadline = time.monotonic() + START_SECONDS
        self.prepares = recipe[-1] is not None

    def take(self, job: _Job) -> None:
        """Send a job to the worker; it counts as begun unless the worker is dead."""
        self.job, self.began, self.deadline = job, None, float("inf")
        parcel = pickle.dumps(job.task)
        with suppress(OSError):
            self.pipe.send_bytes(_HEADER.pack(job.number, self.pid) + parcel)
            self.begin(limit=None if self.prepares else job.limit)

    def begin(self, limit: float | None) -> None:
        """Record the start time of the job, and its deadline `limit` seconds later."""
        self.began = time.time()
        if limit is not None:
            self.deadline = time.monotonic() + limit

    def cut_short(self, ended: str, failure: str) -> Attempt:
        """Return the Attempt of a job whose worker died, was late or sent an unreadable result."""
        began = self.began or time.time()
        seconds = time.time() - began
        return Attempt(attempts.utc(began), seconds, None, self.pid, attempts.HOST, ended, failure)

    def receive(self) -> bytes | None:
        """Return the next message about the current job; None if it belongs to another job."""
        parcel = self.pipe.recv_bytes()
        sender = _HEADER.unpack(parcel[: _HEADER.size])
        if sender == (self.job.number if self.ready else _HELLO, self.pid):
            return parcel[_HEADER.size :]
        logger.warning("worker %d: a message of process %d on task %d is ignored, because it "
                       "belongs to no present task", self.pid, sender[1], sender[0])  # fmt: skip
        return None

    def end(self, patience: float = 0.0) -> str:
        """Close the pipe, wait, kill if necessary; return how the process ended."""
        self.pipe.close()
        self.process.join(patience)
        if not wait([self.process.sentinel], 0):
            self.process.kill()
            self.process.join()
        code = self.process.exitcode
        # If SIGCHLD is ignored, the system does not report how children end.
        with suppress(ValueError):
            self.process.close()
        if code is None:
            return "its end was not reported"
        names = {int(known): known.name for known in signal.Signals}
        return names.get(-code, f"exit code {code}")


class _Crew:
    """All local workers and the jobs still to do."""

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
                # Wait at most a second: a dead worker's pipe stays open while its children live.
                soonest = min(worker.deadline for worker in self._workers) - time.monotonic()
                pipes = [worker.pipe for worker in self._workers]
                ready = wait(pipes, max(0.0, min(1.0, soonest)))
                for worker in tuple(self._workers):
                    outcome = self._hear(worker, worker.pipe in ready)
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

    def _hear(self, worker: _Worker, ready: bool) -> Outcome | None:
        """Handle a worker's message or time-out; return the Outcome if its job ended, or None."""
        if not ready:
            late, alive = worker.deadline < time.monotonic(), worker.process.is_alive()
            # A worker that has just ended may have answered before.
            if not (late or not alive) or worker.pipe.poll():
                return None
            return self._replace(worker, late)
        try:
            parcel = worker.receive()
        except (EOFError, OSError, struct.error):
            return self._replace(worker)
        if parcel is None:
            return None
        if not worker.ready:
            if failure := pickle.loads(parcel):
                raise RunError(f"a worker process could not be set up ({failure}); see the log")
            worker.ready, self._false_starts = True, 0
            return worker.take(worker.job)
        if parcel == BEGUN:
            return worker.begin(worker.job.limit)
        outcome = worker.job.ends(*attempts.unpack(parcel, worker.cut_short))
        worker.served += 1
        job = next(self._jobs, None)
        if job is None:
            self._workers.remove(worker)
            self._resting.append(worker)
        else:
            worker.take(job)
        return outcome

    def _replace(self, worker: _Worker, late: bool = False) -> Outcome | None:
        """End a dead or late worker and start another; return the Outcome if its job is over."""
        self._workers.remove(worker)
        if late:
            worker.process.kill()
        how, job = worker.end(patience=1.0), worker.job
        # A task may set itself an alarm, for calls that cannot be interrupted otherwise.
        late = late or how == ALARM
        logger.warning("worker %d ended: %s", worker.pid, "over its time limit" if late else how)
        if worker.began is None:
            self._false_starts += not worker.ready
            if self._false_starts == FALSE_STARTS:
                why = how if FORKS else f"{how}; {attempts.GUARD}"
                raise RunError(f"{FALSE_STARTS} workers in a row ended at their start ({why})")
            return self._hire(job)
        if late:
            attempt = worker.cut_short(TIMEOUT, f"TimeLimit: over {job.limit or 0:g} s")
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
            future = executor.submit(attempts.attempt_in_one_thread, work, task)
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
            job = _Job(0, pending.pop(future))
            if error is not None:
                yield job.ends(_lost(ERROR, attempts.describe(error)))
            else:
                yield job.ends(*attempts.unpack(future.result(), _lost))
    except (BrokenExecutor, CancelledError) as error:
        raise RunError(
            f"the executor stopped before its tasks ({attempts.describe(error)}); "
            "finished tasks are kept: start it again, and run the same command to resume"
        ) from error
    finally:
        for future in pending:
            future.cancel()


def _lost(ended: str, failure: str) -> Attempt:
    """Return the Attempt of a task whose result an executor lost."""
    return Attempt(attempts.utc(time.time()), 0.0, None, None, attempts.HOST, ended, failure)
