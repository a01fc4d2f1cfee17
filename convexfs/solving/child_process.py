"""Call a solver in a child process, so that an abort does not end the caller."""

import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def can_stop() -> bool:
    """Return whether :func:`call_in_child` can fork a child process here, and so stop it."""
    processes = sys.modules.get("multiprocessing.process")
    is_worker = processes is not None and processes.parent_process() is not None
    return hasattr(os, "fork") and not is_worker


def call_in_child(function: Callable[[], Any], seconds: float | None = None) -> Any:
    """Call a function in a forked child, if possible; return its result or raise its exception.

    It is called here where processes cannot be forked, and in worker processes, whose end is
    handled by the process that started them. A child that takes longer than `seconds` is
    stopped, and TimeoutError is raised.
    """
    if not can_stop():
        return function()
    receiver, sender = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns about forking with threads; the child calls nothing that uses them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _answer(function, receiver, sender)
    os.close(sender)
    code: int | None = None
    try:
        with os.fdopen(receiver, "rb") as pipe:
            parcel = _read(pipe, seconds)
        code = _exit_code(child)
    finally:
        if code is None:
            os.kill(child, signal.SIGKILL)
            _exit_code(child)
    if not parcel or code:
        raise ChildProcessError(f"the solver ended its process ({_name(code)})")
    raised, value = pickle.loads(parcel)
    if raised:
        raise value
    return value


def _read(pipe: Any, seconds: float | None) -> bytes:
    """Return all bytes that a child sends until it ends; raise TimeoutError after `seconds`."""
    if seconds is None:
        return pipe.read()
    until, parts = time.monotonic() + seconds, []
    while True:
        ready, _, _ = select.select([pipe], [], [], max(until - time.monotonic(), 0.0))
        if not ready:
            raise TimeoutError(f"stopped after {seconds:g} s")
        part = os.read(pipe.fileno(), 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _answer(function: Callable[[], Any], receiver: int, sender: int) -> None:
    """Run the function in the child, send its result or exception to the parent, and exit."""
    code = 1
    try:
        os.close(receiver)
        try:
            result = (False, function())
        except Exception as error:
            result = (True, _picklable(error))
        with os.fdopen(sender, "wb") as pipe:
            pickle.dump(result, pipe)
        code = 0
    finally:
        os._exit(code)


def _picklable(error: Exception) -> Exception:
    """Return the exception if it can be pickled, else a RuntimeError that quotes it."""
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def _exit_code(child: int) -> int:
    # If SIGCHLD is ignored, the system keeps no exit codes.
    with suppress(ChildProcessError):
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return 0


def _name(code: int | None) -> str:
    known: dict[int | None, str] = {-own: own.name for own in signal.Signals}
    return known.get(code, f"exit code {code}")
