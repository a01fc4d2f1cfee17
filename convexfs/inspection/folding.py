"""Fold lines and terms that differ only in their constants into one, with an index."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from convexfs.inspection import tree
from convexfs.inspection.parse import Clause, Formula
from convexfs.inspection.symbols import CONSTANT, POSITIONS, Declaration
from convexfs.inspection.tree import Node

#: From this number on, similar lines are printed once.
FEWEST = 4
#: Kinds that can take the sign they have in a sum.
_WITH_NUMBER = ("number", "product")


@dataclass(frozen=True)
class Folded:
    """A formula with its families (clauses written as one line), and the symbols they use."""

    objective: Node
    clauses: list[tuple[Node, Sequence[Clause]]]
    symbols: list[Declaration]
    letter: str

    def range_of(self, run: Sequence[Clause]) -> str:
        """Write the range of a family's index, which follows its line."""
        return f", {self.letter} = 1..{len(run)}" if len(run) > 1 else ""


def fold(formula: Formula) -> Folded:
    """Tell families of constraints and of terms once."""
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
    """Finds families in a formula and names what differs in them."""

    def __init__(self, formula: Formula):
        self.symbols = formula.symbols
        self.letter = formula.symbols.letter("kjlmnpq")
        self.families: dict[Hashable, Declaration] = {}

    def folded(self, node: Node) -> Node:
        """Write families of terms in a node as sums over an index."""
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
        """Group neighbours that are alike but not the same, if there are many."""
        runs: list[list[Any]] = []
        for _, alike in groupby(things, lambda thing: self._likeness(node_of(thing))):
            run = list(alike)
            same = len({self._likeness(node_of(thing), exact=True) for thing in run}) == 1
            runs += [[thing] for thing in run] if same or len(run) < FEWEST else [run]
        return runs

    def _likeness(self, node: Node, exact: bool = False) -> Hashable:
        """Return what members of a family have in common: all but their constants."""
        own = {name: value for name, value in node.info.items() if name != "evaluate"}
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
        """Make one node for all members, with indexed symbols where they differ."""
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
            factor = self._family([node.number for node in members], "abcd", ())
            return tree.times(factor, *parts)
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
    """Move signs that differ between sums into their numbers."""
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
    """Return a part of an index without its positions."""
    is_positions = isinstance(part, Node | np.ndarray)
    return f"positions {part.shape}" if is_positions else str(part)
