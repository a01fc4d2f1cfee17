"""Text for a terminal: what comes from files neither steers it nor breaks its lines.

Names of features, classes and files may hold anything, escape sequences included. All that
the commands print goes through here.
"""

import sys
from collections.abc import Iterable
from typing import Any

import rich.console
from rich.segment import Segment

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
#: Control characters as their pictures, and a mark for what turns text or is half a character.
_VISIBLE: dict[int, str] = {code: chr(0x2400 + code) for code in range(0x20)}
_VISIBLE |= {0x7F: "\N{SYMBOL FOR DELETE}"}
_VISIBLE |= dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], _REPLACEMENT)
_VISIBLE |= dict.fromkeys(map(ord, "\u061c\u200e\u200f\u2028\u2029"), _REPLACEMENT)
_VISIBLE |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], _REPLACEMENT)
_LINES = {code: shown for code, shown in _VISIBLE.items() if chr(code) != "\n"}
#: What stands for our symbols where only ASCII can be printed, one for one.
_ASCII = str.maketrans({"█": "#", "…": ".", "×": "x", "·": "-"})


def one_line(text: object) -> str:
    """Text without anything that a terminal would act upon, line ends included."""
    return str(text).translate(_VISIBLE)


def lines(text: str) -> str:
    """The same for text of several lines."""
    return text.translate(_LINES)


def write(text: str) -> None:
    """Write lines on standard output."""
    sys.stdout.write(lines(text) + "\n")


class Console(rich.console.Console):
    """rich's console, of which only its own marks reach the terminal.

    Parameters
    ----------
    stderr : bool
        Write on standard error.
    width : int
        Of the lines where there is no terminal: enough for a table to keep its columns whole.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = 140):
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(stderr=stderr, width=None if stream.isatty() else width)
        self.plain = self.options.ascii_only

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Segments of text, cleaned; the console's own control codes are apart from text."""
        for text, style, control in super().render(renderable, options):
            if control is None:
                text = lines(text)
                if self.plain:
                    text = text.translate(_ASCII)
            yield Segment(text, style, control)
