"""Executors by the name a command line gives them."""

import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager

from convexfs.errors import InputError


@contextmanager
def open_executor(spec: str | None) -> Iterator[Executor | None]:
    """Open the executor a command line names; None stands for local workers.

    ``local``; ``dask://host:port`` of a running scheduler; ``mpi``, in a program started
    as ``mpiexec -n N python -m mpi4py.futures ...``.
    """
    with ExitStack() as ends:
        try:
            executor = None if spec in (None, "local") else _open(str(spec), ends)
        except ImportError as error:
            extra = str(spec).partition(":")[0]
            raise InputError(f"{spec}: not installed; pip install 'convexfs[{extra}]'") from error
        except OSError as error:
            raise InputError(f"{spec}: cannot be reached; is a scheduler running?") from error
        yield executor


def _open(spec: str, ends: ExitStack) -> Executor:
    if re.fullmatch(r"dask://.+:\d+", spec):
        from distributed import Client  # pyright: ignore[reportMissingImports]

        client = ends.enter_context(Client(spec.replace("dask://", "tcp://"), timeout=5))
        return client.get_executor(pure=False)
    if spec == "mpi":
        from mpi4py.futures import MPIPoolExecutor  # pyright: ignore[reportMissingImports]
        from mpi4py.futures._core import SharedPool  # pyright: ignore[reportMissingImports]

        if SharedPool is not None:
            return ends.enter_context(MPIPoolExecutor())
        raise InputError("mpi: start the program by mpiexec -n N python -m mpi4py.futures ...")
    raise InputError(f"executor {spec!r} is unknown; choose local, dask://host:port or mpi")
