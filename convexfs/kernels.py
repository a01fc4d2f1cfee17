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
#: Options of functions that are called by kernels only; no Python wrapper is compiled for them.
INNER: dict[str, Any] = {"no_cpython_wrapper": True}
log = logging.getLogger(__name__)


@contextmanager
def thread_map(n_jobs: int | None) -> Iterator[Callable[..., Any]]:
    """Yield a ``map`` over `n_jobs` threads; the kernels it runs release the GIL."""
    from joblib import effective_n_jobs

    workers = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` that lets go of the GIL, with a cache wherever one can be written.

    Kernels are never passed to other compiled code, which spares compiling a wrapper for that.
    """
    options = {"nogil": True, "no_cfunc_wrapper": True} | options

    def decorated(function: Callable[..., Any]) -> Any:
        for find_cache in (lambda: None, _use_temporary_cache):
            try:
                find_cache()
                return njit(cache=True, **options)(function)
            # numba found no cache folder, and no temporary one can be made.
            except (RuntimeError, OSError):
                continue
        return njit(**options)(function)

    return decorated


def _use_temporary_cache() -> None:
    """Make a temporary cache folder for numba, in this process and its children."""
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
    """Return whether an event is about a kernel of convexfs.

    Events of other packages lack fields.
    """
    function = getattr((found.data or {}).get("dispatcher"), "py_func", None)
    return str(getattr(function, "__module__", "")).startswith("convexfs.")


class _NoCollection(event.Listener):
    """Switch off garbage collection during compilation, which saves a seventh of the time.

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
    """Call ``say`` when this process compiles the first kernel of this package."""

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
    """Call ``say`` once if kernels are compiled inside this context."""
    with event.install_listener("numba:compile", _FirstKernel(say)):
        yield
