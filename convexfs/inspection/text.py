"""Notation as plain text, in the manner of ``max w'z  s.t. norm2(w) <= 1``.

:class:`Text` is also what other styles are made from: each has a method for every piece
of notation, which takes pieces and returns one.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

#: How tightly a piece of notation holds together.
SUM, TERM, ENTRYWISE, PRODUCT, CALL, UNIT = range(6)
Terms = Sequence[tuple[int, "Piece"]]


class Piece(str):
    """A piece of notation as it is written, how tightly it holds, and what it is."""

    level: int
    kind: str
    parts: tuple["Piece", ...]

    def __new__(
        cls, written: str, level: int = UNIT, kind: str = "", parts: tuple["Piece", ...] = ()
    ) -> "Piece":
        piece = super().__new__(cls, written)
        piece.level, piece.kind, piece.parts = level, kind, parts
        return piece


class Text:
    """Plain text: one line, positions counted from 0 as in Python."""

    #: Short names that formulas in books use.
    functions: ClassVar[dict[str, str]] = {"trace": "tr", "maximum": "max", "minimum": "min"}
    operators: ClassVar[dict[str, str]] = {}
    ones_forms: ClassVar[dict[str, str]] = {"column": "1", "row": "1'", "matrix": "1 1'"}

    def name(self, name: str) -> Piece:
        return Piece(name)

    def word(self, word: str) -> Piece:
        return Piece(word)

    def number(self, digits: str) -> Piece:
        return Piece(digits, kind="number")

    def letter(self, letter: str) -> Piece:
        """A set of numbers or matrices: R, Z, S, C."""
        return Piece(letter)

    def ones(self, body: Piece | None, form: str) -> Piece:
        """The array of ones times what it repeats; text shows only that, as numpy does."""
        level = {"column": UNIT, "row": CALL, "matrix": PRODUCT}[form]
        return Piece(self.ones_forms[form], level) if body is None else body

    def signed(self, terms: Terms, first: bool = True) -> Piece:
        """Terms with signs; the first sign is left out if it is a plus at the beginning."""
        written = ""
        for sign, term in terms:
            if written or not first:
                mark = "- " if sign < 0 else "+ "
                written += (" " if written else "") + mark + term
            else:
                written = ("-" if sign < 0 else "") + term
        return Piece(written, SUM)

    def infix(self, left: Piece, operator: str, right: Piece) -> Piece:
        if operator in (".*", "./"):
            left, right = self.held(left, ENTRYWISE), self.held(right, ENTRYWISE)
        return Piece(f"{left} {self.operators.get(operator, operator)} {right}".strip(), ENTRYWISE)

    def row(self, parts: Sequence[Piece]) -> Piece:
        """Factors side by side; rows among them are opened."""
        opened = [each for part in parts for each in (part.parts or (part,))]
        held = [part if part.kind == "sum over" else self.held(part, CALL) for part in opened]
        written = str(held[0])
        for before, part in pairwise(held):
            written += self.gap(before, part) + part
        return held[0] if len(held) == 1 else Piece(written, PRODUCT, "row", tuple(held))

    def gap(self, before: Piece, part: Piece) -> str:
        return "" if before.endswith("'") and part.kind != "call" else " "

    def held(self, piece: Piece, level: int) -> Piece:
        """Brackets around what does not hold together as tightly as `level`."""
        return piece if piece.level >= level else self.fenced(piece)

    def fraction(self, numerator: Piece, denominator: Piece) -> Piece:
        top, bottom = self.held(numerator, PRODUCT), self.held(denominator, CALL)
        return Piece(f"{top} / {bottom}", TERM)

    def root(self, body: Piece) -> Piece:
        return Piece(f"sqrt({body})")

    def exponential(self, exponent: Piece) -> Piece:
        return Piece(f"exp({exponent})", kind="call")

    def power(self, base: Piece, exponent: Piece, entrywise: bool) -> Piece:
        return Piece(f"{base}{'.' * entrywise}^{self.held(exponent, CALL)}", CALL)

    def transposed(self, body: Piece) -> Piece:
        return Piece(f"{body}'", CALL)

    def indexed(self, body: Piece, entries: Sequence[Any]) -> Piece:
        return Piece(f"{body}[{', '.join(map(self.entry, entries))}]")

    def entry(self, entry: Any) -> str:
        """One index: a position, a range, some positions, ``:`` or a symbol."""
        if isinstance(entry, range):
            step = "" if entry.step == 1 else f":{entry.step}"
            stop = entry.stop if entry.stop >= 0 else ""
            return f"{entry.start}:{stop}{step}"
        return f"[{', '.join(map(str, entry))}]" if isinstance(entry, tuple) else str(entry)

    def fenced(self, body: Piece, fence: str = "()") -> Piece:
        return Piece(f"abs({body})" if fence == "||" else f"{fence[0]}{body}{fence[1]}")

    def norm(self, body: Piece, kind: str) -> Piece:
        return Piece(f"norm{'nuc' if kind == '*' else kind}({body})")

    def call(self, function: str, args: Sequence[Piece]) -> Piece:
        return Piece(f"{self.functions.get(function, function)}({', '.join(args)})", kind="call")

    def blocks(self, rows: Sequence[Sequence[Piece]]) -> Piece:
        """A matrix of blocks."""
        return Piece(f"[{'; '.join(map(', '.join, rows))}]")

    def sum_over(self, body: Piece, letter: str = "i") -> Piece:
        return Piece(f"sum_{letter} {body}", ENTRYWISE, "sum over")

    def entries(self, body: Piece) -> Piece:
        """The vector of a body's values for all i."""
        return Piece(f"({body})_i")

    def sizes(self, sizes: Sequence[int]) -> Piece:
        return Piece("x".join(map(str, sizes)))

    def listed(self, items: Sequence[Piece]) -> Piece:
        return Piece(", ".join(items))

    def subset(self, letter: Piece, sign: str, sizes: Sequence[int]) -> Piece:
        """A letter with a sign and a shape: R_+^30."""
        return Piece(f"{letter}{'_' * bool(sign)}{sign}{'^' * bool(sizes)}{self.sizes(sizes)}")
