"""Settings of all tests."""

import os
import signal

from hypothesis import settings

# The first example may compile a kernel, which takes seconds. New examples are for people to
# find; where CI is set, a change is judged by the same ones as the last.
settings.register_profile("patient", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("patient")

# A shell's background job ignores Ctrl-C, and so would all that these tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
