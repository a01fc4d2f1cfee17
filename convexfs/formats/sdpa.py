"""The sparse format of SDPA (``.dat-s``), as SDPLIB has it.

::

    min  c'x   subject to   x_1 F_1 + ... + x_m F_m - F_0 psd

Matrices are block-diagonal; a block of negative size is diagonal, and read as inequalities.
Braces, brackets and commas count as blanks, what follows the numbers of a line is a remark.
Whole variables are listed in comments after all else, ``*INTEGER`` and then ``*1``, as SCIP-SDP
has them. The format knows no constant of the objective: one is written as a variable that is 1. It
minimises: of a problem to be maximised the objective is written with its sign turned, under a
title by which it is read back as it was.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.errors import InputError
from convexfs.formats.instance import NONNEGATIVE, SEMIDEFINITE, ZERO, Cone, Program
from convexfs.formats.text import Lines

_PUNCTUATION = str.maketrans("{}(),", "     ")
_INTEGER = "*INTEGER"
_TURNED = '"minimises the opposite of an objective to be maximised'


def read(path: Path) -> Program:
    """Read an SDPA file into a Program."""
    lines = Lines(path, '"', "*")
    (m,) = _leading(lines, 1, "the number of variables", whole=True)
    (count,) = _leading(lines, 1, "the number of blocks", whole=True)
    if m < 1 or count < 1:
        lines.fail("there must be a variable and a block")
    lines.check_size(int(max(m, count)))
    sizes = _leading(lines, int(count), "the sizes of the blocks", whole=True)
    if 0 in sizes:
        lines.fail("a block cannot have size 0")
    lines.check_size(int(max(m, sum((size * size if size > 1 else abs(size)) for size in sizes))))
    c = _leading(lines, int(m), "the objective")
    blocks = _Blocks([int(size) for size in sizes], int(m), lines)
    for line in lines:
        blocks.add(line.translate(_PUNCTUATION).split())
    maximise = any(line.strip() == _TURNED for _, line in lines.comments)
    sign = -1.0 if maximise else 1.0
    return Program.of(
        sign * np.array(c), *blocks.rows(), integer=_integer(lines, int(m)), maximise=maximise
    )


def _integer(lines: Lines, m: int) -> np.ndarray:
    """Return a mask of the integer variables, which comments declare."""
    whole, listed = np.zeros(m, dtype=bool), False
    for number, line in lines.comments:
        if listed:
            lines.number = number
            whole[lines.whole(line.strip()[1:], "a whole variable", 1, m) - 1] = True
        listed |= line.strip() == _INTEGER
    return whole


def _leading(lines: Lines, count: int, what: str, *, whole: bool = False) -> list[float]:
    """Read `count` numbers from the start of a line, or of several if it has too few."""
    found: list[float] = []
    while len(found) < count:
        words = lines.next(what).translate(_PUNCTUATION).split()
        if not words:
            continue
        if not re.match(r"[-+.\d]", words[0]):
            lines.fail(f"{what} must stand here, not {words[0][:40]!r}")
        if found and len(words) > count - len(found):
            # Otherwise the first entry of a matrix would be read as one of these numbers.
            lines.fail(f"{what} must be {count} numbers, and before this line are {len(found)}")
        for word in words[: count - len(found)]:
            if whole:
                # Some programs write 3.0 or +3.
                number = lines.real(word, what)
                if number != int(number):
                    lines.fail(f"{what} must be whole, not {word}")
                found.append(number)
            else:
                found.append(lines.real(word, what))
    return found


class _Blocks:
    """Entries of the block matrices, collected as coefficients of rows and columns."""

    def __init__(self, sizes: list[int], m: int, lines: Lines):
        self.sizes, self.m, self.lines = sizes, m, lines
        counts = [size * size if size > 1 else abs(size) for size in sizes]
        self.starts = np.cumsum([0, *counts]).tolist()
        self.cells: dict[tuple[int, int], float] = {}

    def add(self, words: list[str]) -> None:
        lines = self.lines
        if len(words) < 5:
            lines.fail(f"an entry is matrix, block, row, column and value, not {len(words)} words")
        column = lines.whole(words[0], "a matrix", 0, self.m)
        block = lines.whole(words[1], "a block", 1, len(self.sizes)) - 1
        side = abs(self.sizes[block])
        i, j = (lines.whole(word, "a row or column", 1, side) - 1 for word in words[2:4])
        value = lines.real(words[4], "a value")
        diagonal, start = self.sizes[block] <= 1, self.starts[block]
        if diagonal and i != j:
            lines.fail(f"block {block + 1} is diagonal: it has no entry {i + 1}, {j + 1}")
        places = {start + i} if diagonal else {start + i + j * side, start + j + i * side}
        for row in places:
            if (row, column) in self.cells:
                lines.fail("this entry, or its mirror image, was given before")
            self.cells[row, column] = value

    def rows(self) -> tuple[Any, np.ndarray, list[Cone]]:
        shape = (self.starts[-1], self.m + 1)
        at = np.array(list(self.cells), dtype=int).reshape(-1, 2)
        values = np.array(list(self.cells.values()), dtype=float)
        whole = sparse.csc_array((values, (at[:, 0], at[:, 1])), shape)
        cones = [
            Cone(SEMIDEFINITE, size * size) if size > 1 else Cone(NONNEGATIVE, abs(size))
            for size in self.sizes
        ]
        return whole[:, 1:], -whole[:, [0]].toarray().ravel(), cones


def dumps(program: Program) -> str:
    """Return a cone program as the text of an SDPA file, each equation as two inequalities."""
    other = program.kinds - {ZERO, NONNEGATIVE, SEMIDEFINITE}
    if other:
        raise InputError(
            f".dat-s files have linear and semidefinite constraints and this problem has another "
            f"({min(other)}): save it as .cbf or .npz"
        )
    program = program.with_bounds_as_rows()
    c = -program.c if program.maximise else program.c
    constant = -program.d if program.maximise else program.d
    linear, sides = [], []
    for kind, signs in ((NONNEGATIVE, (1.0,)), (ZERO, (1.0, -1.0))):
        at = program.rows(kind)
        linear += [sign * program.A[at] for sign in signs]
        sides += [sign * program.b[at] for sign in signs]
    A, b = sparse.csr_array(sparse.vstack(linear)), np.concatenate(sides)
    if constant:
        one = sparse.csr_array(np.array([[1.0], [-1.0]]))
        A, b = sparse.csr_array(sparse.block_diag([A, one])), np.append(b, [-1.0, 1.0])
        c = np.append(c, constant)
    matrices = [(cone, rows) for cone, rows in program.blocks if cone.kind == SEMIDEFINITE]
    sizes = [cone.side for cone, _ in matrices] + [-b.size] * bool(b.size)
    if not sizes:
        raise InputError(".dat-s files need a constraint: save as .npz")
    lines = [
        _TURNED if program.maximise else '"minimises',
        f"{c.size}",
        f"{len(sizes)}",
        " ".join(map(str, sizes)),
        " ".join(map(repr, c.tolist())),
    ]
    for number, (cone, rows) in enumerate(matrices, 1):
        at_column, at_row = np.divmod(np.arange(cone.size), cone.side)
        kept = np.flatnonzero(at_row <= at_column)
        lines += _entries(number, program.A[rows][kept], program.b[rows][kept],
                          at_row[kept], at_column[kept])  # fmt: skip
    at = np.arange(b.size)
    lines += _entries(len(sizes), A, b, at, at)
    if program.integer.any():
        lines += [_INTEGER, *(f"*{i + 1}" for i in np.flatnonzero(program.integer))]
    return "\n".join([*lines, ""])


def _entries(block: int, A: Any, b: np.ndarray, i: np.ndarray, j: np.ndarray) -> list[str]:
    """Return the lines of a block: the constant matrix, then those of the variables."""
    cells = [(0, row, -value) for row, value in enumerate(b.tolist()) if value]
    own = sparse.coo_array(sparse.csc_array(A))
    rows, columns = own.coords
    cells += zip((columns + 1).tolist(), rows.tolist(), own.data.tolist(), strict=True)
    return [f"{x} {block} {i[row] + 1} {j[row] + 1} {value!r}" for x, row, value in cells if value]
