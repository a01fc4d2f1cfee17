"""How worker processes are started, get their work, and end."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_all_start_methods, get_context
from typing import Any

import cloudpickle
from threadpoolctl import threadpool_limits

from convexfs.errors import InputError

#: What a program needs whose file is loaded by the workers it starts.
GUARD = "in a program of your own, start them below: if __name__ == '__main__':"


def start_context(asked: str | None) -> Any:
    """Return the multiprocessing context that starts workers as asked, or as is safe here."""
    method = asked or ("spawn" if sys.platform in ("darwin", "win32") else "fork")
    known = sorted({"fork", "spawn"} & set(get_all_start_methods()))
    if method not in known:
        raise InputError(f"CONVEXFS_START is {method!r}; here it may be {' or '.join(known)}")
    return get_context(method)


class Work:
    """A function on its way to a worker, which may be one that only this process can import."""

    def __init__(self, function: Callable):
        self._function = function

    def __call__(self, task: Any) -> Any:
        return self._function(task)

    def __reduce__(self) -> tuple:
        return cloudpickle.loads, (cloudpickle.dumps(self._function),)


def end_with(parent: int) -> None:
    """Make this process end with its parent, on Linux even inside a C call."""

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
    """Keep BLAS and solvers to one thread: libraries loaded, and those still to come."""
    before = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name in THREAD_VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)
