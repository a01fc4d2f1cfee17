"""Clean text for the terminal: no control sequences and no broken lines.

Names of features, classes and files may contain anything, including escape sequences. All output of
the commands goes through this module.
"""

import ast
import importlib.util
import sys
from typing import Any

#: Columns at which help texts and lists are wrapped.
WIDTH = 79
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
#: Visible replacements: Unicode pictures of control characters, and a mark for bidirectional and
#: surrogate characters.
_VISIBLE: dict[int, str] = {code: chr(0x2400 + code) for code in range(0x20)}
_VISIBLE |= {0x7F: "\N{SYMBOL FOR DELETE}"}
_VISIBLE |= dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], _REPLACEMENT)
_VISIBLE |= dict.fromkeys(map(ord, "\u061c\u200e\u200f\u2028\u2029"), _REPLACEMENT)
_VISIBLE |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], _REPLACEMENT)
_LINES = {code: shown for code, shown in _VISIBLE.items() if chr(code) != "\n"}


def one_line(text: object) -> str:
    """Return text with line ends and control characters made visible, so that it is one line."""
    return str(text).translate(_VISIBLE)


def lines(text: str) -> str:
    """Return text with control characters made visible; line ends stay."""
    return text.translate(_LINES)


def write(text: str) -> None:
    """Write text and a line end to standard output, control characters made visible."""
    sys.stdout.write(lines(text) + "\n")


def first_sentence(home: str) -> str:
    """Return the first docstring line of ``module:name`` without importing it; "" if none."""
    module, _, name = home.partition(":")
    loader: Any = getattr(importlib.util.find_spec(module), "loader", None)
    for node in ast.parse(loader.get_source(module) or "").body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""
