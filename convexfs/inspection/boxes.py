"""Mathematical notation before it is written as text, LaTeX or MathML."""

from dataclasses import dataclass
from typing import Any, ClassVar

#: How tightly a piece of notation holds together.
SUM, ENTRYWISE, PRODUCT, CALL, UNIT = range(1, 6)


@dataclass(frozen=True)
class Box:
    """A piece of notation."""

    level: ClassVar[int] = UNIT


@dataclass(frozen=True)
class Name(Box):
    """A symbol."""

    name: str


@dataclass(frozen=True)
class Numeral(Box):
    """A number that is not negative, or an index."""

    digits: str


@dataclass(frozen=True)
class Word(Box):
    """An upright word: a function, a set, a sentence."""

    word: str


@dataclass(frozen=True)
class Letter(Box):
    """A set of numbers or matrices: R, Z, S."""

    letter: str


@dataclass(frozen=True)
class Ones(Box):
    """The array of ones, a column, row or matrix, times what it repeats.

    Plain text shows only what is repeated, as numpy does.
    """

    body: Box | None
    form: str = "column"

    @property
    def level(self) -> int:  # type: ignore[override]
        if self.body is not None or self.form == "matrix":
            return PRODUCT
        return UNIT if self.form == "column" else CALL


@dataclass(frozen=True)
class Signed(Box):
    """Terms with signs."""

    level: ClassVar[int] = SUM
    terms: tuple[tuple[int, Box], ...]


@dataclass(frozen=True)
class Infix(Box):
    """Two operands and ``.*``, ``./`` or a relation between them."""

    level: ClassVar[int] = ENTRYWISE
    left: Box
    operator: str
    right: Box


@dataclass(frozen=True)
class Row(Box):
    """Factors side by side."""

    level: ClassVar[int] = PRODUCT
    parts: tuple[Box, ...]


@dataclass(frozen=True)
class Fraction(Box):
    """One over the other."""

    level: ClassVar[int] = CALL
    numerator: Box
    denominator: Box


@dataclass(frozen=True)
class Root(Box):
    """A square root."""

    body: Box


@dataclass(frozen=True)
class Exponential(Box):
    """e to a power."""

    level: ClassVar[int] = CALL
    exponent: Box


@dataclass(frozen=True)
class Super(Box):
    """A power; `entrywise` marks a power of every entry."""

    level: ClassVar[int] = CALL
    base: Box
    exponent: Box
    entrywise: bool = False


@dataclass(frozen=True)
class Transposed(Box):
    """A transpose."""

    level: ClassVar[int] = CALL
    body: Box


@dataclass(frozen=True)
class Indexed(Box):
    """Some entries: positions, ``:``, ``i`` or ranges, counted from 0."""

    body: Box
    entries: tuple[Any, ...]


@dataclass(frozen=True)
class Fenced(Box):
    """A body in parentheses, bars or braces."""

    body: Box
    fence: str = "()"


@dataclass(frozen=True)
class NormBars(Box):
    """A norm and its kind: 1, 2, inf, F, *, or a number."""

    body: Box
    kind: str


@dataclass(frozen=True)
class Applied(Box):
    """A function of arguments."""

    level: ClassVar[int] = CALL
    function: str
    args: tuple[Box, ...]


@dataclass(frozen=True)
class Blocks(Box):
    """A matrix of blocks."""

    rows: tuple[tuple[Box, ...], ...]


@dataclass(frozen=True)
class SumOver(Box):
    """A sum over i."""

    level: ClassVar[int] = ENTRYWISE
    body: Box


@dataclass(frozen=True)
class Entries(Box):
    """The vector of a body's values for all i."""

    body: Box


@dataclass(frozen=True)
class Dimensions(Box):
    """A shape."""

    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Listed(Box):
    """Boxes with commas between."""

    items: tuple[Box, ...]


@dataclass(frozen=True)
class Subset(Box):
    """A letter with a sign and a shape: R_+^30."""

    letter: Box
    sign: str
    sizes: tuple[int, ...]
