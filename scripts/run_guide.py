"""Run the code of the guide's pages and say where it prints something else than they show.

    python scripts/run_guide.py [TOPIC ...] [--write]

A page's blocks run one after another in a folder that is thrown away: ``python`` blocks, which
share their variables and print what the ``text`` block below shows (one that begins with
``# file NAME`` is written to that file instead), and ``console`` blocks, lines after a ``$`` with
what they print below. A line ``...`` stands for any lines. ``--write`` puts what was printed, and
the pictures that were drawn, into the guide.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convexfs.cli import main as command
from convexfs.cli.guide import FOLDER, Page, pages
from convexfs.errors import ConvexfsWarning

_BLOCK = re.compile(
    r"^```(?P<language>python|console)\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.S | re.M,
)
_FILE = re.compile(r"# file (\S+)\n")
#: What a shell would do something with.
_SHELL = re.compile(r"[|<>;&*`]|\$\(")
#: In a shell, the command is this Python's.
_COMMAND = f'convexfs() {{ {shlex.quote(sys.executable)} -m convexfs "$@"; }}\n'
#: What differs from run to run and from machine to machine: seconds, residuals, sizes.
_PASSING = [
    (re.compile(r"\d+(\.\d+)? s\b"), "... s"),
    (re.compile(r"(seconds +│ )[\d.]+ *│"), r"\1... │"),
    (re.compile(r"\([\d,]+ bytes\)"), "(... bytes)"),
    (re.compile(r"\b\d(\.\d+)?e[-+]\d+\b"), "...e"),
]
#: Said once an installation, when it is.
_COMPILING = re.compile(r"^Compiling kernels: .*\n", re.M)


@dataclass(frozen=True)
class Block:
    """Code of a page, and what the page says that it prints.

    Attributes
    ----------
    language : str
        ``python`` or ``console``.
    code : str
        Of ``console`` one line, without its ``$``.
    shown : str or None
        None of ``python`` without a ``text`` block.
    place : tuple of int
        Where `shown` stands, or would, in the page's text.
    """

    language: str
    code: str
    shown: str | None
    place: tuple[int, int]


@dataclass(frozen=True)
class Ran:
    """A block and what it printed."""

    block: Block
    printed: str

    @property
    def as_shown(self) -> bool:
        """Whether the page shows what was printed."""
        parts = re.split(r"^\.\.\.\n", _lasting(self.block.shown or ""), flags=re.M)
        pattern = "(?:.*\n)*?".join(map(re.escape, parts))
        return re.fullmatch(pattern, _lasting(self.printed)) is not None


def _lasting(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    text = "".join(f"{line}\n" for line in lines)
    for pattern, mark in _PASSING:
        text = pattern.sub(mark, text)
    return text


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in their order."""
    return [block for found in _BLOCK.finditer(text) for block in _of(found)]


def _of(found: re.Match[str]) -> Iterator[Block]:
    if found["language"] == "python":
        end = found.end()
        place = found.span("output") if found["output"] is not None else (end, end)
        yield Block("python", found["code"], found["output"], place)
        return
    for line in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", found["code"], re.M):
        low, high = (found.start("code") + end for end in line.span(2))
        yield Block("console", line[1], line[2], (low, high))


def run(page: Page, folder: Path) -> list[Ran]:
    """Run a page's blocks in a folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        return [Ran(block, _run(block, names)) for block in blocks(page.text)]


def _run(block: Block, names: dict[str, Any]) -> str:
    if block.language == "console" and _SHELL.search(block.code):
        return _in_shell(block.code)
    saved = _FILE.match(block.code)
    if saved:
        Path(saved[1]).write_text(block.code[saved.end() :])
        return ""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), _heard(block):
        if block.language == "console":
            code = command(shlex.split(block.code.removeprefix("convexfs ")))
            return _COMPILING.sub("", out.getvalue()) + _ending(code)
        exec(compile(block.code, "a block of the guide", "exec"), names)  # the page's own code
    return _COMPILING.sub("", out.getvalue())


@contextlib.contextmanager
def _heard(block: Block) -> Iterator[None]:
    """The command prints warnings; a program of the guide should have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("always" if block.language == "console" else "error", ConvexfsWarning)
        yield


def _in_shell(line: str) -> str:
    words = ["bash", "-c", f"{_COMMAND}{line}"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return _COMPILING.sub("", ran.stdout) + _ending(ran.returncode)


def _ending(code: int) -> str:
    return f"(exit code {code})\n" if code else ""


def pictures(page: Page) -> list[str]:
    """Names of the pictures that a page shows."""
    return re.findall(r"!\[.*?\]\(pictures/(.*?)\)", page.text)


def written(page: Page, results: list[Ran], folder: Path) -> None:
    """Put what was printed and drawn into the guide."""
    text = page.text
    for result in reversed(results):
        if result.as_shown:
            continue
        low, high = result.block.place
        new = "".join(f"{line.rstrip()}\n" for line in result.printed.splitlines())
        if result.block.shown is None:
            new = f"\n\n```text\n{new}```"
        text = text[:low] + new + text[high:]
    page.path.write_text(text, encoding="utf-8")
    for name in pictures(page):
        shutil.copy(folder / name, FOLDER / "pictures" / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("topics", nargs="*", metavar="TOPIC")
    parser.add_argument("--write", action="store_true", help="put it into the guide")
    arguments = parser.parse_args()
    known, differ = pages(), 0
    for topic in arguments.topics or known:
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            results = run(known[topic], Path(folder))
            if arguments.write:
                written(known[topic], results, Path(folder))
        wrong = [result for result in results if not result.as_shown]
        seconds = time.process_time() - began
        print(f"{topic}: {len(results)} blocks, {len(wrong)} differ, {seconds:.1f} s of CPU")
        for result in wrong:
            print(f"--- {result.block.code}\n{result.printed}")
        differ += len(wrong)
    if differ and not arguments.write:
        sys.exit(1)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
