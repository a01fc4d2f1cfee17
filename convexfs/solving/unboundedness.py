"""Proofs that a problem has no optimum: a feasible point and a ray along which cost falls.

A ray z with Az in K, Pz = 0 and q'z < 0 leads from any feasible point to ever cheaper ones.
Both are sought here, whoever made the claim, and judged in numpy.
"""

from dataclasses import dataclass

import numpy as np

from convexfs.solving.search import Scaling, cheaper_direction, least_violation
from convexfs.solving.standard_form import StandardForm
from convexfs.solving.units import units_at

#: How far a ray may leave its cone or bend the objective, relative to its terms.
STRAIGHT = 1e-9
#: The gain of a ray must be more than this share of its terms.
GAIN = 1e-6


@dataclass(frozen=True)
class Descent:
    """A ray, how far it is off, what it gains, both relative, and the point it starts from."""

    ray: np.ndarray
    off: float
    gain: float
    start: np.ndarray | None


def descent(form: StandardForm, tol: float) -> Descent | None:
    """Return a ray, from a point feasible to `tol` if one is found; None without a ray."""
    scaling = Scaling.equilibrated(form)
    for inside in (True, False):
        ray = cheaper_direction(form, scaling, inside)
        if ray is None:
            continue
        off, gain = _judged(form, ray)
        if off <= STRAIGHT and gain > GAIN:
            return Descent(ray, off, gain, feasible_point(form, tol))
    return None


def _judged(form: StandardForm, ray: np.ndarray) -> tuple[float, float]:
    terms = form.together(form.sizes @ np.abs(ray))
    beyond = form.outside(form.A @ ray) / np.where(terms > 0, terms, 1.0)
    bend = np.zeros(1)
    if form.P is not None:
        bend = np.abs(form.P @ ray) / np.maximum(abs(form.P) @ np.abs(ray), 1e-300)
    size = float(np.abs(form.q) @ np.abs(ray))
    gain = float(-form.q @ ray) / size if size > 0 else 0.0
    return float(max(beyond.max(initial=0.0), bend.max())), gain


def feasible_point(form: StandardForm, tol: float) -> np.ndarray | None:
    """Find a point that breaks no cone by more than `tol` of its terms."""
    at_zero = Scaling.of(form, units_at(form, np.zeros(form.q.size)), 1.0)
    for scaling in (Scaling.equilibrated(form), at_zero):
        found = least_violation(form, scaling)
        if found is None:
            continue
        units = units_at(form, found.z)
        beyond = form.outside(form.A @ found.z + form.b) / units.rows
        if beyond.max(initial=0.0) <= tol:
            return found.z
    return None
