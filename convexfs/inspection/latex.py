r"""Notation as LaTeX that KaTeX, MathJax and amsmath accept."""

import re
from itertools import pairwise
from typing import Any

from convexfs.inspection import boxes
from convexfs.inspection.boxes import Box
from convexfs.inspection.letters import GREEK, SPELLED

OPERATORS = {
    "<=": r"\le", ">=": r"\ge", "==": "=", ">>": r"\succeq", "in": r"\in",
    ".*": r"\circ", "./": r"\oslash", "=": "=",
}  # fmt: skip
FUNCTIONS = {
    "log": r"\log", "max": r"\max", "min": r"\min", "maximum": r"\max", "minimum": r"\min",
    "trace": r"\operatorname{tr}", "lambda_max": r"\lambda_{\max}", "log_det": r"\log\det",
    "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh", "tanh": r"\tanh",
    "real": r"\operatorname{Re}", "imag": r"\operatorname{Im}", "kron": r"\operatorname{kron}",
}  # fmt: skip
ONES = {
    "column": r"\mathbf{1}", "row": r"\mathbf{1}^\top", "matrix": r"\mathbf{1} \mathbf{1}^\top"
}  # fmt: skip
_SPELLINGS = SPELLED | {letter: name for name, letter in GREEK.items()}
_SPECIAL = {letter: rf"$\{name}$" for name, letter in GREEK.items()} | {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
}  # fmt: skip
_FENCES = {
    "()": (r"\left(", r"\right)"), "{}": (r"\left\{", r"\right\}"), "||": (r"\left|", r"\right|")
}  # fmt: skip


def write(box: Box) -> str:
    """Write a piece of notation."""
    match box:
        case boxes.Name(name):
            return identifier(name)
        case boxes.Numeral(digits):
            return numeral(digits)
        case boxes.Word(word):
            return text(word)
        case boxes.Letter(letter):
            return rf"\mathbb{{{letter}}}"
        case boxes.Ones(body, form):
            return ONES[form] if body is None else rf"{write(body)} \, {ONES[form]}"
        case boxes.Signed(terms):
            return _sum(terms)
        case boxes.Infix(left, operator, right):
            return f"{write(left)} {OPERATORS[operator]} {write(right)}"
        case boxes.Row(parts):
            return _row(parts)
        case boxes.Fraction(numerator, denominator):
            return rf"\frac{{{write(numerator)}}}{{{write(denominator)}}}"
        case boxes.Root(body):
            return rf"\sqrt{{{write(body)}}}"
        case boxes.Exponential(exponent):
            return f"e^{{{write(exponent)}}}"
        case boxes.Super(base, exponent, entrywise):
            mark = r"\circ " if entrywise else ""
            return f"{write(base)}^{{{mark}{write(exponent)}}}"
        case boxes.Transposed(body):
            return rf"{write(body)}^\top"
        case boxes.Indexed(body, entries):
            return f"{_unscripted(body)}_{{{','.join(map(_entry, entries))}}}"
    return _enclosed(box)


def _enclosed(box: Box) -> str:
    match box:
        case boxes.Fenced(body, fence):
            opening, closing = _FENCES[fence]
            return f"{opening}{write(body)}{closing}"
        case boxes.NormBars(body, kind):
            mark = {"inf": r"\infty", "*": "*"}.get(kind, kind)
            return rf"\left\|{write(body)}\right\|_{{{mark}}}"
        case boxes.Applied(function, args):
            return rf"{operator(function)}\left({', '.join(map(write, args))}\right)"
        case boxes.Blocks(rows):
            lines = r" \\ ".join(" & ".join(map(write, row)) for row in rows)
            return rf"\begin{{bmatrix}}{lines}\end{{bmatrix}}"
        case boxes.SumOver(body):
            return rf"\sum_i {write(body)}"
        case boxes.Entries(body):
            return rf"\left({write(body)}\right)_i"
        case boxes.Dimensions(sizes):
            return r" \times ".join(map(str, sizes))
        case boxes.Listed(items):
            return ", ".join(map(write, items))
        case boxes.Subset(letter, sign, sizes):
            shape = r" \times ".join(map(str, sizes))
            return (
                write(letter)
                + (f"_{{{sign}}}" if sign else "")
                + (f"^{{{shape}}}" if shape else "")
            )
    raise TypeError(type(box).__name__)


def identifier(name: str) -> str:
    r"""A symbol: ``lam_1`` is ``\lambda_{1}``, ``budget`` is upright."""
    stem, _, index = name.partition("_")
    written = _letters(stem)
    if not index:
        return written
    return f"{written}_{{{_letters(index)}}}"


def _letters(word: str) -> str:
    spelled = _SPELLINGS.get(word, word)
    if spelled in GREEK:
        return f"\\{spelled}"
    if re.fullmatch("[A-Za-z]|[0-9]+", word):
        return word
    if re.fullmatch("[A-Za-z0-9]+", word):
        return rf"\mathrm{{{word}}}"
    return text(word)


def numeral(digits: str) -> str:
    """A number; a power of ten is written as one."""
    mantissa, exponential, exponent = digits.partition("e")
    if not exponential or "j" in digits:
        return {"inf": r"\infty", "nan": text("nan")}.get(digits, digits)
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \times {power}"


def operator(function: str) -> str:
    """The name of a function."""
    if function in FUNCTIONS:
        return FUNCTIONS[function]
    plain = re.fullmatch("[A-Za-z0-9]+", function)
    return rf"\operatorname{{{function}}}" if plain else text(function)


def text(words: str) -> str:
    """Words in a formula."""
    return rf"\text{{{''.join(_SPECIAL.get(letter, letter) for letter in words)}}}"


def _sum(terms: tuple[tuple[int, Box], ...]) -> str:
    (sign, first), *others = terms
    written = ("-" if sign < 0 else "") + write(first)
    for sign, term in others:
        written += (" - " if sign < 0 else " + ") + write(term)
    return written


def _row(parts: tuple[Box, ...]) -> str:
    """Factors side by side: numbers and words are set off from what follows."""
    written = write(parts[0])
    for before, part in pairwise(parts):
        numbers = isinstance(before, boxes.Numeral) and isinstance(part, boxes.Numeral)
        words = any(r"\mathrm" in write(box) or r"\text" in write(box) for box in (before, part))
        set_off = isinstance(before, boxes.Numeral) or words
        written += (r" \cdot " if numbers else r" \, " if set_off else " ") + write(part)
    return written


def _unscripted(box: Box) -> str:
    """A base that can carry an index: a name that has one already is held together."""
    written = write(box)
    return f"{{{written}}}" if "_" in written else written


def _entry(entry: Any) -> str:
    """Positions are counted from 1, as formulas do."""
    if isinstance(entry, range):
        step = "" if entry.step == 1 else f":{entry.step}"
        last = entry[-1] + 1 if len(entry) else entry.start
        return f"{entry.start + 1}{step}:{last}"
    if isinstance(entry, tuple):
        return r"\{" + ",".join(str(position + 1) for position in entry) + r"\}"
    if isinstance(entry, int | Box):
        return write(entry) if isinstance(entry, Box) else str(entry + 1)
    return {":": ":", "i": "i"}.get(entry) or text(entry)
