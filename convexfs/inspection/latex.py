r"""Notation as LaTeX that KaTeX, MathJax and amsmath accept."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from convexfs.inspection.letters import GREEK, SPELLED
from convexfs.inspection.text import CALL, ENTRYWISE, PRODUCT, Piece, Text

_SPELLINGS = SPELLED | {letter: name for name, letter in GREEK.items()}
_SPECIAL = {letter: rf"$\{name}$" for name, letter in GREEK.items()} | {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
}  # fmt: skip
_FENCES = {
    "()": (r"\left(", r"\right)"), "{}": (r"\left\{", r"\right\}"), "||": (r"\left|", r"\right|")
}  # fmt: skip


class Latex(Text):
    """LaTeX; positions are counted from 1, as formulas do."""

    functions: ClassVar[dict[str, str]] = {
        "log": r"\log", "max": r"\max", "min": r"\min", "maximum": r"\max", "minimum": r"\min",
        "trace": r"\operatorname{tr}", "lambda_max": r"\lambda_{\max}", "log_det": r"\log\det",
        "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh", "tanh": r"\tanh",
        "real": r"\operatorname{Re}", "imag": r"\operatorname{Im}",
    }  # fmt: skip
    operators: ClassVar[dict[str, str]] = {
        "<=": r"\le", ">=": r"\ge", "==": "=", ">>": r"\succeq", "in": r"\in",
        ".*": r"\circ", "./": r"\oslash",
    }  # fmt: skip
    ones_forms: ClassVar[dict[str, str]] = {
        "column": r"\mathbf{1}", "row": r"\mathbf{1}^\top", "matrix": r"\mathbf{1} \mathbf{1}^\top"
    }  # fmt: skip
    times = r" \, "

    def name(self, name: str) -> Piece:
        r"""A symbol: ``lam_1`` is ``\lambda_{1}``, ``budget`` is upright."""
        stem, _, index = name.partition("_")
        return Piece(_letters(stem) + (f"_{{{_letters(index)}}}" if index else ""))

    def word(self, word: str) -> Piece:
        return Piece(text(word))

    def number(self, digits: str) -> Piece:
        """A number; a power of ten is written as one."""
        mantissa, exponential, exponent = digits.partition("e")
        if not exponential or "j" in digits:
            plain = {"inf": r"\infty", "nan": text("nan")}.get(digits, digits)
            return Piece(plain, kind="number")
        power = f"10^{{{int(exponent)}}}"
        return Piece(power if mantissa == "1" else rf"{mantissa} \times {power}", kind="number")

    def letter(self, letter: str) -> Piece:
        return Piece(rf"\mathbb{{{letter}}}")

    def ones(self, body: Piece | None, form: str) -> Piece:
        one = super().ones(None, form)
        if body is None:
            return one
        factor = body if body.level >= PRODUCT else self.fenced(body)
        return Piece(f"{factor}{self.times}{one}", PRODUCT)

    def gap(self, before: Piece, part: Piece) -> str:
        """Numbers and words are set off from what follows."""
        if before.kind == part.kind == "number":
            return r" \cdot "
        words = any(word in box for word in (r"\mathrm", r"\text") for box in (before, part))
        return r" \, " if before.kind == "number" or words else " "

    def held(self, piece: Piece, level: int) -> Piece:
        # Notation has put brackets where they are needed; fractions need none.
        return piece

    def fraction(self, numerator: Piece, denominator: Piece) -> Piece:
        return Piece(rf"\frac{{{numerator}}}{{{denominator}}}", CALL)

    def root(self, body: Piece) -> Piece:
        return Piece(rf"\sqrt{{{body}}}")

    def exponential(self, exponent: Piece) -> Piece:
        return Piece(f"e^{{{exponent}}}", CALL)

    def power(self, base: Piece, exponent: Piece, entrywise: bool) -> Piece:
        mark = r"\circ " if entrywise else ""
        return Piece(f"{base}^{{{mark}{exponent}}}", CALL)

    def transposed(self, body: Piece) -> Piece:
        return Piece(rf"{body}^\top", CALL)

    def indexed(self, body: Piece, entries: Sequence[Any]) -> Piece:
        # A name that has an index already is held together.
        base = f"{{{body}}}" if "_" in body else body
        return Piece(f"{base}_{{{','.join(map(self.entry, entries))}}}")

    def entry(self, entry: Any) -> str:
        if isinstance(entry, range):
            step = "" if entry.step == 1 else f":{entry.step}"
            last = entry[-1] + 1 if len(entry) else entry.start
            return f"{entry.start + 1}{step}:{last}"
        if isinstance(entry, tuple):
            return rf"\{{{','.join(str(position + 1) for position in entry)}\}}"
        if isinstance(entry, int):
            return str(entry + 1)
        return text(entry) if entry == "new" else entry

    def fenced(self, body: Piece, fence: str = "()") -> Piece:
        return Piece(body.join(_FENCES[fence]))

    def norm(self, body: Piece, kind: str) -> Piece:
        mark = {"inf": r"\infty"}.get(kind, kind)
        return Piece(rf"\left\|{body}\right\|_{{{mark}}}")

    def call(self, function: str, args: Sequence[Piece]) -> Piece:
        plain = re.fullmatch("[A-Za-z0-9]+", function)
        own = rf"\operatorname{{{function}}}" if plain else text(function)
        name = self.functions.get(function, own)
        return Piece(rf"{name}\left({', '.join(args)}\right)", CALL)

    def blocks(self, rows: Sequence[Sequence[Piece]]) -> Piece:
        lines = r" \\ ".join(map(" & ".join, rows))
        return Piece(rf"\begin{{bmatrix}}{lines}\end{{bmatrix}}")

    def sum_over(self, body: Piece, letter: str = "i") -> Piece:
        return Piece(rf"\sum_{letter} {body}", ENTRYWISE, "sum over")

    def entries(self, body: Piece) -> Piece:
        return Piece(rf"\left({body}\right)_i")

    def sizes(self, sizes: Sequence[int]) -> Piece:
        return Piece(r" \times ".join(map(str, sizes)))

    def subset(self, letter: Piece, sign: str, sizes: Sequence[int]) -> Piece:
        shape = self.sizes(sizes)
        return Piece(letter + (f"_{{{sign}}}" * bool(sign)) + (f"^{{{shape}}}" * bool(sizes)))


def text(words: str) -> str:
    """Words in a formula."""
    return rf"\text{{{''.join(_SPECIAL.get(letter, letter) for letter in words)}}}"


def _letters(word: str) -> str:
    spelled = _SPELLINGS.get(word, word)
    if spelled in GREEK:
        return f"\\{spelled}"
    if re.fullmatch("[A-Za-z]|[0-9]+", word):
        return word
    return rf"\mathrm{{{word}}}" if re.fullmatch("[A-Za-z0-9]+", word) else text(word)
