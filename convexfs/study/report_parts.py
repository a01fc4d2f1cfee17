"""The parts of a report: a section of the page with the tables and figures in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.batch.store import Store
from convexfs.records import SKIPPED, TIMEOUT
from convexfs.study import figures, points, report_data
from convexfs.study.figures import Figure
from convexfs.study.outcomes import FAILED, SOLVED, WRONG, Frame, counts
from convexfs.study.page.assemble import Section, escape, facts, figure_place, table_place, tiles
from convexfs.study.page.columns import Table
from convexfs.study.profiles import (
    CONFIDENCE,
    leaders,
    ranking,
    reasons,
    summary,
    wrong_claims,
)

#: Columns shown at first; the others are a click away.
SHOWN_RANKING = [
    "settings", "problem_class", "scope", "rank", "solver", "success_rate", "seconds", "lead",
    "lead_low", "lead_high", "clear",
]  # fmt: skip
SHOWN_ROWS = [
    "problem", "data", "hyper", "problem_class", "settings", "solver", "repeat", "outcome",
    "objective", "error", "solve_seconds", "wall_seconds", "failure",
]  # fmt: skip
SHOWN_SUMMARY = [
    "settings", "solver", "success_rate", "wrong_claims", "failed", "unproven", "timeouts",
    "skipped", "instances", "seconds", "seconds_low", "seconds_high", "times_best", "error",
]  # fmt: skip
#: What the table of whole points says.
COMPARED = (
    "Of every point and beta but 1, U1 of a solver against the best of all others: same within "
    "1e-6, better, or worse and by how much at most; local optima, none of them proven to be the "
    "best there is. Failed betas have no answer. Programs and CPU seconds are those of a point."
)
#: Names listed before the rest is counted.
LISTED = 12


@dataclass(frozen=True)
class Part:
    """A section, and what the page needs to fill it."""

    section: Section
    tables: dict[str, Table] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)


def drawn(figure: Figure | None) -> Part | None:
    """A section of one figure."""
    if figure is None:
        return None
    place = figure_place(figure.name)
    return Part(Section(figure.name, figure.title, "", place), figures=[figure])


def overview(folder: Path, frame: Frame) -> Part:
    """What was run, and how it ended."""
    words = {SOLVED: "solved", WRONG: "wrong claims", FAILED: "failed", TIMEOUT: "timeouts"}
    words[SKIPPED] = "skipped"
    numbers = [("tasks", f"{len(frame):,}", False)]
    for outcome, count in counts(frame).items():
        numbers.append((words[outcome], f"{count:,}", outcome == WRONG and count > 0))
    first, last = report_data.times(folder)
    with Store.read(folder) as store:
        comparison = points.compared(store.solutions(blobs=False))
    told = [
        ("comparison", comparison),
        ("problem files", _listed(frame["problem"])),
        ("data", _listed(frame["data"].map(lambda name: Path(str(name)).name))),
        ("solvers", _listed(frame["solver"])),
        ("settings", _listed(frame["settings"])),
        ("repeats", int(frame["repeat"].max()) + 1),
        ("time limit", _limit(frame["time_limit"])),
        ("when", f"{first} to {last} UTC" if first else last),
        ("folder", folder.resolve().name),
    ]
    lead = (
        "A task is solved when its solver calls it optimal (or infeasible) in time and the "
        "certificate, computed from the problem and not taken from the solver, proves it. A "
        "wrong claim is an answer called optimal that is not feasible or not optimal, or a "
        "solvable problem called infeasible or unbounded. What is only unproven has failed."
    )
    return Part(Section("overview", "What was run", lead, tiles(numbers) + facts(told)))


def verdicts(frame: Frame) -> Part:
    """Success and speed of each solver."""
    lead = (
        "Seconds are the geometric mean, shifted by 10 ms, of what a solver was charged, with its "
        f"{CONFIDENCE:.0%} interval over repeats; only × best compares solvers that took "
        "different problems."
    )
    table = Table.of(summary(frame), _varied(frame, SHOWN_SUMMARY))
    place = table_place("summary", "Verdict")
    return Part(Section("verdict", "Verdict", lead, place), {"summary": table})


def best(frame: Frame) -> Part | None:
    """The leaders of each class of problems."""
    table: Frame = leaders(frame)
    if table["second"].isna().all():
        return None
    lead = (
        "Among the solvers that take every problem of a class. A lead is how many times as "
        "long the next takes; it is clear when its whole interval is above 1. The leaders are "
        "sought among those that solved the most; in the ranking what is not solved is charged."
    )
    everyone = f"<h3>Ranking</h3>{table_place('ranking', 'Ranking')}"
    section = Section("leaders", "Leaders", lead, table_place("leaders", "Leaders") + everyone)
    ranked = Table.of(ranking(frame), _varied(frame, SHOWN_RANKING))
    return Part(section, {"leaders": Table.of(table), "ranking": ranked})


def failures(frame: Frame) -> Part | None:
    """What went wrong, grouped by message."""
    table = reasons(frame)
    if table.empty:
        return None
    lead = "Messages that differ only in numbers and solver are one row, with the first of them."
    tables, places = {"failures": Table.of(table)}, [table_place("failures", "Failures")]
    wrong = wrong_claims(frame)
    if len(wrong):
        tables["wrong-claims"] = Table.of(wrong)
        places.append(f"<h3>Wrong claims</h3>{table_place('wrong-claims', 'Wrong claims')}")
    section = Section("failures", "Failures and skips", lead, "".join(places))
    return Part(section, tables)


def all_rows(frame: Frame) -> Part:
    """Every task."""
    lead = (
        "Click a heading to sort. Filters take a part of the text or, for numbers, conditions "
        "such as >0.1 or 1e-8..1e-4; times are in seconds there."
    )
    place = table_place("rows", "All tasks")
    table = Table.of(frame, _varied(frame, SHOWN_ROWS))
    return Part(Section("rows", "All tasks", lead, place), {"rows": table})


def environment(folder: Path) -> Part | None:
    """The machines and versions the results were computed with."""
    with Store.read(folder) as store:
        found = store.environments()
    if not found:
        return None
    several = len(found) > 1
    body, packages = [], {}
    for number, record in enumerate(found, start=1):
        packages[f"environment {number}" if several else "version"] = record.pop("packages", {})
        heading = f"<h3>Environment {number}</h3>" if several else ""
        body.append(heading + facts((name, _brief(value)) for name, value in record.items()))
    table = pd.DataFrame(packages).astype("string").rename_axis("package").reset_index()
    place = table_place("packages", "Packages")
    body.append(f"<details><summary>{len(table)} packages</summary>{place}</details>")
    section = Section("environment", "Environment", "", "".join(body))
    return Part(section, {"packages": Table.of(table)})


def downloads(frame: Frame) -> Part:
    """The numbers themselves, from the page."""
    names = [("rows.csv", "all tasks, CSV"), ("rows.json", "all tasks, JSON")]
    names += [("summary.csv", "verdict, CSV"), ("everything.json", "all tables, JSON")]
    buttons = "".join(
        f'<button type="button" data-download="{name}">{escape(label)}</button>'
        for name, label in names
    )
    lead = f"All {len(frame):,} tasks with every digit, out of this file; nothing is fetched."
    body = f'<div class="controls">{buttons}</div>'
    return Part(Section("downloads", "Downloads", lead, body))


def of_points(folder: Path) -> Iterator[Part | None]:
    """What the points of a fit chose, and which solver got furthest at what cost."""
    with Store.read(folder) as store:
        kept = points.kept_points(store.tasks(), store.solutions())
    if kept.empty:
        return
    if kept["solver"].nunique() > 1:
        place = table_place("point-comparison", points.POINTS)
        section = Section("point-comparison", f"Comparison: {points.POINTS}", COMPARED, place)
        yield Part(section, {"point-comparison": Table.of(points.comparison(kept))})
    own = points.last_fit(kept)
    betas = points.along_beta(own)
    yield drawn(figures.local_features(own))
    yield drawn(figures.pareto(betas))
    yield drawn(figures.along_beta(betas))
    names = own["features"].map(lambda chosen: ", ".join(str(feature + 1) for feature in chosen))
    shown = own[["point", "features", "radius", "beta", "score", "seconds"]]
    table = Table.of(shown.assign(features=names.astype("string")))
    place = table_place("points", "Samples")
    yield Part(Section("points", "Samples", _fit_of(own), place), {"points": table})


def _fit_of(own: Frame) -> str:
    told = (own[name].iloc[-1] for name in ("data", "hyper", "solver"))
    return escape("Of the last fit: " + ", ".join(str(word) for word in told if pd.notna(word)))


def _listed(values: Frame) -> str:
    names = [str(name) for name in values.dropna().drop_duplicates()]
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _varied(frame: Frame, shown: list[str]) -> list[str]:
    """Without settings and repeats where there is one of them."""
    same = [name for name in ("settings", "repeat") if frame[name].nunique() < 2]
    return [name for name in shown if name not in same]


def _limit(limits: Frame) -> str:
    return ", ".join("none" if pd.isna(limit) else f"{limit:g} s" for limit in limits.unique())


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={part}" for name, part in value.items() if part is not None)
    return "" if value is None else str(value)
