"""Rows of measurements, one per contender, cell and draw, and how a cell can end."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import mean
from typing import Any

Rows = list[dict[str, Any]]
OVER, NOT_TRIED, NOT_RUN = "over the limit", "not tried", "not run"
#: How a cell can end, as the page counts it; the first has a result.
ENDS = ("measured", "refused", "failed", OVER, NOT_TRIED, "did not start", NOT_RUN)
#: What a process says after its first fit, which is not counted.
READY = {"ready": True}
#: Less memory than this isn't resolved.
RESOLVED = 2**20


def end(row: dict[str, Any] | None) -> str:
    """How a cell ended, in one of the words of `ENDS`."""
    if row is None:
        return NOT_RUN
    return "measured" if row.get("seconds") else row["ended"].partition(":")[0]


def mean_of_draws(rows: Rows) -> Rows:
    """One row a cell: the mean of the draws measured, and what knockoffs selected in all."""
    drawn: dict[tuple, Rows] = defaultdict(list)
    for row in rows:
        drawn[tuple(row[part] for part in ("contender", "signal", "n", "p", "set"))].append(row)
    return [_mean_row(each) for each in drawn.values()]


def _mean_row(draws: Rows) -> dict[str, Any]:
    measured = [row for row in draws if row["seconds"]]
    if not measured:
        return draws[0]
    most = max((row["limit"] for row in draws), key=float)
    row = measured[0] | {"draw": str(len(measured)), "limit": most}
    for column, of in (("seconds", mean), ("memory", mean), ("found", mean), ("selected", sum),
                       ("false", sum)):  # fmt: skip
        if row[column]:
            row[column] = str(of(float(each[column]) for each in measured))
    return row


def common_draws(rows: Rows, names: Iterable[str]) -> Rows:
    """Return the means of these contenders over the draws that all of them answered."""
    names = {*names}
    answered: dict[tuple, set[str]] = defaultdict(set)
    for row in rows:
        if row["seconds"]:
            answered[_draw_of(row)].add(row["contender"])
    return mean_of_draws(
        [row for row in rows if row["contender"] in names and names <= answered[_draw_of(row)]]
    )


def _draw_of(row: dict[str, Any]) -> tuple:
    return tuple(row[part] for part in ("signal", "n", "p", "draw", "set"))


def by_cell(rows: Rows) -> dict[str, dict[str, dict]]:
    cells: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in rows:
        name = row["set"] or f"{row['signal']} {row['n']} x {row['p']}"
        cells[name][row["contender"]] = row
    return cells


def table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = [*head]
    marks = ["---"] * len(head)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *map(list, lines)))
