"""One attempt at a task: its process, its limits, how it is described and sent to another process.

A limit on memory is held by the operating system. On Linux it is ``RLIMIT_DATA``, which counts
what a process can write and shares with nobody: its heap, also the part it has not touched. Files
that are only mapped into memory do not count. A task over its limit is refused memory; most
libraries raise MemoryError then, some end the process. Other systems hold no such limit.
"""

import ctypes
import logging
import os
import pickle
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing import get_all_start_methods, get_context
from typing import Any, Generic, TypeVar

import cloudpickle
from threadpoolctl import threadpool_limits

from convexfs.data.readers.memory_limit import size_text
from convexfs.errors import InputError, RunError

#: Advice for programs whose main file is imported again by the workers they start.
GUARD = "in a program of your own, start them below: if __name__ == '__main__':"


def start_context(asked: str | None) -> Any:
    """Return the multiprocessing context for "fork" or "spawn"; None: fork on Linux, else spawn."""
    method = asked or ("spawn" if sys.platform in ("darwin", "win32") else "fork")
    known = sorted({"fork", "spawn"} & set(get_all_start_methods()))
    if method not in known:
        raise InputError(f"CONVEXFS_START is {method!r}; here it may be {' or '.join(known)}")
    return get_context(method)


class Work:
    """Wrapper that pickles a function by value (cloudpickle), to send it to a worker."""

    def __init__(self, function: Callable):
        self._function = function

    def __call__(self, task: Any) -> Any:
        return self._function(task)

    def __reduce__(self) -> tuple:
        return cloudpickle.loads, (cloudpickle.dumps(self._function),)


def end_with(parent: int) -> None:
    """Watch the parent, and end this process when it ends; on Linux even inside a C call."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    threading.Thread(target=watch, daemon=True).start()


THREAD_VARIABLES = [f"{of}_NUM_THREADS" for of in ("OMP", "OPENBLAS", "MKL", "BLIS", "RAYON")]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and solvers in this block to one thread, also libraries loaded later."""
    before = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name in THREAD_VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)


T = TypeVar("T")
DONE, ERROR, TIMEOUT, DIED = "done", "error", "timeout", "died"
HOST = socket.gethostname()

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Attempt:
    """Record of one try at a task, which ended as ``done``, ``error``, ``timeout`` or ``died``."""

    started_utc: str
    seconds: float
    cpu_seconds: float | None  #: None if the attempt was cut short
    pid: int | None  #: None if the executor lost the attempt
    host: str
    ended: str
    failure: str = ""


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """How one task ended after all attempts: ``done``, ``error`` or ``timeout``.

    ``value`` is what the work returned, None unless done; ``failure`` is the class and
    text of what went wrong, without pid or time, so that equal runs fail in equal words.
    """

    task: T
    status: str
    value: Any
    failure: str
    attempts: tuple[Attempt, ...]


def attempt(work: Callable, *task: Any, interruptible: bool = False) -> tuple[Attempt, Any]:
    """Call ``work(*task)`` here; return the Attempt, errors included, and the value.

    A process that the work forked ends here: only the one that was asked may answer.
    A KeyboardInterrupt is an error of the task, unless this process is `interruptible`,
    where it is the user's.
    """
    started, clock, cpu = utc(time.time()), time.perf_counter(), time.process_time()
    value, failure, me = None, "", os.getpid()
    try:
        value = work(*task)
    # SystemExit and the panics of solvers written in Rust do not derive from Exception.
    except BaseException as error:
        end_if_forked(me)
        if interruptible and isinstance(error, KeyboardInterrupt):
            raise
        value, failure = (error if isinstance(error, RunError) else None), describe(error)
        logger.exception("a task failed")
    end_if_forked(me)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    ended = ERROR if failure else DONE
    return Attempt(started, seconds, cpu, me, HOST, ended, failure), value


def end_if_forked(asked: int) -> None:
    """Exit this process unless its pid is `asked`: a task may have forked."""
    if os.getpid() != asked:
        os._exit(0)


def attempt_in_one_thread(work: Callable, task: Any) -> bytes:
    """Call ``work(task)`` with one thread; return the pickled (Attempt, value)."""
    with one_thread():
        return pack(*attempt(work, task))


def describe(error: BaseException | None) -> str:
    """Return class and message of an exception as text."""
    return f"{type(error).__name__}: {error}"


def utc(when: float) -> str:
    """Format seconds since the epoch as ISO text in UTC, to the millisecond."""
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")


def pack(attempt: Attempt, value: Any) -> bytes:
    """Pickle an attempt and its result; a result that cannot be pickled counts as a failure."""
    try:
        return pickle.dumps((attempt, value))
    except Exception as error:
        logger.exception("a result cannot be sent")
        return pickle.dumps((replace(attempt, ended=ERROR, failure=describe(error)), None))


def unpack(parcel: bytes, unreadable: Callable[[str, str], Attempt]) -> tuple[Attempt, Any]:
    """Unpickle (attempt, value); on any error return `unreadable`'s attempt and None."""
    try:
        attempt, value = pickle.loads(parcel)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return unreadable(ERROR, describe(error)), None
    return attempt, value


#: Whether memory limits work on this system.
HOLDS = sys.platform == "linux"
#: Error messages of libraries that were refused memory.
_REFUSALS = re.compile(
    r"MemoryError|bad_?alloc|(unable|cannot|can't|failed|could not) (to )?(allocate|alloc\b)"
    r"|out of memory|can't start new thread",
    re.IGNORECASE,
)
#: How a process may end that was refused memory.
_ENDS = re.compile(r"WorkerDied: (SIGABRT|SIGSEGV|SIGBUS|exit code)")


def call_within(limit: int, work: Callable[..., Any], *task: Any) -> Any:
    """Call `work` while this process may allocate at most `limit` bytes more; Linux only."""
    if not HOLDS:
        return work(*task)
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = held_bytes("VmData") + limit
    if before[1] != resource.RLIM_INFINITY:
        allowed = min(allowed, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, before[1]))
    try:
        return work(*task)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def held_bytes(what: str) -> int:
    """Return a figure of /proc/self/status, such as VmRSS, in bytes."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(f"{what}:"))
    return int(line.split()[1]) * 1024


def name_limit(failure: str, limit: int | None) -> str:
    """Return a failure's text, with the memory limit added if it may be the cause."""
    if limit is None or not HOLDS:
        return failure
    if _REFUSALS.search(failure):
        return f"memory limit {size_text(limit)} reached ({failure})"
    if _ENDS.match(failure):
        return f"{failure}, perhaps at its memory limit of {size_text(limit)}"
    return failure
