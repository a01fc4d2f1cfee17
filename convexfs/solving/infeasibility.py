r"""Proofs that a problem has no feasible point.

Multipliers y of the dual cone with A'y = 0 and b'y < 0 leave no z with Az + b in K, for
y'(Az + b) would be negative, and of a vector of K it is not (Farkas). They are sought here by
minimising the violation, whoever made the claim, then repaired, and judged in numpy: where
A'y = r is only nearly 0, the proof holds for points within :math:`-b'y / \sum_j |r_j| U_j`
units, rounding errors included. Every cone is covered, and integer problems by branching.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from convexfs.solving.dual_bound import ROUNDING, repaired
from convexfs.solving.search import Scaling, least_violation
from convexfs.solving.standard_form import StandardForm
from convexfs.solving.units import Units, units_at

#: No feasible point may be nearer than this many units for a proof; or, to be told at all.
PROVEN, TOLD = 1e8, 1e4
#: Sums A'y below this share of their terms are rounding errors, whatever the reach.
EXACT = 1e-13
#: Beyond this many units nothing is told from rounding errors.
EVERYWHERE = 1e13
#: How far inside curved cones multipliers are sought.
ROOMS = (0.0, 1e-3)
#: Rounds of repair, see dual_bound: at the edge of curved cones they gain little each.
ROUNDS = (1e-8,) * 4 + (1e-3,) * 16
#: Multipliers below these shares of the largest are taken for zeros that were not quite reached.
NOISE = (0.0, 1e-7, 1e-4)


@dataclass(frozen=True)
class Contradiction:
    """Multipliers that leave no feasible point within `reach` units.

    `strength` is -b'y over what cancels in it: a point that breaks its constraints by less
    would count as feasible. `exact` tells whether A'y is 0 but for rounding errors of its sums.
    """

    reach: float
    strength: float
    exact: bool

    @property
    def proven(self) -> bool:
        return self.reach >= (PROVEN if self.exact else EVERYWHERE)


def contradiction(form: StandardForm, tol: float) -> Contradiction | None:
    """Return the farthest-reaching contradiction stronger than `tol`; None if there is none."""
    units = units_at(form, np.zeros(form.q.size))
    best: Contradiction | None = None
    for y in _candidates(form, units):
        found = contradiction_by(form, y, units, tol)
        if found is not None and found.proven:
            return found
        if found is not None and (best is None or found.reach > best.reach):
            best = found
    return best if best is not None and best.reach >= TOLD else None


def contradiction_by(
    form: StandardForm, y: np.ndarray, units: Units, tol: float
) -> Contradiction | None:
    """Judge multipliers of the dual cone."""
    against, terms = float(-form.b @ y), form.cancelling(y)
    rounding = ROUNDING * float(np.abs(form.b) @ np.abs(y))
    if not against - rounding > tol * terms:
        return None
    left, sums = np.abs(form.transposed @ y), form.transposed_sizes @ np.abs(y)
    loss = float((left + ROUNDING * sums) @ units.columns)
    exact = bool(np.all(left <= EXACT * sums))
    return Contradiction(against / max(loss, 1e-300), against / max(terms, 1e-300), exact)


def _candidates(form: StandardForm, units: Units) -> Iterator[np.ndarray]:
    nothing = np.zeros(form.q.size)
    scalings = (Scaling.equilibrated(form), Scaling.of(form, units, 1.0))
    rooms = ROOMS if form.curved.any() else ROOMS[:1]
    for scaling, room in itertools.product(scalings, rooms):
        found = least_violation(form, scaling, room)
        if found is None or not -form.b @ found.y > 0:
            continue
        y = found.y / (-form.b @ found.y)
        weights = np.abs(y) * units.rows
        for share in NOISE:
            cleaned = np.where(weights <= share * weights.max(), 0.0, y)
            yield from repaired(form, cleaned, nothing, units, 1.0, ROUNDS)
