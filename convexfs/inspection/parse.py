"""Read a cvxpy expression tree into a formula.

Each atom has a short reader in :data:`~convexfs.inspection.atoms.READERS`; one without
becomes a function of its own name, so that every expression can be read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import constraints
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.wraps import Wrap
from cvxpy.atoms.elementwise.power import Power as PowerAtom
from cvxpy.atoms.suppfunc import SuppFuncAtom
from cvxpy.transforms.indicator import indicator
from cvxpy.transforms.partial_optimize import PartialProblem

from convexfs.inspection import tree
from convexfs.inspection.atoms import READERS, call
from convexfs.inspection.symbols import SymbolTable
from convexfs.inspection.tree import Node, deep, entrywise, norm, relation

#: Positions of an index that are listed before they get a name.
LISTED_POSITIONS = 8


@dataclass(frozen=True)
class Clause:
    """A constraint: its label or position, the statement, and what cvxpy calls its value."""

    key: str
    labelled: bool
    statement: Node
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
    """Return the formula of `problem`."""
    sense = "maximize" if isinstance(problem.objective, cp.Maximize) else "minimize"
    objective = read(problem.objective.expr, symbols)
    clauses = tuple(
        _clause(key, constraint, symbols)
        for key, constraint in zip(_keys(problem.constraints), problem.constraints, strict=True)
    )
    return Formula(sense, objective, clauses, symbols)


def read(expression: Any, symbols: SymbolTable) -> Node:
    """Return the formula of an expression."""
    if isinstance(expression, cp.Constant):
        return symbols.constant(expression)
    if isinstance(expression, cp.Variable | cp.Parameter):
        return symbols.leaf(expression)
    if isinstance(expression, indicator | PartialProblem | SuppFuncAtom):
        return _of_constraints(expression, symbols)
    args = tuple(read(arg, symbols) for arg in getattr(expression, "args", ()))
    if isinstance(expression, Wrap):
        return args[0]
    if isinstance(expression, index | special_index):
        return _index(expression, args[0], symbols)
    if isinstance(expression, cp.perspective):
        # What it is the perspective of is not among its arguments.
        return _with(call(expression, *args), {"of": read(expression.f, symbols)})
    if isinstance(expression, cp.gmatmul):
        by = read(cp.Constant.cast_to_const(expression.A), symbols)
        return _with(call(expression, *args), {"by": by})
    if isinstance(expression, PowerAtom):
        args = (*args, read(cp.Constant.cast_to_const(expression.p), symbols))
    if isinstance(expression, cp.huber):
        args = (*args, read(expression.M, symbols))
    for kind in type(expression).__mro__:
        if kind in READERS:
            return READERS[kind](expression, *args)
    return call(expression, *args)


def _with(made: Node, options: dict[str, Any]) -> Node:
    return replace(made, info={**made.info, "options": options})


def _keys(rows: list[Any]) -> Iterator[str]:
    """Name every constraint by its label or position, by both where a label comes again."""
    seen: set[str] = set()
    for position, constraint in enumerate(rows):
        key = constraint.label or str(position)
        yield f"{key} {position}" if key in seen else key
        seen.add(key)


def _clause(key: str, constraint: Any, symbols: SymbolTable) -> Clause:
    args = tuple(read(arg, symbols) for arg in constraint.args)
    statement = _statement(constraint, args, symbols)
    two_sided = isinstance(constraint, constraints.Inequality | constraints.Equality)
    residual = (tree.difference(constraint.expr.shape, *args),) if two_sided else args
    return Clause(key, bool(constraint.label), statement, residual)


def _statement(constraint: Any, args: tuple[Node, ...], symbols: SymbolTable) -> Node:
    zero = tree.number(0.0)
    match constraint:
        case constraints.Inequality():
            return _turned(constraint, *args)
        case constraints.Equality():
            return relation(args[0], "==", args[1])
        case constraints.Zero():
            return relation(args[0], "==", zero)
        case constraints.NonNeg():
            return relation(args[0], ">=", zero)
        case constraints.NonPos():
            return relation(args[0], "<=", zero)
        case constraints.PSD():
            return relation(args[0], ">>", zero)
        case constraints.SOC():
            axis = constraint.axis if len(args[1].shape) == 2 else None
            return relation(norm(args[1], 2, args[0].shape, axis), "<=", args[0])
        case constraints.ExpCone():
            x, y, z = args
            power = tree.call("exp", x.shape, entrywise("/", x, y))
            return relation(entrywise("*", y, power), "<=", z)
        case constraints.PowCone3D() if np.unique(np.asarray(constraint.alpha.value)).size == 1:
            return _power_cone(constraint, args)
        case cp.FiniteSet():
            return relation(args[0], "in", tree.call("set", (), args[1]))
    exponents = getattr(constraint, "alpha", None)
    if exponents is not None:
        args = (*args, read(cp.Constant.cast_to_const(exponents), symbols))
    named = tree.call(type(constraint).__name__, (), *args)
    return relation(named, "holds", zero)


def _turned(constraint: Any, left: Node, right: Node) -> Node:
    """Write ``w >= 0`` where cvxpy keeps ``0 <= w``."""
    if constraint.args[0].is_constant() and not constraint.args[1].is_constant():
        return relation(right, ">=", left)
    return relation(left, "<=", right)


def _power_cone(constraint: Any, args: tuple[Node, ...]) -> Node:
    x, y, z = args
    alpha = float(np.ravel(constraint.alpha.value)[0])
    powers = [
        tree.power(node, tree.number(exponent)) for node, exponent in ((x, alpha), (y, 1 - alpha))
    ]
    return relation(entrywise("*", *powers), ">=", tree.call("abs", z.shape, z))


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
    return tree.make("index", expression.shape, body, key=tuple(named))


def _of_constraints(expression: Any, symbols: SymbolTable) -> Node:
    """Read an optimal value or an indicator as a function of the leaves that stay free."""
    first: list[Node] = []
    free: list[Any] = [*expression.variables(), *expression.parameters()]
    if isinstance(expression, indicator):
        name, rows = "indicator", expression.args
    elif isinstance(expression, PartialProblem):
        problem = expression.args[0]
        free = [*expression.dont_opt_vars, *expression.parameters()]
        free_ids = {leaf.id for leaf in free}
        taken = [leaf for leaf in problem.variables() if leaf.id not in free_ids]
        way = "min" if isinstance(problem.objective, cp.Minimize) else "max"
        name, rows = f"{way} over {_names(taken, symbols)}", problem.constraints
        first = [read(problem.objective.expr, symbols)]
    else:
        x, y = expression._parent.x, expression.args[0]
        name, rows = f"sup over {_names([x], symbols)}", expression._parent.constraints
        first = [read(cp.sum(cp.multiply(x, y)), symbols)]
    stated = [_clause("", row, symbols).statement for row in rows]
    leaves = tuple(symbols.leaf(leaf) for leaf in free)
    return tree.make(
        "call", (), *leaves, function=name, options={"parts": (*first, *stated)},
        evaluate=_value_at(expression, free),
    )  # fmt: skip


def _names(leaves: list[Any], symbols: SymbolTable) -> str:
    return ", ".join(symbols.leaf(leaf).name for leaf in leaves)


def _value_at(expression: Any, leaves: list[Any]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that evaluates `expression` at other leaf values and restores the old."""

    def evaluate(values: Sequence[Any]) -> Any:
        before = [leaf.value for leaf in leaves]
        try:
            for leaf, value in zip(leaves, values, strict=True):
                leaf.save_value(np.asarray(value))
            return expression.value
        finally:
            for leaf, value in zip(leaves, before, strict=True):
                leaf.save_value(value)

    return evaluate
