"""Write linear and quadratic programs as free MPS, with all digits."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from convexfs.errors import InputError
from convexfs.formats.instance import NONNEGATIVE, ZERO, Program

_OBJECTIVE = "obj"


def check_linear(program: Program, ending: str) -> None:
    """Raise unless all constraints are linear."""
    other = program.kinds - {ZERO, NONNEGATIVE}
    if other:
        raise InputError(
            f"{ending} files hold linear constraints and this problem has another "
            f"({min(other)}): save it as .cbf or .npz"
        )


def dumps(program: Program) -> str:
    """Return a program as the text of an MPS file; raise unless its constraints are linear."""
    check_linear(program, ".mps")
    program = program.with_bounds_apart()
    sections = [
        ["NAME"],
        ["OBJSENSE", "    MAX"] if program.maximise else [],
        ["ROWS", f" N {_OBJECTIVE}", *_rows(program)],
        ["COLUMNS", *_columns(program)],
        ["RHS", *_sides(program)],
        ["BOUNDS", *_bounds(program)],
        _squares(program),
        ["ENDATA", ""],
    ]
    return "\n".join(line for section in sections for line in section)


def _rows(program: Program) -> Iterator[str]:
    for cone, rows in program.blocks:
        for row in range(rows.start, rows.stop):
            yield f" {'E' if cone.kind == ZERO else 'G'} r{row}"


def _columns(program: Program) -> Iterator[str]:
    A, names = sparse.csc_array(program.A), program.column_names
    inside = False
    for column, name in enumerate(names):
        if program.integer[column] != inside:
            inside = not inside
            yield f"    MARKER 'MARKER' '{'INTORG' if inside else 'INTEND'}'"
        held = slice(A.indptr[column], A.indptr[column + 1])
        entries = [
            (f"r{row}", value)
            for row, value in zip(A.indices[held].tolist(), A.data[held].tolist(), strict=True)
            if value
        ]
        cost = float(program.c[column])
        # A column without entries is declared by a cost of 0.
        if cost or not entries:
            entries.insert(0, (_OBJECTIVE, cost))
        for row, value in entries:
            yield f"    {name} {row} {value!r}"
    if inside:
        yield "    MARKER 'MARKER' 'INTEND'"


def _sides(program: Program) -> Iterator[str]:
    if program.d:
        yield f"    RHS {_OBJECTIVE} {-program.d!r}"
    for row, value in enumerate(program.b.tolist()):
        if value:
            yield f"    RHS r{row} {-value!r}"


def _bounds(program: Program) -> Iterator[str]:
    ends = zip(program.column_names, program.lower.tolist(), program.upper.tolist(), strict=True)
    for name, low, high in ends:
        if low == high:
            yield f" FX BND {name} {low!r}"
        elif np.isinf(low) and np.isinf(high):
            yield f" FR BND {name}"
        else:
            yield f" MI BND {name}" if np.isinf(low) else f" LO BND {name} {low!r}"
            yield f" PL BND {name}" if np.isinf(high) else f" UP BND {name} {high!r}"


def _squares(program: Program) -> list[str]:
    if program.P is None:
        return []
    lower, names = sparse.coo_array(sparse.tril(program.P)), program.column_names
    cells = zip(*(part.tolist() for part in (*lower.coords, lower.data)), strict=True)
    return ["QUADOBJ", *(f"    {names[j]} {names[i]} {value!r}" for i, j, value in cells if value)]
