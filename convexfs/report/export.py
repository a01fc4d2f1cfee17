"""Write the figures and tables of a report to files, by matplotlib, CSV and LaTeX."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.diagnosis.explanation import escape_latex
from convexfs.errors import writing
from convexfs.report.figure import COLOURS, SHADES, Figure
from convexfs.report.pictures import save
from convexfs.report.table import Table

MARKERS = "osD^vp*h"
LINES = ["-", "--", ":", "-."]
WRONG_COLOUR = "#b3261e"
#: Only this many panels of a figure are written to files.
MOST_FILES = 12
#: A heat map's x labels are rotated if their number times the longest one's length exceeds this.
ROOM = 70


def write_figures(
    figures: list[Figure], solvers: list[str], folder: str | Path, ending: str = "png"
) -> list[Path]:
    """Write up to MOST_FILES panels of each figure as png, svg or pdf files; return the paths."""
    folder = Path(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        for panel in figure.panels[:MOST_FILES]:
            path = folder / f"{_file_name(figure, panel)}.{ending}"
            save(draw(figure, solvers, panel), path)
            written.append(path)
    return written


def draw(figure: Figure, solvers: list[str], panel: str) -> Any:
    """Return a matplotlib figure of one panel."""
    from matplotlib.figure import Figure as Canvas

    frame = figure.ordered(solvers)
    rows = frame[frame[figure.panel] == panel] if figure.panel else frame
    canvas = Canvas(figsize=(8, 4.5), layout="constrained", dpi=150)
    axes = canvas.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
    axes.set_xscale("log" if figure.log_x else "linear")
    axes.set_yscale("log" if figure.log_y else "linear")
    _KINDS[figure.kind](axes, figure, rows, figure.names(solvers))
    alone = len(figure.panels) == 1
    axes.set_title(figure.title if alone else f"{figure.title}: {panel}", loc="left")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return canvas


def _series(
    figure: Figure, rows: pd.DataFrame, names: list[str]
) -> list[tuple[int, str, pd.DataFrame]]:
    """Return (colour number, name, rows) of each series that has rows."""
    found = dict(iter(rows.groupby(figure.series, sort=False)))
    return [(k, name, found[name]) for k, name in enumerate(names) if name in found]


def _draw_lines(axes: Any, figure: Figure, rows: pd.DataFrame, names: list[str]) -> None:
    steps = figure.kind == "steps"
    for k, name, own in _series(figure, rows, names):
        axes.plot(
            own[figure.x], own[figure.y], LINES[k // len(COLOURS) % len(LINES)], label=name,
            color=COLOURS[k % len(COLOURS)], marker="" if steps else MARKERS[k % len(MARKERS)],
            drawstyle="steps-post" if steps else "default",
        )  # fmt: skip


def _draw_points(axes: Any, figure: Figure, rows: pd.DataFrame, names: list[str]) -> None:
    for k, name, own in _series(figure, rows, names):
        axes.scatter(
            own[figure.x], own[figure.y], s=16, alpha=0.75, label=name, linewidths=0,
            color=COLOURS[k % len(COLOURS)], marker=MARKERS[k % len(MARKERS)],
        )  # fmt: skip
    marked = rows[rows[figure.mark]] if figure.mark else rows.iloc[:0]
    if len(marked):
        axes.scatter(
            marked[figure.x], marked[figure.y], s=80, facecolors="none", edgecolors=WRONG_COLOUR,
            label=figure.mark_label,
        )  # fmt: skip


def _draw_bars(axes: Any, figure: Figure, rows: pd.DataFrame, names: list[str]) -> None:
    table = rows.pivot_table(figure.x, figure.y, figure.series, sort=False, fill_value=0.0)
    ends = table[names].cumsum(axis=1)
    for k, name in enumerate(names):
        left = ends[name] - table[name]
        axes.barh(table.index, table[name], left=left, label=name, color=SHADES[k % len(SHADES)])
    axes.invert_yaxis()


def _draw_heat(axes: Any, figure: Figure, rows: pd.DataFrame, names: list[str]) -> None:
    table = rows.pivot_table(figure.value, figure.y, figure.x, sort=False)
    if set(table.columns) <= set(names):
        table = table[[name for name in names if name in table]]
    shades = axes.imshow(
        table.to_numpy(), aspect="auto", interpolation="nearest", cmap="Blues", vmin=0, vmax=1
    )
    height, width = table.shape
    if height * width < 2000:  # Draw lines between cells if there is room.
        axes.set_xticks([at - 0.5 for at in range(1, width)], minor=True)
        axes.set_yticks([at - 0.5 for at in range(1, height)], minor=True)
        axes.grid(which="minor", color="white", linewidth=0.6)
        axes.tick_params(which="minor", length=0)
    for axis, ticks in ((axes.xaxis, table.columns), (axes.yaxis, table.index)):
        every = len(ticks) // 25 + 1
        axis.set_ticks(range(0, len(ticks), every), ticks[::every])
    if max(map(len, table.columns)) * len(table.columns) > ROOM:
        axes.tick_params(axis="x", rotation=90)
    axes.figure.colorbar(shades, label=figure.value_label)


_KINDS = {
    "steps": _draw_lines,
    "lines": _draw_lines,
    "points": _draw_points,
    "bars": _draw_bars,
    "heat": _draw_heat,
}


def _file_name(figure: Figure, panel: str) -> str:
    own = re.sub(r"[^A-Za-z0-9.=-]+", "-", panel).strip("-")
    return f"{figure.name}-{own}"[:120] if len(figure.panels) > 1 else figure.name


#: Longer tables are written as CSV only.
MOST_LATEX_ROWS = 400
_WORDS = {"text", "code", "long", "outcome", "flag"}


def write_tables(tables: Mapping[str, Table], folder: str | Path) -> list[Path]:
    """Write every table as NAME.csv and, unless it is long, as NAME.tex; return the paths."""
    folder, written = Path(folder), []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            table.frame.to_csv(folder / f"{name}.csv", index=False)
            written.append(folder / f"{name}.csv")
            if len(table.frame) <= MOST_LATEX_ROWS:
                path = folder / f"{name}.tex"
                path.write_text(latex(table), encoding="utf-8", errors="backslashreplace")
                written.append(path)
    return written


def latex(table: Table) -> str:
    """Return a table's shown columns as LaTeX, in the style of booktabs.

    What the columns mean stands before it as a comment.
    """
    shown = table.shown
    places = "".join("l" if column.kind in _WORDS else "r" for column in shown)
    lines = [f"% {escape_latex(table.title)}; needs \\usepackage{{booktabs}}"]
    lines += [f"% {own.heading}: {own.meaning}" for own in shown if own.meaning]
    lines += [rf"\begin{{tabular}}{{{places}}}", r"\toprule"]
    lines += [_line(column.heading for column in shown), r"\midrule"]
    for row in table.frame.to_dict("records"):
        lines.append(_line(column.printed(row[column.name]) for column in shown))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _line(cells: Iterable[str]) -> str:
    return " & ".join(map(escape_latex, cells)) + r" \\"
