"""The commands on batches: ``convexfs solve`` and ``convexfs export``.

What they use is imported when they run: the other commands start faster without it.
"""

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from convexfs.cli.console import Console
from convexfs.cli.terminal import write

if TYPE_CHECKING:
    from convexfs.batch.run import Progress
    from convexfs.batch.shards import Shard
    from convexfs.study.judging import Frame

#: Failed tasks named at the end; the store has them all.
SHOWN_FAILURES = 20
FILES_HELP = "problem files, files of a format (.mps, .cbf, ...), or bare names in ./problems"
MEMORY_HELP = "memory a task may take, such as 2GB; held on Linux [no limit]"
SHARD_HELP = "do the I-th of N parts only, into a folder of its own; merge joins them"
#: Where no terminal shows a bar, as in the log of a cluster's job.
SECONDS_BETWEEN_LINES = 60.0


def solve(arguments: argparse.Namespace) -> int:
    """Solve problem files over data, grids and solvers; go on where a run stopped."""
    from convexfs.batch.executors import open_executor
    from convexfs.batch.run import solve_files

    shard = shard_given(arguments.shard)
    out = arguments.out or folder_of(Path(arguments.files[0]).stem, shard)
    console = Console(stderr=True)
    try:
        with open_executor(arguments.executor) as executor, progress_shown(console) as watch:
            progress = solve_files(
                arguments.files,
                out,
                jobs=arguments.jobs,
                executor=executor,
                tol=arguments.tol,
                time_limit=arguments.time_limit,
                memory_limit=limit_given(arguments.memory_limit),
                seed=arguments.seed,
                data_dir=None if arguments.data is None else str(arguments.data),
                read_limit=arguments.read_limit,
                solvers=_named(arguments.solvers),
                retry_failed=arguments.retry_failed,
                shard=shard,
                watch=watch,
            )
    except KeyboardInterrupt:
        return stopped(console, out)
    if not progress.total:
        return nothing_to_do(console, out)
    judged = _judged(progress)
    _report(Console(width=None if sys.stdout.isatty() else 140), progress, judged)
    return 1 if len(_bad(judged)) else 0


def _named(text: str | None) -> list[str] | None:
    """Solvers of a line's ``--solvers``, as their table spells them."""
    from convexfs.records import NATIVE
    from convexfs.solving.backends import backend

    if text is None:
        return None
    words = dict.fromkeys(word.strip() for word in text.split(","))
    plain = {NATIVE, "auto"}
    return [word.lower() if word.lower() in plain else backend(word).name for word in words]


def limit_given(text: str | None) -> int | None:
    """Bytes of a ``--memory-limit``."""
    from convexfs.batch.memory import size_of

    return None if text is None else size_of(text)


def shard_given(text: str | None) -> "Shard | None":
    """Return the part of a ``--shard``."""
    from convexfs.batch.shards import Shard

    return None if text is None else Shard.named(text)


def folder_of(name: str, shard: "Shard | None") -> Path:
    """Return where results go if nothing is said; each shard has a folder of its own."""
    part = "" if shard is None else f"-shard-{shard.number}-of-{shard.count}"
    return Path("runs") / f"{name}{part}"


def _judged(progress: "Progress") -> "Frame":
    """The tasks of a run as every table and page judges them."""
    from convexfs.study.outcomes import outcomes

    found: Frame = outcomes(progress.folder, progress.keys)
    return found[found["key"].isin(progress.keys)]


def _bad(judged: "Frame") -> "Frame":
    from convexfs.study.judging import FAILED, TIMEOUT, WRONG

    return judged[judged["outcome"].isin([WRONG, FAILED, TIMEOUT])]


def export(arguments: argparse.Namespace) -> int:
    """Write the results of a run as one table (.parquet, .csv or .jsonl)."""
    from convexfs.study.outcomes import export as export_run

    export_run(arguments.folder, arguments.to)
    write(f"table: {arguments.to}")
    return 0


