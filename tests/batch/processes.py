"""Processes that tests start, and what they do there."""

import contextlib
import faulthandler
import os
import signal
import sys
import time

import psutil


def alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        return psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children():
    """The processes this one has started and not yet buried."""
    return [child.pid for child in psutil.Process().children() if not is_tracker(child)]


def is_tracker(process):
    """Whether this is the process that multiprocessing starts once, to clean up after us."""
    with contextlib.suppress(psutil.Error):
        return any("resource_tracker" in word for word in process.cmdline())
    return False


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
