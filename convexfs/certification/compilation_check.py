"""Is the compiled program the stated problem? Both are evaluated at the same points.

cvxpy's compiler is the one part of a certificate that is not verified by a proof. So the cheapest
values of its auxiliary columns are computed at the returned point and at a random one, and the cost
of the program must be that of the stated expressions, evaluated in numpy.
"""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.certification.auxiliary import completed, priced_columns
from convexfs.certification.convex_form import ConvexForm
from convexfs.certification.duals.dual_bound import cost_at
from convexfs.certification.feasibility import value_of, violation
from convexfs.certification.program.scaling import unit_of_objective
from convexfs.certification.program.standard_form import StandardForm

#: Costs that differ by this share of their terms are different.
DIFFERENT = 1e-4
#: A point breaks no row if it is off by this share of the row's terms.
NEARLY = 1e-6
#: A stated point that breaks its constraints by no more than this is feasible.
EXACTLY = 1e-13
#: Values of the parameters of one compiled program at which a random point is checked.
CHECKS = 3


def completions(
    form: StandardForm, point: np.ndarray, known: np.ndarray, own: np.ndarray | None
) -> Iterator[np.ndarray | None]:
    """Yield all columns of a point: with the solver's, where they fit, then the cheapest.

    The cheapest are searched for in two scales, because a scale that does not fit leaves errors.
    None stands for columns that have no values.
    """
    if known.all():
        yield point
        return
    if own is not None and own.size == point.size:
        joined = np.where(known, point, own)
        slack = form.A @ joined + form.b
        terms = form.together(np.abs(form.b) + form.sizes @ np.abs(joined))
        if np.all(form.outside(slack) <= NEARLY * terms):
            yield joined
    for natural in (False, True):
        found = completed(form, point, known, natural=natural)
        yield None if found is None or found.contradicts else found.z
    # If rounding breaks a row, the rest may have no values: fill in priced columns first.
    found = completed(form, point, known, priced=True)
    if found is not None and not found.contradicts:
        known = known | priced_columns(form, known)
        rest = completed(form, found.z, known)
        yield found.z if rest is None or rest.contradicts else rest.z


def differs_at(convex: ConvexForm, form: StandardForm, z: np.ndarray | None) -> bool:
    """Whether the program at columns z surely has another cost than the stated objective.

    z is None if its auxiliary columns have no values, which they must have at feasible points.
    """
    wanted = convex.cost()
    if not np.isfinite(wanted):
        return False
    if z is None:
        return violation(convex.stated).value <= EXACTLY
    cost = cost_at(form, z)[0] + form.d
    terms = max(abs(wanted), abs(cost), float(np.abs(form.q * z).max(initial=0.0)))
    # Costs of 0 are found to a share of the data's unit only.
    return abs(cost - wanted) > DIFFERENT * terms + NEARLY * (unit_of_objective(form) or 1.0)


def differs_at_random(convex: ConvexForm, form: StandardForm, seed: int = 0) -> bool:
    """Whether the cost of the program surely differs from the stated one at a random point.

    The stated variables are left as they were. A program that is compiled once for many values
    of its parameters is checked for the first values alone.
    """
    if form.memory.get("checked", 0) >= CHECKS:
        return False
    form.memory["checked"] = form.memory.get("checked", 0) + 1
    draw = np.random.default_rng(seed)
    stated = {variable.id: variable for pair in convex.variables for variable in pair}
    before = [(variable, variable.value) for variable in stated.values()]
    try:
        for variable, own in convex.variables:
            _set_random(variable, own, draw, convex.logarithmic)
        convex.take_values()
        point, known = convex.columns(form)
        if known.all():
            return differs_at(convex, form, point)
        for natural in (False, True):
            found = completed(form, point, known, priced=True, natural=natural)
            if found is None or found.contradicts or not differs_at(convex, form, found.z):
                return False
        return True
    finally:
        for variable, value in before:
            variable.save_value(value)


def _set_random(
    variable: cp.Variable, own: cp.Variable, draw: np.random.Generator, logarithmic: bool
) -> None:
    """Give a stated variable a random value of its size, in the domain of its attributes."""
    size = float(np.abs(value_of(own)).max(initial=0.0)) or 1.0
    value: Any = draw.normal(size=variable.shape)
    value = np.exp(value) if logarithmic else size * value
    if any(each is not None and each is not False for each in own.attributes.values()):
        value = own.project(value)
    own.save_value(np.asarray(value.toarray() if hasattr(value, "toarray") else value))
