"""The command ``convexfs solve``: run a batch, and stop it in order when a scheduler asks.

Imports are inside the functions, so that the other commands start faster.
"""

import argparse
import os
import shlex
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from convexfs.cli.console import Console
from convexfs.cli.options import (
    FILES_HELP,
    MEMORY_HELP,
    SEED_HELP,
    SHARD_HELP,
    add_data_options,
    add_examples,
)
from convexfs.cli.terminal import write
from convexfs.data.readers.memory_limit import parse_size
from convexfs.errors import InputError
from convexfs.records import NATIVE, TIMEOUT, UNDECIDED

if TYPE_CHECKING:
    from convexfs.batch.run import Progress
    from convexfs.batch.store.shards import Shard

#: Most failed tasks that are listed at the end; the store has them all.
SHOWN_FAILURES = 20
#: Least seconds between two progress lines if there is no terminal, as in a job's log.
SECONDS_BETWEEN_LINES = 60.0
#: Exit code of a stopped run that should be resumed: EX_TEMPFAIL of sysexits.h.
STOPPED = 75
#: Signals by which schedulers ask to stop; Windows has only the first.
_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGUSR1") if hasattr(signal, name)]


def solve(arguments: argparse.Namespace) -> int:
    """Solve problem files on all data, grid values and solvers; resume an interrupted run."""
    from convexfs.batch.problem_files.load import check_files

    memory_limit = limit_given(arguments.memory_limit)
    check_files(arguments.files)
    from convexfs.batch.run import solve_files

    if arguments.slurm is not None:
        return print_slurm_script(arguments)
    if arguments.time is not None or arguments.mem is not None:
        raise InputError("--time and --mem need --slurm; --time-limit bounds a task")
    shard = shard_given(arguments.shard)
    out = arguments.out or default_folder(Path(arguments.files[0]).stem, shard)
    console = Console(stderr=True)
    try:
        with (
            stop_signals(),
            _opened(arguments.executor) as executor,
            progress_shown(console) as watch,
        ):
            progress = solve_files(
                arguments.files,
                out,
                jobs=usable_cores() if arguments.jobs is None else arguments.jobs,
                executor=executor,
                tol=arguments.tol,
                time_limit=arguments.time_limit,
                memory_limit=memory_limit,
                seed=arguments.seed,
                data_dir=None if arguments.data is None else str(arguments.data),
                read_limit=arguments.read_limit,
                solvers=_named(arguments.solvers),
                retry_failed=arguments.retry_failed,
                shard=shard,
                watch=watch,
            )
    except KeyboardInterrupt as interrupt:
        return stopped(console, out, interrupt)
    if not progress.total:
        return nothing_to_do(console, out)
    shown = Console()
    code = _report(shown, progress)
    note_partial_evidence(shown, shard)
    return code


def _opened(name: str | None) -> Any:
    """Return a context of the executor of ``--executor``; of None for local processes."""
    if name is None:
        return nullcontext()
    from convexfs.batch.workers.executors import open_executor

    return open_executor(name)


