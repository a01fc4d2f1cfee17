"""The console for tables and progress."""

import sys
from collections.abc import Iterable
from typing import Any

import rich.console
from rich.segment import Segment

from convexfs.cli.terminal import lines

#: ASCII replacements of our symbols, for terminals without Unicode.
_ASCII = str.maketrans({"█": "#", "…": ".", "×": "x", "·": "-"})


class Console(rich.console.Console):
    """rich's console that replaces control characters in all text by visible ones.

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
        """Yield rich's segments with control characters of texts replaced; rich's own stay."""
        for text, style, control in super().render(renderable, options):
            if control is None:
                text = lines(text)
                if self.plain:
                    text = text.translate(_ASCII)
            yield Segment(text, style, control)
