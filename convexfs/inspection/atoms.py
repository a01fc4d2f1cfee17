"""Readers that convert each cvxpy atom to a formula, given its arguments as formulas."""

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

from convexfs.inspection import tree
from convexfs.inspection.tree import Node


def _add(expression: AddExpression, *args: Node) -> Node:
    # Zero times an affine expression is left out, but zero times log(x) still requires x > 0.
    terms = [
        node
        for node, arg in zip(args, expression.args, strict=True)
        if not (node.kind == "product" and node.number == 0 and _affine_factors(arg))
    ]
    return tree.add(expression.shape, terms)


def _affine_factors(expression: Any) -> bool:
    # cvxpy counts zero times log(x) as affine, so test the factors.
    if isinstance(expression, MulExpression | multiply | NegExpression | Promote):
        return all(_affine_factors(arg) for arg in expression.args)
    return expression.is_affine()


def _entrywise(operator: str) -> Callable[..., Node]:
    return lambda atom, *sides: tree.broadcast(tree.entrywise(operator, *sides), atom.shape)


def _matmul(expression: Any, left: Node, right: Node) -> Node:
    if left.shape == () or right.shape == ():
        return tree.times(*sorted((left, right), key=lambda node: node.shape != ()))
    if max(len(left.shape), len(right.shape)) > 2:
        return tree.call("matmul", expression.shape, left, right)
    return tree.chain(expression.shape, left, right)


def _transpose(expression: Any, body: Node) -> Node:
    turned = list(range(len(body.shape)))[::-1]
    is_plain = list(turned if expression.axes is None else expression.axes) == turned
    return tree.transpose(body) if is_plain else call(expression, body)


def _conj(expression: Any, body: Node) -> Node:
    return body if expression.args[0].is_real() else tree.call("conj", body.shape, body)


def _reshape(expression: Any, body: Node) -> Node:
    if body.shape == expression.shape:
        return body
    if tree.repeats_scalar(body):
        return tree.broadcast(body.body, expression.shape)
    return tree.make("reshape", expression.shape, body, order=expression.order)


def _stack(expression: Any, *args: Node) -> Node:
    if isinstance(expression, Vstack) and len(args[0].shape) < 2:
        rows = [tree.make("reshape", (1, *(n.shape or (1,))), n, order="C") for n in args]
        return tree.make("stack", expression.shape, *rows, axis=0)
    if isinstance(expression, Vstack):
        axis: int | None = 0
    elif isinstance(expression, Hstack):
        axis = 1 if len(args[0].shape) > 1 else 0
    else:
        axis = expression.axis
    if axis is None or any(not node.shape for node in args):
        return call(expression, *args)
    return args[0] if len(args) == 1 else tree.make("stack", expression.shape, *args, axis=axis)


def _pnorm(expression: Any, body: Node) -> Node:
    p = expression.original_p
    is_norm = isinstance(p, int | float) and p >= 1
    return _norm_of(p)(expression, body) if is_norm else call(expression, body)


def _norm_of(p: float) -> Callable[..., Node]:
    return lambda atom, body: tree.norm(body, p, atom.shape, atom.axis, atom.keepdims)


def _matrix_norm(kind: str) -> Callable[..., Node]:
    return lambda atom, body: tree.make("norm", atom.shape, body, p=kind, axis=None)


def _quad_over_lin(atom: Any, body: Node, denominator: Node) -> Node:
    is_plain = body.shape == () and atom.args[0].is_real()
    base = body if is_plain else tree.norm(body, 2, atom.shape, atom.axis, atom.keepdims)
    return tree.entrywise("/", tree.power(base, tree.number(2.0)), denominator)


def _quad_form(expression: Any, x: Node, matrix: Node) -> Node:
    if len(x.shape) != 1:
        return call(expression, x, matrix)
    return tree.chain((), tree.chain(x.shape, _conj(expression, x), matrix), x)


def call(expression: Any, *args: Node) -> Node:
    """Return a call node with the atom's function name and options."""
    name = type(expression).__name__.removesuffix("Approx")
    shape = getattr(expression, "shape", ())
    return tree.call(FUNCTIONS.get(name, name), shape, *args, **_options(expression))


def _options(expression: Any) -> dict[str, Any]:
    """Return the options of a cvxpy atom beside its arguments, such as axis and k, as a dict."""
    options: dict[str, Any] = {}
    if hasattr(expression, "axis"):
        keepdims = getattr(expression, "keepdims", False)
        options = {"axis": expression.axis, "keepdims": keepdims}
    for name in ("k", "p", "axes"):
        option = _weights(expression) if name == "p" else getattr(expression, name, None)
        if option is None or (name == "k" and option == 0):
            continue
        # A geometric mean without weights has equal weights.
        if np.size(option) == 1 or np.ptp(np.asarray(option, dtype=float)) > 0:
            options[name] = option
    return options


def _weights(expression: Any) -> Any:
    """Return the exponent of a norm, or the weights of a geometric mean, zeros included."""
    powers, positive = getattr(expression, "p", None), getattr(expression, "_keep", None)
    if positive is None or powers is None:
        return powers
    weights = np.zeros(len(positive))
    weights[positive] = np.asarray(powers, dtype=float)
    return weights


#: Function names of cvxpy's classes, where the two differ.
FUNCTIONS = {"Trace": "trace", "Prod": "prod", "GeoMean": "geo_mean", "QuadForm": "quad_form",
             "MatrixFrac": "matrix_frac", "diag_vec": "diag", "diag_mat": "diag",
             "Power": "power", "Pnorm": "pnorm", "Hstack": "hstack", "Vstack": "vstack",
             "Concatenate": "concatenate"}  # fmt: skip

READERS: dict[type, Callable[..., Node]] = {
    AddExpression: _add,
    NegExpression: lambda _, body: tree.negate(body),
    multiply: _entrywise("*"),
    MulExpression: _matmul,
    DivExpression: _entrywise("/"),
    Promote: lambda expression, body: tree.broadcast(body, expression.shape),
    broadcast_to: lambda expression, body: tree.broadcast(body, expression.shape),
    transpose_atom: _transpose,
    conj: _conj,
    cp.reshape: _reshape,
    Hstack: _stack,
    Vstack: _stack,
    Concatenate: _stack,
    SumAtom: lambda expression, body: tree.total(
        expression.shape, body, expression.axis, expression.keepdims
    ),
    Pnorm: _pnorm,
    cp.norm1: _norm_of(1),
    cp.norm_inf: _norm_of(np.inf),
    cp.sigma_max: _matrix_norm("spectral"),
    cp.normNuc: _matrix_norm("nuc"),
    cp.quad_over_lin: _quad_over_lin,
    cp.QuadForm: _quad_form,
    PowerAtom: lambda _, base, exponent: tree.power(base, exponent),
    cp.huber: lambda expression, body, M: tree.call("huber", expression.shape, body, M),
}  # fmt: skip
