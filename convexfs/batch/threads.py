"""One thread for BLAS and solvers: workers are the parallelism, and sums keep their order."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

THREAD_VARIABLES = [f"{of}_NUM_THREADS" for of in ("OMP", "OPENBLAS", "MKL", "BLIS", "RAYON")]


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS and solvers to one thread: libraries loaded, and those still to come."""
    before = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name in THREAD_VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)
