"""The command ``convexfs compare``: solvers against each other on the same problems.

What it uses is imported when it runs: the other commands start faster without it.
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from convexfs.cli.batch import MEMORY_HELP, limit_given, progress_shown, stopped
from convexfs.cli.console import Console
from convexfs.errors import InputError

if TYPE_CHECKING:
    from convexfs.study.columns import Column
    from convexfs.study.outcomes import Frame

#: Reasons of failures named at the end.
SHOWN_FAILURES = 10
#: What the names of an interval's ends add to that of its number.
ENDS = ("_low", "_high")


def compare(arguments: argparse.Namespace) -> int:
    """Compare solvers on problem files, every answer verified; go on where a study stopped."""
    from convexfs.study.compare import compare_files

    console = Console(stderr=True)
    if arguments.jobs > 1:
        console.print(f"{arguments.jobs} solves at a time disturb each other's times.")
    try:
        with progress_shown(console) as watch:
            progress = compare_files(
                arguments.files,
                arguments.out,
                solvers=arguments.solvers,
                tols=_accuracies(arguments.tol),
                default=not arguments.no_default,
                repeats=arguments.repeats,
                time_limit=arguments.time_limit,
                memory_limit=limit_given(arguments.memory_limit),
                jobs=arguments.jobs,
                seed=arguments.seed,
                data_dir=None if arguments.data is None else str(arguments.data),
                read_limit=arguments.read_limit,
                watch=watch,
            )
    except KeyboardInterrupt:
        return stopped(console, arguments.out)
    _report(Console(width=180), arguments.out, progress.keys)
    return 0


def add_compare_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs compare``."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="problem files, or bare names in ./problems")
    add("--solvers", default="all", metavar="A,B", help="names, or all that are installed [all]")
    add("--tol", default="1e-6,1e-8", metavar="T,T", help="accuracies to compare at [1e-6,1e-8]")
    add("--no-default", action="store_true", help="leave out the solvers' own default accuracies")
    add("--repeats", type=int, default=5, metavar="N", help="measurements of each [5]")
    add("--time-limit", type=float, default=60.0, metavar="S", help="seconds for a solve [60]")
    add("--memory-limit", metavar="SIZE", help=MEMORY_HELP)
    add("--jobs", type=int, default=1, metavar="N", help="solves at a time [1]")
    add("--out", type=Path, default=Path("runs/study"), metavar="DIR", help="[runs/study]")
    add("--seed", type=int, default=0, metavar="N", help="for the order and anything random [0]")
    add("--data", type=Path, metavar="DIR", help="folder behind data:NAME")
    add("--read-limit", metavar="SIZE", help="memory that reading may take [half of the machine's]")


def _accuracies(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--tol takes numbers such as 1e-6,1e-8, not {text!r}") from error


def _report(console: Console, folder: Path, keys: frozenset[str]) -> None:
    """Print the tables of this command's tasks; the folder may hold others."""
    from convexfs.batch.store import RESULTS, Store
    from convexfs.study import columns, points, profiles
    from convexfs.study.outcomes import outcomes

    found: Frame = outcomes(folder, keys)
    judged = found[found["key"].isin(keys)]
    with Store.read(folder) as store:
        tasks, solutions = store.tasks(), store.solutions()
    own: Frame = solutions[solutions["key"].isin(list(keys))]
    console.print(f"comparison: {points.compared(own)}")
    by_point = points.kept_points(tasks, own)
    if len(by_point):
        rows = points.comparison(by_point)
        title = "Whole points, U1 against the best of the other solvers"
        console.print(_table(title, rows, columns.POINTS))
    console.print(_table("Verdict", profiles.summary(judged), columns.SUMMARY))
    leaders, claims = profiles.leaders(judged), profiles.wrong_claims(judged)
    if len(leaders):
        title = "Fastest and most accurate solver of each class"
        console.print(_table(title, leaders, columns.LEADERS))
    if len(claims):
        console.print(_table("Wrong claims", profiles.claimants(claims), columns.CLAIMANTS))
    told: Frame = profiles.reasons(judged)
    _list_failures(console, told[told["outcome"].isin(["failed", "timeout"])])
    if len(judged) < len(found):
        console.print(f"The folder, page and export have {len(found) - len(judged)} other tasks.")
    console.print(
        f"results: {folder / RESULTS}\n"
        f"page:    convexfs report {folder}\n"
        f"table:   convexfs export {folder} --to study.csv",
        highlight=False,
        soft_wrap=True,
    )


def _table(title: str, rows: "Frame", columns: Iterable["Column"]) -> Table:
    """Return the columns that are shown here, an interval beside the number it belongs to."""
    from convexfs.study.columns import On

    shown = [own for own in columns if On.TERMINAL in own.on and not own.name.endswith(ENDS)]
    table = Table(title=title, title_justify="left", caption=_caption(shown))
    for column in shown:
        table.add_column(column.heading, overflow="fold")
    for row in rows.to_dict("records"):
        table.add_row(*(_cell(column, row) for column in shown))
    return table


def _caption(columns: Iterable["Column"]) -> str:
    return " · ".join(f"{own.heading}: {own.meaning}" for own in columns if own.meaning)


def _cell(column: "Column", row: dict[str, Any]) -> Text:
    value, (low, high) = row[column.name], (row.get(column.name + end) for end in ENDS)
    interval = "" if low is None or low != low else f" ({low:.3g}…{high:.3g})"
    style = "bold red" if column.kind == "bad" and value else ""
    return Text(column.printed(value) + interval, style=style)


def _list_failures(console: Console, told: "Frame") -> None:
    for row in told.head(SHOWN_FAILURES).to_dict("records"):
        line = "{outcome}, {tasks} tasks with {solvers}: {message} ({example})".format(**row)
        console.print(Text(line), soft_wrap=True)
    if len(told) > SHOWN_FAILURES:
        console.print(f"… and {len(told) - SHOWN_FAILURES} more reasons on the page")


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "compare": (compare, add_compare_options),
}
