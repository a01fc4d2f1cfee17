"""Open executors by their name on the command line."""

import importlib
import logging
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import current_process
from typing import Any

from convexfs.batch.preparation import prepare
from convexfs.batch.workers import pool
from convexfs.errors import InputError


@contextmanager
def open_executor(spec: str | None) -> Iterator[Executor | None]:
    """Open the executor that `spec` names for this block; yield None for local workers.

    ``local``; ``dask://host:port`` of a running scheduler; ``mpi``, in a program started
    as ``mpiexec -n N python -m mpi4py.futures ...``; ``package.module:factory``, a function
    or class that makes any ``concurrent.futures.Executor`` when it is called.
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

        _log_only("distributed", "asyncio", "tornado")
        client = ends.enter_context(Client(spec.replace("dask://", "tcp://"), timeout=5))
        return _InChildren(client.get_executor(pure=False))
    if spec == "mpi":
        from mpi4py.futures import MPIPoolExecutor  # pyright: ignore[reportMissingImports]
        from mpi4py.futures._core import SharedPool  # pyright: ignore[reportMissingImports]

        if SharedPool is not None:
            return ends.enter_context(MPIPoolExecutor())
        raise InputError("mpi: start the program by mpiexec -n N python -m mpi4py.futures ...")
    if re.fullmatch(r"[\w.]+:[\w.]+", spec):
        return ends.enter_context(_made_by(spec))
    raise InputError(
        f"executor {spec!r} is unknown; choose local, dask://host:port, mpi, or "
        "package.module:factory"
    )


def _log_only(*families: str) -> None:
    """Remove the handlers of some packages' loggers, so that only the run's log gets records."""
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in families]
    for logger in map(logging.getLogger, {*known, *families}):
        for handler in tuple(logger.handlers):
            logger.removeHandler(handler)
        # Without a handler, Python itself would print the records.
        logger.addHandler(logging.NullHandler())
        logger.propagate = True


def _made_by(spec: str) -> Executor:
    """Return the executor that ``package.module:factory`` makes; raise InputError if it fails."""
    home, _, name = spec.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        made = operator.attrgetter(name)(importlib.import_module(home))()
    except ModuleNotFoundError as error:
        raise InputError(f"executor {spec}: there is no module {error.name}") from error
    except AttributeError as error:
        raise InputError(f"executor {spec}: {error}") from error
    # The module and its factory are the user's code, so any exception is possible.
    except Exception as error:
        raise InputError(f"executor {spec}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(made, Executor):
        raise InputError(
            f"executor {spec}: made {type(made).__name__}, which is no concurrent.futures.Executor"
        )
    return made


class _InChildren(Executor):
    """An executor whose workers run each task in a child process.

    A task that crashes its process would take a worker along, for good if nobody starts it
    again, and with it the tasks that were waiting there.
    """

    def __init__(self, executor: Executor):
        self._executor = executor

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future:
        return self._executor.submit(_in_a_child, fn, *args)


def _in_a_child(fn: Callable[..., Any], work: Callable[..., Any], task: Any) -> bytes:
    """Call ``fn(work, task)`` in a child process; return the packed attempt, even if it dies."""
    # Load shared imports here, once; an import error is reported by the task itself.
    with suppress(Exception):
        prepare(task)
    # Workers of dask are daemon processes, which may not have children.
    current_process().daemon = False
    (outcome,) = pool.run([task], partial(fn, work), time_limit=math.inf)
    return outcome.value or pool.pack(outcome.attempts[-1], None)
