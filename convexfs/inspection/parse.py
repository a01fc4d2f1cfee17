"""Parse a cvxpy expression into a formula tree, and fold repeated constraints.

Each atom has a short reader in :data:`~convexfs.inspection.atoms.READERS`. An atom without one
becomes a function of its own name, so that every expression can be parsed.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
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
from convexfs.inspection.symbols import CONSTANT, POSITIONS, Declaration, SymbolTable
from convexfs.inspection.tree import Node, deep, entrywise, norm, relation

#: Longest list of positions in an index before it gets a name.
LISTED_POSITIONS = 8


@dataclass(frozen=True)
class Clause:
    """A constraint: its label or position, and its statement."""

    key: str
    labelled: bool
    statement: Node


@dataclass(frozen=True)
class Formula:
    """The formula of a problem: sense, objective, constraints and table of symbols."""

    sense: str
    objective: Node
    clauses: tuple[Clause, ...]
    symbols: SymbolTable


@deep()
def read_problem(problem: cp.Problem, symbols: SymbolTable) -> Formula:
    """Parse a cvxpy problem into its formula."""
    sense = "maximize" if isinstance(problem.objective, cp.Maximize) else "minimize"
    objective = read(problem.objective.expr, symbols)
    clauses = tuple(
        Clause(key, bool(constraint.label), _statement(constraint, symbols))
        for key, constraint in zip(_keys(problem.constraints), problem.constraints, strict=True)
    )
    return Formula(sense, objective, clauses, symbols)


def read(expression: Any, symbols: SymbolTable) -> Node:
    """Parse a cvxpy expression into a formula tree; new leaves are named in `symbols`."""
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
        # The function of a perspective is not among its arguments.
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
    """Yield a key for every constraint: its label or position, or both if a label repeats."""
    seen: set[str] = set()
    for position, constraint in enumerate(rows):
        key = constraint.label or str(position)
        yield f"{key} {position}" if key in seen else key
        seen.add(key)


def _statement(constraint: Any, symbols: SymbolTable) -> Node:
    args = tuple(read(arg, symbols) for arg in constraint.args)
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
    return relation(tree.call(type(constraint).__name__, (), *args), "holds", zero)


def _turned(constraint: Any, left: Node, right: Node) -> Node:
    """Return the relation of an inequality; a constant left side goes right, as in ``w >= 0``."""
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
            # Convert a mask to the positions where it is true, one list per axis.
            parts += np.nonzero(array) if array.dtype == bool else [array]
    named = (
        symbols.positions(part) if np.size(part) > LISTED_POSITIONS or np.ndim(part) > 1 else part
        for part in parts
    )
    return tree.make("index", expression.shape, body, key=tuple(named))


def _of_constraints(expression: Any, symbols: SymbolTable) -> Node:
    """Parse an indicator, partial optimum or support function as a call of its free leaves."""
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
    stated = [_statement(row, symbols) for row in rows]
    leaves = tuple(symbols.leaf(leaf) for leaf in free)
    return tree.call(name, (), *leaves, parts=(*first, *stated))


def _names(leaves: list[Any], symbols: SymbolTable) -> str:
    return ", ".join(symbols.leaf(leaf).name for leaf in leaves)


#: Fewest adjacent, similar constraints or terms that are written as one.
FEWEST = 4
#: Kinds of nodes that hold a number, which may carry the sign of a term.
_WITH_NUMBER = ("number", "product")


@dataclass(frozen=True)
class Folded:
    """A formula whose families of similar clauses are one line each, and their symbols."""

    objective: Node
    clauses: list[tuple[Node, Sequence[Clause]]]
    symbols: list[Declaration]
    letter: str

    def range_of(self, run: Sequence[Clause]) -> str:
        """Return the index range of a family as text, such as ``, k = 1..5``; "" for one clause."""
        return f", {self.letter} = 1..{len(run)}" if len(run) > 1 else ""


def fold(formula: Formula) -> Folded:
    """Fold each family of four or more similar, adjacent constraints or terms into one line."""
    folder = _Folder(formula)
    objective = folder.folded(formula.objective)
    clauses: list[tuple[Node, Sequence[Clause]]] = []
    for run in folder.runs(formula.clauses, lambda clause: clause.statement):
        if len(run) > 1:
            clauses.append((folder.merged([clause.statement for clause in run]), run))
        else:
            clauses.append((folder.folded(run[0].statement), run))
    told = {node.name for root in (objective, *(node for node, _ in clauses))
            for node in root.all() if node.kind == "symbol"}  # fmt: skip
    declared = [*formula.symbols.declared.values(), *folder.families.values()]
    told_symbols = [each for each in declared if each.name in told]
    return Folded(objective, clauses, told_symbols, folder.letter)


class _Folder:
    """Find families in a formula, and name the parts in which their members differ."""

    def __init__(self, formula: Formula):
        self.symbols = formula.symbols
        self.letter = formula.symbols.letter("kjlmnpq")
        self.families: dict[Hashable, Declaration] = {}

    def folded(self, node: Node) -> Node:
        """Return the node with similar terms of its sums written as one sum over an index."""
        parts = tuple(map(self.folded, node.parts))
        if node.kind != "sum":
            return node if parts == node.parts else replace(node, parts=parts)
        terms: list[tuple[int, Node]] = []
        for run in self.runs(zip(node.signs, parts, strict=True), lambda term: term[1]):
            sign, body = run[0]
            if len(run) > 1 and {own for own, _ in run} == {sign}:
                body = self.merged([term for _, term in run])
                family = tree.make("family", node.shape, body, letter=self.letter, count=len(run))
                terms.append((sign, family))
            else:
                terms += run
        return tree.sum_of(node.shape, terms)

    def runs(self, things: Iterable[Any], node_of: Callable[[Any], Node]) -> list[list[Any]]:
        """Group four or more adjacent things that differ, in constants only; others stay alone."""
        runs: list[list[Any]] = []
        for _, alike in groupby(things, lambda thing: self._likeness(node_of(thing))):
            run = list(alike)
            same = len({self._likeness(node_of(thing), exact=True) for thing in run}) == 1
            runs += [[thing] for thing in run] if same or len(run) < FEWEST else [run]
        return runs

    def _likeness(self, node: Node, exact: bool = False) -> Hashable:
        """Return a key that nodes share which differ in constants only; in nothing if `exact`."""
        own = dict(node.info)
        if not exact:
            if node.kind in _WITH_NUMBER or self._is_constant(node):
                own = {}
            elif node.kind == "index":
                own["key"] = [_outline(part) for part in node.key]
            elif node.kind == "sum":
                signs = zip(node.signs, node.parts, strict=True)
                own["signs"] = [0 if part.kind in _WITH_NUMBER else sign for sign, part in signs]
        parts = tuple(self._likeness(part, exact) for part in node.parts)
        return node.kind, node.shape, str(own), parts

    def _is_constant(self, node: Node) -> bool:
        kinds = (CONSTANT, POSITIONS)
        return node.kind == "symbol" and self.symbols.declared[node.name].kind in kinds

    def merged(self, members: Sequence[Node]) -> Node:
        """Merge the members of a family into one node, with indexed symbols where they differ."""
        first, *_ = members = _of_one_sign(members)
        if len({self._likeness(node, exact=True) for node in members}) == 1:
            return first
        if first.kind == "number":
            return self._family([node.value for node in members], "bacd", ())
        if first.kind == "symbol":
            arrays = [self.symbols.declared[node.name].stands_for for node in members]
            return self._family(arrays, "cdabgh" if len(first.shape) < 2 else "CDABGH", first.shape)
        parts = tuple(
            self.merged(column) for column in zip(*(m.parts for m in members), strict=True)
        )
        if first.kind == "product" and len({node.number for node in members}) > 1:
            return tree.times(self._family([node.number for node in members], "abcd", ()), *parts)
        if first.kind == "index":
            keys = zip(*(node.key for node in members), strict=True)
            return replace(first, parts=parts, info={"key": tuple(map(self._key, keys))})
        return replace(first, parts=parts)

    def _key(self, column: Sequence[Any]) -> Any:
        if len({str(part) for part in column}) == 1:
            return column[0]
        arrays = [self.symbols.declared[part.name].stands_for if isinstance(part, Node) else part
                  for part in column]  # fmt: skip
        return self._family(arrays, "IJ", np.shape(arrays[0]), POSITIONS)

    def _family(
        self, values: list[Any], stems: str, shape: tree.Shape, kind: str = CONSTANT
    ) -> Node:
        digest = (kind, tuple(str(value) if np.ndim(value) == 0 else id(value) for value in values))
        if digest not in self.families:
            name = self.symbols.indexed(stems, self.letter)
            self.families[digest] = Declaration(name, kind, shape, values, len(values))
        return tree.make("symbol", shape, name=self.families[digest].name)


def _of_one_sign(members: Sequence[Node]) -> Sequence[Node]:
    """Return sums with the same signs: signs that differ are moved into the numbers of terms."""
    if members[0].kind != "sum":
        return members
    differ = [len(set(signs)) > 1 for signs in zip(*(sum_.signs for sum_ in members), strict=True)]
    made = []
    for node in members:
        terms = zip(node.signs, node.parts, differ, strict=True)
        moved = [(1, tree.negate(part) if sign < 0 else part) if by_number else (sign, part)
                 for sign, part, by_number in terms]  # fmt: skip
        signs, parts = zip(*moved, strict=True)
        made.append(tree.make("sum", node.shape, *parts, signs=signs))
    return made


def _outline(part: Any) -> str:
    """Return a part of an index as text, with lists of positions reduced to their shape."""
    return f"positions {part.shape}" if isinstance(part, Node | np.ndarray) else str(part)
