"""What is made of an experiment's numbers: tables, figures, a page.

::

    DIR/runs.csv                  every number of every run: all else is computed from it
    DIR/TABLE.csv, TABLE.md       paper, ours, verdict: every number, and an overview
    DIR/TABLE-tests.csv           paired tests against the table's reference
    DIR/FIGURE.csv, .png, .svg    the points of a figure, and the figure
    DIR/summary.md                how it was run, its tables, what a reader must know
    DIR/report.html               all of it, to be opened offline
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.errors import InputError
from papers.compare_with_paper import averages, best, judged, left_out, tally
from papers.experiment import Figure, Table
from papers.paired_tests import comparisons, win_tie_loss
from papers.run import Plan

RUNS = "runs.csv"
#: Columns of a table as they are shown, and what they are called there.
SHOWN = {
    "data": "data", "method": "method", "reading": "reading", "paper": "paper",
    "paper_sd": "paper sd", "ours": "ours", "sd": "sd", "runs": "runs",
    "difference": "difference, sd", "verdict": "verdict", "honest": "honest", "note": "note",
}  # fmt: skip
#: What a cell of a table has.
LEGEND = "ours / the paper's, deviations in brackets"
#: What marks the reading that is held against the paper.
DEFAULT_MARK = "*"


@dataclass(frozen=True)
class Results:
    """An experiment's tables, tests and figures' points, by name."""

    plan: Plan
    runs: pd.DataFrame
    tables: dict[str, tuple[Table, pd.DataFrame]]
    tests: dict[str, pd.DataFrame]
    figures: dict[str, tuple[Figure, pd.DataFrame]]


def results(plan: Plan, runs: pd.DataFrame) -> Results:
    """Compute all that is shown from the numbers of the runs."""
    own = plan.experiment
    if own.derived is not None:
        made = pd.concat([runs, own.derived(runs)], ignore_index=True)
        # Exported runs have them already.
        runs = made.drop_duplicates(["data", "method", "run", "measure", "position"])
    single = runs[runs["position"] == 0]
    tables = {
        table.name: (table, judged(own, table, plan.variant, single, plan.missing))
        for table in own.tables
    }
    tests = {table.name: tested(table, single) for table in own.tables if table.reference}
    figures = {figure.name: (figure, figure.points(runs)) for figure in own.figures}
    return Results(plan, runs, tables, tests, figures)


def tested(table: Table, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the paired tests of a table's columns against its reference."""
    (reference,) = (own for own in table.columns if own.heading == table.reference and own.default)
    others = [
        (own.method, own.measure)
        for own in table.columns
        if (own.method, own.measure) != (reference.method, reference.measure)
    ]
    return comparisons(
        runs,
        (reference.method, reference.measure),
        list(dict.fromkeys(others)),
        higher_is_better=table.higher_is_better,
    )


def write_results(shown: Results, folder: Path) -> list[Path]:
    """Write all files of an experiment; return where they are."""
    from papers.markdown import summary
    from papers.page import page_html

    try:
        written = [_csv(shown.runs, folder / RUNS)]
        for name, (table, rows) in shown.tables.items():
            written.append(_csv(rows, folder / f"{name}.csv"))
            written.append(
                _text(markdown(table, rows, shown.tests.get(name)), folder / f"{name}.md")
            )
        for name, rows in shown.tests.items():
            written.append(_csv(rows, folder / f"{name}-tests.csv"))
        for name, (figure, points) in shown.figures.items():
            written.append(_csv(points, folder / f"{name}.csv"))
            drawn = draw(figure, points)
            for ending in ("png", "svg"):
                drawn.savefig(
                    folder / f"{name}.{ending}",
                    dpi=150,
                    metadata={"Date": None} if ending == "svg" else None,
                )
                written.append(folder / f"{name}.{ending}")
        written.append(_text(summary(shown, folder), folder / "summary.md"))
        written.append(_text(page_html(shown), folder / "report.html"))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return written


def _csv(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path


def _text(text: str, path: Path) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def cells(row: Any) -> list[str]:
    """Return a row of a table as it is shown."""
    shown = {name: _cell(row[name]) for name in SHOWN}
    shown["reading"] += DEFAULT_MARK if row["default"] and row["reading"] else ""
    return list(shown.values())


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.2g}" if abs(value) < 1 else f"{value:.1f}"
    return str(value)


def shown_columns(rows: pd.DataFrame) -> list[int]:
    """Return the places of the columns that say something in some row."""
    made = [cells(row) for row in rows.to_dict("records")]
    told = {name for place, name in enumerate(SHOWN) if any(row[place] for row in made)}
    if (rows["honest"].isna() | (rows["honest"] == rows["ours"])).all():
        told -= {"honest"}
    return [place for place, name in enumerate(SHOWN) if name in told]


