"""Waiting for what must happen, however slow the machine."""

import time

from convexfs.batch.workers import pool

#: A condition that has not come by then never will; no test is meant to wait so long.
PATIENCE = 600.0
#: Seconds until a task that is meant to hang is ended.
SOON = 1.0


def until(condition, process=None):
    """Wait for a condition for as long as `process` runs, which is to bring it about."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, "it ended before it happened"
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def end_soon(hangs, set_attribute=setattr):
    """End the tasks that `hangs` picks soon and no others; return the limits the pool is given.

    A limit that is short enough to wait for would end others too on a busy machine.
    """
    given, run = [], pool.run

    def impatient(*arguments, time_limit=None, **more):
        given.append(time_limit)
        return run(*arguments, time_limit=lambda task: SOON if hangs(task) else PATIENCE, **more)

    set_attribute(pool, "run", impatient)
    return given
