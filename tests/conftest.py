"""Settings of all tests."""

import signal

from hypothesis import settings

# The first example may compile a kernel, which takes seconds.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# A shell's background job ignores Ctrl-C, and so would all that these tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
