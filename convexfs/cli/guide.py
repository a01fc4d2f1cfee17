"""The command ``convexfs guide``: show a page of the guide, or list all pages.

Pages are the Markdown files of ``convexfs/guide``. A page begins with its title and a paragraph
whose first sentence says what it is about.
"""

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, ClassVar

import convexfs
from convexfs.cli.options import add_examples
from convexfs.cli.terminal import write
from convexfs.errors import InputError, did_you_mean

FOLDER = Path(convexfs.__file__).parent / "guide"
#: Topics of the first pages in reading order; the others follow by name.
_FIRST = (
    "table", "data", "selection", "methods", "change", "certificates", "explain", "solvers",
    "studies", "batches", "clusters", "install", "faq", "coming-from", "glossary",
)  # fmt: skip
#: Largest width of printed pages, in columns.
_WIDTH = 96
#: Pattern of a Markdown link to another page; the groups are its text and topic.
_LINK = re.compile(r"\[([^\]]*)\]\(([\w-]+)\.md(?:#[^)]*)?\)")
#: TeX commands and their plain-text equivalents, in order of replacement.
_PLAIN = {
    r"\left": "", r"\right": "", r"\lambda": "λ", r"\theta": "θ", r"\sigma": "σ", r"\Sigma": "Σ",
    r"\alpha": "α", r"\beta": "β", r"\gamma": "γ", r"\tau": "τ", r"\tilde ": "", r"\bar ": "",
    r"\sum": "sum", r"\succeq": "⪰", r"\cdot": "·", r"\qquad": "    ", r"\quad": "  ",
    r"\max": "max", r"\min": "min", r"\log": "log", r"\det": "det", r"\exp": "exp",
    r"\ge": "≥", r"\le": "≤", r"\|": "‖", r"\,": " ", r"\;": "  ", r"\{": "{", r"\}": "}",
    r"\#": "#", "^T": "ᵀ",
}  # fmt: skip


@dataclass(frozen=True)
class Page:
    """A Markdown page of the guide: path, title, first sentence and text.

    Attributes
    ----------
    path : Path
    title : str
    summary : str
        The first sentence below the title.
    text : str
        All of it.
    """

    path: Path
    title: str
    summary: str
    text: str


def pages(folder: Path = FOLDER) -> dict[str, Page]:
    """Return the guide's pages in a folder by topic, in reading order."""
    found = {path.stem: _read(path) for path in folder.glob("*.md")}
    rest = sorted(found.keys() - set(_FIRST))
    return {topic: found[topic] for topic in (*_FIRST, *rest) if topic in found}


def _read(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    title, _, rest = text.partition("\n")
    first = rest.strip().partition("\n\n")[0].replace("\n", " ")
    summary = re.split(r"(?<=[.!?]) ", first)[0].replace("`", "")
    return Page(path, title.removeprefix("# "), summary, text)


def guide(arguments: argparse.Namespace) -> int:
    """Show a page of the guide, or list all pages."""
    known = pages()
    if arguments.topic is None:
        for topic, page in known.items():
            write(f"{topic:<13} {page.title}")
        write("\nconvexfs guide TOPIC shows a page")
    elif arguments.topic in known:
        _show(known[arguments.topic])
    else:
        near = did_you_mean(arguments.topic, known)
        topics = "" if near.startswith("choose") else f" Topics are {', '.join(known)}"
        raise InputError(f"the guide has no page '{arguments.topic}'; {near}{topics}")
    return 0


def _show(page: Page) -> None:
    from rich.markdown import Markdown, TableElement

    from convexfs.cli.console import Console

    class Table(TableElement):
        """A Markdown table that breaks no word if the words fit, and never cuts text."""

        def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
            for part in super().__rich_console__(console, options):
                columns = getattr(part, "columns", ())
                texts = [[str(cell) for cell in (each.header, *each.cells)] for each in columns]
                widths = _column_widths(texts, options.max_width)
                for column, width in zip(columns, widths, strict=True):
                    column.overflow, column.width = "fold", width
                yield part

    class Text(Markdown):
        elements: ClassVar = Markdown.elements | {"table_open": Table}

    width = min(get_terminal_size((_WIDTH, 24)).columns, _WIDTH)
    Console(width=width).print(Text(_for_terminal(page)), width=width)


def _column_widths(columns: list[list[str]], width: int) -> list[int | None]:
    """Return column widths that break no word; None for each if the words do not fit."""
    least = [max(len(word) for text in each for word in ["", *text.split()]) for each in columns]
    wanted = [max(map(len, each)) for each in columns]
    room = width - sum(least) - 2 * len(columns)
    if room < 0:
        return [None] * len(columns)
    missing = sum(wanted) - sum(least)
    share = min(room / missing, 1.0) if missing else 0.0
    return [low + int(share * (high - low)) for low, high in zip(least, wanted, strict=True)]


def _for_terminal(page: Page) -> str:
    """Return a page's Markdown with TeX as text, images as paths, and linked pages at the end."""
    text = re.sub(r"\$\$(.*?)\$\$", lambda tex: f"    {_plain(tex[1])}", page.text, flags=re.S)
    home = page.path.parent
    text = re.sub(r"!\[(.*?)\]\((.*?)\)", lambda image: f"*{image[1]}: {home / image[2]}*", text)
    linked = list(dict.fromkeys(topic for _, topic in _LINK.findall(text)))
    text = _LINK.sub(r"\1", text)  # A terminal cannot follow these links.
    told = ", ".join(f"`convexfs guide {topic}`" for topic in linked)
    return f"{text}\n\nPages that this one names: {told}.\n" if linked else text


def _plain(tex: str) -> str:
    r"""Convert a TeX formula to one line of text.

    >>> _plain(r"\max_w w^T z \quad\text{subject to}\quad \|w\|_2 \le 1")
    'max_w wᵀ z   subject to   ‖w‖_2 ≤ 1'
    """
    line = " ".join(tex.split())
    line = re.sub(r"\\frac\{(.*?)\}\{(.*?)\}", r"(\1)/(\2)", line)
    line = re.sub(r"\\(?:text|mathrm|operatorname)\{(.*?)\}", r"\1", line)
    line = re.sub(r"([_^])\{(\w)\}", r"\1\2", line)
    for command, character in _PLAIN.items():
        line = line.replace(command, character)
    line = re.sub(r"([_^])\{([^{}]*)\}", r"\1(\2)", line)
    return re.sub(r"(?<=\S) {3,}(?=\S)", "   ", re.sub(r" (?=[_^,])", "", line)).strip()


def add_guide_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs guide``."""
    add_examples(parser, "guide", "guide table")
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="page to show [list all pages]")
