"""Compile numba kernels at their first use; later uses read numba's cache on disk.

For LLFS the first compilation takes many seconds, and convexfs prints why. If no cache can be
written, such as in a read-only installation of a user without a home folder, a temporary one is
used until the process ends.
"""

import atexit
import gc
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core import config, event

MESSAGE = "Compiling kernels: up to half a minute, once for this installation."
#: numba options of functions that only kernels call: no Python wrapper is compiled.
INNER: dict[str, Any] = {"no_cpython_wrapper": True}
log = logging.getLogger(__name__)


@contextmanager
def thread_map(n_jobs: int | None) -> Iterator[Callable[..., Any]]:
    """Yield a ``map`` over `n_jobs` threads, or the builtin for one; kernels release the GIL."""
    from joblib import effective_n_jobs

    workers = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like ``numba.njit`` that releases the GIL and caches compiled code.

    Kernels are never passed to other compiled code, which spares compiling a wrapper for that.
    """
    options = {"nogil": True, "no_cfunc_wrapper": True} | options

    def decorated(function: Callable[..., Any]) -> Any:
        for find_cache in (lambda: None, _use_temporary_cache):
            try:
                find_cache()
                return njit(cache=True, **options)(function)
            # numba finds no cache folder, or no temporary one can be made.
            except (RuntimeError, OSError):
                continue
        return njit(**options)(function)

    return decorated


def _use_temporary_cache() -> None:
    """Let numba cache in a temporary folder, in this process and its children."""
    folder, owner = tempfile.mkdtemp(prefix="convexfs-numba-"), os.getpid()
    log.warning(
        "kernels are compiled anew in every run, because no cache can be written: set "
        "NUMBA_CACHE_DIR to a folder that can"
    )
    os.environ["NUMBA_CACHE_DIR"] = folder
    config.reload_config()

    @atexit.register
    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)


def _is_ours(found: event.Event) -> bool:
    """Return whether a numba event is about a kernel of convexfs.

    Events of other packages lack fields.
    """
    function = getattr((found.data or {}).get("dispatcher"), "py_func", None)
    return str(getattr(function, "__module__", "")).startswith("convexfs.")


class _NoCollection(event.Listener):
    """Listener that disables garbage collection while convexfs's kernels compile: 1/7 faster.

    Numba's lock is held meanwhile, so that no two threads are here at once.
    """

    depth, collects = 0, False

    def on_start(self, event: event.Event) -> None:
        if _is_ours(event):
            if self.depth == 0:
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1

    def on_end(self, event: event.Event) -> None:
        if _is_ours(event):
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()


event.register("numba:compile", _NoCollection())


class _FirstKernel(event.Listener):
    """Listener that calls ``say`` when this process compiles its first kernel of convexfs."""

    def __init__(self, say: Callable[[str], None]):
        self.say: Callable[[str], None] | None = say
        self.process = os.getpid()

    def on_start(self, event: event.Event) -> None:
        say = self.say
        if say is not None and os.getpid() == self.process and _is_ours(event):
            self.say = None
            say(MESSAGE)

    def on_end(self, event: event.Event) -> None:
        """Do nothing: the last compilation cannot be recognised."""


@contextmanager
def announced(say: Callable[[str], None]) -> Iterator[None]:
    """Call ``say`` with a message, once, if kernels are compiled in this block."""
    with event.install_listener("numba:compile", _FirstKernel(say)):
        yield
