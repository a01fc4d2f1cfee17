"""Cone programs as a numpy archive: every number to its last digit, every cone.

Matrices are held by the parts of their CSC form (``A_data``, ``A_indices``, ``A_indptr``,
``A_shape``; ``P`` too), vectors as ``q``, ``b``, ``lower``, ``upper``, ``integer``; ``offset`` and
``maximise`` are scalars; ``cones`` (kind, size, exponent) and ``columns`` (first column and size
by name) are JSON. The rows are as in :mod:`convexfs.formats.instance`.
"""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.data.readers.memory_estimate import check_npz
from convexfs.data.readers.memory_limit import read_limit
from convexfs.errors import ConvexfsError
from convexfs.formats.instance import KINDS, POWER, Cone, Program, Variable
from convexfs.formats.text import FormatError, read_bytes

_PARTS = ("data", "indices", "indptr", "shape")


def read(path: Path) -> Program:
    """Read an npz archive into a Program."""
    try:
        file = io.BytesIO(read_bytes(path))
        check_npz(path, read_limit(), file)
        file.seek(0)
        # Pickles are not allowed: an archive holds numbers only and runs no code.
        with np.load(file, allow_pickle=False) as held:
            return _program(dict(held.items()))
    except ConvexfsError:
        raise
    except KeyError as error:
        raise FormatError(f"{path} is no archive of a cone program: it has no {error}") from error
    # zipfile, numpy and scipy raise these for invalid bytes.
    except Exception as error:
        said = " ".join(str(error).split())
        raise FormatError(f"{path} is no archive of a cone program ({said})") from error


def _program(held: dict[str, np.ndarray]) -> Program:
    A, P = (
        sparse.csc_array(tuple(held[f"{name}_{part}"] for part in _PARTS[:3]),
                         shape=tuple(held[f"{name}_shape"].tolist()))
        for name in ("A", "P")
    )  # fmt: skip
    for matrix in (A, P):
        matrix.check_format(full_check=True)
    cones = tuple(Cone(kind, int(size), *more) for kind, size, *more in _listed(held["cones"]))
    by_place = sorted(json.loads(str(held["columns"])).items(), key=lambda item: item[1])
    program = Program.of(
        held["q"],
        A,
        held["b"],
        cones,
        lower=held["lower"].astype(float),
        upper=held["upper"].astype(float),
        integer=held["integer"].astype(bool),
        d=float(held["offset"]),
        P=P if P.nnz else None,
        maximise=bool(held["maximise"]),
        variables=tuple(Variable(name, int(size)) for name, (_, size) in by_place),
    )
    _check(program, A, P)
    return program


def _listed(text: np.ndarray) -> list[Any]:
    listed = json.loads(str(text))
    for kind, *_ in listed:
        if kind not in KINDS:
            raise ValueError(f"there is no cone {kind!r}")
    return listed


def _check(program: Program, A: Any, P: Any) -> None:
    n, m = program.c.size, program.b.size
    sizes = [vector.shape for vector in (program.lower, program.upper, program.integer)]
    fits = A.shape == (m, n) and P.shape == (n, n) and sizes == [(n,)] * 3
    fits &= sum(cone.size for cone in program.cones) == m
    fits &= sum(variable.size for variable in program.variables) == n
    if not fits:
        raise ValueError("the sizes of its arrays do not fit each other")
    numbers = (program.c, A.data, program.b, P.data, np.array(program.d))
    if not all(np.isfinite(part).all() for part in numbers):
        raise ValueError("some of its numbers are not finite")


def dumps(program: Program) -> bytes:
    """Return a cone program as the bytes of an npz archive."""
    size = program.c.size
    square = sparse.csc_array((size, size)) if program.P is None else program.P
    matrices = {
        f"{name}_{part}": getattr(sparse.csc_array(matrix), part)
        for name, matrix in (("A", program.A), ("P", square))
        for part in _PARTS
    }
    cones = [
        (cone.kind, cone.size, *([cone.alpha] if cone.kind == POWER else []))
        for cone in program.cones
    ]
    starts = np.cumsum([0, *(variable.size for variable in program.variables)]).tolist()
    columns = {
        variable.name: (start, variable.size)
        for start, variable in zip(starts, program.variables, strict=False)
    }
    file = io.BytesIO()
    np.savez_compressed(
        file, **matrices, q=program.c, b=program.b, offset=program.d, lower=program.lower,
        upper=program.upper, integer=program.integer, maximise=program.maximise,
        cones=json.dumps(cones), columns=json.dumps(columns),
    )  # fmt: skip
    return file.getvalue()
