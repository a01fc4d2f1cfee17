"""Names of the parts of a problem: labels, row names of files, positions and source lines."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality
from cvxpy.constraints.constraint import Constraint

from convexfs.certification.feasibility import value_of
from convexfs.diagnosis.ownership import (
    ATTRIBUTE,
    CONSTRAINT,
    OwnedProgram,
    Part,
    StatedRow,
    entry_name,
)

#: Rows with more terms are printed as their constraint.
MOST_TERMS = 6
#: Longest printed constraint in characters; longer ones are cut.
LONGEST = 160


class Names:
    """The user's names, texts and source lines of constraints and rows of a program.

    Parameters
    ----------
    program : OwnedProgram
    sources : mapping
        Source lines by constraint id, of files that were run here.
    """

    def __init__(self, program: OwnedProgram, sources: Mapping[int, str] | None = None):
        self.program, self.sources = program, sources or {}
        self._statements: list[str] | None = None

    @property
    def rows(self) -> Mapping[int, tuple[tuple[str, bool], ...]]:
        """Row names from a problem file, by constraint position; {} for other problems."""
        return getattr(self.program.stated, "row_names", {})

    def part(self, part: Part) -> str:
        """Return the name of a constraint (label or position), attribute or objective."""
        if part.kind == CONSTRAINT:
            return self._constraint(part).label or f"constraint {part.position}"
        if part.kind == ATTRIBUTE:
            return f"attribute of {self.program.stated.variables()[part.position].name()}"
        return "objective"

    def row(self, member: StatedRow) -> str:
        """Return the name of a stated row, such as ``budget`` or ``demand[3]``."""
        part = member.part
        if part.kind == CONSTRAINT:
            if part.position in self.rows:
                return self.rows[part.position][member.number][0]
            if self.rows and member.own.size == 1:
                columns = self.program.form.A[member.own].indices
                return f"bound of {self.program.column_name(int(columns[0]))}"
            constraint = self._constraint(part)
            single = constraint.size == 1 or not isinstance(constraint, Inequality | Equality)
            number = member.number
            base = self.part(part)
            return base if single else entry_name(base, constraint.shape, number)
        return self.part(part)

    def statement(self, part: Part) -> str:
        """Return the text of a constraint, such as ``x + y <= 1``; for an attribute, its name."""
        if self._statements is None:
            self._statements = statements(self.program.stated)
        if part.kind == ATTRIBUTE:
            return self.part(part)
        if part.kind == CONSTRAINT:
            return self._statements[part.position + 1]
        return f"{self._statements[0]} must be defined"

    def row_statement(self, member: StatedRow) -> str:
        """Return the text of a stated row: its terms if they are few, else its constraint."""
        rows, form = member.own, self.program.form
        as_stated = self.program.stated is self.program.problem
        if as_stated and rows.size == member.rows.size == 1 and not form.curved[rows[0]]:
            written = self._terms(int(rows[0]), member)
            if written is not None:
                return written
        return self.statement(member.part)

    def source(self, part: Part) -> str:
        """Return ``file.py:12``, where a constraint was made, or "" if unknown."""
        if part.kind != CONSTRAINT:
            return ""
        return self.sources.get(self._constraint(part).id, "")

    def limit(self, member: StatedRow) -> tuple[float, int] | None:
        """Return a row's constant side, and 1 if it is an upper or -1 if a lower limit; or None."""
        if member.part.kind != CONSTRAINT:
            return None
        constraint = self._constraint(member.part)
        if not isinstance(constraint, Inequality | Equality):
            return None
        for side, sign in ((1, 1), (0, -1)):
            if constraint.args[side].is_constant():
                wide = np.broadcast_to(value_of(constraint.args[side]), constraint.shape)
                limit = float(np.ravel(wide, order="F")[member.number])
                return (-limit, -sign) if self._is_lower(member) else (limit, sign)
        return None

    def _is_lower(self, member: StatedRow) -> bool:
        """Return whether a problem file states the row as a lower limit, stored negated."""
        named = self.rows.get(member.part.position)
        equal = self.program.form.equalities[member.own[0]]
        return named is not None and not equal and named[member.number][1]

    def _constraint(self, part: Part) -> Any:
        return self.program.stated.constraints[part.position]

    def _terms(self, row: int, member: StatedRow) -> str | None:
        """Return a linear row as ``3 x <= 2``, in its constraint's direction; None if too long."""
        A, own = self.program.form.A, self.program.own_columns
        columns = A.indices[A.indptr[row] : A.indptr[row + 1]]
        entries, b = A.data[A.indptr[row] : A.indptr[row + 1]], self.program.form.b[row]
        if columns.size > MOST_TERMS or not columns.size or not own[columns].all():
            return None
        if columns.size == 1:  # Print x <= 2 rather than -3 x >= -6.
            above = entries[0] > 0
            b, entries = b / abs(entries[0]), entries / abs(entries[0])
        else:
            limit = self.limit(member)
            above = limit is not None and limit[1] < 0
        equal = self.program.form.equalities[row]
        sign = 1.0 if above or equal else -1.0
        relation = "==" if equal else ">=" if above else "<="
        left = ""
        for column, entry in zip(columns, sign * entries, strict=True):
            size = "" if abs(entry) == 1 else f"{abs(entry):.6g} "
            first = "-" if entry < 0 else ""
            joined = (" - " if entry < 0 else " + ") if left else first
            left += f"{joined}{size}{self.program.column_name(int(column))}"
        return f"{left} {relation} {-sign * b + 0.0:.6g}"


def statements(problem: cp.Problem) -> list[str]:
    """Return the texts of the objective and of all constraints, cut at LONGEST characters."""
    from convexfs.inspection.layout import Notation
    from convexfs.inspection.parse import read_problem
    from convexfs.inspection.symbols import SymbolTable
    from convexfs.inspection.writers import Text

    formula = read_problem(problem, SymbolTable(problem, {}))
    notation = Notation(Text())
    parts = [formula.objective, *(each.statement for each in formula.clauses)]
    return [on_one_line(str(notation.write(each)), LONGEST) for each in parts]


def on_one_line(text: str, longest: int) -> str:
    """Return a text on one line, cut at some characters."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


@contextmanager
def recorded_lines(path: str | os.PathLike[str]) -> Iterator[dict[int, str]]:
    """Yield a dict that gets ``file:line`` of each constraint made by a file's code in the block.

    cvxpy keeps no source lines: they are known only of code that is run here.
    """
    lines: dict[int, str] = {}
    make, wanted = Constraint.__init__, os.path.abspath(path)

    def recording(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        frame: Any = sys._getframe(1)
        while frame is not None and os.path.abspath(frame.f_code.co_filename) != wanted:
            frame = frame.f_back
        if frame is not None:
            lines[self.id] = f"{os.path.basename(wanted)}:{frame.f_lineno}"

    Constraint.__init__ = recording
    try:
        yield lines
    finally:
        Constraint.__init__ = make
