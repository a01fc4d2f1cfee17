"""Assemble a page: sections of HTML in the template, with style, scripts and numbers.

Numbers of tables keep all their digits, so that downloads from a page equal the computed values,
and the page rounds only for display. Numbers drawn along logarithmic axes have four digits.
"""

import json
import zlib
from base64 import b64encode, b85encode
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template

import pandas as pd

import convexfs
from convexfs.errors import InputError, writing
from convexfs.report.figure import COLOURS, SHADES, Figure
from convexfs.report.sections import Section, escape
from convexfs.report.table import Table

#: Scripts in load order: each uses those before it.
SCRIPTS = ("numbers.js", "table.js", "axes.js", "plot.js", "figures.js", "panels.js", "page.js")


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


def drawn_table(figure: Figure, solvers: list[str]) -> pd.DataFrame:
    """Return a figure's table, with four digits of the numbers along logarithmic axes.

    A drawing shows no more of them; along other axes numbers may differ in later digits.
    """
    frame = figure.ordered(solvers)
    along = {figure.x: figure.log_x, figure.y: figure.log_y}
    numbers = frame[[name for name in along if along[name]]].select_dtypes("float")
    short = numbers.map(lambda value: float(f"{value:.4g}"))
    return frame.assign(**{str(name): values for name, values in short.items()})


def page_html(title: str, given: Iterable[Section | None], solvers: list[str]) -> str:
    """Return the HTML of a page of the sections that are not None, with date and version.

    Its styles, scripts and numbers are inside.
    """
    sections = [section for section in given if section is not None]
    here = files("convexfs.report") / "assets"
    style = (here / "style.css").read_text(encoding="utf-8")
    scripts = "\n".join((here / name).read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'(async () => {{\n"use strict";\n{scripts}\n}})();'
    links = (f'<li><a href="#{escape(s.name)}">{escape(s.title)}</a></li>' for s in sections)
    return Template((here / "template.html").read_text(encoding="utf-8")).substitute(
        title=escape(title),
        version=escape(convexfs.__version__),
        written=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        policy=_policy(script, style),
        style=style,
        nav="\n".join(links),
        body="\n".join(section.as_html() for section in sections),
        numbers=packed(_numbers(sections, solvers)),
        script=script,
    )


def packed(text: str) -> str:
    """Compress a text by zlib and encode it in base 85 without the character <.

    Base 85 is shorter than base 64.
    """
    return b85encode(zlib.compress(text.encode(), 9)).decode().replace("<", ",")


def _policy(script: str, style: str) -> str:
    """Return a content security policy that allows only this script and style, by hash.

    Style attributes are allowed too, which formulas have, and the drawing that a reader saves as
    a picture.
    """
    rules = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src-elem": _hash(style),
        "style-src-attr": "'unsafe-inline'",
        "img-src": "data: blob:",
    }
    return "; ".join(f"{what} {allowed}" for what, allowed in rules.items())


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


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


def shown_page(title: str, sections: Iterable[Section | None], out: str | Path | None) -> str:
    """Return the HTML of a page, and write it to `out` if given."""
    page = page_html(title, sections, [])
    if out is not None:
        write_page(page, out)
    return page
