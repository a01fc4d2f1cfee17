"""The ``convexfs`` command.

Exit codes: 0 done, 1 something was computed but failed or was refused, 2 bad
input (one line on standard error, no traceback), 130 stopped by Ctrl-C.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import convexfs
from convexfs import batch_cli, report_cli, select_cli, show_cli, study_cli
from convexfs.baselines import PROJECTIONS, SELECTORS, projection, selector
from convexfs.data import BUNDLED, GENERATORS
from convexfs.errors import ConvexfsError
from convexfs.estimators import ESTIMATORS
from convexfs.formulations import FORMULATIONS

#: Modules with commands of their own.
OTHERS = (select_cli, show_cli, batch_cli, study_cli, report_cli)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        code = _run(argv)
        # What is flushed while Python ends can no longer be handled.
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader (head, less) has gone; leave quietly, with nothing to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = _parser().parse_args(argv)
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return arguments.run(arguments)
    except ConvexfsError as error:
        _complain(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        _complain("stopped")
        return 130
    except SystemExit as end:
        # argparse's after a bad line or --help; rich has its own for a reader that has gone.
        return 0 if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)


def list_all(_: argparse.Namespace) -> int:
    """Print methods, comparators, formulations, generators and bundled data."""
    console = _console()
    methods = _table("Methods", "method", "estimator")
    for name, home in ESTIMATORS.items():
        methods.add_row(name, "convexfs." + home.partition(":")[2])
    methods.add_row("lfe", "convexfs.LFE, a projection")
    console.print(methods)
    comparators = _table("Comparators", "method", "kind", "what")
    for name in SELECTORS:
        comparators.add_row(name, "selector", _first_line(selector(name)))
    for name in PROJECTIONS:
        comparators.add_row(name, "projection", _first_line(projection(name)))
    console.print(comparators)
    problems = Table(
        "formulation", "problem", "printed in", title="Formulations", title_justify="left"
    )
    for row in FORMULATIONS.values():
        problems.add_row(row.name, Text(row.equation), Text(row.reference))
    console.print(problems)
    data = _table("Data", "data", "kind", "what")
    for name, generate in GENERATORS.items():
        data.add_row(name, "generator", _first_line(generate))
    for name in BUNDLED:
        data.add_row(name, "bundled", "from scikit-learn")
    console.print(data)
    return 0


def solvers(_: argparse.Namespace) -> int:
    """Print the backend table."""
    from convexfs.solving.backends import BACKENDS

    table = Table("solver", "version", "takes", "licence", "time limit", "known faults")
    for row in BACKENDS.values():
        version = row.version if row.installed else row.how_to_install
        takes = " ".join(sorted(row.cones)) + (" integer" if row.integer_cones else "")
        limit = "yes" if row.limit else "no"
        faults = "; ".join(row.faults) + ("" if row.tested else " (untested)")
        table.add_row(row.name, Text(version), takes, row.licence, limit, faults.strip())
    _console().print(table)
    return 0


def _console() -> Console:
    # A pipe has no width; leave enough for a table to keep its columns whole.
    return Console() if sys.stdout.isatty() else Console(width=140)


def _table(title: str, *headings: str) -> Table:
    return Table(*headings, title=title, title_justify="left")


def _first_line(documented: Any) -> str:
    return (documented.__doc__ or "").strip().partition("\n")[0]


def _complain(line: str) -> None:
    print(f"convexfs: {line}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _complain(f"warning: {message}")


class _Parser(argparse.ArgumentParser):
    """argparse that ends a bad line the way every other error here ends."""

    def error(self, message: str) -> Any:
        self.exit(2, f"convexfs: error: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="convexfs",
        description="Local-learning feature selection as explicit convex problems.",
    )
    parser.add_argument("--version", action="version", version=f"convexfs {convexfs.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        described = _first_line(run)
        made = commands.add_parser(name, help=described, description=described)
        made.set_defaults(run=run)
        return made

    command("list", list_all)
    command("solvers", solvers)
    for module in OTHERS:
        for name, (run, add_options) in module.COMMANDS.items():
            add_options(command(name, run))
    return parser
