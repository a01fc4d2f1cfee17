"""Print the result of ``convexfs compare``: one screen of 80 columns, or all tables."""

import textwrap
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from convexfs.batch.store.store import RESULTS, Store
from convexfs.cli.console import Console
from convexfs.records import ERROR, SKIPPED, TIMEOUT
from convexfs.report.columns import Column, On
from convexfs.study import columns, llfs_points, summary, time_to_accuracy
from convexfs.study.means import chosen_shift
from convexfs.study.outcome_rules import SOLVED, WRONG
from convexfs.study.outcomes import busy_words, certificate_warnings, counts, outcomes
from convexfs.study.published import contradicts

#: Width in columns, if there is no terminal: of the brief output, and of all tables.
NARROW, WIDE = 80, 180
#: Most failure reasons that --verbose lists; the others are counted.
SHOWN_FAILURES = 10
#: Most solvers in the brief table; --verbose prints the others.
SHOWN_SOLVERS = 20
#: Suffixes of the columns with the ends of an interval.
ENDS = ("_low", "_high")
#: Columns of the brief table, with shorter headings for some ("": the usual one).
BRIEF = {
    "solver": "", "tried": "", "solved": "", "undecided": "undec.", "wrong_claims": "wrong",
    "failed": "", "timeouts": "late", "seconds": "", "times_best": "",
}  # fmt: skip


def print_comparison(
    folder: Path, keys: frozenset[str], shift: float | None, verbose: bool
) -> tuple[Console, int]:
    """Print how the tasks `keys` of a folder ended; return the console and the exit code.

    The console is returned so that the caller can print more. The exit code is 1 if no solver
    could be run on one of the problems, else 0.
    """
    console = Console(width=WIDE if verbose else NARROW)
    found = outcomes(folder, keys)
    rows = found[found["key"].isin(keys)]
    with Store.read(folder) as store:
        tasks, solutions = store.tasks(), store.solutions()
    own = solutions[solutions["key"].isin(list(keys))]
    console.print(Text(headline(rows), style="bold"))
    if absent := absent_line(rows):
        console.print(absent)
    if failed := error_line(rows):
        console.print(Text(failed, style="bold red"))
    for line in certificate_warnings(rows):
        console.print(Text(line, style="bold red"))
    by_point = llfs_points.kept_points(tasks, own)
    console.print(f"comparison: {llfs_points.compared(own)}")
    if len(by_point):
        title = "Whole points, U1 against the best of the other solvers"
        console.print(table_of(title, llfs_points.comparison(by_point), columns.POINTS))
    (_print_all if verbose else _print_brief)(console, rows, chosen_shift(shift))
    if rows["published"].notna().any():
        console.print(published_line(rows))
    if busy_words(rows):
        console.print(f"The machine was {busy_words(rows)}.")
    if len(rows) < len(found):
        console.print(f"The folder, page and export have {len(found) - len(rows)} other tasks.")
    console.print(
        f"results: {folder / RESULTS}\n"
        f"page:    convexfs report {folder}\n"
        f"table:   convexfs export {folder} --to study.csv\n"
        f"archive: convexfs archive {folder}",
        highlight=False,
        soft_wrap=True,
    )
    return console, int(bool(failed))


def headline(rows: pd.DataFrame) -> str:
    """Return a sentence that counts the outcomes, and names solvers with wrong claims."""
    found = counts(rows)
    several = {WRONG: "wrong claims", TIMEOUT: "timeouts"}
    words = [
        f"{count:,} {several.get(outcome, outcome) if count > 1 else outcome}"
        for outcome, count in found.items()
        if count
    ]
    claimants = sorted(set(rows.loc[rows["outcome"] == WRONG, "solver"]))
    line = f"{len(rows):,} tasks: {', '.join(words)}."
    return line if not claimants else f"{line} Wrong claims are of {', '.join(claimants)}."


def absent_line(rows: pd.DataFrame) -> str:
    """Return a sentence that names solvers whose tasks were all skipped, and why the first was."""
    skipped = rows.groupby("solver")["outcome"].agg(lambda own: (own == SKIPPED).all())
    absent = sorted(skipped.index[skipped.astype(bool)])
    if not absent:
        return ""
    why = str(rows.loc[rows["solver"] == absent[0], "failure"].iloc[0]).partition(":")[0]
    return f"Not tried: {', '.join(absent)} ({why})."


def error_line(rows: pd.DataFrame) -> str:
    """Return a sentence that names problems on which every solver ended in an error, and why.

    Such a problem could not be built, or all solvers crashed on it. It counts as failed for each
    of them.
    """
    tried = rows[rows["outcome"] != SKIPPED]
    is_error = tried["status"].eq(ERROR).groupby(tried["instance"]).all()
    names = list(is_error.index[is_error])
    if not names:
        return ""
    why = tried.loc[tried["instance"] == names[0], "failure"].iloc[0]
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"Failed with every solver: {names[0]}{more} ({why})."


def published_line(rows: pd.DataFrame) -> str:
    """Return a sentence on how many solved tasks agree with published results."""
    known = rows[rows["published"].notna() & (rows["outcome"] == SOLVED)]
    wrong = int(contradicts(known).sum())
    return (
        f"Published optima and statuses: {len(known) - wrong:,} solved tasks agree, {wrong:,} "
        "contradict."
    )


