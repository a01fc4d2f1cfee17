"""Kernels are compiled at their first use; later uses read numba's cache on disk.

For LLFS that first time is half a minute and more: a person who waits is told why.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

MESSAGE = "Compiling kernels: up to a minute, once for this installation."


class _FirstKernel(event.Listener):
    """Calls ``say`` when the first kernel of this package is compiled, in this process only."""

    def __init__(self, say: Callable[[str], None]):
        self.say: Callable[[str], None] | None = say
        self.process = os.getpid()

    def on_start(self, event: event.Event) -> None:
        say, data = self.say, event.data
        if say is None or data is None or os.getpid() != self.process:
            return
        if data["dispatcher"].py_func.__module__.startswith("convexfs."):
            self.say = None
            say(MESSAGE)

    def on_end(self, event: event.Event) -> None:
        """The last kernel has no mark of its own, so nothing is said of the end."""


@contextmanager
def announced(say: Callable[[str], None]) -> Iterator[None]:
    """Say so, once, if kernels are compiled inside."""
    with event.install_listener("numba:compile", _FirstKernel(say)):
        yield
