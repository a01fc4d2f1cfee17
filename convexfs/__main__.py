"""``convexfs`` and ``python -m convexfs``, which Ctrl-C ends quietly even while they are loaded."""

import _thread
import atexit
import gc
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from typing import Any

#: Files that a command may have open at a time, those of the libraries it loads included.
OPEN_FILES = 32
#: While libraries are loaded.
OBJECTS_BETWEEN_COLLECTIONS = 100_000


def main() -> int:
    """Load the command, run it and return its exit code."""
    if sys.stderr is None:  # closed, which some libraries do not expect
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the end)
    # What Python says of how other packages are written, when it compiles them, helps nobody here.
    warnings.filterwarnings("ignore", category=SyntaxWarning, module=r".*(site|dist)-packages")
    # Half a second of imports: an exception may be raised anywhere in them, and be lost there.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    # Ignored by some parents (``trap '' CHLD``): then nobody learns how a worker ended.
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not _may_open_enough():
        return 2
    # What is imported stays: to look through it for garbage, now and at the end, took a quarter
    # of a short command's time.
    gc.callbacks.append(_UsualOnceLoaded(gc.get_threshold()))
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from convexfs.cli import main as command

    def loaded() -> None:
        gc.freeze()
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = interrupt_again

    code = command(loaded=loaded)
    gc.freeze()
    _leave_threads(code)
    return code


def interrupt_again(unraisable: Any) -> None:
    """Repeat a Ctrl-C that came where Python can only print it, such as in a finalizer."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    # A moment later, when the main thread has left that place.
    again = threading.Timer(0.01, _thread.interrupt_main)
    again.daemon = True
    again.start()


def _leave_threads(code: int) -> None:
    """End this process now if threads that a task left behind would keep it alive."""
    here = threading.current_thread()
    if any(not own.daemon and own is not here for own in threading.enumerate()):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed already
                stream.flush()
        os._exit(code)


class _UsualOnceLoaded:
    """After a collection since the last of which no module was loaded: collect as usual again."""

    def __init__(self, usual: tuple[int, int, int]):
        self._usual, self._modules = usual, len(sys.modules)

    def __call__(self, phase: str, _: object) -> None:
        if phase != "stop":
            return
        before, self._modules = self._modules, len(sys.modules)
        if self._modules == before:
            gc.callbacks.remove(self)
            gc.freeze()
            gc.set_threshold(*self._usual)


def _may_open_enough() -> bool:
    """Say so and return False if there are too few files to be opened for Python to import."""
    try:
        import resource
    except ImportError:  # not on Windows
        return True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= OPEN_FILES or soft == resource.RLIM_INFINITY:
        return True
    if hard >= OPEN_FILES or hard == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, hard))
        return True
    sys.stderr.write(
        f"convexfs: error: only {hard} files may be open at a time; allow at least {OPEN_FILES}, "
        "as by ulimit -n 256\n"
    )
    return False


def _leave(*_: object) -> None:
    os.write(sys.stderr.fileno(), b"convexfs: stopped\n")
    os._exit(130)


# The workers of an MPI pool load this module too, under another name.
if __name__ == "__main__":
    sys.exit(main())
