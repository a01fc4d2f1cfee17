"""A formula as a small tree: what a cvxpy expression says, without how cvxpy stores it.

Nodes are made by the functions below, which fold numbers, signs and chains of
products, so that whatever writes the tree out need not.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Node:
    """Part of a formula, with the shape of its value."""

    shape: Shape


@dataclass(frozen=True, eq=False)
class Number(Node):
    """A scalar written as it is."""

    value: complex


@dataclass(frozen=True, eq=False)
class Symbol(Node):
    """A variable, parameter or constant known by its name."""

    name: str


@dataclass(frozen=True, eq=False)
class Identity(Node):
    """The identity matrix."""


@dataclass(frozen=True, eq=False)
class Broadcast(Node):
    """A smaller value repeated over a shape; the vector of ones is a repeated 1."""

    body: Node


@dataclass(frozen=True, eq=False)
class Sum(Node):
    """Terms with their signs; one negative term is a negation."""

    terms: tuple[tuple[int, Node], ...]


@dataclass(frozen=True, eq=False)
class Product(Node):
    """A number times scalars times at most one array, which comes last."""

    number: complex
    factors: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Chain(Node):
    """A matrix product of vectors and matrices, as numpy's ``@`` reads it."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Entrywise(Node):
    """``*`` or ``/`` entry by entry."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, eq=False)
class Quotient(Node):
    """Anything over a scalar."""

    numerator: Node
    denominator: Node


@dataclass(frozen=True, eq=False)
class Power(Node):
    """Every entry to a power."""

    base: Node
    exponent: Node


@dataclass(frozen=True, eq=False)
class Transpose(Node):
    """Axes reversed."""

    body: Node


@dataclass(frozen=True, eq=False)
class Total(Node):
    """The sum of the entries, along an axis or of all."""

    body: Node
    axis: Any
    keepdims: bool


@dataclass(frozen=True, eq=False)
class Norm(Node):
    """Entries' p-norm along an axis or of all; ``nuc`` and ``spectral`` are of matrices."""

    body: Node
    p: float | str
    axis: Any = None
    keepdims: bool = False


@dataclass(frozen=True, eq=False)
class Reshape(Node):
    """The same entries in another shape, ``F`` or ``C`` order."""

    body: Node
    order: str


@dataclass(frozen=True, eq=False)
class Index(Node):
    """Some entries: `key` as numpy takes it."""

    body: Node
    key: Any


@dataclass(frozen=True, eq=False)
class Stack(Node):
    """Arrays joined along an existing axis."""

    parts: tuple[Node, ...]
    axis: int


@dataclass(frozen=True, eq=False)
class Call(Node):
    """A function by name; `evaluate` is cvxpy's own, for those numpy code cannot spell."""

    function: str
    args: tuple[Node, ...]
    options: dict[str, Any] = field(default_factory=dict)
    evaluate: Callable[..., Any] | None = None


@dataclass(frozen=True, eq=False)
class Relation:
    """A statement about two sides: ``<= >= == >> in``."""

    left: Node
    sign: str
    right: Node


def number(value: complex) -> Number:
    """A scalar."""
    return Number((), value)


def filled(value: complex, shape: Shape) -> Node:
    """An array of one value."""
    return broadcast(number(value), shape)


def broadcast(body: Node, shape: Shape) -> Node:
    """`body` repeated over `shape`."""
    if body.shape == shape:
        return body
    if body.shape and math.prod(body.shape) == 1:
        body = Reshape((), body, "F")
    return Broadcast(shape, body.body if isinstance(body, Broadcast) else body)


def ones_of(node: Node) -> bool:
    """Whether a node is an array of ones."""
    return isinstance(node, Broadcast) and number_in(node) == 1


def number_in(node: Node) -> complex | None:
    """The number a scalar or an array of one number holds."""
    if isinstance(node, Broadcast):
        node = node.body
    return node.value if isinstance(node, Number) else None


def negate(node: Node) -> Node:
    """``-node``."""
    if isinstance(node, Number):
        return number(-node.value)
    if isinstance(node, Broadcast):
        return Broadcast(node.shape, negate(node.body))
    if isinstance(node, Quotient):
        return Quotient(node.shape, negate(node.numerator), node.denominator)
    if isinstance(node, Product):
        return _product(node.shape, -node.number, node.factors)
    if isinstance(node, Sum) and len(node.terms) == 1:
        return node.terms[0][1]
    return Sum(node.shape, ((-1, node),))


def signed(node: Node) -> tuple[int, Node]:
    """A sign, and what is left of a node without it."""
    if isinstance(node, Sum) and len(node.terms) == 1:
        sign, body = node.terms[0]
        return sign, body
    if isinstance(node, Quotient):
        sign, numerator = signed(node.numerator)
        return sign, Quotient(node.shape, numerator, node.denominator)
    if isinstance(node, Broadcast):
        sign, body = signed(node.body)
        return sign, Broadcast(node.shape, body)
    if isinstance(node, Reshape):
        sign, body = signed(node.body)
        return sign, Reshape(node.shape, body, node.order)
    held = node.number if isinstance(node, Product) else number_in(node)
    if held is not None and np.isreal(held) and np.real(held) < 0:
        return -1, negate(node)
    return 1, node


