"""Convert a formula tree to notation: signs, brackets and line breaks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.inspection import tree
from convexfs.inspection.tree import Node
from convexfs.inspection.writers import CALL, ENTRYWISE, PRODUCT, TERM, UNIT, Piece, Text

#: Longest formula in characters of plain text before it is broken.
WIDTH = 88
#: Numbers with more characters than this are rounded to six digits.
LONGEST_NUMBER = 8


class Notation:
    """Writes formulas in a style.

    Parameters
    ----------
    style : Text
        How pieces of notation are written.
    in_full : bool
        Write every digit of every number, so that none that differ look the same.
    """

    def __init__(self, style: Text, in_full: bool = False):
        self.style = style
        self.in_full = in_full

    def write(self, node: Node) -> Piece:
        """Return a formula tree in the notation of the style."""
        return getattr(self, f"_{node.kind}")(node)

    def lines(self, node: Node) -> list[Piece]:
        """Return the notation in lines: one if short, else broken before signs and relations."""
        if len(_PLAIN.write(node)) <= WIDTH:
            return [self.write(node)]
        if node.kind == "relation" and node.sign != "holds":
            left, right = (self.lines(self.side(part)) for part in node.parts)
            first = self.style.infix(Piece(""), node.sign, right[0]).strip()
            return [*left, Piece(first), *right[1:]]
        if node.kind != "sum":
            return [self.write(node)]
        lines: list[list[tuple[int, Piece]]] = [[]]
        room = WIDTH
        for term, (_, plain) in zip(self.terms(node), _PLAIN.terms(node), strict=True):
            room -= len(plain) + 3
            if room < 0 and lines[-1]:
                lines.append([])
                room = WIDTH - len(plain) - 3
            lines[-1].append(term)
        return [self.style.signed(line, first=k == 0) for k, line in enumerate(lines)]

    def terms(self, node: Node) -> list[tuple[int, Piece]]:
        """Return the signed terms of a sum, or the node as its only term."""
        if node.kind == "sum":
            pairs = zip(node.signs, node.parts, strict=True)
            return [(sign, self._within(term, TERM)) for sign, term in pairs]
        sign, body = tree.signed(node)
        return [(sign, self._within(body, TERM))]

    def number(self, value: float) -> Piece:
        """Return a number with its sign, in the style."""
        numeral = self.style.number(self.digits(abs(value)))
        return self.style.signed([(-1, numeral)]) if value < 0 else numeral

    def digits(self, value: float) -> str:
        """Return the digits of a number: exact if short or `in_full`, else rounded to six."""
        if float(value).is_integer() and abs(value) < 1e6:
            return str(int(value))
        exact = repr(float(value))
        return exact if self.in_full or len(exact) <= LONGEST_NUMBER else f"{value:.6g}"

    def side(self, node: Node) -> Node:
        """Return a side that repeats one number in all rows as that number, others unchanged."""
        value = tree.number_in(node)
        return node if value is None else tree.number(value)

    def _relation(self, node: Node) -> Piece:
        left, right = node.parts
        if node.sign == "holds":
            return self.write(left)
        return self.style.infix(self.write(left), node.sign, self.write(self.side(right)))

    def _within(self, node: Node, level: int) -> Piece:
        """Write a node, in brackets if it binds less tightly than `level`."""
        return self._bracketed(self.write(node), level)

    def _bracketed(self, piece: Piece, level: int) -> Piece:
        return piece if piece.level >= level else self.style.put("()", piece)

    def _number(self, node: Node) -> Piece:
        if not isinstance(node.value, complex):
            return self.number(node.value)
        real, imaginary = (float(self.digits(p)) for p in (node.value.real, node.value.imag))
        # Adding 0 turns a negative zero into zero.
        digits = repr(complex(real, imaginary) + 0).strip("()")
        return self.style.put("()", self.style.number(digits))

    def _symbol(self, node: Node) -> Piece:
        return self.style.name(node.name)

    def _identity(self, node: Node) -> Piece:
        return self.style.name("I")

    def _broadcast(self, node: Node) -> Piece:
        if math.prod(node.body.shape) != 1:
            args = (self.write(node.body), self.style.sizes(node.shape))
            return self.style.call("broadcast", args)
        if tree.number_in(node) == 0:
            return self.style.number("0")
        is_column = len(node.shape) != 2 or node.shape[1] == 1
        form = "column" if is_column else "row" if node.shape[0] == 1 else "matrix"
        return self.style.repeated(None if tree.ones_of(node) else self.write(node.body), form)

    def _sum(self, node: Node) -> Piece:
        return self.style.signed(self.terms(node))

    def _family(self, node: Node) -> Piece:
        return self.style.put("sum over", self._within(node.body, TERM), node.letter)

    def _product(self, node: Node) -> Piece:
        sign = -1 if np.real(node.number) < 0 and not isinstance(node.number, complex) else 1
        factors = [self._within(factor, PRODUCT) for factor in node.parts[:-1]]
        # A sum over i may be the last factor, because nothing follows it.
        last = self.write(node.parts[-1])
        factors.append(last if last.kind == "sum over" else self._bracketed(last, PRODUCT))
        if node.number != sign:
            factors.insert(0, self.write(tree.number(sign * node.number)))
        row = self.style.row(factors)
        return row if sign > 0 else self.style.signed([(-1, row)])

    def _chain(self, node: Node) -> Piece:
        """Write a product; if a vector comes first, as ``x'A y`` (scalar) or ``A'x`` (vector)."""
        first, *others = node.parts
        if len(first.shape) > 1:
            return self.style.row([self._within(factor, PRODUCT) for factor in node.parts])
        if node.shape == ():
            rest = [self._within(factor, PRODUCT) for factor in others]
            return self.style.row([self._transposed(first), *rest])
        turned = [self._transposed(factor) for factor in reversed(others)]
        return self.style.row([*turned, self._within(first, PRODUCT)])

    def _transposed(self, node: Node) -> Piece:
        if len(node.shape) == 2:
            turned = tree.transpose(node)
            if turned.kind != "transpose":
                return self._within(turned, PRODUCT)
        return self.style.raised("transposed", self._within(node, UNIT))

    def _transpose(self, node: Node) -> Piece:
        return self._transposed(node.body)

    def _entrywise(self, node: Node) -> Piece:
        divides = node.operator == "/"
        left = self._within(node.parts[0], PRODUCT if divides else ENTRYWISE)
        right = self._within(node.parts[1], CALL if divides else PRODUCT)
        return self.style.infix(left, f".{node.operator}", right)

    def _quotient(self, node: Node) -> Piece:
        sign, numerator = tree.signed(node.body)
        top = self.style.bracketed(self.write(numerator), PRODUCT)
        bottom = self.style.bracketed(self.write(node.parts[1]), CALL)
        fraction = self.style.put("fraction", top, bottom)
        return fraction if sign > 0 else self.style.signed([(-1, fraction)])

    def _power(self, node: Node) -> Piece:
        base, exponent = node.parts
        if tree.number_in(exponent) == 0.5:
            return self.style.put("root", self.write(base))
        written = self._within(base, UNIT)
        if written.kind == "number" and "e" in _PLAIN.write(base):
            written = self.style.put("()", written)
        form = "entrywise power" if node.shape else "power"
        return self.style.raised(form, written, self.style.bracketed(self.write(exponent), CALL))

    def _total(self, node: Node) -> Piece:
        style, dimensions = self.style, len(node.body.shape)
        if dimensions == 0:
            return self.write(node.body)
        if dimensions > 2 or isinstance(node.axis, tuple):
            return style.call("sum", (self.write(node.body), *self._axis(node.axis)))
        inner = self._inner_product(node)
        if inner is not None:
            return inner
        by_rows = self._by_rows(node.body)
        if by_rows is not None and dimensions == 1:
            return style.put("sum over", by_rows, "i")
        body, one = self._within(node.body, PRODUCT), style.repeated(None, "column")
        if dimensions == 1:
            return style.row([style.raised("transposed", one), body])
        axis = None if node.axis is None else node.axis % 2
        if axis is None:
            return style.row([style.raised("transposed", one), body, one])
        if axis == 1:
            return style.row([body, one])
        if node.keepdims:
            return style.row([style.raised("transposed", one), body])
        return style.row([self._transposed(node.body), one])

    def _inner_product(self, node: Node) -> Piece | None:
        """Write a sum of ``x .* y`` as ``x'y``, of matrices as ``tr(X Y')``; None for others."""
        body = node.body
        if body.kind != "entrywise" or body.operator != "*" or node.shape != ():
            return None
        left, right = body.parts
        if not left.shape == right.shape == body.shape:
            return None
        if len(body.shape) == 1:
            return self.write(tree.chain((), left, right))
        side = body.shape[0]
        product = tree.chain((side, side), left, tree.transpose(right))
        return self.style.call("trace", (self.write(product),))

    def _norm(self, node: Node) -> Piece:
        by_rows = self._by_rows(node)
        if by_rows is not None:
            return self.style.put("entries", by_rows)
        kind, body = self._norm_kind(node), node.body
        if len(body.shape) > 1 and node.axis is not None:
            return self.style.call(f"norm{kind}", (self.write(body), *self._axis(node.axis)))
        written = self.write(body)
        if len(body.shape) > 1 and not isinstance(node.p, str):
            if kind != "2":
                written = self.style.call("vec", (written,))
            elif sorted(body.shape)[:-1] != [1]:
                kind = "F"
        return self.style.norm(written, kind)

    def _norm_kind(self, node: Node) -> str:
        if isinstance(node.p, str):
            return "*" if node.p == "nuc" else "2"
        return "inf" if np.isinf(node.p) else self.digits(node.p)

    def _axis(self, axis: Any) -> tuple[Piece, ...]:
        return () if axis is None else (self.style.word(f"axis={axis}"),)

    def _by_rows(self, node: Node) -> Piece | None:
        """Write a function of all rows or columns as that of row i or column i; None for others."""
        write: Callable[[Piece], Piece]
        if node.kind == "norm":
            axis, kind = node.axis, self._norm_kind(node)
            write = lambda row: self.style.norm(row, kind)  # noqa: E731
        elif node.kind == "call" and len(node.parts) == 1 and node.shape != node.body.shape:
            axis = node.options.get("axis")
            write = lambda row: self.style.call(node.function, (row, *self._named(node)))  # noqa: E731
        else:
            return None
        if len(node.body.shape) != 2 or not isinstance(axis, int | np.integer):
            return None
        entries = ("i", ":") if axis % 2 else (":", "i")
        return write(self.style.indexed(self._within(node.body, UNIT), entries))

    def _reshape(self, node: Node) -> Piece:
        old, new = node.body.shape, node.shape
        if max(node.shape, default=1) == 1 or new == (*old, 1) or old == (*new, 1):
            return self.write(node.body)
        if len(old) == 1 and new == (1, *old):
            return self._transposed(node.body)
        if len(new) == 1:
            turned = node.order == "C"
            return self.style.call(
                "vec", (self._transposed(node.body) if turned else self.write(node.body),)
            )
        order = (self.style.word("order=C"),) if node.order == "C" else ()
        return self.style.call("reshape", (self.write(node.body), self.style.sizes(new), *order))

    def _index(self, node: Node) -> Piece:
        entries = self._entries(node.key, node.body.shape)
        if entries == (":", "new"):
            return self.write(node.body)
        if entries == ("new", ":"):
            return self._transposed(node.body)
        return self.style.indexed(self._within(node.body, UNIT), entries)

    def _entries(self, key: tuple[Any, ...], shape: tree.Shape) -> tuple[Any, ...]:
        """Return the index of each axis, counted from 0: an integer, ``:``, a range or a tuple."""
        sizes = iter(shape)
        missing = len(shape) - sum(part is not None and part is not Ellipsis for part in key)
        entries: list[Any] = []
        for part in key:
            if part is None:
                entries.append("new")
            elif part is Ellipsis:
                entries += [":" for _ in range(missing) if next(sizes)]
            else:
                entries.append(self._entry(part, next(sizes)))
        return (*entries, *(":" for _ in sizes))

    def _entry(self, part: Any, size: int) -> Any:
        if isinstance(part, Node):
            return self.write(part)
        if isinstance(part, slice):
            positions = range(size)[part]
            return ":" if positions == range(size) else positions
        if part.ndim == 0:
            return int(part) % size
        return tuple(int(position) % size for position in part)

    def _stack(self, node: Node) -> Piece:
        parts = list(map(self.write, node.parts))
        if len(node.shape) > 2:
            return self.style.call("concatenate", (*parts, *self._axis(node.axis)))
        if len(node.shape) == 2 and node.axis % 2:
            return self.style.blocks([parts])
        rows = [self._block_row(part) for part in node.parts]
        same_width = len({len(row) for row in rows}) == 1
        return self.style.blocks(rows if same_width else [[part] for part in parts])

    def _block_row(self, node: Node) -> list[Piece]:
        is_row = node.kind == "stack" and len(node.shape) == 2 and node.axis % 2
        return list(map(self.write, node.parts if is_row else (node,)))

    def _call(self, node: Node) -> Piece:
        style, name, options = self.style, node.function, node.options
        if name in ("exp", "logistic"):
            power = style.put("exponential", self.write(node.body))
            one_more = style.signed([(1, style.number("1")), (1, power)])
            return power if name == "exp" else style.call("log", (one_more,))
        if name == "abs":
            return style.put("||", self.write(node.body))
        if name == "set":
            return style.put("{}", style.indexed(self._within(node.body, UNIT), ("i",)))
        if "parts" in options:
            return style.call(name, list(map(self.write, options["parts"])))
        if "of" in options or "by" in options:
            return style.call(name, list(map(self.write, (*options.values(), node.body))))
        by_rows = self._by_rows(node)
        if by_rows is not None:
            return style.put("entries", by_rows)
        extra, axis = self._named(node), options.get("axis")
        if len(node.shape) > 1 or isinstance(axis, tuple):
            extra = (*extra, *self._axis(axis))
        return style.call(name, [*(self.write(self.side(arg)) for arg in node.parts), *extra])

    def _named(self, node: Node) -> tuple[Piece, ...]:
        """Return the options k, p and axes of a call in notation."""
        options = node.options
        return tuple(self._option(options[name]) for name in ("k", "p", "axes") if name in options)

    def _option(self, value: Any) -> Piece:
        entries = [self.number(float(entry)) for entry in np.ravel(value)]
        return entries[0] if len(entries) == 1 else self.style.put("()", self.style.listed(entries))


#: Notation in which the length of a formula is measured.
_PLAIN = Notation(Text())