def print_slurm_script(arguments: argparse.Namespace) -> int:
    """Print a Slurm script for ``solve --slurm`` after checking the files; return exit code 0."""
    from convexfs.batch.problem_files.load import load_problem_file
    from convexfs.batch.schedulers import slurm_script

    for name in ("executor", "shard"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--slurm runs shards by itself: leave --{name} out")
    for file in arguments.files:
        load_problem_file(file)
    options = []
    for name in ("solvers", "tol", "time_limit", "memory_limit", "seed", "data", "read_limit"):
        if getattr(arguments, name) is not None:
            options += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    options += ["--retry-failed"] * arguments.retry_failed
    out = arguments.out or default_folder(Path(arguments.files[0]).stem, None)
    jobs = 1 if arguments.jobs is None else arguments.jobs
    command = [sys.executable, "-m", "convexfs"]
    limits = (arguments.slurm, arguments.time, arguments.mem)
    write(slurm_script(command, arguments.files, options, out, jobs, *limits).rstrip("\n"))
    return 0


def _named(text: str | None) -> list[str] | None:
    """Return the names in ``--solvers`` as the solver table spells them; None if not given."""
    from convexfs.solving.backends import backend

    if text is None:
        return None
    words = dict.fromkeys(word.strip() for word in text.split(","))
    plain = {NATIVE, "auto"}
    return [word.lower() if word.lower() in plain else backend(word).name for word in words]


def usable_cores() -> int:
    """Return the number of cores that this process may use (CPU affinity, if known)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_given(text: str | None) -> int | None:
    """Return ``--memory-limit`` in bytes; None if not given."""
    return None if text is None else parse_size(text, "a memory limit")


def shard_given(text: str | None) -> "Shard | None":
    """Return the Shard of ``--shard``, for "auto" that of the array job; None if not given."""
    from convexfs.batch.schedulers import AUTO, shard_of_job
    from convexfs.batch.store.shards import Shard

    if text is None:
        return None
    is_auto = text == AUTO or text.startswith(f"{AUTO}/")
    return shard_of_job(text, os.environ) if is_auto else Shard.named(text)


def default_folder(name: str, shard: "Shard | None") -> Path:
    """Return the default result folder runs/NAME; each shard has another."""
    part = "" if shard is None else f"-shard-{shard.number}-of-{shard.count}"
    return Path("runs") / f"{name}{part}"


def add_solve_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs solve``."""
    add_examples(
        parser,
        "solve problems/relief.py",
        "solve problems/*.py --solvers CLARABEL,SCS --out runs/all",
        "solve problems/relief.py --slurm 8 --time 01:00:00 > job.sh",
        topic="batches",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=FILES_HELP)
    group = parser.add_argument_group("problems and solvers")
    add = group.add_argument
    add("--solvers", metavar="A,B", help="solvers to use instead of the files' SOLVERS")
    add("--tol", type=float, default=1e-6, metavar="T", help="accuracy of every solver [1e-6]")
    add("--time-limit", type=float, metavar="S", help="most seconds per task [no limit]")
    add("--memory-limit", metavar="SIZE", help=MEMORY_HELP)
    add("--seed", type=int, default=0, metavar="N", help=SEED_HELP)
    add_data_options(group)
    add = parser.add_argument_group("the run").add_argument
    add("--out", type=Path, metavar="DIR",
        help="result folder; an existing run is resumed [runs/NAME of the first file]")  # fmt: skip
    add("--retry-failed", action="store_true", help="solve failed tasks again")
    add("--jobs", type=int, metavar="N",
        help="worker processes; with 1, tasks run in the main process, which a crashing solver "
        "would end [the available cores; 1 with --slurm]")  # fmt: skip
    add("--executor", metavar="E",
        help="where tasks run: local, dask://host:port, mpi or module:factory [local]")  # fmt: skip
    add = parser.add_argument_group("clusters").add_argument
    add("--shard", metavar="I/N", help=SHARD_HELP)
    add("--slurm", type=int, metavar="N",
        help="solve nothing; print a script that submits N shards as a Slurm array "
        "job")  # fmt: skip
    add("--time", metavar="T", help="with --slurm: time limit of a job, such as 01:00:00")
    add("--mem", metavar="SIZE", help="with --slurm: memory of a job, such as 4G")


@contextmanager
def progress_shown(console: Console) -> Any:
    """Yield a function that shows a Progress: as a bar on a terminal, else as occasional lines."""
    from convexfs.kernels import announced

    with announced(console.print), (_bar if console.is_terminal else _lines)(console) as watch:
        yield watch


@contextmanager
def _bar(console: Console) -> Any:
    texts = ("{task.fields[failed]}", "{task.fields[rate]}")
    columns = (BarColumn(), MofNCompleteColumn(), *texts, TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        shown = bar.add_task("", total=None, failed="", rate="")

        def watch(progress: "Progress") -> None:
            bar.update(
                shown,
                total=progress.total,
                completed=progress.finished,
                failed=progress.failures_line(),
                rate=f"{progress.rate:.1f}/s" if progress.rate else "",
            )

        yield watch


@contextmanager
def _lines(console: Console) -> Any:
    next_line = SECONDS_BETWEEN_LINES

    def watch(progress: "Progress") -> None:
        nonlocal next_line
        if progress.wall_seconds >= next_line:
            next_line = progress.wall_seconds + SECONDS_BETWEEN_LINES
            console.print(progress.line(), highlight=False, soft_wrap=True)

    yield watch


class Stop(KeyboardInterrupt):
    """A scheduler asked this process to stop; it is handled like Ctrl-C."""


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise :class:`Stop` at the first SIGTERM or SIGUSR1 inside the block; ignore later ones.

    Do nothing outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: Any) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Stop(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopped(console: Console, out: Path, interrupt: KeyboardInterrupt) -> int:
    """Print how to resume an interrupted run; return exit code 75 (scheduler) or 130 (Ctrl-C)."""
    from convexfs.batch.run import command_line

    line = shlex.join(command_line())
    console.print(
        f"Stopped. Finished tasks are stored in {out}. To resume:\n  {line}",
        highlight=False,
        soft_wrap=True,
    )
    return STOPPED if isinstance(interrupt, Stop) else 130


def nothing_to_do(console: Console, out: Path) -> int:
    """Print that this shard has no tasks; return exit code 0."""
    console.print(
        f"{out}: this shard has no tasks, because there are fewer tasks than shards", soft_wrap=True
    )
    return 0


def _report(console: Console, progress: "Progress") -> int:
    """Print how the tasks of a run ended; return exit code 1 if some failed, else 0."""
    from convexfs.batch.store.store import LOG, RESULTS
    from convexfs.study.outcome_rules import DENIALS, FAILED, SKIPPED, SOLVED, WRONG
    from convexfs.study.outcomes import certificate_warnings, counts, outcomes

    found = outcomes(progress.folder, progress.keys)
    found = found[found["key"].isin(progress.keys)]
    counted, bad = counts(found), found[found["outcome"].isin([WRONG, FAILED, TIMEOUT])]
    kinds = [_kind(row) for row in bad.to_dict("records")]
    ends = found.loc[found["outcome"] == SOLVED, "status"].value_counts()
    table = Table(title=str(progress.folder), title_justify="left", show_header=False)
    rows: list[tuple[str, Any]] = [
        ("tasks", progress.total),
        ("  finished in earlier runs", progress.resumed),
        ("  finished now", progress.done),
        ("solved", counted[SOLVED]),
        *((f"  of these proven {end}", ends[end]) for end in DENIALS if end in ends),
        *([("undecided", counted[UNDECIDED])] if counted[UNDECIDED] else []),
        ("skipped", counted[SKIPPED]),
        *sorted(Counter(kinds).items()),
        ("wall seconds", f"{progress.wall_seconds:.2f}"),
        ("CPU seconds", f"{progress.cpu_seconds:.2f}"),
        ("results", progress.folder / RESULTS),
        ("log", progress.folder / LOG),
    ]
    for name, value in rows:
        table.add_row(name, Text(str(value)))
    console.print(table)
    for line in certificate_warnings(found):
        console.print(Text(line, style="bold red"), soft_wrap=True)
    for reason, count in progress.skips.items():
        console.print(Text(f"skipped {count}: {reason}"), soft_wrap=True)
    for row, kind in zip(bad.head(SHOWN_FAILURES).to_dict("records"), kinds, strict=False):
        line = "{problem} on {data} {hyper} with {solver}".format_map(row)
        console.print(Text(f"{kind}: {line}: {row['failure'] or row['status']}"), soft_wrap=True)
    if len(bad) > SHOWN_FAILURES:
        console.print(f"… and {len(bad) - SHOWN_FAILURES} more")
    if len(bad):
        console.print("To retry the failed tasks, run the same command with --retry-failed.")
    return int(len(bad) > 0)


def note_partial_evidence(console: Console, shard: "Shard | None") -> None:
    """Print, for a shard, that its verdicts rest on solutions of this shard only."""
    if shard is not None:
        console.print(
            f"Shard {shard}: solutions were compared within this shard only. After convexfs "
            "merge, the verdicts rest on all of them.",
            highlight=False,
            soft_wrap=True,
        )


def _kind(row: dict[Any, Any]) -> str:
    """Return the label of an unsolved task's outcome, as ``failed: user_limit``."""
    from convexfs.study.outcome_rules import FAILED

    if row["outcome"] == FAILED:
        return f"failed: {row['status']}"
    return "failed: timeout" if row["outcome"] == TIMEOUT else str(row["outcome"])
