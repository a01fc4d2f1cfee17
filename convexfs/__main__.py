"""``convexfs`` and ``python -m convexfs``, which Ctrl-C ends quietly even while they are loaded."""

import os
import signal
import sys


def main() -> int:
    """Load the command, run it and return its exit code."""
    # Half a second of imports: an exception may be raised anywhere in them, and be lost there.
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    from convexfs.cli import main as command

    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return command()


def _leave(*_: object) -> None:
    os.write(sys.stderr.fileno(), b"convexfs: stopped\n")
    os._exit(130)


# The workers of an MPI pool load this module too, under another name.
if __name__ == "__main__":
    sys.exit(main())
