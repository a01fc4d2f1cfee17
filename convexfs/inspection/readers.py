"""How each atom of cvxpy is read, given its arguments as formulas already."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.broadcast_to import broadcast_to
from cvxpy.atoms.affine.concatenate import Concatenate
from cvxpy.atoms.affine.conj import conj
from cvxpy.atoms.affine.hstack import Hstack
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum as SumAtom
from cvxpy.atoms.affine.transpose import transpose as transpose_atom
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.affine.vstack import Vstack
from cvxpy.atoms.elementwise.power import Power as PowerAtom
from cvxpy.atoms.pnorm import Pnorm

from convexfs.inspection import nodes
from convexfs.inspection.nodes import Call, Entrywise, Node, Norm, Power, Stack


def entrywise(operator: str, left: Node, right: Node) -> Node:
    """``*`` or ``/`` of every entry, as a multiple or a quotient if one side is a scalar."""
    shape = np.broadcast_shapes(left.shape, right.shape)
    if operator == "*" and _is_scalar(left, shape):
        return nodes.times(_scalar(left), right)
    if operator == "*" and _is_scalar(right, shape):
        return nodes.times(_scalar(right), left)
    if operator == "/" and _is_scalar(right, shape):
        return nodes.divide(left, _scalar(right))
    (first, left), (second, right) = nodes.signed(left), nodes.signed(right)
    made = Entrywise(shape, operator, left, right)
    return made if first == second else nodes.negate(made)


def _is_scalar(node: Node, shape: nodes.Shape) -> bool:
    """Whether a factor is one number for all entries of the other factor."""
    if node.shape == () or (isinstance(node, nodes.Broadcast) and node.body.shape == ()):
        return np.broadcast_shapes(node.shape, shape) == shape
    return False


def _scalar(node: Node) -> Node:
    return node.body if isinstance(node, nodes.Broadcast) else node


def _add(expression: AddExpression, *args: Node) -> Node:
    # Zero times anything affine is nothing; zero times log(x) still asks for x > 0.
    kept = [
        node
        for node, arg in zip(args, expression.args, strict=True)
        if not (isinstance(node, nodes.Product) and node.number == 0 and _affine_factors(arg))
    ]
    return nodes.add(expression.shape, kept)


def _affine_factors(expression: Any) -> bool:
    # cvxpy counts zero times log(x) as affine, so its factors are asked.
    if isinstance(expression, MulExpression | multiply | NegExpression | Promote):
        return all(_affine_factors(arg) for arg in expression.args)
    return expression.is_affine()


def _multiply(expression: Any, left: Node, right: Node) -> Node:
    product = entrywise("*", left, right)
    return nodes.broadcast(product, expression.shape)


def _matmul(expression: Any, left: Node, right: Node) -> Node:
    if left.shape == () or right.shape == ():
        return nodes.times(*sorted((left, right), key=lambda node: node.shape != ()))
    if max(len(left.shape), len(right.shape)) > 2:
        return Call(expression.shape, "matmul", (left, right))
    return nodes.chain(expression.shape, left, right)


def _divide(expression: Any, left: Node, right: Node) -> Node:
    return nodes.broadcast(entrywise("/", left, right), expression.shape)


def over(left: Node, right: Node) -> Node:
    """The quotient of every two entries."""
    return entrywise("/", left, right)


def _transpose(expression: Any, body: Node) -> Node:
    axes = expression.axes
    reversed_axes = tuple(range(len(body.shape)))[::-1]
    if axes is None or tuple(axes) == reversed_axes:
        return nodes.transpose(body)
    return call(expression, body)


def _conj(expression: Any, body: Node) -> Node:
    return body if expression.args[0].is_real() else Call(body.shape, "conj", (body,))


def _reshape(expression: Any, body: Node) -> Node:
    if body.shape == expression.shape:
        return body
    if isinstance(body, nodes.Broadcast) and body.body.shape == ():
        return nodes.broadcast(body.body, expression.shape)
    return nodes.Reshape(expression.shape, body, expression.order)


def _stack(expression: Any, *args: Node) -> Node:
    if isinstance(expression, Vstack) and len(args[0].shape) < 2:
        args = tuple(nodes.Reshape((1, *(node.shape or (1,))), node, "C") for node in args)
        return Stack(expression.shape, args, 0)
    if isinstance(expression, Vstack):
        axis: int | None = 0
    elif isinstance(expression, Hstack):
        axis = 1 if len(args[0].shape) > 1 else 0
    else:
        axis = expression.axis
    if axis is None or any(not node.shape for node in args):
        return call(expression, *args)
    return args[0] if len(args) == 1 else Stack(expression.shape, args, axis)


def _pnorm(expression: Any, body: Node) -> Node:
    p, axis, keepdims = expression.original_p, expression.axis, expression.keepdims
    if not isinstance(p, int | float) or p < 1:
        return call(expression, body)
    return norm(body, p, axis, keepdims, expression.shape)


def norm(
    body: Node, p: float, axis: Any = None, keepdims: bool = False, shape: nodes.Shape = ()
) -> Node:
    """The p-norm, of a scalar its absolute value."""
    if body.shape == ():
        return Call((), "abs", (body,))
    flattened = isinstance(body, nodes.Reshape) and len(body.shape) == 1
    # cvxpy's Frobenius norm is the 2-norm of the flattened matrix.
    if p == 2 and flattened and axis is None:
        body = body.body  # type: ignore[attr-defined]
    return Norm(shape, body, float(p), axis, keepdims)


def _norm_of(p: float) -> Callable[..., Node]:
    return lambda expression, body: norm(
        body, p, expression.axis, expression.keepdims, expression.shape
    )


def _matrix_norm(kind: str) -> Callable[..., Node]:
    return lambda expression, body: Norm(expression.shape, body, kind)


def _quad_over_lin(expression: Any, body: Node, denominator: Node) -> Node:
    if body.shape == () and expression.args[0].is_real():
        base = body
    else:
        base = norm(body, 2, expression.axis, expression.keepdims, expression.shape)
    return over(Power(expression.shape, base, nodes.number(2.0)), denominator)


def _quad_form(expression: Any, x: Node, matrix: Node) -> Node:
    if len(x.shape) != 1:
        return call(expression, x, matrix)
    return nodes.chain((), nodes.chain(x.shape, _conj(expression, x), matrix), x)


def _power(expression: Any, base: Node, exponent: Node) -> Node:
    return Power(expression.shape, base, exponent)


def call(expression: Any, *args: Node) -> Call:
    """A function of the atom's own name."""
    shape, evaluate = getattr(expression, "shape", ()), getattr(expression, "numeric", None)
    name = type(expression).__name__.removesuffix("Approx")
    return Call(shape, FUNCTIONS.get(name, name), args, _options(expression), evaluate)


