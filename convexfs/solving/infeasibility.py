"""Proofs that a problem has no feasible point.

With its bounds written as rows, a problem asks for Ax + b in K. Multipliers

    y in K*,   A'y = 0,   b'y < 0

leave no such x, for y'(Ax + b) would be negative, and of a vector of K it is not (Farkas).
The least such y is sought by a cone program of its own, never taken from the solver that
said so, and is then judged in numpy. Linear, second-order and exponential cones are covered,
and integer problems whose relaxation has no feasible point either.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from convexfs.solution import Certificate
from convexfs.solving.cone_program import Cone, ConeProgram

BASIS = "Farkas multipliers: no feasible point"
#: Whatever was asked of the answer, multipliers are sought to this accuracy.
ACCURATE = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
#: Multipliers below this share of the largest are taken for zeros that were not quite reached.
NOISE = 1e-7


@dataclass(frozen=True)
class _Rows:
    """``Ax + b in K`` with the bounds of x among its rows."""

    A: Any
    b: np.ndarray
    cones: tuple[Cone, ...]

    @classmethod
    def of(cls, program: ConeProgram) -> "_Rows":
        below, above = np.isfinite(program.lower), np.isfinite(program.upper)
        sides = sp.csr_array(sp.eye_array(below.size))
        return cls(
            A=sp.vstack([program.A, sides[below], -sides[above]], format="csr"),
            b=np.concatenate([program.b, -program.lower[below], program.upper[above]]),
            cones=program.cones,
        )

    @property
    def stated(self) -> int:
        """Rows before those of the bounds."""
        return max((cone.rows.stop for cone in self.cones), default=0)


def refute(program: ConeProgram, tol: float) -> Certificate | None:
    """Proof that `program` has no feasible point; None if none is found.

    Its dual residual is that of y in K* and A'y = 0, each relative to its own terms; its gap
    is that residual over the relative size of the contradiction, ``-b'y / |b|'|y|``.
    """
    rows = _Rows.of(program)
    y = _multipliers(rows)
    if y is None:
        return None
    terms, size = abs(rows.A).T @ np.abs(y), np.abs(rows.b) @ np.abs(y)
    sums = np.abs(rows.A.T @ y)
    parts = [
        cone.dual_violation(y[cone.rows], np.abs(y[cone.rows]) + np.finfo(float).tiny)
        for cone in rows.cones
        if cone.dual_violation is not None
    ]
    residual = float(np.max([*(sums / np.where(terms > 0, terms, 1.0)), *parts]))
    contradiction = float(-(rows.b @ y) / size) if size > 0 else 0.0
    if not contradiction > 0:
        return None
    return Certificate(0.0, residual, None, residual / contradiction, tol, BASIS)


def _multipliers(rows: _Rows) -> np.ndarray | None:
    if any(cone.dual is None for cone in rows.cones):
        return None
    y = cp.Variable(rows.b.size, name="y")
    stated = [part for cone in rows.cones if cone.dual for part in cone.dual(y[cone.rows])]
    bounds = [y[rows.stated :] >= 0] if rows.stated < rows.b.size else []
    problem = cp.Problem(
        cp.Minimize(cp.norm1(y)), [rows.A.T @ y == 0, rows.b @ y == -1, *stated, *bounds]
    )
    linear = all(cone.is_equality or cone.is_rowwise for cone in rows.cones)
    # A vertex has exact zeros; not every cone has vertices.
    how: dict[str, Any] = {"solver": cp.HIGHS} if linear else {"solver": cp.CLARABEL, **ACCURATE}
    try:
        with warnings.catch_warnings(action="ignore"):
            problem.solve(**how)
    except Exception:  # solvers raise classes of their own
        return None
    return None if y.value is None else _cleaned(y.value, rows)


def _cleaned(y: np.ndarray, rows: _Rows) -> np.ndarray:
    """Small multipliers set to zero, one by one or, in cones of many rows, all together."""
    weights = abs(rows.A).max(axis=1).toarray().ravel() * np.abs(y)
    small = weights <= NOISE * np.max(weights)
    small[rows.stated :] |= y[rows.stated :] < 0
    for cone in rows.cones:
        if cone.is_rowwise:
            small[cone.rows] |= y[cone.rows] < 0
        elif not cone.is_equality:
            small[cone.rows] = small[cone.rows].all()
    return np.where(small, 0.0, y)
