"""Describe a conflict, its proof, and the least relaxation in sentences."""

from collections.abc import Sequence
from typing import Any

from convexfs.certification.auxiliary import Budget
from convexfs.diagnosis.conflicts import Conflict, further_conflicts
from convexfs.diagnosis.explanation import Explanation, Line, Section, first_lines
from convexfs.diagnosis.naming import Names
from convexfs.diagnosis.ownership import CONSTRAINT, StatedRow
from convexfs.diagnosis.relaxation import Relaxation, least_relaxation
from convexfs.errors import and_more
from convexfs.records import INFEASIBLE

#: Most rows of one constraint that are printed apart, and most lines of a conflict.
MOST_ROWS, MOST_LINES = 6, 24
#: Fraction of the remaining time for the least relaxation, and then for further conflicts.
SHARE = 0.5
BOOLEAN = "boolean"


def explain_infeasible(
    conflict: Conflict, names: Names, budget: Budget, relax: bool = True
) -> Explanation:
    """Return the Explanation of a conflict, with the least relaxation and further conflicts."""
    program = names.program
    relaxation = None
    if relax:
        relaxation = least_relaxation(program, names, Budget.of(SHARE * budget.left))
    others = further_conflicts(program, Budget.of(SHARE * budget.left), conflict)
    # In a problem read from a file, each row is a constraint.
    by_constraint = conflict.irreducible if names.rows else conflict.irreducible_by_part
    sections = [
        Section(_title(conflict), conflict_lines(conflict, names)),
        *_relaxation_section(relaxation, relax),
        *_further_section(others, names),
        Section("Proof", _proof_lines(conflict, names)),
    ]
    data = {
        "conflict": _rows_data(conflict, names),
        "irreducible": conflict.irreducible,
        "irreducible_by_constraint": by_constraint,
        "proof": conflict.proof,
        "exact": conflict.exact,
        "needs_integers": bool(program.form.integer.size) and not conflict.relaxed,
        "decisions": conflict.decisions,
        "relaxation": _relaxation_data(relaxation, names),
        "further_conflicts": [_rows_data(other, names) for other in others],
    }
    return Explanation(INFEASIBLE, True, _headline(conflict, names), tuple(sections), data)


def _headline(conflict: Conflict, names: Names) -> str:
    count, total = len(conflict.rows), len(names.program.stated_rows)
    rows = f"{count} of {total} rows conflict"
    if count == 1:
        return f"INFEASIBLE, proven: no point satisfies {names.row(conflict.rows[0])}"
    parts = len(conflict.parts)
    if not names.rows and parts < count:
        rows = f"{rows} ({parts} constraint{'s' * (parts > 1)})"
    if conflict.irreducible:
        return f"INFEASIBLE, proven: {rows}, and any one fewer does not"
    left = count - len(conflict.needed)
    return f"INFEASIBLE, proven: {rows}; of {left} it is not proven that they are needed"


def _title(conflict: Conflict) -> str:
    return "These conflict, even if fractions are allowed" if conflict.relaxed else "These conflict"


def conflict_lines(conflict: Conflict, names: Names) -> list[Line]:
    """Return a conflict's rows as at most MOST_LINES Lines, and one for the number left out.

    More than MOST_ROWS rows of one constraint share a line.
    """
    lines = []
    for part in sorted(conflict.parts, key=names.program.parts.index):
        rows = [member for member in conflict.rows if member.part == part]
        if len(rows) > MOST_ROWS and not (names.rows and part.kind == CONSTRAINT):
            lines.append(_folded(part, rows, names))
            continue
        for row in rows:
            doubt = "" if id(row) in conflict.needed else " (not proven to be needed)"
            text = names.row_statement(row) + doubt
            lines.append(Line(text, names.row(row), names.source(part)))
    for name, kind in _integers(conflict, names):
        if not conflict.relaxed:
            lines.append(Line(f"must be {kind}", name))
        elif kind == BOOLEAN:
            lines.append(Line("lies between 0 and 1", name))
    return first_lines(lines, MOST_LINES)


def _integers(conflict: Conflict, names: Names) -> list[tuple[str, str]]:
    """Return (name, "boolean" or "an integer") of the integer variables in a conflict."""
    form, program = names.program.form, names.program
    used = {int(each) for row in conflict.rows for each in form.A[row.rows].indices}
    found = []
    for variable in program.problem.variables():
        at = form.columns.get(variable.id, slice(0, 0))
        if used & set(range(at.start, at.stop)) & set(form.integer.tolist()):
            boolean = variable.attributes["boolean"]
            found.append((variable.name(), BOOLEAN if boolean else "an integer"))
    return found


def _folded(part: Any, rows: Sequence[StatedRow], names: Names) -> Line:
    shown = ", ".join(str(row.number) for row in rows[:MOST_ROWS])
    of = sum(member.part == part for member in names.program.stated_rows)
    text = f"{names.statement(part)}, rows {shown}, ... ({len(rows)} of {of})"
    return Line(text, names.part(part), names.source(part))


def _relaxation_section(relaxation: Relaxation | None, tried: bool) -> list[Section]:
    if not tried:
        return []
    if relaxation is None:
        words = (
            "No change of the limits was found: the time is used up, or attributes, cones or "
            "domains conflict by themselves."
        )
        return [Section("Least relaxation", [Line(words)])]
    word = "verified to be feasible with these numbers" if relaxation.verified else "not verified"
    lines = first_lines([Line(change.sentence) for change in relaxation.changes], MOST_LINES)
    return [Section(f"Least relaxation, {word}", lines)]


def _further_section(others: Sequence[Conflict], names: Names) -> list[Section]:
    lines = []
    for number, other in enumerate(others, 2):
        shown = list(dict.fromkeys(names.row(row) for row in other.rows))
        lines.append(Line(and_more(shown[:8], len(shown)), f"conflict {number}"))
    return (
        [Section("Further conflicts, which share no row with the others", lines)] if lines else []
    )


def _proof_lines(conflict: Conflict, names: Names) -> list[Line]:
    lines = [Line(f"No point satisfies all of them: {conflict.proof}.")]
    if conflict.irreducible and conflict.exact:
        words = "No other multipliers cancel all variables, so each row is needed."
    elif conflict.irreducible:
        words = "Without any one row, the others have a verified feasible point."
    else:
        words = (f"{len(conflict.needed)} of {len(conflict.rows)} rows are proven to be needed; "
                 "of the others it is not known.")  # fmt: skip
    lines.append(Line(words))
    if not names.rows and not conflict.irreducible_by_part:
        lines.append(Line("It is not proven that each constraint is needed as a whole."))
    return lines


def _rows_data(conflict: Conflict, names: Names) -> list[dict[str, Any]]:
    return [
        {
            "name": names.row(row), "constraint": names.part(row.part), "kind": row.part.kind,
            "position": row.part.position, "row": row.number, "text": names.row_statement(row),
            "source": names.source(row.part), "needed": id(row) in conflict.needed,
        }
        for row in conflict.rows
    ]  # fmt: skip


def _relaxation_data(relaxation: Relaxation | None, names: Names) -> dict[str, Any] | None:
    if relaxation is None:
        return None
    changes = [
        {"name": names.row(each.member), "step": each.step, "sentence": each.sentence}
        for each in relaxation.changes
    ]
    return {"changes": changes, "verified": relaxation.verified, "by": relaxation.by}