def _options(expression: Any) -> dict[str, Any]:
    """What an atom knows besides its arguments."""
    options: dict[str, Any] = {}
    if hasattr(expression, "axis"):
        keepdims = getattr(expression, "keepdims", False)
        options = {"axis": expression.axis, "keepdims": keepdims}
    for name in ("k", "p", "axes"):
        held = _weights(expression) if name == "p" else getattr(expression, name, None)
        if held is None or (name == "k" and held == 0):
            continue
        # A geometric mean without weights has equal ones.
        if np.size(held) == 1 or np.ptp(np.asarray(held, dtype=float)) > 0:
            options[name] = held
    return options


def _weights(expression: Any) -> Any:
    """The exponent of a norm, or a geometric mean's weights, with those that are zero."""
    held, kept = getattr(expression, "p", None), getattr(expression, "_keep", None)
    if kept is None or held is None:
        return held
    weights = np.zeros(len(kept))
    weights[kept] = np.asarray(held, dtype=float)
    return weights


#: cvxpy's class names that are not the names of its functions.
FUNCTIONS = {"Trace": "trace", "Prod": "prod", "GeoMean": "geo_mean", "QuadForm": "quad_form",
             "MatrixFrac": "matrix_frac", "diag_vec": "diag", "diag_mat": "diag",
             "Power": "power", "Pnorm": "pnorm", "Hstack": "hstack", "Vstack": "vstack",
             "Concatenate": "concatenate"}  # fmt: skip

READERS: dict[type, Callable[..., Node]] = {
    AddExpression: _add,
    NegExpression: lambda _, body: nodes.negate(body),
    multiply: _multiply,
    MulExpression: _matmul,
    DivExpression: _divide,
    Promote: lambda expression, body: nodes.broadcast(body, expression.shape),
    broadcast_to: lambda expression, body: nodes.broadcast(body, expression.shape),
    transpose_atom: _transpose,
    conj: _conj,
    cp.reshape: _reshape,
    Hstack: _stack,
    Vstack: _stack,
    Concatenate: _stack,
    SumAtom: lambda expression, body: nodes.total(
        expression.shape, body, expression.axis, expression.keepdims
    ),
    Pnorm: _pnorm,
    cp.norm1: _norm_of(1),
    cp.norm_inf: _norm_of(np.inf),
    cp.sigma_max: _matrix_norm("spectral"),
    cp.normNuc: _matrix_norm("nuc"),
    cp.quad_over_lin: _quad_over_lin,
    cp.QuadForm: _quad_form,
    PowerAtom: _power,
    cp.huber: lambda expression, body, M: Call(expression.shape, "huber", (body, M)),
}  # fmt: skip
