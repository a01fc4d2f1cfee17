"""The sections of a page: text, tables and figures in reading order."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from convexfs.errors import and_more
from convexfs.records import TIMEOUT
from convexfs.report.sections import (
    Section,
    alarms,
    drawn,
    escape,
    facts,
    figure_place,
    table_place,
    tiles,
)
from convexfs.report.table import Table
from convexfs.study import columns, figures, llfs_points, published
from convexfs.study.means import CONFIDENCE
from convexfs.study.outcome_rules import WRONG
from convexfs.study.outcomes import MOMENT, busy_words, certificate_warnings, counts
from convexfs.study.public_sets import SETS
from convexfs.study.summary import (
    by_instance,
    leaders,
    ranking,
    reasons,
    solver_options_table,
    summary,
    wrong_claims,
)
from convexfs.study.time_to_accuracy import time_to_accuracy

#: Text above the table that compares solvers on LLFS points.
COMPARED = (
    "Of every point and beta but 1, U1 of a solver against the best of all others: same within "
    "1e-6, better, or worse and by how much at most; local optima, none of them proven to be the "
    "best there is. Failed betas have no answer. Programs and CPU seconds are those of a point."
)
#: A list shows this many names and counts the others.
LISTED = 12


def _tables(name: str, title: str, lead: str, tables: dict[str, Table]) -> Section:
    """Return a section of tables, all but the first with a heading."""
    places = [table_place(own, table.title) for own, table in tables.items()]
    headings = ["", *(f"<h3>{table.title}</h3>" for table in list(tables.values())[1:])]
    body = "".join(map("".join, zip(headings, places, strict=True)))
    return Section(name, title, lead, body, tables)


def overview(name: str, frame: pd.DataFrame, times: tuple[str, str], comparison: str) -> Section:
    """Return the overview section: counts of outcomes, what was run and when, warnings."""
    words = {WRONG: "wrong claims", TIMEOUT: "timeouts"}
    numbers = [("tasks", f"{len(frame):,}", False)]
    for outcome, count in counts(frame).items():
        word = words.get(outcome, outcome)
        numbers.append((word, f"{count:,}", outcome == WRONG and count > 0))
    first, last = times
    told = [
        ("comparison", comparison),
        ("problem files", _listed(frame["problem"])),
        ("data", _listed(frame["data"].map(lambda name: Path(str(name)).name))),
        ("solvers", _listed(frame["solver"])),
        ("settings", _listed(frame["settings"])),
        ("repeats", int(frame["repeat"].max()) + 1),
        ("machine", busy_words(frame) or f"no task waited {MOMENT:g} s or longer for a core"),
        ("time limit", _limit(frame["time_limit"])),
        ("when", f"{first} to {last} UTC" if first else last),
        ("folder", name),
    ]
    lead = (
        "A task is solved when its solver calls it optimal (or infeasible, or unbounded) in time "
        "and the certificate, computed from the problem and not taken from the solver, proves it "
        "(of whole points of a local method: that they are feasible and stationary). "
        "A wrong claim is an answer called optimal that is not feasible, not optimal or far worse "
        "than a proven one, or a solvable problem called infeasible or unbounded. A task is "
        "undecided when its certificate neither proves nor refutes it: nothing is known against "
        "it, and it is charged its own seconds. "
        "A certificate says nothing about the features: those were not tested here."
    )
    warned = alarms(certificate_warnings(frame))
    return Section("overview", "What was run", lead, warned + tiles(numbers) + facts(told))


def verdicts(frame: pd.DataFrame, shift: float) -> Section:
    """Return the section with the summary of all solvers and the table of their options."""
    lead = (
        f"Seconds are the geometric mean, shifted by {duration(shift)}, of what a solver was "
        f"charged, with its {CONFIDENCE:.0%} interval over problems; only × best compares solvers "
        "that took different problems. The options of each are below."
    )
    tables = {
        "summary": Table("Verdict", summary(frame, shift), columns.SUMMARY, _same(frame)),
        "told": Table(
            "Options of each solver",
            solver_options_table(frame),
            columns.SOLVER_OPTIONS,
            _same(frame),
        ),
    }
    return _tables("verdict", "Verdict", lead, tables)


def matched(frame: pd.DataFrame, shift: float) -> Section | None:
    """Return the section on each solver's time to a verified accuracy; None with one solver."""
    table = time_to_accuracy(frame, shift)
    if table["solver"].nunique() < 2:
        return None
    lead = (
        "Matched by the accuracy that solutions were verified to have, not by the one asked for: "
        "the quickest run of each solver that got there, at any of the settings of this study. "
        "More settings (--tol ladder) give a finer picture."
    )
    both = (figures.time_to(frame), figures.cost_of_accuracy(frame, shift))
    drawings = [figure for figure in both if figure is not None]
    places = "".join(f"<h3>{own.title}</h3>{figure_place(own.name)}" for own in drawings)
    tables = {"achieved": Table("Time to a verified accuracy", table, columns.ACHIEVED)}
    section = _tables("achieved", "Time to a verified accuracy", lead, tables)
    return replace(section, body=section.body + places, figures=drawings)