def _print_brief(console: Console, rows: pd.DataFrame, shift: float) -> None:
    """Print SHOWN_SOLVERS solvers at the smallest tolerance, and each class's fastest."""
    table = summary.summary(rows, shift)
    table = table[table["tried"] > 0]
    settings = _finest(rows, list(dict.fromkeys(table["settings"])))
    own = table[table["settings"] == settings]
    shown = {column.name: column for column in columns.SUMMARY}
    title = f"At {settings}: tasks by outcome; seconds are means, shifted by {shift:g} s"
    brief = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    brief.padding = (0, 0, 0, 1)
    for name, heading in BRIEF.items():
        where = "left" if name == "solver" else "right"
        width = 15 if name == "solver" else None
        heading = heading or shown[name].heading
        brief.add_column(heading, justify=where, overflow="fold", min_width=width)
    for row in own.head(SHOWN_SOLVERS).to_dict("records"):
        brief.add_row(*(_brief_cell(shown[name], row) for name in BRIEF))
    console.print(brief)
    for line in _fastest(summary.leaders(rows, shift), settings):
        console.print(line, highlight=False)
    more = [f"the solvers after {SHOWN_SOLVERS}"] if len(own) > SHOWN_SOLVERS else []
    more += ["other settings"] if table["settings"].nunique() > 1 else []
    more += ["times to an accuracy", "reasons of failures"]
    console.print(f"--verbose prints {', '.join(more)}.")


def _finest(rows: pd.DataFrame, settings: list[str]) -> str:
    """Return the label in `settings` with the smallest tolerance; the first if none has one."""
    least = rows[rows["settings"].isin(settings)].groupby("settings", sort=False)["tol"].min()
    return str(least.idxmin()) if least.notna().any() else settings[0] if settings else "default"


def _fastest(leaders: pd.DataFrame, settings: str) -> Iterator[str]:
    """Yield lines of one paragraph that names each class's fastest solver and its lead."""
    own = leaders[(leaders["settings"] == settings) & (leaders["scope"] == "all")]
    words = []
    for row in own.to_dict("records"):
        ahead = ""
        if row["lead"] == row["lead"]:
            sure = "" if row["clear"] else ", not clear"
            ahead = f" ({row['second']} takes {row['lead']:.3g} times as long{sure})"
        words.append(f"{row['problem_class']} {row['fastest']}{ahead}")
    if words:
        yield from textwrap.wrap(f"Fastest: {'; '.join(words)}.", NARROW)


def _print_all(console: Console, rows: pd.DataFrame, shift: float) -> None:
    """Print all tables: options of the solvers, results, and failure reasons."""

    def show(title: str, frame: pd.DataFrame, shown: Iterable[Column]) -> None:
        _print_fitting(console, table_of(title, frame, shown))

    show(
        f"Verdict; means are shifted by {shift:g} s", summary.summary(rows, shift), columns.SUMMARY
    )
    show("Options of each solver", summary.solver_options_table(rows), columns.SOLVER_OPTIONS)
    leaders, claims = summary.leaders(rows, shift), summary.wrong_claims(rows)
    if len(leaders):
        show("Fastest and most accurate solver of each class", leaders, columns.LEADERS)
    reached = time_to_accuracy.time_to_accuracy(rows, shift)
    if reached["solver"].nunique() > 1:
        show("Time to a verified accuracy, by any of the settings", reached, columns.ACHIEVED)
    if len(claims):
        show("Wrong claims", summary.claimants(claims), columns.CLAIMANTS)
    told = summary.reasons(rows)
    told = told[told["outcome"].isin(["failed", "timeout"])]
    for row in told.head(SHOWN_FAILURES).to_dict("records"):
        line = "{outcome}, {tasks} tasks with {solvers}: {message} ({example})".format_map(row)
        console.print(Text(line), soft_wrap=True)
    if len(told) > SHOWN_FAILURES:
        console.print(f"… and {len(told) - SHOWN_FAILURES} more reasons on the page")


def _print_fitting(console: Console, table: Table) -> None:
    """Print a table, or one paragraph per row if the table would have to break words."""
    columns = [[str(cell) for cell in (own.header, *own.cells)] for own in table.columns]
    words = (max(len(word) for cell in own for word in ["", *cell.split()]) for own in columns)
    if sum(longest + 3 for longest in words) < console.width:
        console.print(table)
        return
    console.print(Text(str(table.title), style="italic"))
    headings, *rows = zip(*columns, strict=True)
    pairs = (zip(headings, row, strict=True) for row in rows)
    texts = ["; ".join(f"{heading} {cell}" for heading, cell in row if cell) for row in pairs]
    for text in [*texts, str(table.caption or "")]:
        wrapped = textwrap.wrap(text, console.width - 1, subsequent_indent="  ")
        console.print(Text("\n".join(wrapped)), highlight=False)


def table_of(title: str, rows: pd.DataFrame, listed: Iterable[Column]) -> Table:
    """Return a rich table of the columns for the terminal, with intervals beside the numbers."""
    shown = [own for own in listed if On.TERMINAL in own.on and not own.name.endswith(ENDS)]
    caption = " · ".join(f"{own.heading}: {own.meaning}" for own in shown if own.meaning)
    table = Table(title=title, title_justify="left", caption=caption)
    for column in shown:
        table.add_column(column.heading, overflow="fold")
    for row in rows.to_dict("records"):
        table.add_row(*(_cell(column, row) for column in shown))
    return table


def _cell(column: Column, row: dict[Hashable, Any], interval: bool = True) -> Text:
    value, (low, high) = row[column.name], (row.get(column.name + end) for end in ENDS)
    ends = "" if not interval or low is None or low != low else f" ({low:.3g}…{high:.3g})"
    style = "bold red" if column.kind == "bad" and value else ""
    return Text(column.printed(value) + ends, style=style)


def _brief_cell(column: Column, row: dict[Hashable, Any]) -> Text:
    """Return a cell of the brief table: two digits and no interval."""
    value = row[column.name]
    if isinstance(value, float) and value == value:
        return Text(f"{value:.2g}")
    return _cell(column, row, interval=False)
