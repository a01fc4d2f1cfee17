"""Waiting for what must happen, however slow the machine."""

import time

#: A condition that has not come by then never will; no test is meant to wait so long.
PATIENCE = 600.0


def until(condition, process=None):
    """Wait for a condition for as long as `process` runs, which is to bring it about."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, "it ended before it happened"
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
