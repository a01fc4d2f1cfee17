"""Multipliers that an answer brings along, in the rows of a standard form.

A wrong guess of their order or sign does no harm: it proves nothing.
"""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality, NonNeg, Zero

from convexfs.errors import InputError
from convexfs.records import ConePoint
from convexfs.solving.cones import NonNegative
from convexfs.solving.standard_form import StandardForm

SOLVERS = "the solver's multipliers"


def of_cone_point(form: StandardForm, point: ConePoint, solver: str) -> Iterator[np.ndarray]:
    """Yield the multipliers of the cone program that `solver` was given."""
    rows = form.layout.shape[1]
    count = rows if point.y is None else point.y.size
    if (point.x.size, count) != (form.q.size, rows):
        raise InputError(
            f"the answer has {point.x.size} variables and {count} multipliers where the program "
            f"for {solver} has {form.q.size} and {rows}: it is of another problem or another solver"
        )
    if point.y is not None:
        yield from _both_signs(form, form.multipliers(point.y))


def of_constraints(problem: cp.Problem, form: StandardForm) -> Iterator[np.ndarray]:
    """Yield the ``dual_value`` of linear constraints, if those are all there are.

    cvxpy keeps no multipliers of rows that it added itself: of variables' attributes they are
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
    """Yield y with the multipliers of equations negated, as cvxpy has them, and as they are."""
    if form.equalities.any():
        yield np.where(form.equalities, -y, y)
    yield y
