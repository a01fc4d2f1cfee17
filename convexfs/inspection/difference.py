"""What differs between two problems, line by line."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp

from convexfs.inspection import text
from convexfs.inspection.page import Page
from convexfs.inspection.reading import read_problem
from convexfs.inspection.symbols import SymbolTable

NOTHING = "the two problems are the same"


def differences(
    first: cp.Problem,
    second: cp.Problem,
    first_names: Mapping[str, Any] | None = None,
    second_names: Mapping[str, Any] | None = None,
) -> str:
    """Lines only `first` has, marked ``-``, and lines only `second` has, marked ``+``.

    Constants of both go by one name, so that one which changed shows as another
    symbol. Labels, and the order of terms and constraints, make no difference.
    """
    symbols = SymbolTable(first, first_names)
    one = Page(read_problem(first, symbols))
    other = Page(read_problem(second, SymbolTable(second, second_names, like=symbols)))
    parts = []
    for title, old, new in (
        ("objective", _objective(one), _objective(other)),
        ("constraints", _constraints(one), _constraints(other)),
        ("where", _symbols(one), _symbols(other)),
    ):
        changed = list(_changes(old, new))
        if changed:
            parts.append("\n".join([title, *changed]))
    return "\n".join(parts) or NOTHING


#: A line and the label it carries, if any.
Line = tuple[str, str]


def _changes(old: list[Line], new: list[Line]) -> Iterator[str]:
    removed, added = _only_in(old, new), _only_in(new, old)
    for label, line in removed:
        yield _marked("-", label, line)
        # A constraint that changed under its label stands next to what it was.
        for successor in [entry for entry in added if label and entry[0] == label]:
            added.remove(successor)
            yield _marked("+", *successor)
    for label, line in added:
        yield _marked("+", label, line)


def _only_in(lines: list[Line], others: list[Line]) -> list[Line]:
    there = Counter(line for _, line in others)
    kept = []
    for label, line in lines:
        there[line] -= 1
        if there[line] < 0:
            kept.append((label, line))
    return kept


def _marked(mark: str, label: str, line: str) -> str:
    return f"  {mark} {label}: {line}" if label else f"  {mark} {line}"


def _objective(page: Page) -> list[Line]:
    return [("", page.formula.sense), *(("", term) for term in page.text_terms())]


def _constraints(page: Page) -> list[Line]:
    return [(label, text.write(box)) for label, box in page.constraints]


def _symbols(page: Page) -> list[Line]:
    return [("", line.as_text()) for line in page.symbols]
