"""Processes that tests start, and what they do there."""

import contextlib
import faulthandler
import os
import signal
import sys
import time


def alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children():
    """The processes the main thread has started and not yet buried."""
    with open(f"/proc/self/task/{os.getpid()}/children") as listing:
        pids = listing.read().split()
    return [int(pid) for pid in pids if "resource_tracker" not in command(pid)]


def command(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as line:
        return line.read()
    return ""


def square(number):
    return number * number


def crash():
    faulthandler.disable()  # pytest's own would print the stack of an intended crash
    os.kill(os.getpid(), signal.SIGSEGV)


def hang_or_die(how):
    time.sleep(how) if isinstance(how, int) else crash()


class Leaving:
    """Ends the process that unpickles it, unless that is on its guard."""

    def __reduce__(self):
        return sys.exit, (3,)