def add(shape: Shape, nodes: Iterable[Node]) -> Node:
    """The sum of nodes; sums among them are opened and zero numbers left out."""
    terms: list[tuple[int, Node]] = []
    for node in nodes:
        if len(node.shape) > len(shape):  # cvxpy takes a 1x1 matrix for a scalar
            node = Reshape((), node, "F")
        if isinstance(node, Sum) and len(node.terms) > 1:
            terms += node.terms
        elif number_in(node) != 0:
            terms.append(signed(node))
    if not terms:
        return filled(0.0, shape)
    if all(node.shape != shape for _, node in terms):
        sign, node = terms[0]
        terms[0] = (sign, broadcast(node, shape))
    if len(terms) == 1 and terms[0][0] > 0:
        return terms[0][1]
    return Sum(shape, tuple(terms))


def times(*nodes: Node) -> Node:
    """The product of scalars and at most one array."""
    shape = next((node.shape for node in nodes if node.shape), ())
    held: complex = 1.0
    factors: list[Node] = []
    for node in nodes:
        sign, body = signed(node)
        held *= sign
        if isinstance(body, Number):
            held *= body.value
        elif isinstance(body, Product):
            held *= body.number
            factors += body.factors
        else:
            factors.append(body)
    # A stable sort: scalars stay in the order they were written, the array goes last.
    return _product(shape, held, tuple(sorted(factors, key=lambda node: node.shape != ())))


def _product(shape: Shape, held: complex, factors: tuple[Node, ...]) -> Node:
    if not factors:
        return number(held)
    if held == 1 and len(factors) == 1:
        return factors[0]
    if held == -1 and len(factors) == 1:
        return Sum(shape, ((-1, factors[0]),))
    return Product(shape, held, factors)


def chain(shape: Shape, left: Node, right: Node) -> Node:
    """``left @ right``, with scalars in front and neighbouring chains opened."""
    scalars: list[Node] = []
    factors: list[Node] = []
    for side, node in (("left", left), ("right", right)):
        coefficients, body = _without_scalars(node)
        scalars += coefficients
        factors += _links(body, side)
    kept = [node for node in factors if not isinstance(node, Identity)] or factors[:1]
    body = kept[0] if len(kept) == 1 else Chain(shape, tuple(kept))
    return times(*scalars, body) if scalars else body


def _links(node: Node, side: str) -> tuple[Node, ...]:
    """Factors of a chain that may join another; a vector at the joint forbids it."""
    if not isinstance(node, Chain):
        return (node,)
    joint = node.factors[-1] if side == "left" else node.factors[0]
    return node.factors if len(joint.shape) == 2 else (node,)


def _without_scalars(node: Node) -> tuple[list[Node], Node]:
    sign, body = signed(node)
    scalars: list[Node] = [number(-1.0)] if sign < 0 else []
    if isinstance(body, Product) and body.factors[-1].shape:
        return [*scalars, number(body.number), *body.factors[:-1]], body.factors[-1]
    if isinstance(body, Broadcast) and body.body.shape == () and not ones_of(body):
        return [*scalars, body.body], filled(1.0, body.shape)
    return scalars, body


def total(shape: Shape, body: Node, axis: Any = None, keepdims: bool = False) -> Node:
    """The sum of a body's entries, with what multiplies them all in front."""
    if isinstance(body, Broadcast):
        return Total(shape, body, axis, keepdims)
    scalars, inner = _without_scalars(body)
    if isinstance(inner, Quotient):
        summed = divide(total(shape, inner.numerator, axis, keepdims), inner.denominator)
    else:
        summed = Total(shape, inner, axis, keepdims)
    return times(*scalars, summed) if scalars else summed


def divide(numerator: Node, denominator: Node) -> Node:
    """Anything over a scalar, whose sign goes on top."""
    sign, denominator = signed(denominator)
    if sign < 0:
        numerator = negate(numerator)
    if number_in(denominator) == 1 and denominator.shape == ():
        return numerator
    return Quotient(numerator.shape, numerator, denominator)


def transpose(node: Node) -> Node:
    """Axes reversed; twice is not at all."""
    if isinstance(node, Transpose):
        return node.body
    if len(node.shape) < 2 or isinstance(node, Identity):
        return node
    if isinstance(node, Broadcast) and node.body.shape == ():
        return Broadcast(node.shape[::-1], node.body)
    return Transpose(node.shape[::-1], node)


def children(node: Node) -> tuple[Node, ...]:
    """Parts of a node."""
    match node:
        case Sum():
            return tuple(term for _, term in node.terms)
        case Product() | Chain():
            return node.factors
        case Entrywise():
            return node.left, node.right
        case Quotient():
            return node.numerator, node.denominator
        case Power():
            return node.base, node.exponent
        case Stack():
            return node.parts
        case Call():
            return node.args
        case Broadcast() | Transpose() | Total() | Norm() | Reshape() | Index():
            return (node.body,)
    return ()


def calls_in(nodes: Iterable[Node]) -> set[str]:
    """Names of the functions used in some formulas."""
    found = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, Call):
            found.add(node.function)
        todo += children(node)
    return found


def difference(shape: Shape, left: Node, right: Node) -> Node:
    """``left - right`` as cvxpy's constraints have it."""
    return add(shape, (left, negate(right)))
