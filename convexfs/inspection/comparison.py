"""Compare two problems line by line."""

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.inspection.document import symbol_lines
from convexfs.inspection.layout import Notation
from convexfs.inspection.parse import Formula, read_problem
from convexfs.inspection.symbols import PARAMETER, VARIABLE, Declaration, SymbolTable, unnamed
from convexfs.inspection.tree import deep
from convexfs.inspection.writers import Text

NOTHING = "the two problems are the same"
_NOTATION = Notation(Text(), in_full=True)


class Differences(str):
    """Changed lines as text; notebooks show removed and added lines in two columns."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows: list[tuple[str, str | None]] = []
        for line in self.splitlines():
            mark, text = line[2:4], escape(line[4:])
            if mark == "- ":
                rows.append((text, ""))
            elif mark == "+ " and rows and rows[-1][0] and rows[-1][1] == "":
                rows[-1] = (rows[-1][0], text)
            elif mark == "+ ":
                rows.append(("", text))
            else:
                rows.append((escape(line.strip()), None))
        cells = "".join(
            f"<tr><td colspan='2'><b>{one}</b></td></tr>"
            if other is None
            else f"<tr><td><code>{one}</code></td><td><code>{other}</code></td></tr>"
            for one, other in rows
        )
        return f"<table><tr><th>before</th><th>after</th></tr>{cells}</table>"


def differences(
    first: cp.Problem,
    second: cp.Problem,
    first_names: Mapping[str, Any] | None = None,
    second_names: Mapping[str, Any] | None = None,
) -> Differences:
    """Return lines of only `first` (``-``) or `second` (``+``), or a text that both are equal.

    Constants of both go by one name, so that one which changed shows as another
    symbol. Labels, and the order of constraints and of the objective's terms, make no
    difference.
    """
    symbols, renamed = SymbolTable(first, first_names), _renamed(first, second)
    one = read_problem(first, symbols)
    # Create the second table after reading the first, so that it knows the first's constants.
    others = SymbolTable(second, second_names, like=symbols, renamed=renamed)
    parts = _parts(one, read_problem(second, others))
    if renamed:
        parts.append("\n".join(["renamed", *(f"  {old} is {new}" for new, old in renamed.items())]))
    return Differences("\n".join(parts) or NOTHING)


def _renamed(first: cp.Problem, second: cp.Problem) -> dict[str, str]:
    """Map new names to old ones if exactly one leaf of a type and shape was replaced.

    A scalar parameter of another name is another parameter.
    """
    old, new = (
        {
            leaf.name(): leaf
            for leaf in [*problem.variables(), *(p for p in problem.parameters() if p.shape)]
        }
        for problem in (first, second)
    )
    gone, come = (
        [leaf for name, leaf in mine.items() if name not in theirs and not unnamed(leaf)]
        for mine, theirs in ((old, new), (new, old))
    )
    renamed = {}
    for leaf in come:
        kind = type(leaf), leaf.shape
        alike = [[o for o in side if (type(o), o.shape) == kind] for side in (gone, come)]
        if [len(side) for side in alike] == [1, 1]:
            renamed[leaf.name()] = alike[0][0].name()
    return renamed


@deep()
def _parts(one: Formula, other: Formula) -> list[str]:
    parts = {
        "objective": _changes(_objective(one), _objective(other)),
        "constraints": _changes(_constraints(one), _constraints(other)),
        "where": _changes(_symbols(one), _symbols(other)),
        "values": _values(one, other),
    }
    told = ([title, *changed] for title, changed in parts.items())
    return ["\n".join(lines) for lines in told if len(lines) > 1]


#: A label, empty if there is none, and a line.
Line = tuple[str, str]


def _changes(old: list[Line], new: list[Line]) -> Iterator[str]:
    removed, added = _only_in(old, new), _only_in(new, old)
    for label, line in removed:
        yield _marked("-", label, line)
        # Put a changed constraint next to the old one with the same label.
        for successor in [entry for entry in added if label and entry[0] == label]:
            added.remove(successor)
            yield _marked("+", *successor)
    for label, line in added:
        yield _marked("+", label, line)


def _only_in(lines: list[Line], others: list[Line]) -> list[Line]:
    there = Counter(line for _, line in others)
    extra = []
    for label, line in lines:
        there[line] -= 1
        if there[line] < 0:
            extra.append((label, line))
    return extra


def _marked(mark: str, label: str, line: str) -> str:
    return f"  {mark} {label}: {line}" if label else f"  {mark} {line}"


def _objective(formula: Formula) -> list[Line]:
    terms = _NOTATION.terms(formula.objective)
    return [("", formula.sense), *(("", ("-" if sign < 0 else "") + term) for sign, term in terms)]


def _constraints(formula: Formula) -> list[Line]:
    return [
        (clause.key if clause.labelled else "", _NOTATION.write(clause.statement))
        for clause in formula.clauses
    ]


def _symbols(formula: Formula) -> list[Line]:
    lines = symbol_lines(list(formula.symbols.declared.values()), _NOTATION, grouped=False)
    return [("", line) for each in lines for line in each.as_text()]


def _values(one: Formula, other: Formula) -> Iterator[str]:
    """Yield a line for each variable whose bounds, or array parameter whose value, differs."""
    there = other.symbols.declared
    for name, old in one.symbols.declared.items():
        if name not in there or there[name].shape != old.shape:
            continue
        before, after = _arrays(old), _arrays(there[name])
        for what in before.keys() & after.keys():
            changed = np.count_nonzero(before[what] != after[what])
            if changed:
                yield f"  {name}: {changed} of {before[what].size} numbers of its {what} differ"


def _arrays(symbol: Declaration) -> dict[str, np.ndarray]:
    leaf, arrays = symbol.stands_for, {}
    if symbol.kind == VARIABLE and leaf.attributes["bounds"] is not None:
        low, high = leaf.get_bounds()
        arrays["bounds"] = np.stack(np.broadcast_arrays(low, high))
    if symbol.kind == PARAMETER and symbol.shape and leaf.value is not None:
        arrays["value"] = np.asarray(leaf.value)
    return arrays
