"""Proofs that a problem has no feasible point.

With its bounds written as rows, a problem asks for Ax + b in K. Multipliers

    y in K*,   A'y = 0,   b'y < 0

leave no such x, for y'(Ax + b) would be negative, and of a vector of K it is not (Farkas).
The least such y is sought by a cone program of its own, never taken from the solver that
said so, then made exact, and judged in numpy: if A'y were only nearly 0, a point far away
might be feasible. Linear, second-order and exponential cones are covered, and integer
problems whose relaxation has no feasible point either.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from convexfs.records import Certificate
from convexfs.solving.cone_program import Cone, ConeProgram

BASIS = "Farkas multipliers: no feasible point"
#: How multipliers are sought, whatever was asked of the answer: a vertex has exact zeros, but
#: not every cone has vertices.
LINEAR: dict[str, Any] = {"solver": cp.HIGHS}
CURVED: dict[str, Any] = {
    "solver": cp.CLARABEL,
    **dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10),
}
#: Multipliers below this share of the largest are taken for zeros that were not quite reached.
NOISE = 1e-7
#: Sums of A'y above this share of their terms are no rounding errors.
ROUNDING = 1e-13
#: Damps the corrections of multipliers where their equations are dependent.
DAMPING = 1e-10
#: Rounds of moving multipliers into their cones and corrections of their sums in each.
ROUNDS, CORRECTIONS = 4, 4


@dataclass(frozen=True)
class _Rows:
    """``Ax + b in K`` with the bounds of x among its rows, in units of the largest entries."""

    A: Any
    b: np.ndarray
    cones: tuple[Cone, ...]

    @classmethod
    def of(cls, program: ConeProgram) -> "_Rows":
        below, above = np.isfinite(program.lower), np.isfinite(program.upper)
        sides = sp.csr_array(sp.eye_array(below.size))
        A = sp.vstack([program.A, sides[below], -sides[above]], format="csr")
        b = np.concatenate([program.b, -program.lower[below], program.upper[above]])
        units = _powers_of_two(abs(A).max(axis=0).toarray().ravel()) if b.size else 1.0
        return cls(
            A=sp.csr_array(A / units),
            b=b / _powers_of_two(np.max(np.abs(b), initial=0.0)),
            cones=program.cones,
        )

    @property
    def stated(self) -> int:
        """Count the rows before those of the bounds."""
        return max((cone.rows.stop for cone in self.cones), default=0)

    @property
    def sizes(self) -> np.ndarray:
        """Return ``|A| 1 + |b|``, the scale of each row."""
        return np.asarray(abs(self.A).sum(axis=1)).ravel() + np.abs(self.b)

    def inside(self, y: np.ndarray) -> np.ndarray:
        """Move the multipliers into K*."""
        moved = np.maximum(y, 0.0)
        for cone in self.cones:
            assert cone.dual is not None
            moved[cone.rows] = cone.dual.inside(y[cone.rows])
        return moved


def _powers_of_two(sizes: np.ndarray) -> np.ndarray:
    """Round sizes to powers of two, by which a division costs no digits."""
    return np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))


def refute(program: ConeProgram, tol: float) -> Certificate | None:
    """Prove that `program` has no feasible point; return None if no proof is found.

    Its multipliers lie in K*, and its dual residual is that of A'y = 0, relative to its own
    terms: only rounding errors are allowed. The contradiction ``-b'y / |b|'|y|`` must be
    beyond `tol`, for a point that breaks its constraints by less counts as feasible; the gap
    is the residual over it.
    """
    if any(cone.dual is None for cone in program.cones):
        return None
    rows = _Rows.of(program)
    exact = (_exact(_cleaned(y, rows), rows) for y in _candidates(rows) if y is not None)
    proofs = (_proof(y, rows, tol) for y in exact)
    return next((proof for proof in proofs if proof is not None), None)


def _proof(y: np.ndarray, rows: _Rows, tol: float) -> Certificate | None:
    terms, size = abs(rows.A).T @ np.abs(y), np.abs(rows.b) @ np.abs(y)
    residual = float(np.max(np.abs(rows.A.T @ y) / np.where(terms > 0, terms, 1.0), initial=0.0))
    contradiction = float(-(rows.b @ y) / size) if size > 0 else 0.0
    if not (_is_dual(y, rows) and residual <= ROUNDING and contradiction > tol):
        return None
    return Certificate(0.0, residual, None, residual / contradiction, tol, BASIS)


def _is_dual(y: np.ndarray, rows: _Rows) -> bool:
    violations = [
        cone.dual_violation(y[cone.rows], np.ones(1))
        for cone in rows.cones
        if cone.dual_violation is not None
    ]
    return not np.any(violations) and bool(np.all(y[rows.stated :] >= 0))


def _candidates(rows: _Rows) -> Iterator[np.ndarray | None]:
    """Yield the least multipliers and, where cones are curved, any others."""
    y = cp.Variable(rows.b.size, name="y")
    proof = [rows.A.T @ y == 0, rows.b @ y == -1, y[rows.stated :] >= 0]
    for cone in rows.cones:
        assert cone.dual is not None
        proof += cone.dual.membership(y[cone.rows])
    least = cp.Problem(cp.Minimize(rows.sizes @ cp.abs(y)), proof)
    if all(cone.is_equality or cone.is_rowwise for cone in rows.cones):
        yield _solved(y, least, LINEAR)
    else:
        yield _solved(y, least, CURVED)
        yield _solved(y, cp.Problem(cp.Minimize(0), proof), CURVED)


def _solved(y: cp.Variable, problem: cp.Problem, how: dict[str, Any]) -> np.ndarray | None:
    y.value = None
    try:
        with warnings.catch_warnings(action="ignore"):
            problem.solve(**how)
    except Exception:  # solvers raise classes of their own
        return None
    return y.value


def _cleaned(y: np.ndarray, rows: _Rows) -> np.ndarray:
    """Set small multipliers to zero."""
    weights = rows.sizes * np.abs(y)
    return np.where(weights <= NOISE * np.max(weights), 0.0, y)


def _exact(y: np.ndarray, rows: _Rows) -> np.ndarray:
    """Move the multipliers into K* and their sums to zero, by turns."""
    for _ in range(ROUNDS):
        y = _balanced(rows.inside(y), rows)
    return y


def _balanced(y: np.ndarray, rows: _Rows) -> np.ndarray:
    """Project y onto A'y = 0 with the least relative change; zero entries stay zero."""
    nonzero = np.flatnonzero(y)
    sizes, signs = np.abs(y[nonzero]), np.sign(y[nonzero])
    weighted: Any = sp.csr_array(rows.A[nonzero].T * sizes)
    terms = abs(weighted).sum(axis=1)
    used = np.flatnonzero(terms)
    shares = sp.csr_array(sp.diags_array(1.0 / terms[used]) @ weighted[used])
    if not shares.nnz:
        return y
    damped = -DAMPING * sp.eye_array(used.size)
    system = sp.block_array(
        [[sp.eye_array(nonzero.size), shares.T], [shares, damped]], format="csc"
    )
    solved = splu(system)
    for _ in range(CORRECTIONS):
        right = np.concatenate([np.zeros(nonzero.size), -(shares @ signs)])
        signs = signs + solved.solve(right)[: nonzero.size]
    exact = np.zeros_like(y)
    exact[nonzero] = sizes * signs
    return exact
