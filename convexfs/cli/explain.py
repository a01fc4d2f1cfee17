"""The command ``convexfs explain``: why a problem is infeasible or unbounded, or what binds."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convexfs.cli.certify import problems_in
from convexfs.cli.options import (
    add_data_options,
    add_examples,
    add_json_option,
    add_problem_files_option,
)
from convexfs.cli.terminal import write
from convexfs.errors import ConvexfsError, InputError, check_regular_file
from convexfs.records import UNDECIDED

#: Exit code if nothing was proven.
_UNDECIDED = 3


def explain(arguments: argparse.Namespace) -> int:
    """Explain why a problem is infeasible, unbounded or not convex, or which constraints bind."""
    if arguments.source.is_dir():
        return _run_folder(arguments)
    if arguments.html is not None:
        if not arguments.html.parent.is_dir():
            raise InputError(f"there is no folder {arguments.html.parent}")
        from convexfs.report.page import check_page  # Imports pandas.

        check_page(arguments.html)
    from convexfs.diagnosis.explain import explain as explained
    from convexfs.diagnosis.stages import stages_text

    name, problem, sources = _problem(arguments.source, arguments.data)
    found = explained(problem, solver=arguments.solver, seconds=arguments.seconds, sources=sources)
    if arguments.html is not None:
        from convexfs.report.page import write_page

        write_page(found.to_html(), arguments.html)
    if arguments.json:
        write(json.dumps({"problem": name, **found.to_dict()}, indent=1))
    elif arguments.latex:
        write(found.to_latex())
    else:
        write(f"{name}\n\n{found.text}")
        if arguments.stages:
            write(f"\n{stages_text(problem, sources)}")
    return _UNDECIDED if found.status == UNDECIDED else 0


def add_explain_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs explain``."""
    add_examples(
        parser,
        "explain problem.py",
        "explain problem.py --html why.html",
        "explain runs/study --problem problems/relief.py",
        topic="explain",
    )
    add = parser.add_argument
    add("source", type=Path, metavar="FILE|DIR",
        help="a problem file, a Python file that defines `problem`, or the result folder (--out) "
        "of a run, to explain its failed tasks")  # fmt: skip
    add = parser.add_argument_group("search").add_argument
    add("--solver", default="auto", metavar="NAME", help="solver to try first [auto]")
    add("--seconds", type=float, default=30.0, metavar="S", help="approximate CPU time limit [30]")
    group = parser.add_argument_group("input")
    add_problem_files_option(group)
    add_data_options(group)
    group = parser.add_argument_group("output")
    add = group.add_argument
    add("--stages", action="store_true", help="print the rows that each constraint becomes")
    add("--html", type=Path, metavar="FILE", help="write an HTML page that opens offline")
    add("--latex", action="store_true", help="print LaTeX")
    add_json_option(group)


def _problem(path: Path, data: Path | None) -> tuple[str, Any, Mapping[int, str]]:
    """Return name, first problem of a file, and source lines of its constraints by id."""
    from convexfs.diagnosis.naming import recorded_lines
    from convexfs.formats import ending, read_problem

    check_regular_file(path)
    if ending(path) is not None:
        return path.name, read_problem(path), {}
    with recorded_lines(path) as lines:
        name, problem = next(problems_in(path, data))
    return name, problem, lines


def _run_folder(arguments: argparse.Namespace) -> int:
    """Print a line on every failed, infeasible or unbounded task; return the exit code."""
    from convexfs.batch.recertify import failed_problems
    from convexfs.diagnosis.explain import explain as explained

    data_dir = None if arguments.data is None else str(arguments.data)
    proven, found = True, []
    for task, problem in failed_problems(arguments.source, arguments.problem, data_dir):
        try:
            result = explained(problem, solver=arguments.solver, seconds=arguments.seconds)
        except ConvexfsError as error:
            proven = False
            found.append({"task": task, "status": "error", "headline": str(error)})
            continue
        proven &= result.status != UNDECIDED
        found.append({"task": task, **result.to_dict(), "short": result.short})
    if arguments.json:
        write(json.dumps(found, indent=1))
    else:
        for each in found:
            write(f"{each['task']}\n  {each.get('short', each['headline'])}")
        write(f"tasks without a solution: {len(found)}")
    return 0 if proven else _UNDECIDED
