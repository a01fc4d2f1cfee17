"""Notation as plain text, in the manner of ``max w'z  s.t. norm2(w) <= 1``."""

from typing import Any

from convexfs.inspection import boxes
from convexfs.inspection.boxes import CALL, ENTRYWISE, PRODUCT, Box

#: Short names that formulas in books use.
FUNCTIONS = {"trace": "tr", "maximum": "max", "minimum": "min"}

ONES = {"column": "1", "row": "1'", "matrix": "1 1'"}


def write(box: Box) -> str:
    """Write a piece of notation."""
    match box:
        case boxes.Name(word) | boxes.Numeral(word) | boxes.Word(word) | boxes.Letter(word):
            return word
        case boxes.Ones(body, form):
            return ONES[form] if body is None else write(body)
        case boxes.Signed(terms):
            return _sum(terms)
        case boxes.Infix(left, (".*" | "./") as operator, right):
            return f"{_held(left, ENTRYWISE)} {operator} {_held(right, ENTRYWISE)}"
        case boxes.Infix(left, operator, right):
            return f"{write(left)} {operator} {write(right)}"
        case boxes.Row(parts):
            return _row(parts)
        case boxes.Fraction(numerator, denominator):
            return f"{_held(numerator, PRODUCT)} / {_held(denominator, CALL)}"
        case boxes.Root(body):
            return f"sqrt({write(body)})"
        case boxes.Exponential(exponent):
            return f"exp({write(exponent)})"
        case boxes.Super(base, exponent, entrywise):
            return f"{_held(base, CALL)}{'.' * entrywise}^{_held(exponent, CALL)}"
        case boxes.Transposed(body):
            return f"{_held(body, CALL)}'"
        case boxes.Indexed(body, entries):
            return f"{_held(body, CALL)}[{', '.join(map(_entry, entries))}]"
    return _enclosed(box)


def _enclosed(box: Box) -> str:
    match box:
        case boxes.Fenced(body, fence):
            if fence == "||":
                return f"abs({write(body)})"
            # exp(t)^2 needs no more brackets on one line.
            has_own = fence == "()" and isinstance(body, boxes.Applied | boxes.Exponential)
            return write(body) if has_own else f"{fence[0]}{write(body)}{fence[1]}"
        case boxes.NormBars(body, kind):
            return f"norm{'nuc' if kind == '*' else kind}({write(body)})"
        case boxes.Applied(function, args):
            return f"{FUNCTIONS.get(function, function)}({', '.join(map(write, args))})"
        case boxes.Blocks(rows):
            return f"[{'; '.join(', '.join(map(write, row)) for row in rows)}]"
        case boxes.SumOver(body):
            return f"sum_i {write(body)}"
        case boxes.Entries(body):
            return f"({write(body)})_i"
        case boxes.Dimensions(sizes):
            return "x".join(map(str, sizes))
        case boxes.Listed(items):
            return ", ".join(map(write, items))
        case boxes.Subset(letter, sign, sizes):
            shape = "x".join(map(str, sizes))
            return write(letter) + ("_" + sign if sign else "") + ("^" + shape if shape else "")
    raise TypeError(type(box).__name__)


def _sum(terms: tuple[tuple[int, Box], ...]) -> str:
    (sign, first), *others = terms
    written = ("-" if sign < 0 else "") + write(first)
    for sign, term in others:
        written += (" - " if sign < 0 else " + ") + write(term)
    return written


def _row(parts: tuple[Box, ...]) -> str:
    written = _held(parts[0], CALL)
    for part in parts[1:]:
        tight = written.endswith("'") and not isinstance(part, boxes.Applied | boxes.Exponential)
        written += ("" if tight else " ") + _held(part, CALL)
    return written


def _held(box: Box, level: int) -> str:
    """Brackets where a fraction on one line, or a number times ones, would fall apart."""
    if isinstance(box, boxes.SumOver):  # only ever the last factor
        return write(box)
    is_loose = isinstance(box, boxes.Fraction) or _level(box) < level
    return f"({write(box)})" if is_loose else write(box)


def _level(box: Box) -> int:
    if isinstance(box, boxes.Ones) and box.body is not None:
        return _level(box.body)
    return box.level


def _entry(entry: Any) -> str:
    if isinstance(entry, range):
        step = "" if entry.step == 1 else f":{entry.step}"
        stop = entry.stop if entry.stop >= 0 else ""
        return f"{entry.start}:{stop}{step}"
    if isinstance(entry, tuple):
        return f"[{', '.join(map(str, entry))}]"
    return write(entry) if isinstance(entry, Box) else str(entry)
