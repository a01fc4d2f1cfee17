"""The command line of ``scripts/reproduce.py``: run the papers' experiments again."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from convexfs.cli.console import Console
from convexfs.cli.solve import progress_shown, stopped
from convexfs.errors import InputError, check_number

if TYPE_CHECKING:
    from papers.experiment import Experiment
    from papers.run import Plan

EVERYTHING = "all"


def reproduce(arguments: argparse.Namespace) -> int:
    """Repeat the papers' experiments beside the printed numbers; without a name, list them."""
    from papers import EXPERIMENTS, experiment_named

    data_dir = None if arguments.data is None else str(arguments.data)
    console = Console(width=180)
    if not arguments.names and not arguments.quick:
        return _list(console, data_dir)
    if arguments.runs is not None:
        check_number("runs", arguments.runs, 1, whole=True)
    check_number("jobs", arguments.jobs, 1, whole=True)
    wanted = arguments.names or [EVERYTHING]
    names = list(EXPERIMENTS) if EVERYTHING in wanted else list(dict.fromkeys(wanted))
    for name in names:
        experiment_named(name)
    plans = _plans(names, arguments, data_dir)
    failed = 0
    for name, planned in plans.items():
        folder = arguments.out / name
        try:
            failed += _reproduce(console, planned, folder, arguments)
        except KeyboardInterrupt as interrupt:
            _write(console, planned, folder)
            return stopped(Console(stderr=True), folder, interrupt)
    return 1 if failed else 0


def _plans(
    names: list[str], arguments: argparse.Namespace, data_dir: str | None
) -> dict[str, "Plan"]:
    """Return what there is to do, without experiments that have no data."""
    from papers.run import plan

    planned = {
        name: plan(name, data_dir=data_dir, runs=arguments.runs, quick=arguments.quick)
        for name in names
    }
    if not any(own.tasks for own in planned.values()):
        lacking = next(iter(planned.values())).missing
        raise InputError(
            f"no data were found for {', '.join(names)}: {next(iter(lacking.values()))}"
        )
    for name, own in planned.items():
        if not own.tasks:
            Console(stderr=True).print(f"{name}: no data", highlight=False)
    return {name: own for name, own in planned.items() if own.tasks}


def _reproduce(
    console: Console, planned: "Plan", folder: Path, arguments: argparse.Namespace
) -> int:
    """Run one experiment; return how many of its measurements failed."""
    from convexfs.batch.workers.executors import open_executor
    from papers.run import run_plan

    messages = Console(stderr=True)
    minutes = planned.cpu_seconds / 60
    messages.print(
        f"{planned.experiment.title}: {len(planned.tasks)} measurements, {planned.variant.runs} "
        f"runs, about {minutes:.1f} processor minutes in all; results in {folder}",
        highlight=False,
        soft_wrap=True,
    )
    for row in planned.missing:
        messages.print(f"{row}: no data", highlight=False)
    with open_executor(arguments.executor) as executor, progress_shown(messages) as watch:
        done = run_plan(planned, folder, jobs=arguments.jobs, executor=executor, watch=watch)
    for task, failure in done.failed[:10]:
        messages.print(Text(f"failed: {task.method} on {task.data}, run {task.run}: {failure}"))
    _write(console, planned, folder)
    return len(done.failed)


def _write(console: Console, planned: "Plan", folder: Path) -> None:
    """Write and print the tables of what the folder has."""
    from papers.results import LEGEND, overview, results, said_of, write_results
    from papers.run import numbers_of

    numbers = numbers_of(planned, folder)
    if numbers.empty:  # it was stopped before the first one
        return
    shown = results(planned, numbers)
    for name, (table, rows) in shown.tables.items():
        heading, *lines = overview(rows)
        drawn = Table(*heading, title=f"{table.title} ({table.unit})", title_justify="left")
        for line in lines:
            drawn.add_row(*map(Text, line))
        console.print(drawn)
        console.print(LEGEND, style="dim")
        for line in said_of(table, rows, shown.tests.get(name)):
            console.print(Text(line), soft_wrap=True)
    written = write_results(shown, folder)
    console.print(f"page: {written[-1]}", highlight=False, soft_wrap=True)


def _list(console: Console, data_dir: str | None) -> int:
    """Print the experiments, the data they need, and what they take."""
    from papers import EXPERIMENTS, experiment_named
    from papers.run import data_found

    table = Table("experiment", "what", "data there", "data missing", "full run", "--quick")
    for name in EXPERIMENTS:
        own = experiment_named(name)
        found = dict(data_found(own.full, data_dir))
        table.add_row(
            name,
            Text(own.title),
            Text(", ".join(name for name in found if found[name])),
            Text(", ".join(name for name in found if not found[name])),
            *(f"{minutes:.1f} min" for minutes in _minutes(own, found)),
        )
    console.print(table)
    console.print(
        "Minutes of one processor, as measured once, on the data there. Data are found by "
        "--data DIR or CONVEXFS_DATA; --quick needs none.",
        soft_wrap=True,
    )
    return 0


def _minutes(experiment: "Experiment", found: dict[str, bool]) -> tuple[float, float]:
    """Return what the full run takes on data that are there (on all if none is), and the quick."""
    full, quick = experiment.full, experiment.quick
    there = [row for row, spec in full.sources.items() if found[spec.removeprefix("data:")]]
    return (
        full.runs * sum(full.seconds[row] for row in there or full.sources) / 60,
        quick.runs * sum(quick.seconds.values()) / 60,
    )


def add_reproduce_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``python scripts/reproduce.py``."""
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="experiments, or all; none: list them")
    add("--data", type=Path, metavar="DIR", help="folder of the data [CONVEXFS_DATA]")
    add("--runs", type=int, metavar="R", help="random splits [as many as the paper]")
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="worker processes "
        "[all cores]")  # fmt: skip
    add("--executor", metavar="E", help="local, dask://host:port or mpi [local]")
    add("--quick", action="store_true", help="generated data and few runs, in minutes")
    add("--out", type=Path, default=Path("runs/reproduction"), metavar="DIR",
        help="a folder for each experiment goes there [runs/reproduction]")  # fmt: skip
