"""MATLAB files (``.mat``) that hold one problem, in one of two conventions.

Quadratic programs, as the collection of Maros and Meszaros has them, hold ``P q A l u`` and
perhaps ``r``::

    min  1/2 x'Px + q'x + r   subject to   l <= Ax <= u

Numbers of at least 1e20 in size mean no bound. Cone programs, as SeDuMi, the DIMACS library
and Liu and Pataki have them, hold ``A`` (or its transpose ``At``), ``b``, ``c`` and ``K``::

    min  c'x   subject to   Ax = b,   x in K

The fields of K count the entries of x in this order: ``f`` free ones, ``l`` at least 0, ``q``
sizes of second-order cones, ``r`` of rotated ones (2 x_1 x_2 >= x_3^2 + ...), ``s`` sides of
semidefinite matrices. A matrix stands in x with all its entries, column by column.
"""

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from convexfs.data.readers.matlab import read_variables
from convexfs.data.readers.memory_limit import read_limit
from convexfs.errors import InputError
from convexfs.formats.instance import SECOND_ORDER, ZERO, Cone, Program, Variable, between
from convexfs.formats.text import FormatError

#: Relative asymmetry of P that counts as rounding.
_ROUNDING = 1e-12


def read(path: Path) -> Program:
    """Read a quadratic program (P, q, A, l, u) or a cone program (A or At, b, c, K)."""
    try:
        held = _Variables(path, read_variables(path, read_limit()))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason})") from error
    if "K" in held.values:
        return _cone_program(held)
    if "P" in held.values:
        return _quadratic_program(held)
    names = ", ".join(sorted(held.values)) or "nothing"
    held.fail(
        f"it holds {names}; a quadratic program has P, q, A, l and u, "
        "a cone program has A or At, b, c and K"
    )


class _Variables:
    """The variables of a file, checked when they are used."""

    def __init__(self, path: Path, values: dict[str, Any]):
        self.path, self.values = path, values

    def fail(self, message: str) -> NoReturn:
        raise FormatError(f"{self.path}: {message}")

    def matrix(self, name: str) -> Any:
        """Return a finite, real matrix as CSR; raise if it is not one."""
        value = self._numbers(name)
        if value.ndim != 2:
            self.fail(f"{name} must be a matrix")
        matrix = sparse.csr_array(value).astype(float)
        if not np.isfinite(matrix.data).all():
            self.fail(f"{name} must hold finite numbers")
        return matrix

    def vector(self, name: str, size: int, *, infinite: bool = False) -> np.ndarray:
        """Return a real vector of this size; raise if it is not one, or not finite."""
        value = self._numbers(name)
        flat = np.ravel(value.toarray() if sparse.issparse(value) else value).astype(float)
        if flat.size != size:
            self.fail(f"{name} must have {size} entries, not {flat.size}")
        if np.isnan(flat).any() or not (infinite or np.isfinite(flat).all()):
            self.fail(f"{name} must hold {'numbers' if infinite else 'finite numbers'}")
        return flat

    def _numbers(self, name: str) -> Any:
        if name not in self.values:
            self.fail(f"there is no {name}")
        value = self.values[name]
        if isinstance(value, dict) or value.dtype.kind not in "buif":
            self.fail(f"{name} must hold real numbers")
        return value


def _quadratic_program(held: _Variables) -> Program:
    P = held.matrix("P")
    n = P.shape[1]
    if P.shape != (n, n) or not n:
        held.fail(f"P must be square, not {P.shape[0]} x {n}")
    if P.nnz and abs(P - P.T).max() > _ROUNDING * abs(P).max():
        held.fail("P must be symmetric: give all of it, not one triangle")
    A = held.matrix("A")
    if A.shape[1] != n:
        held.fail(f"A must have {n} columns as P has, not {A.shape[1]}")
    low, high = (held.vector(name, A.shape[0], infinite=True) for name in ("l", "u"))
    if (low > high).any():
        at = int(np.argmax(low > high))
        held.fail(f"row {at + 1}: l = {low[at]:g} is above u = {high[at]:g}")
    return Program.of(
        held.vector("q", n),
        *between(A, low, high),
        P=sparse.csc_array(P) if P.nnz else None,
        d=float(held.vector("r", 1)[0]) if "r" in held.values else 0.0,
    )


def _cone_program(held: _Variables) -> Program:
    sizes = _cone_sizes(held)
    n = sum(sizes["f"] + sizes["l"] + sizes["q"] + sizes["r"]) + sum(s * s for s in sizes["s"])
    A = held.matrix("A") if "A" in held.values else held.matrix("At").T
    if A.shape[1] != n and A.shape[0] == n:  # SeDuMi accepts both orientations.
        A = A.T
    if A.shape[1] != n or not n:
        held.fail(f"K counts {n} entries of x, and A is {A.shape[0]} x {A.shape[1]}")
    c = held.vector("c" if "c" in held.values else "C", n)
    b = held.vector("b", A.shape[0])
    vector = n - sum(s * s for s in sizes["s"])
    variables = [Variable("x", vector)] if vector else []
    variables += [Variable(f"X_{k}", s * s, s > 1) for k, s in enumerate(sizes["s"], 1)]
    lower = np.full(n, -np.inf)
    free = sum(sizes["f"])
    lower[free : free + sum(sizes["l"])] = 0.0
    starts = np.cumsum([vector, *(s * s for s in sizes["s"])])[:-1]
    # A matrix with one entry is a nonnegative number.
    lower[[start for start, s in zip(starts, sizes["s"], strict=True) if s == 1]] = 0.0
    first = free + sum(sizes["l"])
    rows = [sparse.csr_array(A), *_second_order_rows(sizes, first, n)]
    cones = [Cone(ZERO, A.shape[0])] if A.shape[0] else []
    cones += [Cone(SECOND_ORDER, size) for size in sizes["q"] + sizes["r"]]
    zeros = np.zeros(sum(part.shape[0] for part in rows[1:]))
    stacked = sparse.csr_array(sparse.vstack(rows))
    return Program.of(
        c, stacked, np.concatenate([-b, zeros]), cones, lower=lower, variables=tuple(variables)
    )


def _cone_sizes(held: _Variables) -> dict[str, list[int]]:
    """Return the fields of K as lists of sizes."""
    K = held.values["K"]
    if not isinstance(K, dict):
        held.fail("K must be a structure of sizes")
    other = sorted(name for name in K.keys() - set("flqrs") if K[name].size and K[name].any())
    if other:
        held.fail(f"K.{other[0]} is not read here; the fields may be f, l, q, r and s")
    sizes: dict[str, list[int]] = {name: [] for name in "flqrs"}
    for name in sizes.keys() & K.keys():
        value = np.ravel(K[name])
        if value.dtype.kind not in "buif" or (value < 0).any() or (value % 1 != 0).any():
            held.fail(f"K.{name} must be a list of sizes")
        sizes[name] = [int(size) for size in value if size]
    if any(size < 2 for size in sizes["r"]):
        held.fail("a cone of K.r must have two entries at least")
    return sizes


def _second_order_rows(sizes: dict[str, list[int]], first: int, n: int) -> list[Any]:
    """Return the rows of all second-order cones; rotated ones are converted to standard ones."""
    unit: Any = sparse.eye_array(n, format="csr")
    rows, start = [], first
    for size in sizes["q"]:
        rows.append(unit[start : start + size])
        start += size
    for size in sizes["r"]:
        head, second = unit[[start]], unit[[start + 1]]
        tail = np.sqrt(2.0) * unit[start + 2 : start + size]
        rows += [head + second, head - second, tail]
        start += size
    return rows
