"""The memory that solvers take, as far as the operating system tells."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from convexfs.solving.solve import AROUND


@dataclass
class Peak:
    """The most that any call of a solver took; None if it cannot be told here."""

    bytes: int | None = None


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the memory that solvers called meanwhile take at most.

    It is what the process held at its peak beyond what it held when the solver was called.
    Linux tells; what an earlier solve has left for reuse is given back first.
    """
    peak = Peak()

    @contextmanager
    def measured() -> Iterator[None]:
        before = _forget_the_peak()
        yield
        if before is not None:
            taken = _held("VmHWM") - before
            peak.bytes = max(peak.bytes or 0, taken, 0)

    token = AROUND.set(measured)
    try:
        yield peak
    finally:
        AROUND.reset(token)


def _forget_the_peak() -> int | None:
    """Start a new peak; return what is held now, or None where that cannot be done."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
        return _held("VmRSS")
    return None


def _held(what: str) -> int:
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(f"{what}:"))
    return int(line.split()[1]) * 1024
