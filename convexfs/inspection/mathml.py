"""Notation as presentation MathML, which browsers show without a script."""

from collections.abc import Sequence
from typing import Any, ClassVar
from xml.sax.saxutils import escape

from convexfs.inspection.latex import Latex
from convexfs.inspection.letters import GREEK, SPELLED
from convexfs.inspection.text import CALL, ENTRYWISE, PRODUCT, SUM, Piece, Terms

_DOUBLE = {"R": "ℝ", "Z": "ℤ", "S": "𝕊", "C": "ℂ"}
#: Signs that are not seen, but read out and broken at.
_TIMES, _APPLY = "<mo>\u2062</mo>", "<mo>\u2061</mo>"


class MathML(Latex):
    """MathML; every piece is one element. Brackets and positions are as in LaTeX."""

    functions: ClassVar[dict[str, str]] = {
        "trace": "tr", "maximum": "max", "minimum": "min", "log_det": "log det",
        "real": "Re", "imag": "Im",
    }  # fmt: skip
    operators: ClassVar[dict[str, str]] = {
        "<=": "≤", ">=": "≥", "==": "=", ">>": "⪰", "in": "∈", ".*": "∘", "./": "⊘"
    }  # fmt: skip
    ones_forms: ClassVar[dict[str, str]] = {
        "column": "<mn>𝟏</mn>", "row": "<msup><mn>𝟏</mn><mo>⊤</mo></msup>",
        "matrix": "<mrow><mn>𝟏</mn><msup><mn>𝟏</mn><mo>⊤</mo></msup></mrow>",
    }  # fmt: skip
    times = _TIMES

    def name(self, name: str) -> Piece:
        stem, _, index = name.partition("_")
        return Piece(f"<msub>{_letters(stem)}{_letters(index)}</msub>" if index else _letters(stem))

    def word(self, word: str) -> Piece:
        return Piece(f"<mtext>{escape(word)}</mtext>")

    def number(self, digits: str) -> Piece:
        mantissa, exponential, exponent = digits.partition("e")
        if not exponential or "j" in digits:
            return Piece(f"<mn>{'∞' if digits == 'inf' else digits}</mn>", kind="number")
        power = f"<msup><mn>10</mn><mn>{int(exponent)}</mn></msup>".replace("<mn>-", "<mn>−")
        times = _row(f"<mn>{mantissa}</mn>", _sign("×"), power)
        return Piece(power if mantissa == "1" else times, kind="number")

    def letter(self, letter: str) -> Piece:
        return Piece(f"<mi>{_DOUBLE[letter]}</mi>")

    def ones(self, body: Piece | None, form: str) -> Piece:
        one = super().ones(body, form)
        return one if body is None else Piece(_row(one), PRODUCT)

    def signed(self, terms: Terms, first: bool = True) -> Piece:
        parts: list[str] = []
        for sign, term in terms:
            if parts or not first or sign < 0:
                parts.append(_sign("−" if sign < 0 else "+"))
            parts.append(term)
        return Piece(_row(*parts), SUM)

    def infix(self, left: Piece, operator: str, right: Piece) -> Piece:
        sign = _sign(self.operators.get(operator, operator))
        return Piece(_row(left, sign, right), ENTRYWISE)

    def row(self, parts: Sequence[Piece]) -> Piece:
        if len(parts) == 1:
            return parts[0]
        return Piece(_row(_TIMES.join(parts)), PRODUCT)

    def fraction(self, numerator: Piece, denominator: Piece) -> Piece:
        return Piece(f"<mfrac>{numerator}{denominator}</mfrac>", CALL)

    def root(self, body: Piece) -> Piece:
        return Piece(f"<msqrt>{body}</msqrt>")

    def exponential(self, exponent: Piece) -> Piece:
        return Piece(f"<msup><mi>e</mi>{exponent}</msup>", CALL)

    def power(self, base: Piece, exponent: Piece, entrywise: bool) -> Piece:
        return self._raised(base, _row(_sign("∘"), exponent) if entrywise else exponent)

    def transposed(self, body: Piece) -> Piece:
        return self._raised(body, _sign("⊤"))

    def _raised(self, base: Piece, mark: str) -> Piece:
        """A base and its exponent, which stands above the base's index if there is one."""
        index = base.removeprefix("<msub>").removesuffix("</msub>")
        if base.startswith("<msub>"):
            return Piece(f"<msubsup>{index}{mark}</msubsup>", CALL)
        return Piece(f"<msup>{base}{mark}</msup>", CALL)

    def indexed(self, body: Piece, entries: Sequence[Any]) -> Piece:
        return Piece(f"<msub>{body}{_row(_sign(',').join(map(self.entry, entries)))}</msub>")

    def entry(self, entry: Any) -> str:
        if isinstance(entry, Piece):
            return entry
        if isinstance(entry, tuple):
            return f"<mn>{{{','.join(str(position + 1) for position in entry)}}}</mn>"
        tag = "mi" if entry == "i" else "mtext" if entry == "new" else "mn"
        return f"<{tag}>{entry if entry == 'new' else super().entry(entry)}</{tag}>"

    def fenced(self, body: Piece, fence: str = "()") -> Piece:
        return Piece(_row(_sign(fence[0]), body, _sign(fence[1])))

    def norm(self, body: Piece, kind: str) -> Piece:
        mark = {"inf": "∞", "*": "∗"}.get(kind, kind)
        return Piece(f"<msub>{self.fenced(body, '‖‖')}<mi>{mark}</mi></msub>")

    def call(self, function: str, args: Sequence[Piece]) -> Piece:
        name = f"<mi>{escape(self.functions.get(function, function))}</mi>"
        if function == "lambda_max":
            name = "<msub><mi>λ</mi><mi>max</mi></msub>"
        return Piece(_row(name, _APPLY, self.fenced(self.listed(args))), CALL)

    def blocks(self, rows: Sequence[Sequence[Piece]]) -> Piece:
        cells = ("".join(f"<mtd>{piece}</mtd>" for piece in row) for row in rows)
        lines = "".join(f"<mtr>{row}</mtr>" for row in cells)
        return self.fenced(Piece(f"<mtable>{lines}</mtable>"), "[]")

    def sum_over(self, body: Piece, letter: str = "i") -> Piece:
        sign = f"<munder>{_sign('∑')}<mi>{letter}</mi></munder>"
        return Piece(_row(sign, body), ENTRYWISE, "sum over")

    def entries(self, body: Piece) -> Piece:
        return Piece(f"<msub>{self.fenced(body)}<mi>i</mi></msub>")

    def sizes(self, sizes: Sequence[int]) -> Piece:
        return Piece(_row(_sign("×").join(f"<mn>{size}</mn>" for size in sizes)))

    def listed(self, items: Sequence[Piece]) -> Piece:
        return Piece(_row(_sign(",").join(items)))

    def subset(self, letter: Piece, sign: str, sizes: Sequence[int]) -> Piece:
        scripts = [
            letter,
            *([_sign(sign)] if sign else []),
            *([self.sizes(sizes)] if sizes else []),
        ]
        tag = {(0, 0): "mrow", (1, 0): "msub", (0, 1): "msup", (1, 1): "msubsup"}[
            bool(sign), bool(sizes)
        ]
        return Piece(f"<{tag}>{''.join(scripts)}</{tag}>")


def _letters(word: str) -> str:
    return f"<mi>{escape(GREEK.get(SPELLED.get(word, word), word))}</mi>"


def _sign(sign: str) -> str:
    return f"<mo>{escape(sign)}</mo>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"