def add_solve_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs solve``."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help=FILES_HELP)
    add(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
        help="worker processes; 1 runs in this one, which a crashing solver ends [all cores]",
    )  # fmt: skip
    add("--out", type=Path, metavar="DIR", help="folder of the results [runs/NAME of the first]")
    add("--shard", metavar="I/N", help=SHARD_HELP)
    add("--executor", metavar="E", help="local, dask://host:port, mpi or module:factory [local]")
    add("--solvers", metavar="A,B", help="instead of the files' SOLVERS")
    add("--tol", type=float, default=1e-6, metavar="T", help="accuracy of every solver [1e-6]")
    add("--time-limit", type=float, metavar="S", help="seconds a task may take [no limit]")
    add("--memory-limit", metavar="SIZE", help=MEMORY_HELP)
    add("--seed", type=int, default=0, metavar="N", help="for anything random [0]")
    add("--data", type=Path, metavar="DIR", help="folder behind data:NAME")
    add("--read-limit", metavar="SIZE", help="memory that reading may take [half of the machine's]")
    add("--retry-failed", action="store_true", help="do failed tasks again")


def add_export_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs export``."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --out of a run")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE")


@contextmanager
def progress_shown(console: Console) -> Any:
    """Yield a function that shows progress: a bar on a terminal, else a line now and then."""
    from convexfs.compiling import announced

    with announced(console.print), (_bar if console.is_terminal else _lines)(console) as watch:
        yield watch


@contextmanager
def _bar(console: Console) -> Any:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        shown = bar.add_task("", total=None, failed=0, rate="")

        def watch(progress: "Progress") -> None:
            bar.update(
                shown,
                total=progress.total,
                completed=progress.finished,
                failed=len(progress.failed),
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
            left = (progress.total - progress.finished) / progress.rate / 60
            console.print(
                f"{progress.finished} of {progress.total} tasks, {len(progress.failed)} failed, "
                f"{progress.rate:.1f}/s, about {left:.0f} min left",
                highlight=False,
                soft_wrap=True,
            )

    yield watch


def stopped(console: Console, out: Path) -> int:
    """Say how to go on with a run that was interrupted; return the exit code."""
    line = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    console.print(
        f"Stopped; what was finished is in {out}. To go on:\n  {line}",
        highlight=False,
        soft_wrap=True,
    )
    return 130


def nothing_to_do(console: Console, out: Path) -> int:
    """Say that a shard has no tasks, as some have when there are few; return the exit code."""
    console.print(f"{out}: a shard without tasks, there are so few", soft_wrap=True)
    return 0


def _report(console: Console, progress: "Progress", judged: "Frame") -> None:
    from convexfs.batch.store import LOG, RESULTS
    from convexfs.study.judging import SKIPPED, SOLVED
    from convexfs.study.outcomes import counts

    counted, bad = counts(judged), _bad(judged)
    kinds = [_kind(row) for row in bad.to_dict("records")]
    table = Table(title=str(progress.folder), title_justify="left", show_header=False)
    rows: list[tuple[str, Any]] = [
        ("tasks", progress.total),
        ("  finished in earlier runs", progress.resumed),
        ("  finished now", progress.done),
        ("solved", counted[SOLVED]),
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
    for reason, count in progress.skips.items():
        console.print(Text(f"skipped {count}: {reason}"), soft_wrap=True)
    for row, kind in zip(bad.head(SHOWN_FAILURES).to_dict("records"), kinds, strict=False):
        line = "{problem} on {data} {hyper} with {solver}".format(**row)
        console.print(Text(f"{kind}: {line}: {row['failure'] or row['status']}"), soft_wrap=True)
    if len(bad) > SHOWN_FAILURES:
        console.print(f"… and {len(bad) - SHOWN_FAILURES} more")
    if len(bad):
        console.print("To try the failed ones again, add --retry-failed to the same line.")


def _kind(row: dict[Any, Any]) -> str:
    """The outcome of a task that is not solved, and what its solver said."""
    from convexfs.records import OPTIMAL, TIMEOUT
    from convexfs.study.judging import FAILED

    if row["outcome"] == FAILED:
        return f"failed: {'unproven' if row['status'] == OPTIMAL else row['status']}"
    return "failed: timeout" if row["outcome"] == TIMEOUT else str(row["outcome"])


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "solve": (solve, add_solve_options),
    "export": (export, add_export_options),
}
