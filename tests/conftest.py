"""Settings of all tests."""

from hypothesis import settings

# The first example may compile a kernel, which takes seconds.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
