"""The stages from a stated problem to a solver's data, with the owner of each row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.certification.convex_form import ConvexForm
from convexfs.diagnosis.convexity import describer
from convexfs.diagnosis.naming import Names, on_one_line
from convexfs.diagnosis.ownership import OwnedProgram, Part

#: Most rows of a part, entries of the matrix and characters of a text that are shown.
MOST_ROWS, MOST_ENTRIES, LONGEST = 400, 4000, 120


@dataclass(frozen=True)
class Stage:
    """One constraint, attribute or objective: its text, its epigraph form and its cone rows."""

    part: Part
    name: str
    source: str
    stated: str
    epigraph: tuple[str, ...]
    rows: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Stages:
    """All parts of a problem, and shape and nonzero positions of the solver's matrix."""

    parts: tuple[Stage, ...]
    shape: tuple[int, int]
    entries: tuple[tuple[int, int], ...]
    columns: tuple[str, ...]


def stages(problem: cp.Problem, sources: Mapping[int, str] | None = None) -> Stages:
    """Return how each part of a convex problem becomes cone rows of the solver's matrix."""
    return stages_of(Names(OwnedProgram.of(ConvexForm.of(problem).convex, problem), sources))


def stages_of(names: Names) -> Stages:
    """Return the Stages of a compiled program: its parts, and the first rows and entries."""
    program = names.program
    form = program.form
    kinds = {row: block.cone.kind for block in form.blocks
             for row in range(block.rows.start, block.rows.stop)}  # fmt: skip
    by_part: dict[Part, list[int]] = {}
    for row, (part, _) in enumerate(program.owners):
        by_part.setdefault(part, []).append(row)
    epigraph = _epigraph(program)
    parts = tuple(
        Stage(
            part, names.part(part), names.source(part), names.statement(part),
            tuple(epigraph.get(part, ())),
            tuple((row, kinds[row]) for row in by_part.get(part, ())[:MOST_ROWS]),
        )
        for part in sorted(by_part, key=lambda each: (each.kind != "constraint", each.position))
    )  # fmt: skip
    entries = form.A.tocoo()
    shown = zip(entries.row.tolist(), entries.col.tolist(), strict=True)
    columns = tuple(program.column_name(k) for k in range(min(form.q.size, MOST_ROWS)))
    return Stages(parts, (form.b.size, form.q.size), tuple(shown)[:MOST_ENTRIES], columns)


def _epigraph(program: OwnedProgram) -> dict[Part, list[str]]:
    """Return, for each part, the texts of the cones that it is compiled to."""
    describe = describer(program.epigraph)
    found: dict[Part, list[str]] = {}
    for constraint in program.epigraph.constraints:
        owner = program.epigraph_owners.get(constraint.id)
        if owner is not None:
            found.setdefault(owner[0], []).append(_shortened(constraint, describe))
    return found


def _shortened(constraint: Any, describe: Any) -> str:
    sides = [describe(arg) for arg in constraint.args]
    name = type(constraint).__name__
    joined = {"Inequality": " <= ", "Equality": " == "}.get(name)
    words = joined.join(sides) if joined else f"({', '.join(sides)}) in {name}"
    return on_one_line(words, LONGEST)


def stages_text(problem: cp.Problem, sources: Mapping[int, str] | None = None) -> str:
    """Return text, 80 columns wide, on which cone rows each constraint is compiled to."""
    found = stages(problem, sources)
    lines = [f"Stages: {len(problem.constraints)} constraints become {found.shape[0]} rows and "
             f"{found.shape[1]} columns", ""]  # fmt: skip
    for each in found.parts:
        lines.append(f"{each.name}: {each.stated}  {each.source}".rstrip()[:80])
        lines += [f"    {words}"[:80] for words in each.epigraph]
        rows = [row for row, _ in each.rows]
        kinds = ", ".join(dict.fromkeys(kind for _, kind in each.rows))
        lines.append(f"    rows {_spans(rows)} ({kinds})"[:80])
    return "\n".join(lines)


def _spans(rows: list[int]) -> str:
    """Format sorted numbers as spans, such as ``0-3, 7``."""
    if not rows:
        return "none"
    groups = np.split(np.array(rows), np.flatnonzero(np.diff(rows) > 1) + 1)
    return ", ".join(str(g[0]) if g.size == 1 else f"{g[0]}-{g[-1]}" for g in groups)
