"""Assemble a page: sections of HTML in the template, with style, scripts and numbers.

Numbers of tables keep all their digits, so that downloads from a page equal the computed values,
and the page rounds only for display. Numbers drawn along logarithmic axes have four digits.
"""

import html
import json
import re
import zlib
from base64 import b64encode, b85encode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from convexfs.errors import InputError, writing
from convexfs.study.columns import Column, On, find_column
from convexfs.study.figures import COLOURS, SHADES, Figure

#: Scripts in load order: each uses those before it.
SCRIPTS = ("numbers.js", "table.js", "figures.js", "page.js")
#: Text columns with a larger share of distinct values are not dictionary-encoded.
CODED_SHARE = 0.5
#: Numbers whose texts have on average at most this many characters are written as texts.
SHORT = 12
#: Ids in plotly's script: it adds a style for maps, which no page has, unless such an element
#: exists.
_MAP_STYLE = re.compile(r'getElementById\("([0-9a-f]{64})"\)')


@dataclass(frozen=True)
class Table:
    """A titled DataFrame with the columns that a page shows; others are shown on demand.

    Without ``columns`` all are shown, in the order they have; ``aside`` never, nor empty ones.
    """

    title: str
    frame: Any
    columns: Collection[Column] = ()
    aside: Collection[str] = ()

    @property
    def shown(self) -> list[Column]:
        """The columns that a page shows at first: on the page, not empty, not in `aside`."""
        left_out = {*self.aside, *self.frame.columns[self.frame.isna().all()]}
        known = self.columns or map(find_column, map(self.frame.get, self.frame))
        return [own for own in known if On.PAGE in own.on and own.name not in left_out]

    def as_json(self) -> dict[str, Any]:
        """Return the table as a dict for JSON: columns with names, kinds and encoded values."""
        known, shown = (
            {own.name: own for own in self.columns},
            {own.name: own for own in self.shown},
        )
        made = []
        for name in [*shown, *(name for name in self.frame if name not in shown)]:
            column = shown.get(name) or known.get(name) or find_column(self.frame[name])
            told = {"name": name, "label": column.heading, "kind": column.kind}
            told |= {} if name in shown else {"hidden": True}
            told |= {"title": column.meaning} if column.meaning else {}
            made.append(told | encoded(self.frame[name], column.kind))
        return {"rows": len(self.frame), "columns": made}


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


def encoded(values: Any, kind: str) -> dict[str, Any]:
    """Encode a column losslessly and compactly for JSON, by its kind.

    Words are ``codes`` into ``levels`` with -1 for what is missing, or ``values`` if few
    are alike; integers, flags and numbers of few digits are ``values``; others are
    ``doubles``, the bytes of little-endian doubles in base 64, which are half as long as digits
    and quicker to read: the first bytes of all of them, then the second, because like bytes side
    by side are compressed better.
    """
    if kind in ("text", "code", "long", "outcome", "timed"):
        codes, levels = pd.factorize(values)
        if len(levels) > CODED_SHARE * len(values):
            return {"values": [None if pd.isna(value) else str(value) for value in values]}
        return {"levels": [str(level) for level in levels], "codes": codes.tolist()}
    if kind in ("flag", "count", "bad"):
        plain = bool if kind == "flag" else int
        return {"values": [None if pd.isna(value) else plain(value) for value in values]}
    doubles = values.to_numpy(dtype="<f8", na_value=np.nan)
    known = doubles[~np.isnan(doubles)]
    if np.isfinite(known).all() and sum(map(len, map(repr, known.tolist()))) <= SHORT * len(known):
        return {"values": [None if value != value else value for value in doubles.tolist()]}
    planes = np.frombuffer(doubles.tobytes(), np.uint8).reshape(-1, 8).T
    return {"doubles": b64encode(planes.tobytes()).decode()}


