"""Notation as presentation MathML, which browsers show without a script."""

from typing import Any
from xml.sax.saxutils import escape

from convexfs.inspection import boxes
from convexfs.inspection.boxes import Box
from convexfs.inspection.letters import GREEK, SPELLED

OPERATORS = {
    "<=": "≤", ">=": "≥", "==": "=", ">>": "⪰", "in": "∈", ".*": "∘", "./": "⊘", "=": "=",
}  # fmt: skip
FUNCTIONS = {"trace": "tr", "maximum": "max", "minimum": "min", "log_det": "log det",
             "real": "Re", "imag": "Im"}  # fmt: skip
LAMBDA_MAX = "<msub><mi>λ</mi><mi>max</mi></msub>"
DOUBLE = {"R": "ℝ", "Z": "ℤ", "S": "𝕊", "C": "ℂ"}
#: Signs that are not seen, but read out and broken at.
_TIMES, _APPLY = "<mo>\u2062</mo>", "<mo>\u2061</mo>"


def write(box: Box) -> str:
    """Write a piece of notation as one element."""
    match box:
        case boxes.Name(name):
            return _identifier(name)
        case boxes.Numeral(digits):
            return _numeral(digits)
        case boxes.Word(word):
            return f"<mtext>{escape(word)}</mtext>"
        case boxes.Letter(letter):
            return f"<mi>{DOUBLE.get(letter, letter)}</mi>"
        case boxes.Ones(body, form):
            return _ones(body, form)
        case boxes.Signed(terms):
            return _sum(terms)
        case boxes.Infix(left, operator, right):
            return _row(write(left), _operator(OPERATORS[operator]), write(right))
        case boxes.Row(parts):
            return _row(_TIMES.join(map(write, parts)))
        case boxes.Fraction(numerator, denominator):
            return f"<mfrac>{write(numerator)}{write(denominator)}</mfrac>"
        case boxes.Root(body):
            return f"<msqrt>{write(body)}</msqrt>"
        case boxes.Exponential(exponent):
            return f"<msup><mi>e</mi>{write(exponent)}</msup>"
        case boxes.Super(base, exponent, entrywise):
            mark = _row(_operator("∘"), write(exponent)) if entrywise else write(exponent)
            return _raised(base, mark)
        case boxes.Transposed(body):
            return _raised(body, _operator("⊤"))
        case boxes.Indexed(body, entries):
            return f"<msub>{write(body)}{_row(_operator(',').join(map(_entry, entries)))}</msub>"
    return _enclosed(box)


def _enclosed(box: Box) -> str:
    match box:
        case boxes.Fenced(body, fence):
            return _fenced(write(body), fence)
        case boxes.NormBars(body, kind):
            mark = {"inf": "∞", "*": "∗"}.get(kind, kind)
            return f"<msub>{_fenced(write(body), '‖‖')}<mi>{mark}</mi></msub>"
        case boxes.Applied(function, args):
            inside = _operator(",").join(map(write, args))
            name = LAMBDA_MAX if function == "lambda_max" else (
                f"<mi>{escape(FUNCTIONS.get(function, function))}</mi>"
            )  # fmt: skip
            return _row(name, _APPLY, _fenced(inside, "()"))
        case boxes.Blocks(rows):
            return _fenced(_table(rows), "[]")
        case boxes.SumOver(body):
            return _row(f"<munder>{_operator('∑')}<mi>i</mi></munder>", write(body))
        case boxes.Entries(body):
            return f"<msub>{_fenced(write(body), '()')}<mi>i</mi></msub>"
        case boxes.Dimensions(sizes):
            return _sizes(sizes)
        case boxes.Listed(items):
            return _row(_operator(",").join(map(write, items)))
        case boxes.Subset(letter, sign, sizes):
            return _subset(write(letter), sign, sizes)
    raise TypeError(type(box).__name__)


def _identifier(name: str) -> str:
    stem, _, index = name.partition("_")
    return f"<msub>{_letters(stem)}{_letters(index)}</msub>" if index else _letters(stem)


def _letters(word: str) -> str:
    return f"<mi>{escape(GREEK.get(SPELLED.get(word, word), word))}</mi>"


def _numeral(digits: str) -> str:
    mantissa, exponential, exponent = digits.partition("e")
    if not exponential or "j" in digits:
        return f"<mn>{'∞' if digits == 'inf' else digits}</mn>"
    power = f"<msup><mn>10</mn><mn>{int(exponent)}</mn></msup>".replace("<mn>-", "<mn>−")
    return power if mantissa == "1" else _row(f"<mn>{mantissa}</mn>", _operator("×"), power)


def _ones(body: Box | None, form: str) -> str:
    one = "<mn>𝟏</mn>"
    row = f"<msup>{one}{_operator('⊤')}</msup>"
    written = {"column": one, "row": row, "matrix": _row(one, row)}[form]
    return written if body is None else _row(write(body), _TIMES, written)


def _raised(base: Box, mark: str) -> str:
    """A base and its exponent, which stands above the base's index if there is one."""
    written = write(base)
    if isinstance(base, boxes.Name | boxes.NormBars | boxes.Indexed | boxes.Entries):
        index = written.removeprefix("<msub>").removesuffix("</msub>")
        if index != written:
            return f"<msubsup>{index}{mark}</msubsup>"
    return f"<msup>{written}{mark}</msup>"


def _sum(terms: tuple[tuple[int, Box], ...]) -> str:
    (sign, first), *others = terms
    parts = [_operator("−") if sign < 0 else "", write(first)]
    for sign, term in others:
        parts += [_operator("−" if sign < 0 else "+"), write(term)]
    return _row(*parts)


def _subset(letter: str, sign: str, sizes: tuple[int, ...]) -> str:
    if sign and sizes:
        return f"<msubsup>{letter}{_operator(sign)}{_sizes(sizes)}</msubsup>"
    if sign:
        return f"<msub>{letter}{_operator(sign)}</msub>"
    return f"<msup>{letter}{_sizes(sizes)}</msup>" if sizes else letter


def _sizes(sizes: tuple[int, ...]) -> str:
    return _row(_operator("×").join(f"<mn>{size}</mn>" for size in sizes))


def _entry(entry: Any) -> str:
    """Positions are counted from 1, as formulas do."""
    if isinstance(entry, range):
        step = "" if entry.step == 1 else f":{entry.step}"
        last = entry[-1] + 1 if len(entry) else entry.start
        return f"<mn>{entry.start + 1}{step}:{last}</mn>"
    if isinstance(entry, tuple):
        return f"<mn>{{{','.join(str(position + 1) for position in entry)}}}</mn>"
    if isinstance(entry, Box):
        return write(entry)
    if entry == "i":
        return "<mi>i</mi>"
    return f"<mn>{entry + 1 if isinstance(entry, int) else escape(entry)}</mn>"


def _table(rows: tuple[tuple[Box, ...], ...]) -> str:
    cells = ("".join(f"<mtd>{write(box)}</mtd>" for box in row) for row in rows)
    return f"<mtable>{''.join(f'<mtr>{row}</mtr>' for row in cells)}</mtable>"


def _fenced(inside: str, fence: str) -> str:
    return _row(_operator(fence[0]), inside, _operator(fence[1]))


def _operator(sign: str) -> str:
    return f"<mo>{escape(sign)}</mo>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"
