"""Run ``convexfs`` and ``python -m convexfs``; Ctrl-C ends them quietly, even during imports."""

import _thread
import atexit
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from typing import Any

#: If fewer files may be open, including those of imports, the limit is raised or the command ends.
OPEN_FILES = 32


def main() -> int:
    """Prepare signals, run the command line and return its exit code."""
    if sys.stderr is None:  # A closed stderr is None, which some libraries do not expect.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the end)
    # Hide Python's warnings about the code of other packages, which it shows when compiling them.
    warnings.filterwarnings("ignore", category=SyntaxWarning, module=r".*(site|dist)-packages")
    # Exit at once on Ctrl-C during imports: they take half a second and may lose an exception.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    # Undo a parent's ignoring of SIGCHLD (``trap '' CHLD``), which loses exit codes of workers.
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not _may_open_enough():
        return 2
    from convexfs.cli import main as command

    def loaded() -> None:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = interrupt_again

    code = command(loaded=loaded)
    _leave_threads(code)
    return code


def interrupt_again(unraisable: Any) -> None:
    """Raise Ctrl-C again in the main thread if it was raised where Python only prints it."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    # Wait until the main thread has left the code in which exceptions are only printed.
    again = threading.Timer(0.01, _thread.interrupt_main)
    again.daemon = True
    again.start()


def _leave_threads(code: int) -> None:
    """Flush output and exit at once if a task's threads would keep the process alive."""
    here = threading.current_thread()
    if any(not own.daemon and own is not here for own in threading.enumerate()):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # The stream is already closed.
                stream.flush()
        os._exit(code)


def _may_open_enough() -> bool:
    """Return whether enough files may be open, raising the limit if possible; print if not."""
    try:
        import resource
    except ImportError:  # The module does not exist on Windows.
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


# Workers of an MPI pool import this module under another name.
if __name__ == "__main__":
    sys.exit(main())
