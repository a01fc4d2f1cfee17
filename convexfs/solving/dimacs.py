"""The six error measures of the DIMACS challenge, of the point that a solver returned.

They are those of Mittelmann (2003) for

    minimise 1/2 x'Px + q'x   subject to   A x + b in K,   l <= x <= u,

with multipliers y: 1 equations, 2 cones and bounds, 3 gradient of the Lagrangian, 4 cone of the
multipliers, 5 duality gap, 6 complementarity. They are computed on the program that the solver was
given, with its own multipliers: they measure the solver's point and are no proof. There are none
for exponential and power cones, nor for integers, nor without multipliers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from cvxpy.constraints import PSD, SOC, NonNeg, SvecPSD, Zero

from convexfs.records import ConePoint
from convexfs.solving.solve import OBSERVER

#: Functions that give the row and column of each entry of a triangle, upper or lower, by columns.
_TRIANGLES = (np.tril_indices, np.triu_indices)


@dataclass
class Measured:
    """The six DIMACS errors of the last point that a solver returned; None if undefined."""

    errors: list[float] | None = None


@contextmanager
def measured_errors() -> Iterator[Measured]:
    """Yield a Measured that gets the DIMACS errors of the last point solved in this block."""
    measured = Measured()

    def observe(program: Any, point: ConePoint) -> None:
        measured.errors = dimacs_errors(program, point)

    token = OBSERVER.set(observe)
    try:
        yield measured
    finally:
        OBSERVER.reset(token)


def dimacs_errors(program: Any, point: ConePoint) -> list[float] | None:
    """Return the six DIMACS errors of a point of cvxpy's cone program; None if not defined."""
    known = (Zero, NonNeg, SOC, PSD, SvecPSD)
    plain = all(type(constraint) in known for constraint in program.constraints)
    if not plain or program.is_mixed_integer() or point.y is None or not point.finite:
        return None
    parts = program.apply_parameters(quad_obj=program.P is not None)
    P, (q, _, A, b) = (None, parts) if program.P is None else (parts[0], parts[1:])
    order = _cone_by_cone(program.constraints)
    if not program.formatted:
        A, b = A.tocsr()[order], np.ravel(b)[order]
    q, b, x = np.ravel(q), np.ravel(b), point.x
    curved = np.zeros_like(x) if P is None else P @ x
    slack = A @ x + b
    y = min(
        _signed(program, point.y[order]), key=lambda y: float(np.linalg.norm(curved + q - A.T @ y))
    )
    low, high = (_ends(own, x.size) for own in (program.lower_bounds, program.upper_bounds))
    rest = curved + q - A.T @ y
    above = np.where(np.isfinite(low), np.maximum(rest, 0.0), 0.0)
    below = np.where(np.isfinite(high), np.maximum(-rest, 0.0), 0.0)
    margins = (_product(above, x - low), _product(below, high - x))
    primal = 0.5 * x @ curved + q @ x
    dual = -0.5 * x @ curved - b @ y + _product(above, low) - _product(below, high)
    # Solvers store different triangles of a semidefinite matrix; use the one that fits.
    equal, outside, dual_outside = min(
        (_violations(program.constraints, slack, y, indices) for indices in _TRIANGLES), key=sum
    )
    outside = max(outside, float(np.nanmax([*(low - x), *(x - high), 0.0])))
    size_b, size_q = (1 + float(np.max(np.abs(own), initial=0.0)) for own in (b, q))
    size = 1 + abs(primal) + abs(dual)
    errors = [
        equal / size_b,
        outside / size_b,
        float(np.linalg.norm(rest - above + below)) / size_q,
        dual_outside / size_q,
        abs(primal - dual) / size,
        abs(slack @ y + sum(margins)) / size,
    ]
    return [float(error) for error in errors]


def _cone_by_cone(constraints: list[Any]) -> np.ndarray:
    """Return row indices in the order that puts the rows of each second-order cone together.

    cvxpy's rows of several cones begin with all their first entries; programs that it has
    formatted for a solver, and what is computed here, have one cone after the other.
    """
    places, start = [np.empty(0, dtype=int)], 0
    for constraint in constraints:
        own = start + np.arange(constraint.size)
        if isinstance(constraint, SOC):
            count = len(constraint.cone_sizes())
            own = np.column_stack([own[:count], own[count:].reshape(count, -1)]).ravel()
        places.append(own)
        start += constraint.size
    return np.concatenate(places)


def _signed(program: Any, y: np.ndarray) -> list[np.ndarray]:
    """Return y, and y with the sign of equations flipped, because solvers differ in it."""
    other, start = y.copy(), 0
    for constraint in program.constraints:
        if isinstance(constraint, Zero):
            other[start : start + constraint.size] *= -1
        start += constraint.size
    return [y, other]


def _ends(bounds: Any, size: int) -> np.ndarray:
    return np.full(size, np.nan) if bounds is None else np.asarray(bounds, dtype=float)


def _product(multipliers: np.ndarray, values: np.ndarray) -> float:
    """Return multipliers' scalar product with values; values with multiplier 0 may be infinite."""
    return float(multipliers @ np.where(multipliers > 0, values, 0.0))


def _violations(
    constraints: list[Any], slack: np.ndarray, y: np.ndarray, triangle: Callable[..., Any]
) -> tuple[float, float, float]:
    """Return the norm of equations' residuals, and the cone violations of slack and of y.

    The distance is minus the least eigenvalue, as DIMACS has it; `triangle` gives the places of
    the entries of semidefinite matrices.
    """
    equations, least, dual_least, start = 0.0, 0.0, 0.0, 0
    for constraint in constraints:
        rows = slice(start, start + constraint.size)
        start = rows.stop
        if isinstance(constraint, Zero):
            equations += float(slack[rows] @ slack[rows])
        elif constraint.size:
            least = min(least, _least(constraint, slack[rows], triangle))
            dual_least = min(dual_least, _least(constraint, y[rows], triangle))
    return float(np.sqrt(equations)), abs(least), abs(dual_least)


def _least(constraint: Any, values: np.ndarray, triangle: Callable[..., Any]) -> float:
    """Return the least eigenvalue of values in their cone: psd, second-order or nonnegative."""
    if isinstance(constraint, SOC):
        cones = values.reshape(len(constraint.cone_sizes()), -1)
        return float(np.min(cones[:, 0] - np.linalg.norm(cones[:, 1:], axis=1)))
    if isinstance(constraint, PSD):
        matrix = values.reshape(constraint.args[0].shape, order="F")
        return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0])
    if isinstance(constraint, SvecPSD):
        i, j = triangle(constraint._n)
        matrices = np.zeros((values.size // i.size, constraint._n, constraint._n))
        entries = values.reshape(-1, i.size) / np.where(i == j, 1.0, np.sqrt(2.0))
        matrices[:, i, j] = matrices[:, j, i] = entries
        return float(np.min(np.linalg.eigvalsh(matrices)))
    return float(np.min(values))
