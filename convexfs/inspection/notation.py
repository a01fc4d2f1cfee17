"""From a formula to its notation: which signs, brackets and marks it is written with."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from convexfs.inspection import boxes, nodes
from convexfs.inspection.boxes import CALL, ENTRYWISE, PRODUCT, UNIT, Box
from convexfs.inspection.nodes import Node

#: Digits of a number before it is rounded to six.
LONGEST_NUMBER = 8
_in_full = ContextVar("numbers are written in full", default=False)


@contextmanager
def numbers_in_full() -> Iterator[None]:
    """Write every digit of every number, so that none that differ look the same."""
    before = _in_full.set(True)
    try:
        yield
    finally:
        _in_full.reset(before)


def notation(node: Node) -> Box:
    """Notation of a node, to stand alone."""
    return _NOTATIONS[type(node)](node)


def statement(relation: nodes.Relation) -> Box:
    """Notation of a constraint."""
    left = notation(relation.left)
    if relation.sign == "holds":
        return left
    return boxes.Infix(left, relation.sign, _bare(relation.right))


def terms(node: Node) -> list[tuple[int, Box]]:
    """Signed terms of a sum, or the node as its only term."""
    if isinstance(node, nodes.Sum):
        return [(sign, _within(term, ENTRYWISE)) for sign, term in node.terms]
    sign, body = nodes.signed(node)
    return [(sign, _within(body, ENTRYWISE))]


def _bare(node: Node) -> Box:
    """A side that is one number for every row, without a vector of ones."""
    held = nodes.number_in(node)
    return notation(node if held is None else nodes.number(held))


def _within(node: Node, level: int) -> Box:
    """Notation in brackets, unless it holds together as tightly as `level`."""
    return _bracketed(notation(node), level)


def _bracketed(box: Box, level: int) -> Box:
    return box if box.level >= level else boxes.Fenced(box)


def _number(node: nodes.Number) -> Box:
    value = node.value
    if isinstance(value, complex):
        # Adding 0 turns a negative zero, which would be written, into none.
        return boxes.Fenced(boxes.Numeral(repr(_rounded(value) + 0).strip("()")))
    return _signed_numeral(value)


def _signed_numeral(value: float) -> Box:
    numeral = boxes.Numeral(digits(abs(value)))
    return boxes.Signed(((-1, numeral),)) if value < 0 else numeral


def _rounded(value: complex) -> complex:
    return complex(*(float(digits(part)) for part in (value.real, value.imag)))


def digits(value: float) -> str:
    """A number as short as it is exact, or with six digits."""
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    exact = repr(float(value))
    return exact if _in_full.get() or len(exact) <= LONGEST_NUMBER else f"{value:.6g}"


def _broadcast(node: nodes.Broadcast) -> Box:
    if math.prod(node.body.shape) != 1:
        return boxes.Applied("broadcast", (notation(node.body), boxes.Dimensions(node.shape)))
    if nodes.number_in(node) == 0:
        return boxes.Numeral("0")
    form = _form(node.shape)
    return boxes.Ones(None if nodes.ones_of(node) else _within(node.body, PRODUCT), form)


def _form(shape: nodes.Shape) -> str:
    if len(shape) != 2 or shape[1] == 1:
        return "column"
    return "row" if shape[0] == 1 else "matrix"


def _sum(node: nodes.Sum) -> Box:
    return boxes.Signed(tuple(terms(node)))


def _product(node: nodes.Product) -> Box:
    sign = -1 if np.real(node.number) < 0 and not isinstance(node.number, complex) else 1
    factors = [_within(factor, PRODUCT) for factor in node.factors[:-1]]
    # Nothing follows the last factor, so that a sum over i may end there.
    last = notation(node.factors[-1])
    factors.append(last if isinstance(last, boxes.SumOver) else _bracketed(last, PRODUCT))
    if node.number != sign:
        factors.insert(0, notation(nodes.number(sign * node.number)))
    row = _row(factors)
    return row if sign > 0 else boxes.Signed(((-1, row),))


def _row(factors: list[Box]) -> Box:
    """Factors side by side; rows among them are opened."""
    opened: list[Box] = []
    for factor in factors:
        opened += factor.parts if isinstance(factor, boxes.Row) else (factor,)
    return opened[0] if len(opened) == 1 else boxes.Row(tuple(opened))


def _chain(node: nodes.Chain) -> Box:
    """``x'A y``; a vector times matrices, a column again, is ``A'x``."""
    first, *others = node.factors
    if len(first.shape) > 1:
        return _row([_within(factor, PRODUCT) for factor in node.factors])
    if node.shape == ():
        return _row([_transposed(first), *(_within(factor, PRODUCT) for factor in others)])
    return _row([*(_transposed(factor) for factor in reversed(others)), _within(first, PRODUCT)])


def _transposed(node: Node) -> Box:
    if len(node.shape) == 2:
        turned = nodes.transpose(node)
        if not isinstance(turned, nodes.Transpose):
            return _within(turned, PRODUCT)
    return boxes.Transposed(_within(node, UNIT))


def _entrywise(node: nodes.Entrywise) -> Box:
    operator = "." + node.operator
    return boxes.Infix(
        _within(node.left, PRODUCT if operator == "./" else ENTRYWISE),
        operator,
        _within(node.right, CALL if operator == "./" else PRODUCT),
    )


def _quotient(node: nodes.Quotient) -> Box:
    sign, numerator = nodes.signed(node.numerator)
    fraction = boxes.Fraction(notation(numerator), notation(node.denominator))
    return fraction if sign > 0 else boxes.Signed(((-1, fraction),))


def _power(node: nodes.Power) -> Box:
    exponent = nodes.number_in(node.exponent)
    if exponent == 0.5:
        return boxes.Root(notation(node.base))
    base = _within(node.base, UNIT)
    if isinstance(base, boxes.Numeral) and "e" in base.digits:
        base = boxes.Fenced(base)
    return boxes.Super(base, notation(node.exponent), node.shape != ())


def _total(node: nodes.Total) -> Box:
    dimensions = len(node.body.shape)
    if dimensions == 0:
        return notation(node.body)
    if dimensions > 2 or isinstance(node.axis, tuple):
        return boxes.Applied("sum", (notation(node.body), *_axis(node.axis)))
    inner = _inner_product(node)
    if inner is not None:
        return inner
    body, one = _within(node.body, PRODUCT), boxes.Ones(None)
    if isinstance(body, boxes.Entries) and dimensions == 1:
        return boxes.SumOver(body.body)
    if dimensions == 1:
        return _row([boxes.Transposed(one), body])
    axis = None if node.axis is None else node.axis % 2
    if axis is None:
        return _row([boxes.Transposed(one), body, one])
    if axis == 1:
        return _row([body, one])
    return _row([boxes.Transposed(one), body] if node.keepdims else [_transposed(node.body), one])


def _inner_product(node: nodes.Total) -> Box | None:
    """``x'y`` for the sum of ``x .* y``, and ``tr(X Y')`` for matrices."""
    body = node.body
    if not isinstance(body, nodes.Entrywise) or body.operator != "*" or node.shape != ():
        return None
    if not body.left.shape == body.right.shape == body.shape:
        return None
    if len(body.shape) == 1:
        return notation(nodes.chain((), body.left, body.right))
    side = body.shape[0]
    product = nodes.chain((side, side), body.left, nodes.transpose(body.right))
    return boxes.Applied("trace", (notation(product),))


def _norm(node: nodes.Norm) -> Box:
    if isinstance(node.p, str):
        kind = "*" if node.p == "nuc" else "2"
        return boxes.NormBars(notation(node.body), kind)
    kind = "inf" if np.isinf(node.p) else digits(node.p)
    if _is_reduction(node.body, node.axis):
        return _by_rows(node.body, node.axis, lambda row: boxes.NormBars(row, kind))
    if node.axis is not None and len(node.body.shape) > 1:
        return boxes.Applied(f"norm{kind}", (notation(node.body), *_axis(node.axis)))
    if len(node.body.shape) > 1:
        if kind == "2":
            is_vector = sorted(node.body.shape)[:-1] == [1]
            return boxes.NormBars(notation(node.body), "2" if is_vector else "F")
        return boxes.NormBars(boxes.Applied("vec", (notation(node.body),)), kind)
    return boxes.NormBars(notation(node.body), kind)


def _axis(axis: Any) -> tuple[Box, ...]:
    return () if axis is None else (boxes.Word(f"axis={axis}"),)


def _is_reduction(body: Node, axis: Any) -> bool:
    return len(body.shape) == 2 and isinstance(axis, int | np.integer)


def _by_rows(body: Node, axis: int, write: Callable[[Box], Box]) -> Box:
    """Values for all rows or columns i of a matrix."""
    entries = ("i", ":") if axis % 2 else (":", "i")
    return boxes.Entries(write(boxes.Indexed(_within(body, UNIT), entries)))


def _reshape(node: nodes.Reshape) -> Box:
    old, new = node.body.shape, node.shape
    if max(node.shape, default=1) == 1 or new == (*old, 1) or old == (*new, 1):
        return notation(node.body)
    if len(old) == 1 and new == (1, *old):
        return _transposed(node.body)
    if len(new) == 1:
        flat = _transposed(node.body) if node.order == "C" else notation(node.body)
        return boxes.Applied("vec", (flat,))
    order = (boxes.Word("order=C"),) if node.order == "C" else ()
    return boxes.Applied("reshape", (notation(node.body), boxes.Dimensions(new), *order))


def _index(node: nodes.Index) -> Box:
    entries = _entries(node.key, node.body.shape)
    if entries == (":", "new"):
        return notation(node.body)
    if entries == ("new", ":"):
        return _transposed(node.body)
    return boxes.Indexed(_within(node.body, UNIT), entries)


def _entries(key: tuple[Any, ...], shape: nodes.Shape) -> tuple[Any, ...]:
    """A key in plain words: a position, ``:``, a range, a list; counted from 0."""
    sizes = iter(shape)
    missing = len(shape) - sum(part is not None and part is not Ellipsis for part in key)
    entries: list[Any] = []
    for part in key:
        if part is None:
            entries.append("new")
        elif part is Ellipsis:
            entries += [":" for _ in range(missing) if next(sizes)]
        else:
            entries.append(_entry(part, next(sizes)))
    return (*entries, *(":" for _ in sizes))


def _entry(part: Any, size: int) -> Any:
    if isinstance(part, nodes.Symbol):
        return notation(part)
    if isinstance(part, slice):
        positions = range(size)[part]
        return ":" if positions == range(size) else positions
    if part.ndim == 0:
        return int(part) % size
    return tuple(int(position) % size for position in part)


def _stack(node: nodes.Stack) -> Box:
    flat = len(node.shape) == 1
    if len(node.shape) > 2:
        return boxes.Applied("concatenate", (*map(notation, node.parts), *_axis(node.axis)))
    if not flat and node.axis % 2:
        return boxes.Blocks((tuple(map(notation, node.parts)),))
    rows: list[tuple[Box, ...]] = []
    for part in node.parts:
        box = notation(part)
        opened = isinstance(part, nodes.Stack) and isinstance(box, boxes.Blocks)
        rows += box.rows if opened else ((box,),)  # type: ignore[attr-defined]
    same_width = len({len(row) for row in rows}) == 1
    return boxes.Blocks(tuple(rows if same_width else [(notation(p),) for p in node.parts]))


def _call(node: nodes.Call) -> Box:
    if node.function == "exp":
        return boxes.Exponential(notation(node.args[0]))
    if node.function == "abs":
        return boxes.Fenced(notation(node.args[0]), "||")
    if node.function == "set":
        entries = boxes.Indexed(_within(node.args[0], UNIT), ("i",))
        return boxes.Fenced(entries, "{}")
    if node.function == "logistic":
        power = boxes.Exponential(notation(node.args[0]))
        return boxes.Applied("log", (boxes.Signed(((1, boxes.Numeral("1")), (1, power))),))
    if "parts" in node.options:
        return boxes.Applied(node.function, tuple(map(_part, node.options["parts"])))
    if "of" in node.options or "by" in node.options:
        first, *others = map(notation, node.options.values())
        return boxes.Applied(node.function, (first, *others, notation(node.args[0])))
    named = [node.options[name] for name in ("k", "p", "axes") if name in node.options]
    extra = tuple(map(_option, named))
    axis: Any = node.options.get("axis")
    if len(node.args) == 1 and _is_reduction(node.args[0], axis) and _reduces(node):
        return _by_rows(node.args[0], axis, lambda row: boxes.Applied(node.function, (row, *extra)))
    if len(node.shape) > 1 or isinstance(axis, tuple):
        extra += _axis(axis)
    return boxes.Applied(node.function, (*map(_bare, node.args), *extra))


def _part(part: Node | nodes.Relation) -> Box:
    return statement(part) if isinstance(part, nodes.Relation) else notation(part)


def _reduces(node: nodes.Call) -> bool:
    return node.shape != node.args[0].shape


def _option(value: Any) -> Box:
    value = np.asarray(value)
    if value.size == 1:
        return _signed_numeral(float(value.item()))
    return boxes.Fenced(boxes.Listed(tuple(_signed_numeral(float(entry)) for entry in value.flat)))


_NOTATIONS: dict[type[Node], Callable[[Any], Box]] = {
    nodes.Number: _number,
    nodes.Symbol: lambda node: boxes.Name(node.name),
    nodes.Identity: lambda node: boxes.Name("I"),
    nodes.Broadcast: _broadcast,
    nodes.Sum: _sum,
    nodes.Product: _product,
    nodes.Chain: _chain,
    nodes.Entrywise: _entrywise,
    nodes.Quotient: _quotient,
    nodes.Power: _power,
    nodes.Transpose: lambda node: _transposed(node.body),
    nodes.Total: _total,
    nodes.Norm: _norm,
    nodes.Reshape: _reshape,
    nodes.Index: _index,
    nodes.Stack: _stack,
    nodes.Call: _call,
}