def best(frame: pd.DataFrame, shift: float) -> Section | None:
    """Return the section on each class's leaders, with the ranking; None without competition."""
    table = leaders(frame, shift)
    if table["second"].isna().all():
        return None
    lead = (
        "Among the solvers that take every problem of a class. A lead is how many times as "
        "long the next takes; it is clear when its whole interval is above 1. The leaders are "
        "sought among those that solved the most; in the ranking what is not solved is charged. "
        f"Means are shifted by {duration(shift)}; beside the leads stand those without a shift."
    )
    tables = {
        "leaders": Table("Leaders", table, columns.LEADERS),
        "ranking": Table("Ranking", ranking(frame, shift), columns.RANKING, _same(frame)),
    }
    return _tables("leaders", "Leaders", lead, tables)


def instances(frame: pd.DataFrame) -> Section | None:
    """Return the section with seconds or outcome by instance and solver; None with one solver."""
    if frame["solver"].nunique() < 2:
        return None
    table, declared = by_instance(frame)
    lead = (
        "Seconds charged, the median of the repeats, where the task was solved; else the worst "
        "outcome. Empty: the solver does not take the problem. Click a solver to sort by its times."
    )
    tables = {"instances": Table("Instances and solvers", table, declared, _same(frame))}
    return _tables("instances", "Instances and solvers", lead, tables)


def beside_published(frame: pd.DataFrame) -> Section | None:
    """Return the section comparing public instances with published optima, or None."""
    table = published.beside_published(frame)
    if table.empty:
        return None
    wrong = int(table["contradicting"].sum())
    told = "No solved task contradicts" if not wrong else f"{wrong:,} solved tasks contradict"
    sources = "; ".join(
        f"{name}: {SETS[name].source} ({SETS[name].licence})" for name in sorted(set(table["set"]))
    )
    lead = (
        f"{told} what is published, beyond ten times the accuracy asked for and the digits that "
        "are printed. Published values play no part in any verdict. "
        f"Sources and licences of the files: {escape(sources)}."
    )
    tables = {"published": Table("Published optima", table, columns.PUBLISHED)}
    return _tables("published", "Published optima", lead, tables)


def failures(frame: pd.DataFrame) -> Section | None:
    """Return the section of tasks not solved, by message, and of wrong claims; None if all are."""
    table, wrong = reasons(frame), wrong_claims(frame)
    if table.empty:
        return None
    lead = "Messages that differ only in numbers and solver are one row, with the first of them."
    tables = {"failures": Table("Failures", table, columns.REASONS)}
    if len(wrong):
        tables["wrong-claims"] = Table("Wrong claims", wrong, columns.CLAIMS)
    return _tables("failures", "Failures and skips", lead, tables)


def all_rows(frame: pd.DataFrame) -> Section:
    """Return the section with the table of all tasks."""
    lead = (
        "Click a heading to sort. Filters take a part of the text or, for numbers, conditions "
        "such as >0.1 or 1e-8..1e-4; times are in seconds there."
    )
    tables = {"rows": Table("All tasks", frame, columns.ROWS, _same(frame))}
    return _tables("rows", "All tasks", lead, tables)


def downloads(frame: pd.DataFrame) -> Section:
    """Return the section with buttons that download tables as CSV or JSON."""
    names = [("rows.csv", "all tasks, CSV"), ("rows.json", "all tasks, JSON")]
    names += [("summary.csv", "verdict, CSV"), ("everything.json", "all tables, JSON")]
    buttons = "".join(
        f'<button type="button" data-download="{name}">{escape(label)}</button>'
        for name, label in names
    )
    lead = f"All {len(frame):,} tasks with every digit, out of this file; nothing is fetched."
    body = f'<div class="controls">{buttons}</div>'
    return Section("downloads", "Downloads", lead, body)


def of_points(kept: pd.DataFrame) -> Iterator[Section | None]:
    """Yield the sections on LLFS points: solvers compared, then figures and table of the last fit.

    Yield nothing without points.
    """
    if kept.empty:
        return
    if kept["solver"].nunique() > 1:
        title = f"Comparison: {llfs_points.POINTS}"
        tables = {"point-comparison": Table(title, llfs_points.comparison(kept), columns.POINTS)}
        yield _tables("point-comparison", title, COMPARED, tables)
    own = llfs_points.last_fit(kept)
    betas = llfs_points.along_beta(own)
    yield drawn(figures.local_features(own))
    yield drawn(figures.pareto(betas))
    yield drawn(figures.along_beta(betas))
    names = [", ".join(str(feature + 1) for feature in chosen) for chosen in own["features"]]
    shown = own[["point", "features", "radius", "beta", "score", "seconds"]]
    table = Table("Samples", shown.assign(features=pd.array(names, dtype="string")))
    yield _tables("points", "Samples", _fit_of(own), {"points": table})


def _fit_of(own: pd.DataFrame) -> str:
    told = (own[name].iloc[-1] for name in ("data", "hyper", "solver"))
    return escape("Of the last fit: " + ", ".join(str(word) for word in told if pd.notna(word)))


def duration(seconds: float) -> str:
    """Format seconds in s, ms or µs."""
    unit, size = next((u for u in (("s", 1.0), ("ms", 1e-3)) if seconds >= u[1]), ("µs", 1e-6))
    return f"{seconds / size:g} {unit}"


def _listed(values: pd.Series) -> str:
    names = [str(name) for name in values.dropna().drop_duplicates()]
    return and_more(names[:LISTED], len(names))


def _same(frame: pd.DataFrame) -> list[str]:
    """Return which of the columns settings and repeat have a single value, to be left out."""
    return [name for name in ("settings", "repeat") if frame[name].nunique() < 2]


def _limit(limits: pd.Series) -> str:
    return ", ".join("none" if pd.isna(limit) else f"{limit:g} s" for limit in limits.unique())
