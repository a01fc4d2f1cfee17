"""The page itself: sections of HTML in the template, with style and scripts inside."""

import html
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

from convexfs.study.page.columns import script_json

#: In this order, as each uses what is before it.
SCRIPTS = ("numbers.js", "table.js", "figures.js", "page.js")

#: Plotly adds a style for maps, which no page has, unless there is one of this id.
_MAP_STYLE = re.compile(r'getElementById\("([0-9a-f]{64})"\)')


@dataclass(frozen=True)
class Section:
    """A part of the page; ``body`` is HTML, the rest is text."""

    name: str
    title: str
    lead: str
    body: str

    def as_html(self) -> str:
        lead = f'<p class="lead">{escape(self.lead)}</p>\n' if self.lead else ""
        return (
            f'<section id="{escape(self.name)}">\n<h2>{escape(self.title)}</h2>\n'
            f"{lead}{self.body}\n</section>"
        )


def escape(text: Any) -> str:
    """Text from anywhere as HTML that shows it."""
    return html.escape(str(text))


def table_place(name: str, title: str) -> str:
    """Where the page puts the table of this name."""
    return f'<div data-table="{escape(name)}" data-title="{escape(title)}"></div>'


def figure_place(name: str) -> str:
    """Where the page draws the figure of this name."""
    return f'<figure data-figure="{escape(name)}"></figure>'


def tiles(counts: Iterable[tuple[str, Any, bool]]) -> str:
    """Large numbers with a word under each; those that are bad are red."""
    made = (
        f'<div class="tile{" alarm" if bad else ""}"><b>{escape(value)}</b>'
        f"<span>{escape(word)}</span></div>"
        for word, value, bad in counts
    )
    return f'<div class="figures-row">{"".join(made)}</div>'


def facts(pairs: Iterable[tuple[str, Any]]) -> str:
    """Names and values; what is empty is left out."""
    made = (
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs if value != ""
    )
    return f'<dl class="facts">{"".join(made)}</dl>'


def page_html(
    title: str, sections: list[Section], numbers: Mapping[str, Any], version: str, written: str
) -> str:
    """The whole page, with everything it needs inside."""
    from plotly.offline import get_plotlyjs

    here = files(__package__ or "")
    style = (here / "style.css").read_text(encoding="utf-8")
    scripts = "\n".join((here / name).read_text(encoding="utf-8") for name in SCRIPTS)
    script, plotly = f'(() => {{\n"use strict";\n{scripts}\n}})();', get_plotlyjs()
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
        numbers=script_json(numbers),
        plotly=plotly,
        script=script,
    )


def _policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """What a browser may run and apply: the page's own texts, by their hashes, and no others.

    Single elements may have a style of their own: plotly's pictures and formulas do.
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
