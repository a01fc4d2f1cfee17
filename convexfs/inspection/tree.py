"""A formula as a tree: what a cvxpy expression says, without how cvxpy stores it.

==========  ==========================  ==================================================
kind        parts                       what else it knows
==========  ==========================  ==================================================
number                                  value
symbol                                  name, of a variable, parameter or constant
identity
broadcast   what is repeated            the vector of ones is a repeated 1
sum         terms                       signs; one negative term is a negation
product     scalars, then one array     number, which multiplies them all
chain       vectors and matrices        a product as numpy's ``@`` reads it
entrywise   left, right                 operator, ``*`` or ``/``
quotient    anything, a scalar
power       base, exponent
transpose   body
total       body                        axis, keepdims
norm        body                        p (or nuc, spectral), axis, keepdims
reshape     body                        order
index       body                        key as numpy takes it
stack       arrays                      axis
call        arguments                   function, options
family      body                        letter, count: a sum of what differs by an index
relation    left, right                 sign: ``<= >= == >> in``, or holds (of the left)
==========  ==========================  ==================================================

The functions below fold numbers, signs and chains of products, so that whatever writes
the tree out need not.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple[int, ...]
#: Recursion limit for formulas; one level of a formula takes up to six calls.
ROOM = 10_000


class deep(ContextDecorator):  # noqa: N801, it is used as a decorator
    """Raise Python's recursion limit inside the block, for deep formulas."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._before, ROOM))

    def __exit__(self, *_: Any) -> None:
        sys.setrecursionlimit(self._before)

    def _recreate_cm(self) -> "deep":
        return deep()


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a formula, with the shape of its value; ``node.axis`` is ``node.info["axis"]``."""

    kind: str
    shape: Shape
    parts: tuple["Node", ...]
    info: Mapping[str, Any]

    @property
    def body(self) -> "Node":
        return self.parts[0]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["info"][name]
        except KeyError:
            raise AttributeError(name) from None

    def all(self) -> Iterator["Node"]:
        """Yield the node and all nodes below it."""
        todo: list[Any] = [self]
        while todo:
            thing = todo.pop()
            if isinstance(thing, Node):
                yield thing
                todo += [*thing.parts, *thing.info.values()]
            elif isinstance(thing, dict | tuple):
                todo += thing.values() if isinstance(thing, dict) else thing


def make(kind: str, shape: Shape, *parts: Node, **info: Any) -> Node:
    """Return a node without simplification."""
    return Node(kind, shape, parts, info)


def number(value: complex) -> Node:
    """Return a scalar node."""
    return make("number", (), value=value)


def call(function: str, shape: Shape, *args: Node, **options: Any) -> Node:
    """Return a node for a function by name."""
    return make("call", shape, *args, function=function, options=options)


def relation(left: Node, sign: str, right: Node) -> Node:
    """Return a node for a relation between two sides."""
    return make("relation", (), left, right, sign=sign)


def filled(value: complex, shape: Shape) -> Node:
    """Return an array node with one value in all entries."""
    return broadcast(number(value), shape)


def broadcast(body: Node, shape: Shape) -> Node:
    """Return `body` repeated over `shape`."""
    if body.shape == shape:
        return body
    if body.shape and math.prod(body.shape) == 1:
        body = make("reshape", (), body, order="F")
    return make("broadcast", shape, body.body if body.kind == "broadcast" else body)


def ones_of(node: Node) -> bool:
    """Return whether a node is an array of ones."""
    return node.kind == "broadcast" and number_in(node) == 1


def repeats_scalar(node: Node) -> bool:
    """Return whether a node is one scalar for all entries of an array."""
    return node.kind == "broadcast" and node.body.shape == ()


def number_in(node: Node) -> complex | None:
    """Return the number of a scalar, or of an array that repeats one number; else None."""
    if node.kind == "broadcast":
        node = node.body
    return node.value if node.kind == "number" else None


def negate(node: Node) -> Node:
    """Return ``-node``."""
    match node.kind:
        case "number":
            return number(-node.value)
        case "broadcast" | "quotient":
            return _inside(node, negate(node.body))
        case "product":
            return _product(node.shape, -node.number, node.parts)
        case "sum" if len(node.parts) == 1:
            return node.body
    return make("sum", node.shape, node, signs=(-1,))


def _inside(node: Node, body: Node) -> Node:
    """Return a copy of the node with another body."""
    return Node(node.kind, node.shape, (body, *node.parts[1:]), node.info)


def signed(node: Node) -> tuple[int, Node]:
    """Return the sign of a node, 1 or -1, and the node without that sign."""
    if node.kind == "sum" and len(node.parts) == 1:
        return node.signs[0], node.body
    if node.kind in ("quotient", "broadcast", "reshape"):
        sign, body = signed(node.body)
        return sign, _inside(node, body)
    coefficient = node.number if node.kind == "product" else number_in(node)
    if coefficient is not None and np.isreal(coefficient) and np.real(coefficient) < 0:
        return -1, negate(node)
    return 1, node


def add(shape: Shape, nodes: Iterable[Node]) -> Node:
    """Return the sum of nodes; nested sums are flattened and zeros dropped."""
    terms: list[tuple[int, Node]] = []
    for node in nodes:
        if len(node.shape) > len(shape):  # cvxpy accepts a 1x1 matrix as a scalar.
            node = make("reshape", (), node, order="F")
        if node.kind == "sum" and len(node.parts) > 1:
            terms += zip(node.signs, node.parts, strict=True)
        elif number_in(node) != 0:
            terms.append(signed(node))
    if not terms:
        return filled(0.0, shape)
    if all(node.shape != shape for _, node in terms):
        sign, node = terms[0]
        terms[0] = (sign, broadcast(node, shape))
    return sum_of(shape, terms)


def sum_of(shape: Shape, terms: list[tuple[int, Node]]) -> Node:
    """Return a sum of terms with these signs, without simplification."""
    if len(terms) == 1 and terms[0][0] > 0:
        return terms[0][1]
    signs, nodes = zip(*terms, strict=True)
    return make("sum", shape, *nodes, signs=signs)


def times(*nodes: Node) -> Node:
    """Return the product of scalars and at most one array."""
    shape = next((node.shape for node in nodes if node.shape), ())
    coefficient: complex = 1.0
    factors: list[Node] = []
    for node in nodes:
        sign, body = signed(node)
        coefficient *= sign
        if body.kind == "number":
            coefficient *= body.value
        elif body.kind == "product":
            coefficient *= body.number
            factors += body.parts
        else:
            factors.append(body)
    # A stable sort: scalars stay in the order they were written, the array goes last.
    return _product(shape, coefficient, tuple(sorted(factors, key=lambda node: node.shape != ())))


def _product(shape: Shape, coefficient: complex, factors: tuple[Node, ...]) -> Node:
    if not factors:
        return number(coefficient)
    if coefficient == 1 and len(factors) == 1:
        return factors[0]
    if coefficient == -1 and len(factors) == 1:
        return make("sum", shape, factors[0], signs=(-1,))
    return make("product", shape, *factors, number=coefficient)


def chain(shape: Shape, left: Node, right: Node) -> Node:
    """Return ``left @ right``: scalars in front, nested chains flattened, identities left out."""
    scalars: list[Node] = []
    factors: list[Node] = []
    for joint, node in ((-1, left), (0, right)):
        coefficients, body = _without_scalars(node)
        scalars += coefficients
        # A nested chain is flattened only if it meets the other factor with a matrix.
        opened = body.kind == "chain" and len(body.parts[joint].shape) == 2
        factors += body.parts if opened else (body,)
    others = [node for node in factors if node.kind != "identity"] or factors[:1]
    body = others[0] if len(others) == 1 else make("chain", shape, *others)
    return times(*scalars, body) if scalars else body


def _without_scalars(node: Node) -> tuple[list[Node], Node]:
    sign, body = signed(node)
    scalars = [number(-1.0)] if sign < 0 else []
    if body.kind == "product" and body.parts[-1].shape:
        return [*scalars, number(body.number), *body.parts[:-1]], body.parts[-1]
    if repeats_scalar(body) and not ones_of(body):
        return [*scalars, body.body], filled(1.0, body.shape)
    return scalars, body


def total(shape: Shape, body: Node, axis: Any = None, keepdims: bool = False) -> Node:
    """Return the sum of a body's entries, with common scalar factors in front."""
    if body.kind == "broadcast":
        return make("total", shape, body, axis=axis, keepdims=keepdims)
    scalars, inner = _without_scalars(body)
    if inner.kind == "quotient":
        summed = divide(total(shape, inner.body, axis, keepdims), inner.parts[1])
    else:
        summed = make("total", shape, inner, axis=axis, keepdims=keepdims)
    return times(*scalars, summed) if scalars else summed


