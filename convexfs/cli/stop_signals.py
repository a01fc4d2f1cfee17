"""Stop in an orderly way when a scheduler asks for it, before a job's time is over."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Exit code of a stopped run that should be resumed: EX_TEMPFAIL of sysexits.h.
STOPPED = 75
#: Signals by which schedulers ask to stop; Windows has only the first.
_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGUSR1") if hasattr(signal, name)]


class Stop(KeyboardInterrupt):
    """A scheduler asked this process to stop; it is handled like Ctrl-C."""


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise :class:`Stop` at SIGTERM and SIGUSR1 inside the block, once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: Any) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Stop(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
