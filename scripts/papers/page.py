"""An experiment as one page of HTML that opens offline."""

import io
import re
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING

import pandas as pd

import convexfs
from convexfs.report.sections import escape
from papers.experiment import Table
from papers.results import LEGEND, SHOWN, cells, draw, overview, said_of, shown_columns

if TYPE_CHECKING:
    from papers.results import Results

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}
main {{ max-width: 80rem; margin: 0 auto; padding: 2rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left; }}
.within, .better {{ color: var(--good); }} .off {{ color: var(--bad); }}
figure {{ margin: 1rem 0; max-width: 46rem; background: #fff; }}
</style>
</head>
<body><main>
<h1>{title}</h1>
<p class="lead">{lead}</p>
{body}
<footer>convexfs {version}, {written} UTC</footer>
</main></body>
</html>
"""


def page_html(shown: "Results") -> str:
    """Return the page."""
    own = shown.plan.experiment
    sections = [
        _table_section(table, rows, shown.tests.get(name))
        for name, (table, rows) in shown.tables.items()
    ]
    for figure, points in shown.figures.values():
        picture = io.StringIO()
        draw(figure, points).savefig(picture, format="svg", metadata={"Date": None})
        svg = re.sub(r"(?s)^.*?(?=<svg)", "", picture.getvalue())
        sections.append(_section(figure.title, f"<figure>{svg}</figure>"))
    if own.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in own.notes)
        sections.append(_section("Notes", f"<ul>{notes}</ul>"))
    if shown.plan.missing:
        lacking = "".join(f"<li>{escape(row)}: no data</li>" for row in shown.plan.missing)
        sections.append(_section("Data that were not there", f"<ul>{lacking}</ul>"))
    style = (files("convexfs.report") / "assets" / "style.css").read_text(encoding="utf-8")
    return PAGE.format(
        title=escape(own.title),
        lead=escape(shown.plan.lead),
        style=style,
        body="\n".join(sections),
        version=escape(convexfs.__version__),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
    )


def _table_section(table: Table, rows: pd.DataFrame, tests: pd.DataFrame | None) -> str:
    places, headings = shown_columns(rows), list(SHOWN.values())
    heading, *lines = overview(rows)
    body = "".join(_row(row, places) for row in rows.to_dict("records"))
    every = _html_table([headings[place] for place in places], body)
    short = _html_table(heading, "".join(f"<tr>{_cells(line)}</tr>" for line in lines))
    said = "".join(f'<p class="note">{escape(line)}</p>' for line in said_of(table, rows, tests))
    lead = f'<p class="lead">{escape(table.unit)}; {escape(LEGEND)}</p>'
    return _section(
        table.title,
        f"{lead}{short}{said}<details><summary>Every number</summary>{every}</details>",
    )


def _html_table(heading: list[str], body: str) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heading)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _cells(texts: list[str]) -> str:
    """Return cells, each in the colour of the verdict that its text ends in."""
    return "".join(
        f'<td class="{escape(text.rpartition(" ")[2])}">{escape(text)}</td>' for text in texts
    )


def _row(row: dict, places: list[int]) -> str:
    told = cells(row)
    marked = {list(SHOWN).index("verdict"): row["verdict"]}
    return "<tr>{}</tr>".format(
        "".join(
            f'<td class="{escape(marked.get(at, ""))}">{escape(told[at])}</td>' for at in places
        )
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"
