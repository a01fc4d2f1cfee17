"""The result of :func:`convexfs.explain`: sentences as text, HTML, LaTeX and JSON."""

import html
import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from convexfs.errors import and_more

#: Longest line of a text, in columns.
WIDTH = 80
_INDENT = "  "
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$", "µ": r"$\mu$",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A line of a section: a sentence, the name it is about and the source file:line, if any."""

    text: str
    name: str = ""
    source: str = ""


def first_lines(lines: Sequence[Line], most: int) -> list[Line]:
    """Return the first `most` lines and, if there are more, a line that counts those left out."""
    left = len(lines) - most
    more = [Line(f"... and {left} more; to_dict() and --json have all")] if left > 0 else []
    return [*lines[:most], *more]


@dataclass(frozen=True)
class Section:
    """A section of an explanation: a title, and lines or a `table` of headings and cells."""

    title: str
    lines: Sequence[Line] = ()
    table: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Explanation:
    """Why a problem is infeasible, unbounded, badly scaled or not convex, or what binds.

    Attributes
    ----------
    status : str
        ``infeasible``, ``unbounded``, ``optimal``, ``badly scaled``, ``not convex`` or
        ``undecided``.
    proven : bool
        Whether the status is proven by a certificate.
    headline : str
        The answer in one sentence.
    sections : tuple of Section
        The reasons, in the order of their use to a reader.
    data : mapping
        All numbers, as :meth:`to_dict` returns them.
    stages : callable, optional
        Returns what each constraint becomes, for the page; computed when the page is asked for.
    """

    status: str
    proven: bool
    headline: str
    sections: tuple[Section, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    stages: Callable[[], Any] | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The explanation as text in lines of at most 80 columns."""
        blocks = [textwrap.fill(self.headline, WIDTH)]
        for section in self.sections:
            body = _table(section.table) if section.table else _lines(section.lines)
            blocks.append("\n".join([section.title, "-" * min(len(section.title), WIDTH), *body]))
        return "\n\n".join(blocks)

    @property
    def short(self) -> str:
        """Headline, and the first four names of the first section, in one line."""
        lines = self.sections[0].lines if self.sections else ()
        names = list(dict.fromkeys(line.name for line in lines if line.name))
        return f"{self.headline}: {and_more(names[:4], len(names))}" if names else self.headline

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return "".join(self._html())

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        from convexfs.report.explanation_page import page

        return page(self)

    def _html(self) -> list[str]:
        parts = [f"<h1>{html.escape(self.headline)}</h1>"]
        for section in self.sections:
            parts.append(f"<h2>{html.escape(section.title)}</h2>")
            rows = section.table or [[line.name, line.text, line.source] for line in section.lines]
            tag = ["th" if section.table and not k else "td" for k in range(len(rows))]
            parts.append("<table>")
            for kind, row in zip(tag, rows, strict=True):
                cells = "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in row)
                parts.append(f"<tr>{cells}</tr>")
            parts.append("</table>")
        return parts

    def to_latex(self) -> str:
        """Return the explanation as LaTeX paragraphs and lists."""
        parts = [rf"\paragraph{{{escape_latex(self.headline)}}}"]
        for section in self.sections:
            items = [
                " ".join(filter(None, (line.name, line.text, line.source)))
                for line in section.lines
            ]
            items += [", ".join(row) for row in section.table]
            listed = "\n".join(rf"  \item {escape_latex(item)}" for item in items)
            parts.append(
                rf"\paragraph{{{escape_latex(section.title)}}}"
                f"\n\\begin{{itemize}}\n{listed}\n\\end{{itemize}}"
            )
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return status, headline and all data as plain numbers, texts, lists and dicts."""
        own = {"status": self.status, "proven": self.proven, "headline": self.headline}
        return own | {name: _plain(value) for name, value in self.data.items()}

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON; NaN and infinity become text."""
        return json.dumps(self.to_dict(), indent=1)


def escape_latex(text: str) -> str:
    """Escape LaTeX's special characters, and join the text to one line."""
    return "".join(_SPECIAL.get(letter, letter) for letter in " ".join(str(text).split()))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else _plain(value.tolist())


def _lines(lines: Sequence[Line]) -> list[str]:
    """Return lines of text: names in a column, sentences beside them, sources at the right."""
    width = min(26, max((len(line.name) for line in lines), default=0))
    written = []
    for line in lines:
        room = WIDTH - len(line.source) - bool(line.source)
        head = f"{_INDENT}{line.name:<{width}}" + _INDENT * bool(width)
        rest = " " * len(f"{_INDENT}{'':<{width}}") + _INDENT * bool(width)
        if len(line.name) > width:
            written.append(f"{_INDENT}{line.name}"[:WIDTH])
            head = rest
        filled = textwrap.wrap(
            line.text, room, initial_indent=head, subsequent_indent=rest or _INDENT
        ) or [head.rstrip()]
        if line.source:
            filled[0] = f"{filled[0]:<{room}} {line.source}"
        written += filled
    return written


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines of text with aligned columns, cut at 80."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        lines.append((_INDENT + "  ".join(cells)).rstrip()[:WIDTH])
    return lines