def overview(rows: pd.DataFrame) -> list[list[str]]:
    """Return a line of headings, then one for each data set: ours / paper's and the verdict.

    Where there are more columns than data sets, these are the columns.
    """
    columns = list(dict.fromkeys(map(_heading, rows[rows["method"] != ""].to_dict("records"))))
    lines: dict[str, dict[str, str]] = {}
    for row in rows.to_dict("records"):
        place = _heading(row) if row["method"] else columns[0]
        lines.setdefault(row["data"], {})[place] = _told(row)
    body = [[data, *(told.get(column, "") for column in columns)] for data, told in lines.items()]
    lines_of_data = [["data", *columns], *body]
    if len(columns) <= len(body):
        return lines_of_data
    (_, *headings), *columns_of_data = map(list, zip(*lines_of_data, strict=True))
    return [["", *headings], *columns_of_data]


def _heading(row: Any) -> str:
    mark = DEFAULT_MARK if row["default"] and row["reading"] else ""
    return f"{row['method']}: {row['reading']}{mark}" if row["reading"] else row["method"]


def _has_honest(row: Any) -> bool:
    """Whether something was chosen on test rows, and its number without that is there."""
    return pd.notna(row["honest"]) and row["honest"] != row["ours"]


def _told(row: Any) -> str:
    """Return a number with its deviation, the honest one, the paper's, and the verdict."""
    ours, paper = (
        _cell(row[name]) + (f" ({_cell(row[sd])})" if _cell(row[sd]) else "")
        for name, sd in (("ours", "sd"), ("paper", "paper_sd"))
    )
    if row["default"] and _has_honest(row):
        ours += f" [{_cell(row['honest'])}]"
    beside = f"{ours} / {paper}" if ours and paper else ours
    return f"{beside} {row['verdict']}".strip()


def table_lines(table: Table, rows: pd.DataFrame, tests: pd.DataFrame | None = None) -> list[str]:
    """Return the overview of a table in Markdown, with the sentences under it."""
    heading, *lines = overview(rows)
    title = f"**{table.title}** ({table.unit}; {LEGEND})"
    said = [f"- {line}" for line in said_of(table, rows, tests)]
    return [title, "", *_lines(heading, lines), "", *said]


def markdown(table: Table, rows: pd.DataFrame, tests: pd.DataFrame | None = None) -> str:
    """Return the overview of a table as a file; every number is in the one beside it."""
    return "\n".join(table_lines(table, rows, tests)) + "\n"


def _lines(heading: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [_line(heading), _line(["---"] * len(heading)), *map(_line, rows)]


def counted_runs(rows: pd.DataFrame) -> str:
    """Return how many runs the numbers of each data set are of."""
    told = {}
    for data, own in rows[rows["runs"] > 0].groupby("data", sort=False):
        least, most = int(own["runs"].min()), int(own["runs"].max())
        told[data] = str(most) if least == most else f"{least} to {most}"
    if len(set(told.values())) == 1:
        return next(iter(told.values()))
    return ", ".join(f"{data} {count}" for data, count in told.items())


def said_of(table: Table, rows: pd.DataFrame, tests: pd.DataFrame | None) -> list[str]:
    """Return the sentences under a table."""
    said = [f"Runs: {counted_runs(rows)}."]
    if any(rows["default"] & (rows["reading"] != "")):
        said.append(f"The reading marked {DEFAULT_MARK} is held against the paper.")
    said += [f"Left out: {told}." for told in left_out(rows)]
    if told := tally(rows):
        said.append(f"Within one of the paper's deviations, or better: {told}.")
    chosen = any(map(_has_honest, rows[rows["default"]].to_dict("records")))
    if chosen:
        said.append("In square brackets: with everything chosen on training rows.")
    if table.averaged and (told := averages(rows)):
        said.append(f"Mean of the data sets: {told}.")
    if tests is not None:
        said.append(f"Best on average: {best(rows, table.higher_is_better)}.")
    if tests is not None and chosen:
        told = best(rows, table.higher_is_better, "honest")
        said.append(f"Best with everything chosen on training rows: {told}.")
    if tests is not None and tests["p"].notna().any():
        counts = win_tie_loss(tests)
        counted = ", ".join(
            f"{method} ({measure}) {'/'.join(map(str, row))}"
            for (method, measure), row in zip(counts.index, counts.to_numpy(), strict=True)
        )
        said.append(f"Win/tie/loss against {table.reference}, paired t-test at 0.05: {counted}.")
    return said


def _line(texts: list[str]) -> str:
    return f"| {' | '.join(text.replace('|', '/') for text in texts)} |"


def draw(figure: Figure, points: pd.DataFrame) -> Any:
    """Return a figure of matplotlib; ``printed`` points are marks without a line."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(6.4, 4.0), layout="constrained")
    axes = drawing.add_subplot()
    for series, own in points.groupby("series", sort=False):
        paper = str(series).endswith("(paper)")
        axes.plot(own["x"], own["y"], "kx" if paper else ".-", label=str(series))
    axes.set(title=figure.title, xlabel=figure.x, ylabel=figure.y)
    axes.set_xscale("log" if figure.log_x else "linear")
    axes.set_yscale("log" if figure.log_y else "linear")
    if points["series"].nunique() > 1:
        axes.legend(fontsize="small")
    return drawing
