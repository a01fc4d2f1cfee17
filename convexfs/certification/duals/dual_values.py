"""Multipliers that come with a solution, in the rows of a standard form.

A wrong guess of their order or sign does no harm: they are verified like any others.
"""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality, NonNeg, Zero

from convexfs.certification.program.cones import NonNegative
from convexfs.certification.program.standard_form import StandardForm
from convexfs.records import ConePoint

#: Orders and signs of a solver's multipliers that are tried.
TRIED = 2


def of_cone_point(form: StandardForm, point: ConePoint) -> Iterator[np.ndarray]:
    """Yield the multipliers of the cone program that the solver was given, if it is this one.

    Solvers that take quadratic objectives as cones are given another program.
    """
    if point.x.size != form.q.size or point.y is None:
        return
    found = [each for y in form.multipliers(point.y) for each in _both_signs(form, y)]
    gradient = form.q + form.curvature(point.x)
    # The order and the sign that leave the smallest reduced costs come first.
    left = [float(np.abs(gradient - form.transposed @ form.into_dual(y)).sum()) for y in found]
    for k in np.argsort(left)[:TRIED]:
        yield found[k]


def of_constraints(problem: cp.Problem, form: StandardForm) -> Iterator[np.ndarray]:
    """Yield the ``dual_value`` of linear constraints, if there are no others.

    cvxpy keeps no multipliers of rows that it added itself: those of variables' attributes are
    taken for 0, before or after the stated rows.
    """
    equal, unequal = [], []
    for constraint in problem.constraints:
        value: Any = constraint.dual_value
        linear = isinstance(constraint, Equality | Zero | Inequality | NonNeg)
        if not linear or value is None or np.iscomplexobj(value):
            return
        into = equal if isinstance(constraint, Equality | Zero) else unequal
        into.append(np.ravel(np.asarray(value, dtype=float), order="F"))
    of_equations, of_others = (np.concatenate([np.empty(0), *part]) for part in (equal, unequal))
    free = np.flatnonzero(form.equalities)
    signed = np.concatenate([
        np.arange(block.rows.start, block.rows.stop) if isinstance(block.cone, NonNegative)
        else np.empty(0, dtype=int)
        for block in form.blocks
    ] or [np.empty(0, dtype=int)])  # fmt: skip
    fits = of_equations.size == free.size and of_others.size <= signed.size
    if not fits or free.size + signed.size != form.b.size:
        return
    spare = signed.size - of_others.size
    for rows in {0: (signed,)}.get(spare, (signed[spare:], signed[: of_others.size])):
        y = np.zeros(form.b.size)
        y[free], y[rows] = of_equations, of_others
        yield from _both_signs(form, y)


def _both_signs(form: StandardForm, y: np.ndarray) -> Iterator[np.ndarray]:
    """Yield y in the likelier sign of equations' multipliers, and in the other if in doubt.

    The sign that leaves smaller reduced costs is right; both are yielded where that is unclear.
    """
    if not form.equalities.any():
        yield y
        return
    other = np.where(form.equalities, -y, y)
    left = [float(np.abs(form.q - form.transposed @ each).sum()) for each in (other, y)]
    better, worse = (other, y) if left[0] <= left[1] else (y, other)
    yield better
    if min(left) > 0.5 * max(left):
        yield worse
