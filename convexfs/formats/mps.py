"""MPS and QPS: linear programs, with integer variables and a quadratic objective.

Free and fixed layout are inferred from the file: where a name has blanks, words are
counted by their columns. Read are NAME, OBJSENSE, ROWS, COLUMNS with markers, RHS (of the
objective: its constant, negated), RANGES, BOUNDS, QUADOBJ (one triangle of the matrix) and
QMATRIX (both). An integer column without bounds lies between 0 and 1, as most solvers have it;
a negative upper bound alone takes the lower one away.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from convexfs.formats.instance import INFINITE, Cone, Program, between, grouped, names_between
from convexfs.formats.text import Lines

_SENSES = {"MAX": True, "MAXIMIZE": True, "MAXIMISE": True,
           "MIN": False, "MINIMIZE": False, "MINIMISE": False}  # fmt: skip
#: Column positions of the six fields of a line in fixed layout.
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
_UNREAD = {
    "SOS": "special ordered sets", "SOS1": "special ordered sets", "SOS2": "special ordered sets",
    "INDICATORS": "indicator constraints", "QCMATRIX": "quadratic constraints",
    "CSECTION": "cones", "LAZYCONS": "lazy constraints", "USERCUTS": "user cuts",
    "PWLOBJ": "a piecewise-linear objective", "GENCONS": "general constraints",
}  # fmt: skip


def read(path: Path) -> Program:
    """Read an MPS or QPS file into a Program."""
    return _Reader(path).program()


class _Reader:
    """Parser of the sections of an MPS or QPS file."""

    def __init__(self, path: Path):
        self.lines = Lines(path, "*")
        self.maximise, self.objective, self.constant = False, "", 0.0
        self.rows: dict[str, str] = {}
        self.columns: dict[str, int] = {}
        self.integer: set[str] = set()
        self.cells: dict[tuple[str, str], float] = {}
        self.sides: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        self.lower: dict[str, float] = {}
        self.upper: dict[str, float] = {}
        self.squares: dict[tuple[int, int], float] = {}
        self.in_marker = False
        self._read()

    def _read(self) -> None:
        sections: dict[str, Callable[[list[str]], None]] = {
            "NAME": self._unexpected, "OBJSENSE": self._sense, "ROWS": self._row,
            "COLUMNS": self._column, "RHS": self._side, "RANGES": self._range,
            "BOUNDS": self._bound, "QUADOBJ": self._triangle, "QMATRIX": self._square,
            "OBJECT": self._unexpected,
        }  # fmt: skip
        section, seen = "", []
        lines = [(self.lines.number, line) for line in self.lines]
        is_fixed = _is_fixed([line for _, line in lines])
        for number, line in lines:
            self.lines.number, words = number, line.split()
            if not line[0].isspace():
                section = words[0].upper()
                if section == "ENDATA":
                    break
                if section in _UNREAD:
                    self.lines.fail(f"{section}: {_UNREAD[section]} are not read here")
                if section not in sections:
                    self.lines.fail(f"{words[0][:40]!r} is no section of MPS that is read here")
                if section in seen:
                    self.lines.fail(f"{section} stands here a second time")
                seen.append(section)
                if section == "OBJSENSE" and len(words) > 1:
                    self._sense(words[1:])
            elif not section:
                self.lines.fail("an MPS file begins with the name of a section, such as NAME")
            else:
                fields = [word for a, b in _FIELDS if (word := line[a:b].strip())]
                sections[section](fields if is_fixed else words)
        else:
            self.lines.fail("the file ends without ENDATA")
        for needed in ("ROWS", "COLUMNS"):
            if needed not in seen:
                self.lines.fail(f"the file has no {needed}")
        if not self.columns:
            self.lines.fail("the problem has no variables")

    def _unexpected(self, words: list[str]) -> None:
        self.lines.fail(f"nothing is expected here, and there is {words[0][:40]!r}")

    def _sense(self, words: list[str]) -> None:
        if words[0].upper() not in _SENSES:
            self.lines.fail(f"OBJSENSE must be MAX or MIN, not {words[0][:40]!r}")
        self.maximise = _SENSES[words[0].upper()]

    def _row(self, words: list[str]) -> None:
        if len(words) != 2 or words[0].upper() not in ("N", "L", "G", "E"):
            self.lines.fail("a row is N, L, G or E and a name")
        kind, name = words[0].upper(), words[1]
        if name in self.rows:
            self.lines.fail(f"there is a row {name!r} already")
        self.rows[name] = kind
        if kind == "N" and not self.objective:
            self.objective = name

    def _column(self, words: list[str]) -> None:
        if len(words) >= 3 and words[1].strip("'\"") == "MARKER":
            mark = words[-1].strip("'\"")
            if mark not in ("INTORG", "INTEND"):
                self.lines.fail(f"a marker must be INTORG or INTEND, not {mark[:40]!r}")
            self.in_marker = mark == "INTORG"
            return
        name, *rest = words
        if name not in self.columns:
            self.columns[name] = len(self.columns)
            if self.in_marker:
                self.integer.add(name)
        elif self.columns[name] != len(self.columns) - 1:
            self.lines.fail(f"the entries of column {name!r} must stand together")
        for row, value in self._pairs(rest):
            if (row, name) in self.cells:
                self.lines.fail(f"column {name!r} has an entry in row {row!r} already")
            self.cells[row, name] = value

    def _pairs(self, words: list[str]) -> Iterator[tuple[str, float]]:
        if len(words) not in (2, 4):
            self.lines.fail("one or two rows are expected here, each with a number")
        for row, word in zip(words[::2], words[1::2], strict=True):
            if row not in self.rows:
                self.lines.fail(f"there is no row {row!r}")
            yield row, self.lines.real(word, f"the number of row {row}")

    def _side(self, words: list[str]) -> None:
        for row, value in self._pairs(words[len(words) % 2 :]):
            if row in self.sides:
                self.lines.fail(f"row {row!r} has a right-hand side already")
            self.sides[row] = value

    def _range(self, words: list[str]) -> None:
        for row, value in self._pairs(words[len(words) % 2 :]):
            if self.rows[row] == "N":
                self.lines.fail(f"row {row!r} is free: it has no range")
            if row in self.ranges:
                self.lines.fail(f"row {row!r} has a range already")
            self.ranges[row] = value

    def _bound(self, words: list[str]) -> None:
        kind, *rest = words
        kind = kind.upper()
        if kind in ("SC", "SI"):
            self.lines.fail("semi-continuous variables are not read here")
        valued = kind in ("UP", "LO", "FX", "LI", "UI")
        if not valued and kind not in ("FR", "MI", "PL", "BV"):
            self.lines.fail(f"there is no bound {kind[:40]!r}")
        # The name of the set of bounds may be omitted.
        at = 1 if len(rest) > 2 or (len(rest) > 1 and rest[1] in self.columns) else 0
        if len(rest) <= at or rest[at] not in self.columns:
            self.lines.fail(f"there is no column {rest[at] if rest else ''!r}")
        name, after = rest[at], rest[at + 1 :]
        if valued and len(after) != 1:
            self.lines.fail(f"a bound {kind} of {name!r} needs one number")
        value = self.lines.real(after[0], "a bound", infinite=True) if valued else 0.0
        value = math.copysign(math.inf, value) if abs(value) >= INFINITE else value
        if kind in ("LI", "UI", "BV"):
            self.integer.add(name)
        if kind in ("UP", "UI"):
            self.upper[name] = value
            if value < 0 and name not in self.lower:
                self.lower[name] = -math.inf
        elif kind in ("LO", "LI"):
            self.lower[name] = value
        elif kind == "PL":
            self.upper[name] = math.inf
        elif kind == "MI":
            self.lower[name] = -math.inf
            self.upper.setdefault(name, math.inf)
        else:
            low, high = {"FX": (value, value), "BV": (0.0, 1.0)}.get(kind, (-math.inf, math.inf))
            self.lower[name], self.upper[name] = low, high

    def _triangle(self, words: list[str]) -> None:
        i, j, value = self._product(words)
        if (i, j) in self.squares:
            self.lines.fail("QUADOBJ has this product already: it gives one triangle of a matrix")
        self.squares[i, j] = self.squares[j, i] = value

    def _square(self, words: list[str]) -> None:
        i, j, value = self._product(words)
        if (i, j) in self.squares:
            self.lines.fail("QMATRIX has this entry already")
        self.squares[i, j] = value

    def _product(self, words: list[str]) -> tuple[int, int, float]:
        if len(words) != 3:
            self.lines.fail("two columns and a number are expected here")
        for name in words[:2]:
            if name not in self.columns:
                self.lines.fail(f"there is no column {name!r}")
        i, j = (self.columns[name] for name in words[:2])
        return i, j, self.lines.real(words[2], "the number of a product")

    def program(self) -> Program:
        names = tuple(self.columns)
        c = np.array([self.cells.get((self.objective, name), 0.0) for name in names])
        A, b, cones, row_names = self._constraints()
        return Program(
            c=c,
            A=A,
            b=b,
            cones=cones,
            lower=np.array([self.lower.get(name, 0.0) for name in names]),
            upper=np.array([self._upper(name) for name in names]),
            integer=np.array([name in self.integer for name in names]),
            d=-self.sides.get(self.objective, 0.0) + 0.0,
            P=self._quadratic(),
            maximise=self.maximise,
            variables=grouped(names),
            names=names,
            row_names=row_names,
        )

    def _upper(self, name: str) -> float:
        bounded = name in self.lower or name in self.upper
        return self.upper.get(name, 1.0 if name in self.integer and not bounded else math.inf)

    def _quadratic(self) -> sparse.csc_array | None:
        if not self.squares:
            return None
        size = len(self.columns)
        at = np.array(list(self.squares))
        values = np.array(list(self.squares.values()))
        P = sparse.csc_array((values, (at[:, 0], at[:, 1])), (size, size))
        if abs(P - P.T).max() > 0:
            self.lines.fail("the matrix of QMATRIX is not symmetric: it must have both halves")
        return P

    def _constraints(
        self,
    ) -> tuple[sparse.csr_array, np.ndarray, tuple[Cone, ...], tuple[tuple[str, bool], ...]]:
        """Return A, b, cones and row names of the constraints, from their sides and ranges."""
        names = [name for name, kind in self.rows.items() if kind != "N"]
        place = {name: position for position, name in enumerate(names)}
        held = [(place[row], self.columns[column], value)
                for (row, column), value in self.cells.items() if row in place]  # fmt: skip
        i, j, values = np.array(held, dtype=float).reshape(-1, 3).T
        shape = (len(names), len(self.columns))
        A = sparse.csr_array((values, (i.astype(int), j.astype(int))), shape)
        ends = np.array([self._ends(name) for name in names], dtype=float).reshape(-1, 2)
        return *between(A, *ends.T), names_between(names, *ends.T)

    def _ends(self, name: str) -> tuple[float, float]:
        """Return the lower and upper bound of a row."""
        kind, side = self.rows[name], self.sides.get(name, 0.0)
        span = self.ranges.get(name)
        if kind == "E":
            other = side if span is None else side + span
            return min(side, other), max(side, other)
        if kind == "L":
            return -math.inf if span is None else side - abs(span), side
        return side, math.inf if span is None else side + abs(span)


def _is_fixed(lines: list[str]) -> bool:
    """Return whether a name has blanks, so that fields are separated by fixed columns."""
    section = ""
    for line in lines:
        count = len(line.split())
        if not line[0].isspace():
            section = line.split()[0].upper()
        elif section == "ROWS" and count > 2:
            return True
        elif section == "COLUMNS" and count not in (3, 5) and "MARKER" not in line:
            return len(line) > _FIELDS[3][0]
    return False