def _numbers(sections: Iterable[Section], solvers: list[str]) -> str:
    """Return the JSON text of all tables, figures and colours of a page."""
    drawn = [figure for section in sections for figure in section.figures]
    numbers = {
        "tables": {name: table.as_json() for own in sections for name, table in own.tables.items()},
        "figures": {
            figure.name: figure.as_json(solvers)
            | {"table": Table("", drawn_table(figure, solvers)).as_json()}
            for figure in drawn
        },
        "colours": COLOURS,
        "shades": SHADES,
    }
    return json.dumps(numbers, separators=(",", ":"), allow_nan=False)


def drawn_table(figure: Figure, solvers: list[str]) -> Any:
    """Return a figure's table, with four digits of the numbers along logarithmic axes.

    A drawing shows no more of them; along other axes numbers may differ in later digits.
    """
    frame = figure.ordered(solvers)
    along = {figure.x: figure.log_x, figure.y: figure.log_y}
    numbers = frame[[name for name in along if along[name]]].select_dtypes("float")
    return frame.assign(**numbers.map(lambda value: float(f"{value:.4g}")))


def page_html(
    title: str, sections: list[Section], solvers: list[str], version: str, written: str
) -> str:
    """Return the HTML of a page with its styles, scripts and numbers inside."""
    here = files(__package__ or "")
    style = (here / "style.css").read_text(encoding="utf-8")
    scripts = "\n".join((here / name).read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'(async () => {{\n"use strict";\n{scripts}\n}})();'
    plotly, packed_plotly = _plotly()
    links = (f'<li><a href="#{escape(s.name)}">{escape(s.title)}</a></li>' for s in sections)
    return Template((here / "template.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        version=escape(version),
        written=escape(written),
        policy=_policy([script, plotly], [style, ""]),
        style=style,
        no_maps="".join(f'<style id="{own}"></style>' for own in _MAP_STYLE.findall(plotly)),
        nav="\n".join(links),
        body="\n".join(section.as_html() for section in sections),
        numbers=packed(_numbers(sections, solvers)),
        plotly=packed_plotly,
        script=script,
    )


@cache
def _plotly() -> tuple[str, str]:
    """Return plotly's script, plain and packed; cached, because packing is slow."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs(), packed(get_plotlyjs())


def packed(text: str) -> str:
    """Compress a text by zlib and encode it in base 85 without the character <.

    Base 85 is shorter than base 64, as a page of plotly's script must be.
    """
    return b85encode(zlib.compress(text.encode(), 9)).decode().replace("<", ",")


def _policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """Return a content security policy that allows only these scripts and styles, by hash.

    Style attributes and ``data:`` and ``blob:`` images are allowed too: plotly's pictures and
    formulas use them.
    """
    rules = {
        "default-src": "'none'",
        "script-src": _hashes(scripts),
        "style-src-elem": _hashes(styles),
        "style-src-attr": "'unsafe-inline'",
        "img-src": "data: blob:",
    }
    return "; ".join(f"{what} {allowed}" for what, allowed in rules.items())


def _hashes(texts: Iterable[str]) -> str:
    digests = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


SUFFIXES = (".html", ".htm")
#: First bytes of every page.
DOCTYPE = b"<!DOCTYPE HTML"


def check_page(out: str | Path) -> None:
    """Raise InputError unless `out` ends in .html and is new or a page, not a link."""
    out = Path(out)
    if out.suffix.lower() not in SUFFIXES and not out.is_dir():
        raise InputError(f"{out}: a page is written to a file that ends in .html")
    if out.is_symlink():
        raise InputError(f"{out}: is a symbolic link to another file; choose another name")
    try:
        with out.open("rb") as file:
            begins = file.read(len(DOCTYPE))
    except OSError:
        # The file does not exist, or writing to it will raise the error.
        return
    if begins and begins.upper() != DOCTYPE:
        raise InputError(f"{out}: is there already and is no page; choose another name")


def write_page(page: str, out: str | Path) -> None:
    """Write the HTML text to `out`; raise InputError if that is a file but no page."""
    check_page(out)
    with writing(out):
        Path(out).write_text(page, encoding="utf-8", errors="backslashreplace")
