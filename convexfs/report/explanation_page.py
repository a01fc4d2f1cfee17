"""Build the HTML page of an explanation: sentences, stages and a picture of the matrix.

The page works offline. A click on a constraint marks its epigraph form, its rows and their numbers
in the picture. A click on a row marks the constraint.
"""

import html
from typing import Any

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;
color:#1a1a1a;background:#fff}h1{font-size:1.3em}h2{font-size:1.05em;margin:1.4em 0 .3em}
table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}
td:first-child{font-weight:600;white-space:nowrap}td:last-child{color:#666}
.stages{display:grid;grid-template-columns:1fr 1fr 1fr;gap:1em}.stages h3{font-size:.95em}
.part{padding:.2em .4em;border-left:3px solid transparent;cursor:pointer;font-family:monospace;
font-size:13px;overflow-wrap:anywhere}.part.on{background:#e8f0fe;border-color:#1a56c4}
button.part{background:none;border-top:0;border-right:0;border-bottom:0;text-align:left;
width:100%;color:inherit}svg rect{fill:#9aa0a6}svg rect.on{fill:#1a56c4}
svg{border:1px solid #ccc;max-width:100%}@media(max-width:700px){.stages{display:block}}
@media(prefers-color-scheme:dark){body{background:#17181a;color:#e6e6e6}
.part.on{background:#22304a}td:last-child{color:#aaa}}
"""
_SCRIPT = """
document.addEventListener("click",function(e){
 var at=e.target.closest("[data-part]");if(!at)return;
 document.querySelectorAll("[data-part]").forEach(function(n){
  n.classList.toggle("on",n.dataset.part===at.dataset.part);});});
document.documentElement.dataset.drawn="1";
"""
#: Most constraints and attributes that are listed, to keep the page small.
MOST_PARTS = 250


def page(explanation: Any) -> str:
    """Return the HTML page of an Explanation."""
    body = "\n".join(explanation._html())
    title = html.escape(explanation.headline)
    stages = "" if explanation.stages is None else _stages(explanation.stages())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>{body}\n{stages}"
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def _stages(stages: Any) -> str:
    """Return HTML of MOST_PARTS parts in three columns (stated, epigraph, rows), and the matrix."""
    columns: list[list[str]] = [[], [], []]
    for number, part in enumerate(stages.parts[:MOST_PARTS]):
        rows = ", ".join(f"{row}" for row, _ in part.rows[:40])
        rows += f", ... ({len(part.rows)})" if len(part.rows) > 40 else ""
        kinds = ", ".join(dict.fromkeys(kind for _, kind in part.rows))
        words = (
            f"{part.name}: {part.stated} {part.source}",
            "; ".join(part.epigraph[:12]) or part.name,
            f"rows {rows}: {kinds}",
        )
        for column, text in zip(columns, words, strict=True):
            column.append(f'<button class="part" data-part="{number}">{html.escape(text)}</button>')
    heads = ("As stated", "Epigraph form", "Rows of the cone program")
    blocks = "".join(
        f"<div><h3>{head}</h3>{''.join(column)}</div>"
        for head, column in zip(heads, columns, strict=True)
    )
    return (f'<h2>Stages: click a part to follow it</h2><div class="stages">{blocks}</div>'
            f"<h3>Solver data</h3>{_picture(stages)}")  # fmt: skip


def _picture(stages: Any) -> str:
    """Return an SVG of the stages' entries of the matrix, labelled with the part of their row."""
    owner = {row: number for number, part in enumerate(stages.parts) for row, _ in part.rows}
    height, width = stages.shape
    side = max(1, height, width)
    dots = "".join(
        f'<rect x="{column}" y="{row}" width="1" height="1" data-part="{owner.get(row, "")}"/>'
        for row, column in stages.entries
    )
    pixels = min(640, max(120, 8 * side))
    return (f'<svg viewBox="0 0 {width} {height}" width="{pixels * width // side or 8}" '
            f'height="{pixels * height // side or 8}" role="img" '
            f'aria-label="Where the matrix of {height} rows has numbers">{dots}</svg>')  # fmt: skip
