"""Read a cvxpy expression tree into a formula.

Each atom has a short reader in :data:`READERS`; one without becomes a function of
its own name, so that every expression can be read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import constraints
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.broadcast_to import broadcast_to
from cvxpy.atoms.affine.concatenate import Concatenate
from cvxpy.atoms.affine.conj import conj
from cvxpy.atoms.affine.hstack import Hstack
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum as SumAtom
from cvxpy.atoms.affine.transpose import transpose as transpose_atom
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.affine.vstack import Vstack
from cvxpy.atoms.affine.wraps import Wrap
from cvxpy.atoms.elementwise.power import Power as PowerAtom
from cvxpy.atoms.pnorm import Pnorm

from convexfs.inspection import nodes
from convexfs.inspection.depth import deep
from convexfs.inspection.nodes import Call, Entrywise, Index, Node, Norm, Power, Relation, Stack
from convexfs.inspection.symbols import SymbolTable

#: Positions of an index that are listed before they get a name.
LISTED_POSITIONS = 8


@dataclass(frozen=True)
class Clause:
    """A constraint: its label or position, the statement, and what cvxpy calls its value."""

    key: str
    labelled: bool
    statement: Relation
    residual: tuple[Node, ...]


@dataclass(frozen=True)
class Formula:
    """A whole problem."""

    sense: str
    objective: Node
    clauses: tuple[Clause, ...]
    symbols: SymbolTable


@deep()
def read_problem(problem: cp.Problem, symbols: SymbolTable) -> Formula:
    """The formula of `problem`."""
    sense = "maximize" if isinstance(problem.objective, cp.Maximize) else "minimize"
    objective = read(problem.objective.expr, symbols)
    clauses = tuple(
        _clause(key, constraint, symbols)
        for key, constraint in zip(_keys(problem.constraints), problem.constraints, strict=True)
    )
    return Formula(sense, objective, clauses, symbols)


def read(expression: Any, symbols: SymbolTable) -> Node:
    """The formula of an expression."""
    if isinstance(expression, cp.Constant):
        return symbols.constant(expression)
    if isinstance(expression, cp.Variable | cp.Parameter):
        return symbols.leaf(expression)
    args = tuple(read(arg, symbols) for arg in getattr(expression, "args", ()))
    if isinstance(expression, Wrap):
        return args[0]
    if isinstance(expression, index | special_index):
        return _index(expression, args[0], symbols)
    if isinstance(expression, cp.perspective):
        # What it is the perspective of is not among its arguments.
        call = _call(expression, *args)
        return replace(call, options={"of": read(expression.f, symbols)})
    if isinstance(expression, cp.gmatmul):
        call = _call(expression, *args)
        return replace(call, options={"by": read(cp.Constant.cast_to_const(expression.A), symbols)})
    if isinstance(expression, PowerAtom):
        args = (*args, read(cp.Constant.cast_to_const(expression.p), symbols))
    for kind in type(expression).__mro__:
        if kind in READERS:
            return READERS[kind](expression, *args)
    return _call(expression, *args)


def _keys(rows: list[Any]) -> Iterator[str]:
    """The label of every constraint, or its position; both where a label comes again."""
    seen: set[str] = set()
    for position, constraint in enumerate(rows):
        key = constraint.label or str(position)
        yield f"{key} {position}" if key in seen else key
        seen.add(key)


def _clause(key: str, constraint: Any, symbols: SymbolTable) -> Clause:
    args = tuple(read(arg, symbols) for arg in constraint.args)
    statement = _statement(constraint, args)
    two_sided = isinstance(constraint, constraints.Inequality | constraints.Equality)
    residual = (nodes.difference(*args),) if two_sided else args
    return Clause(key, bool(constraint.label), statement, residual)


def _statement(constraint: Any, args: tuple[Node, ...]) -> Relation:
    zero = nodes.number(0.0)
    match constraint:
        case constraints.Inequality():
            return _turned(constraint, *args)
        case constraints.Equality():
            return Relation(args[0], "==", args[1])
        case constraints.Zero():
            return Relation(args[0], "==", zero)
        case constraints.NonNeg():
            return Relation(args[0], ">=", zero)
        case constraints.NonPos():
            return Relation(args[0], "<=", zero)
        case constraints.PSD():
            return Relation(args[0], ">>", zero)
        case constraints.SOC():
            axis = constraint.axis if len(args[1].shape) == 2 else None
            return Relation(_norm(args[1], 2, axis, shape=args[0].shape), "<=", args[0])
        case constraints.ExpCone():
            x, y, z = args
            power = Call(x.shape, "exp", (_over(x, y),))
            return Relation(_entrywise("*", y, power), "<=", z)
        case constraints.PowCone3D():
            return _power_cone(constraint, args)
        case cp.FiniteSet():
            return Relation(args[0], "in", Call((), "set", (args[1],)))
    named = Call((), type(constraint).__name__, args)
    return Relation(named, "holds", zero)


def _turned(constraint: Any, left: Node, right: Node) -> Relation:
    """``w >= 0``, which cvxpy keeps as ``0 <= w``."""
    if constraint.args[0].is_constant() and not constraint.args[1].is_constant():
        return Relation(right, ">=", left)
    return Relation(left, "<=", right)


def _power_cone(constraint: Any, args: tuple[Node, ...]) -> Relation:
    x, y, z = args
    alpha = np.unique(np.asarray(constraint.alpha.value))
    if alpha.size > 1:
        return Relation(Call((), "PowCone3D", args), "holds", nodes.number(0.0))
    powers = [
        Power(node.shape, node, nodes.number(float(exponent)))
        for node, exponent in ((x, alpha[0]), (y, 1 - alpha[0]))
    ]
    return Relation(_entrywise("*", *powers), ">=", Call(z.shape, "abs", (z,)))


def _entrywise(operator: str, left: Node, right: Node) -> Node:
    shape = np.broadcast_shapes(left.shape, right.shape)
    if operator == "*" and _is_scalar(left, shape):
        return nodes.times(_scalar(left), right)
    if operator == "*" and _is_scalar(right, shape):
        return nodes.times(_scalar(right), left)
    if operator == "/" and _is_scalar(right, shape):
        return nodes.divide(left, _scalar(right))
    return Entrywise(shape, operator, left, right)


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
    product = _entrywise("*", left, right)
    return nodes.broadcast(product, expression.shape)


def _matmul(expression: Any, left: Node, right: Node) -> Node:
    if left.shape == () or right.shape == ():
        return nodes.times(*sorted((left, right), key=lambda node: node.shape != ()))
    if max(len(left.shape), len(right.shape)) > 2:
        return Call(expression.shape, "matmul", (left, right))
    return nodes.chain(expression.shape, left, right)


def _divide(expression: Any, left: Node, right: Node) -> Node:
    return nodes.broadcast(_entrywise("/", left, right), expression.shape)


def _over(left: Node, right: Node) -> Node:
    return _entrywise("/", left, right)


def _transpose(expression: Any, body: Node) -> Node:
    axes = expression.axes
    reversed_axes = tuple(range(len(body.shape)))[::-1]
    if axes is None or tuple(axes) == reversed_axes:
        return nodes.transpose(body)
    return _call(expression, body)


def _conj(expression: Any, body: Node) -> Node:
    return body if expression.args[0].is_real() else Call(body.shape, "conj", (body,))


def _index(expression: Any, body: Node, symbols: SymbolTable) -> Node:
    key = expression._orig_key if isinstance(expression, index) else expression.key
    parts: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or part is Ellipsis or isinstance(part, slice):
            parts.append(part)
        else:
            array = np.asarray(part)
            # A mask is the positions where it is true, one list an axis.
            parts += np.nonzero(array) if array.dtype == bool else [array]
    named = (
        symbols.positions(part) if np.size(part) > LISTED_POSITIONS or np.ndim(part) > 1 else part
        for part in parts
    )
    return Index(expression.shape, body, tuple(named))


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
        return _call(expression, *args)
    return args[0] if len(args) == 1 else Stack(expression.shape, args, axis)


def _pnorm(expression: Any, body: Node) -> Node:
    p, axis, keepdims = expression.original_p, expression.axis, expression.keepdims
    if not isinstance(p, int | float) or p < 1:
        return _call(expression, body)
    return _norm(body, p, axis, keepdims, expression.shape)


def _norm(
    body: Node, p: float, axis: Any = None, keepdims: bool = False, shape: nodes.Shape = ()
) -> Norm:
    flattened = isinstance(body, nodes.Reshape) and len(body.shape) == 1
    # cvxpy's Frobenius norm is the 2-norm of the flattened matrix.
    if p == 2 and flattened and axis is None:
        body = body.body  # type: ignore[attr-defined]
    return Norm(shape, body, float(p), axis, keepdims)


def _norm_of(p: float) -> Callable[..., Node]:
    return lambda expression, body: _norm(
        body, p, expression.axis, expression.keepdims, expression.shape
    )


def _matrix_norm(kind: str) -> Callable[..., Node]:
    return lambda expression, body: Norm(expression.shape, body, kind)


def _quad_over_lin(expression: Any, body: Node, over: Node) -> Node:
    norm = _norm(body, 2, expression.axis, expression.keepdims, expression.shape)
    return _over(Power(expression.shape, norm, nodes.number(2.0)), over)


def _quad_form(expression: Any, x: Node, matrix: Node) -> Node:
    if len(x.shape) != 1:
        return _call(expression, x, matrix)
    return nodes.chain((), nodes.chain(x.shape, x, matrix), x)


def _power(expression: Any, base: Node, exponent: Node) -> Node:
    return Power(expression.shape, base, exponent)


def _call(expression: Any, *args: Node) -> Call:
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
    for name in ("k", "M", "p", "axes"):
        held = getattr(expression, name, None)
        held = held.value if isinstance(held, cp.Expression) else held
        if held is None or (name == "k" and held == 0):
            continue
        # A geometric mean without weights has equal ones.
        if np.size(held) == 1 or np.ptp(np.asarray(held, dtype=float)) > 0:
            options[name] = held
    return options


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
    SumAtom: lambda expression, body: nodes.Total(
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
}  # fmt: skip
