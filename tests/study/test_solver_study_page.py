"""The page of the solver study says what its export says, and nothing published contradicts it."""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts" / "benchmarks"))

from solver_study import EXPORT, PAGE, TABLES, filled, read_export

COUNTED = ("solved", "undecided", "wrong claim", "failed", "timeout")


@pytest.fixture(scope="module")
def rows():
    """The export as plain texts."""
    with EXPORT.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(name: str) -> list[list[str]]:
    """The rows of a table of the page."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE.read_text(), re.S)
    assert found is not None
    lines = [line.strip("|").split("|") for line in found[1].splitlines()[2:]]
    return [[cell.strip() for cell in line] for line in lines]


def test_the_tables_of_the_page_are_those_of_the_export():
    assert filled(PAGE.read_text(encoding="utf-8"), read_export()) == PAGE.read_text("utf-8")
    assert all(f"<!-- {name} -->" in PAGE.read_text() for name in TABLES)


def test_outcomes_are_counted_again(rows):
    for name, key, first in (
        ("by-solver", ("settings", "solver"), 3),
        ("by-set", ("set",), 2),
    ):
        counts = Counter((*(row[each] for each in key), row["outcome"]) for row in rows)
        for line in table(name):
            own = tuple(line[: len(key)])
            told = [counts[(*own, outcome)] for outcome in COUNTED]
            assert [int(cell) for cell in line[first : first + 6]] == [sum(told), *told]


def test_no_solved_task_contradicts_a_published_value(rows):
    known = [row for row in rows if row["outcome"] == "solved" and row["published"]]
    assert len(known) > 100
    words = [row for row in known if row["published"].isalpha()]
    assert {(row["status"], row["published"]) for row in words} <= {
        ("infeasible", "infeasible"),
        ("unbounded", "unbounded"),
    }
    numbers = [row for row in known if not row["published"].isalpha()]
    assert [row["problem"] for row in numbers if distance(row) > 1] == []


def distance(row) -> float:
    """How far an objective is from the published one, in units of both accuracies."""
    optimum, tol = float(row["published"]), float(row["tol"] or 1e-5)
    mantissa, _, power = row["published"].lower().partition("e")
    last = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    room = 10.001 * tol * max(1.0, abs(optimum)) + 0.51 * last
    return abs(float(row["objective"]) - optimum) / room


def test_the_export_holds_no_places_and_is_small():
    assert EXPORT.stat().st_size < 500_000
    assert not re.search(r"/(work|home|tmp|root)/", EXPORT.read_text())
