"""The command ``convexfs compare``: solvers against each other on the same problems.

What it uses is imported when it runs: the other commands start faster without it.
"""

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from convexfs.cli.batch import MEMORY_HELP, limit_given, progress_shown, stopped
from convexfs.cli.console import Console
from convexfs.errors import InputError
from convexfs.records import OPTIMAL

if TYPE_CHECKING:
    import pandas as pd

    from convexfs.study.outcomes import Frame

#: Reasons of failures named at the end.
SHOWN_FAILURES = 10
#: What is shown of wrong claims, by column.
RESIDUALS = {"primal_residual": "primal", "gap": "gap", "objective_error": "objective off"}


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
                watch=watch,
            )
    except KeyboardInterrupt:
        return stopped(console, arguments.out)
    _report(Console(width=None if sys.stdout.isatty() else 160), arguments.out, progress.keys)
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


def _accuracies(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--tol takes numbers such as 1e-6,1e-8, not {text!r}") from error


def _report(console: Console, folder: Path, keys: frozenset[str]) -> None:
    """Tables of this command's tasks; the folder may hold others."""
    from convexfs.batch.store import RESULTS, Store
    from convexfs.study import points, profiles
    from convexfs.study.outcomes import outcomes

    found: Frame = outcomes(folder, keys)
    judged = found[found["key"].isin(keys)]
    with Store.read(folder) as store:
        tasks, solutions = store.tasks(), store.solutions()
    own: Frame = solutions[solutions["key"].isin(list(keys))]
    console.print(f"comparison: {points.compared(own)}")
    kept = points.kept_points(tasks, own)
    if len(kept):
        console.print(_points_table(points.comparison(kept)))
    for settings, rows in profiles.summary(judged).groupby("settings"):
        console.print(_summary_table(str(settings), rows))
    leaders = profiles.leaders(judged)
    if len(leaders):
        console.print(_leaders_table(leaders))
    claims = profiles.wrong_claims(judged)
    if len(claims):
        console.print(_claims_table(claims))
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


def _summary_table(settings: str, rows: "pd.DataFrame") -> Table:
    title = f"Accuracy {settings}{_judged_at(settings)}"
    table = _table(
        f"{title}: seconds charged, geometric mean shifted by 10 ms",
        "solver", "takes", "tried", "solved", "wrong", "failed", "unproven", "timeouts",
        "seconds", "interval", "× best", "PAR10", "compile", "error",
    )  # fmt: skip
    table.caption = (
        "takes: problems it can take · solved: share of tried · unproven: of the failed, right but "
        "not proven · interval: 99 % over repeats · × best: shifted times the fastest of the same "
        "problem · compile, error: medians"
    )
    for row in rows.to_dict("records"):
        table.add_row(
            row["solver"],
            f"{row['instances']}/{row['of']}",
            str(row["tried"]),
            _number(row["success_rate"], ".1%"),
            Text(str(row["wrong_claims"]), style="bold red" if row["wrong_claims"] else ""),
            str(row["failed"]),
            str(row["unproven"]),
            str(row["timeouts"]),
            _number(row["seconds"]),
            _interval(row["seconds_low"], row["seconds_high"]),
            _number(row["times_best"]),
            _number(row["par10"]),
            _number(row["compile_seconds"]),
            _number(row["error"], ".0e"),
        )
    return table


def _points_table(rows: "pd.DataFrame") -> Table:
    """Each solver's local optima against the best of all others'."""
    table = _table(
        "Whole points, U1 against the best of the other solvers",
        "data", "hyper", "accuracy", "solver", "points", "betas", "same", "better", "worse",
        "by at most", "failed", "programs a point", "CPU s a point",
    )  # fmt: skip
    table.caption = "betas: without 1 · same: within 1e-6 · failed: without an answer"
    for row in rows.to_dict("records"):
        table.add_row(
            row["data"], row["hyper"], _number(row["tol"]), row["solver"],
            *(str(row[name]) for name in ("points", "betas", "same", "better", "worse")),
            _number(row["worst"], ".0e"), str(row["failed"]), _number(row["programs"]),
            _number(row["cpu_seconds"]),
        )  # fmt: skip
    return table


def _judged_at(settings: str) -> str:
    from convexfs.batch.tasks import DEFAULT_ACCURACY
    from convexfs.study.outcomes import DEFAULT, SLACK

    return f" (judged at {SLACK * DEFAULT_ACCURACY:g})" if settings == DEFAULT else ""


def _leaders_table(leaders: "pd.DataFrame") -> Table:
    table = _table(
        "Fastest and most accurate solver of each class",
        "accuracy", "class", "instances", "fastest", "seconds", "before", "lead", "interval",
        "clear", "most accurate", "error",
    )  # fmt: skip
    for row in leaders.to_dict("records"):
        table.add_row(
            row["settings"],
            row["problem_class"],
            f"{row['instances']}{'' if row['scope'] == 'all' else ' with a native twin'}",
            row["fastest"],
            _number(row["seconds"]),
            row["second"] if isinstance(row["second"], str) else "-",
            _number(row["lead"]),
            _interval(row["lead_low"], row["lead_high"], ".3g"),
            "yes" if row["clear"] else "no",
            row["most_accurate"],
            _number(row["error"], ".0e"),
        )
    return table


def _claims_table(claims: "Frame") -> Table:
    """What a solver wrongly says at an accuracy, one row each, with one of the problems."""
    table = _table("Wrong claims", "solver", "accuracy", "says", "problems", *RESIDUALS.values())
    table.add_column("one of them", overflow="fold")
    table.caption = (
        "infeasible, unbounded: of problems that have a proven optimum, or proven infeasible · "
        "primal, gap, objective off: the largest"
    )
    for (solver, settings, status), rows in claims.groupby(["solver", "settings", "status"]):
        largest = (rows[name].max() if status == OPTIMAL else math.nan for name in RESIDUALS)
        table.add_row(
            solver,
            settings,
            status,
            str(len(rows)),
            *(_number(number, ".0e") for number in largest),
            Text(rows["instance"].iloc[0]),
        )
    return table


def _list_failures(console: Console, told: "pd.DataFrame") -> None:
    for row in told.head(SHOWN_FAILURES).to_dict("records"):
        line = "{outcome}, {tasks} tasks with {solvers}: {message} ({example})".format(**row)
        console.print(Text(line), soft_wrap=True)
    if len(told) > SHOWN_FAILURES:
        console.print(f"… and {len(told) - SHOWN_FAILURES} more reasons on the page")


def _table(title: str, *headings: str) -> Table:
    return Table(*headings, title=title, title_justify="left")


def _number(value: float, form: str = ".3g") -> str:
    return "-" if value != value else f"{value:{form}}"


def _interval(low: float, high: float, form: str = ".2g") -> str:
    return "-" if low != low else f"{low:{form}}…{high:{form}}"


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "compare": (compare, add_compare_options),
}
