"""Sections of a page: HTML with places for the tables and figures that a script draws."""

import html
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from convexfs.report.figure import Figure
from convexfs.report.table import Table


@dataclass(frozen=True)
class Section:
    """A section of the page; ``body`` is HTML with placeholders for its tables and figures."""

    name: str
    title: str
    lead: str
    body: str
    tables: Mapping[str, Table] = field(default_factory=dict)
    figures: Collection[Figure] = ()

    def as_html(self) -> str:
        lead = f'<p class="lead">{escape(self.lead)}</p>\n' if self.lead else ""
        return (
            f'<section id="{escape(self.name)}">\n<h2>{escape(self.title)}</h2>\n'
            f"{lead}{self.body}\n</section>"
        )


def escape(text: Any) -> str:
    """Escape any text for HTML."""
    return html.escape(str(text))


def table_place(name: str, title: str) -> str:
    """Return the HTML element that the page's script fills with the table of this name."""
    return f'<div data-table="{escape(name)}" data-title="{escape(title)}"></div>'


def figure_place(name: str) -> str:
    """Return the HTML element that the page's script fills with the figure of this name."""
    return f'<figure data-figure="{escape(name)}"></figure>'


def tiles(counts: Iterable[tuple[str, Any, bool]]) -> str:
    """Return HTML of (label, number, bad) triples as large numbers; bad ones are red."""
    made = (
        f'<div class="tile{" alarm" if bad else ""}"><b>{escape(value)}</b>'
        f"<span>{escape(word)}</span></div>"
        for word, value, bad in counts
    )
    return f'<div class="figures-row">{"".join(made)}</div>'


def alarms(lines: Iterable[str]) -> str:
    """Return HTML of important warnings, one paragraph each."""
    return "".join(f'<p class="alarm" role="alert">{escape(line)}</p>' for line in lines)


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return an HTML definition list of (name, value) pairs, without empty values."""
    made = (
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs if value != ""
    )
    return f'<dl class="facts">{"".join(made)}</dl>'


def drawn(figure: Figure | None) -> Section | None:
    """Return a section of one figure; None if the figure is None."""
    if figure is None:
        return None
    place = figure_place(figure.name)
    return Section(figure.name, figure.title, "", place, figures=[figure])


def environment(records: list[dict[str, Any]]) -> Section | None:
    """Return the section on machines and package versions; None without records."""
    if not records:
        return None
    several = len(records) > 1
    body, packages = [], {}
    for number, record in enumerate(records, start=1):
        packages[f"environment {number}" if several else "version"] = record.pop("packages", {})
        heading = f"<h3>Environment {number}</h3>" if several else ""
        body.append(heading + facts((name, _brief(value)) for name, value in record.items()))
    table = pd.DataFrame(packages).astype("string").rename_axis("package").reset_index()
    place = table_place("packages", "Packages")
    body.append(f"<details><summary>{len(table)} packages</summary>{place}</details>")
    tables = {"packages": Table("Packages", table)}
    return Section("environment", "Environment", "", "".join(body), tables)


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={part}" for name, part in value.items() if part is not None)
    return "" if value is None else str(value)