def divide(numerator: Node, denominator: Node) -> Node:
    """Return a node over a scalar, whose sign moves to the numerator."""
    sign, denominator = signed(denominator)
    if sign < 0:
        numerator = negate(numerator)
    if number_in(denominator) == 1 and denominator.shape == ():
        return numerator
    return make("quotient", numerator.shape, numerator, denominator)


def entrywise(operator: str, left: Node, right: Node) -> Node:
    """Return ``*`` or ``/`` entry by entry; a multiple or quotient if one side is a scalar."""
    shape = np.broadcast_shapes(left.shape, right.shape)
    if operator == "*" and _is_scalar(left, shape):
        return times(_scalar(left), right)
    if operator == "*" and _is_scalar(right, shape):
        return times(_scalar(right), left)
    if operator == "/" and _is_scalar(right, shape):
        return divide(left, _scalar(right))
    (first, left), (second, right) = signed(left), signed(right)
    made = make("entrywise", shape, left, right, operator=operator)
    return made if first == second else negate(made)


def _is_scalar(node: Node, shape: Shape) -> bool:
    """Return whether a factor is one number for all entries of the other factor."""
    is_one = node.shape == () or repeats_scalar(node)
    return is_one and np.broadcast_shapes(node.shape, shape) == shape


def _scalar(node: Node) -> Node:
    return node.body if node.kind == "broadcast" else node


def power(base: Node, exponent: Node) -> Node:
    """Return every entry raised to a power."""
    return make("power", base.shape, base, exponent)


def norm(body: Node, p: float, shape: Shape = (), axis: Any = None, keepdims: bool = False) -> Node:
    """Return the p-norm; for a scalar, its absolute value."""
    if body.shape == ():
        return call("abs", (), body)
    # cvxpy's Frobenius norm is the 2-norm of the flattened matrix.
    if p == 2 and body.kind == "reshape" and len(body.shape) == 1 and axis is None:
        body = body.body
    return make("norm", shape, body, p=float(p), axis=axis, keepdims=keepdims)


def transpose(node: Node) -> Node:
    """Return the transpose of a node; two transposes cancel."""
    if node.kind == "transpose":
        return node.body
    if len(node.shape) < 2 or node.kind == "identity":
        return node
    if repeats_scalar(node):
        return make("broadcast", node.shape[::-1], node.body)
    if node.kind == "sum" and len(node.parts) == 1:
        return negate(transpose(node.body))
    return make("transpose", node.shape[::-1], node)
