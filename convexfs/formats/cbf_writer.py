"""Write cone programs as CBF, version 3."""

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.formats.instance import (
    EXPONENTIAL,
    NONNEGATIVE,
    POWER,
    SECOND_ORDER,
    SEMIDEFINITE,
    ZERO,
    Program,
)

_DOMAINS = {(-np.inf, np.inf): "F", (0.0, np.inf): "L+", (-np.inf, 0.0): "L-", (0.0, 0.0): "L="}
_CONES = {ZERO: "L=", NONNEGATIVE: "L+", SECOND_ORDER: "Q", EXPONENTIAL: "EXP"}


def dumps(program: Program) -> str:
    """Return a cone program as the text of a CBF file."""
    program = _with_simple_bounds(program.with_bounds_apart())
    scalar = [(cone, rows) for cone, rows in program.blocks if cone.kind != SEMIDEFINITE]
    matrices = [(cone, rows) for cone, rows in program.blocks if cone.kind == SEMIDEFINITE]
    alphas = [cone.alpha for cone, _ in scalar if cone.kind == POWER]
    at = np.concatenate([np.empty(0, dtype=int), *(_order(cone, rows) for cone, rows in scalar)])
    A, b = sparse.coo_array(program.A[at]), program.b[at]
    columns = enumerate(program.column_names)
    parts: list[tuple[str, Iterable[Any]]] = [
        ("VER", [3]),
        ("POWCONES", _powers(alphas)),
        ("OBJSENSE", ["MAX" if program.maximise else "MIN"]),
        ("VAR", _domains(program)),
        ("INT", _counted(np.flatnonzero(program.integer))),
        ("PSDCON", _counted(cone.side for cone, _ in matrices)),
        ("CON", _cones(scalar)),
        ("OBJACOORD", _counted(_entries(np.arange(program.c.size), program.c))),
        ("OBJBCOORD", [repr(program.d)] if program.d else []),
        ("ACOORD", _counted(_entries(*A.coords, A.data))),
        ("BCOORD", _counted(_entries(np.arange(b.size), b))),
        *_matrix_parts(program, matrices),
    ]
    names = "".join(f"# {position} {name}\n" for position, name in columns)
    sections = ("\n".join([name, *map(str, lines), ""]) for name, held in parts
                if (lines := list(held)))  # fmt: skip
    return f"# columns of x:\n{names}\n" + "\n".join(sections)


def _with_simple_bounds(program: Program) -> Program:
    """Return the program with bounds that CBF's domains cannot express as rows; others stay."""
    simple = np.array([at in _DOMAINS for at in zip(program.lower, program.upper, strict=True)])
    others = replace(
        program,
        lower=np.where(simple, -np.inf, program.lower),
        upper=np.where(simple, np.inf, program.upper),
    ).with_bounds_as_rows()
    return replace(
        others,
        lower=np.where(simple, program.lower, -np.inf),
        upper=np.where(simple, program.upper, np.inf),
    )


def _order(cone: Any, rows: slice) -> np.ndarray:
    at = np.arange(rows.start, rows.stop)
    return at[::-1] if cone.kind == EXPONENTIAL else at


def _powers(alphas: list[float]) -> list[Any]:
    if not alphas:
        return []
    lines = [line for alpha in alphas for line in (2, repr(alpha), repr(1.0 - alpha))]
    return [f"{len(alphas)} {2 * len(alphas)}", *lines]


def _domains(program: Program) -> list[str]:
    said = [_DOMAINS[at] for at in zip(program.lower, program.upper, strict=True)]
    runs = [f"{name} {len(list(own))}" for name, own in itertools.groupby(said)]
    return [f"{program.c.size} {len(runs)}", *runs]


def _cones(scalar: list[Any]) -> list[str]:
    number = itertools.count()
    lines = [
        f"{f'@{next(number)}:POW' if cone.kind == POWER else _CONES[cone.kind]} {cone.size}"
        for cone, _ in scalar
    ]
    total = sum(cone.size for cone, _ in scalar)
    return [f"{total} {len(lines)}", *lines] if lines else []


def _counted(entries: Iterable[Any]) -> list[Any]:
    held = list(entries)
    return [len(held), *held] if held else []


def _entries(*columns: np.ndarray) -> list[str]:
    """Return lines of the nonzero entries: indices, then the value."""
    *places, values = (column.tolist() for column in columns)
    rows = zip(*places, values, strict=True)
    return [" ".join([*map(str, at), repr(value)]) for *at, value in rows if value]


def _matrix_parts(program: Program, matrices: list[Any]) -> list[tuple[str, list[Any]]]:
    """Return sections HCOORD and DCOORD: lower triangles of the psd constraints' matrices."""
    linear, constant = [], []
    for number, (cone, rows) in enumerate(matrices):
        column, row = np.divmod(np.arange(cone.size), cone.side)
        lower = np.flatnonzero(row >= column)
        A, b = sparse.coo_array(program.A[rows][lower]), program.b[rows][lower]
        row, column = row[lower], column[lower]
        at, x = A.coords
        linear += _entries(np.full(at.size, number), x, row[at], column[at], A.data)
        constant += _entries(np.full(b.size, number), row, column, b)
    return [("HCOORD", _counted(linear)), ("DCOORD", _counted(constant))]
