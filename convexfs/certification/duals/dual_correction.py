r"""Multipliers corrected so that reduced costs of unbounded columns vanish, exactly.

A solver's multipliers leave reduced costs of 1e-12 where 0 is needed, and no repair in floating
point makes a 0 of all of them. But it can be proven that a correction *exists*. Let F be the
columns whose reduced cost must vanish, and G a matrix such that y + Gv stays in the dual cone for
norm(v) < 1. If :math:`N = A_F' G G' A_F \succeq \sigma I`, which a Cholesky factorisation of a
shifted N proves (Rump 2006), then :math:`v = G' A_F N^{-1} r_F` has norm at most
:math:`\eta = |r_F| / \sqrt\sigma` and y + Gv has reduced costs of exactly 0 on F. It suffices that
:math:`\eta < 1/2`; the bound pays :math:`\eta` times norms of what G moves. A quadratic objective
helps: the point w may move along P as well.

Curved cones may also be replaced by half-spaces, so that a linear program bounds a curved one.
Multipliers y in the dual of a cone give a row that all its points satisfy: y'(Az + b) >= 0. The
linear program of such rows and all flat ones is a relaxation, and its optimum is as good as the
multipliers are. Its own multipliers may scale those of each cone, so that they need not fit
exactly.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from convexfs.certification.duals.correction_system import CorrectionSystem, Goal
from convexfs.certification.duals.dual_bound import (
    Bound,
    Lagrangian,
    lagrangian,
    natural_multipliers,
    without_bound_rows,
)
from convexfs.certification.exact.linear_program import LinearProgram
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import Box
from convexfs.certification.rigorous.rounding import EPSILON

#: Most corrections of multipliers in floating point, for each of two aims: a margin, and exactly 0.
STEPS = 6
#: If reduced costs of more columns need a correction, none is tried.
MOST_COLUMNS = 6_000
#: After two corrections, a bound for costs changed by up to this share of their terms is enough.
LAST_BITS = 2.0**-50
#: Corrections aim at reduced costs at most this share of their terms from 0, on the safe side;
#: farther only if a proof needs it.
MARGIN = 1e-6
#: Multipliers of inequalities below this share of their natural size are set to 0 where they spoil
#: an unbounded column's reduced cost.
SILENT = 1e-6


def corrected_bound(
    goal: Goal, y: np.ndarray, w: np.ndarray, room: float = 0.0
) -> tuple[Bound, Lagrangian]:
    """Return the best bound that y, corrected up to STEPS times, proves, and the last Lagrangian.

    The search ends when the target is reached.
    """
    start = lagrangian(goal.form, goal.form.into_dual(np.nan_to_num(y), room), w, goal.box)
    bound, at = _corrected(goal, start, _Aims(goal, margin=True))
    enough = bound.value >= goal.target and bound.rounding <= goal.rounding
    if enough or not np.any(~np.isfinite(at.loss) | (at.loss < -goal.budget / at.loss.size)):
        return bound, at
    # Columns x and -x cannot both have a margin, so aim at reduced costs of exactly 0.
    other, last = _corrected(goal, start, _Aims(goal, margin=False))
    if other.value >= goal.target and other.rounding <= goal.rounding:
        return other, last
    usable = [each.rounding <= LAST_BITS for each in (other, bound)]
    better = (usable[0], other.value) > (usable[1], bound.value)
    return (other, last) if better else (bound, at)


def _corrected(goal: Goal, at: Lagrangian, aims: "_Aims") -> tuple[Bound, Lagrangian]:
    form = goal.form
    best, forgiven = Bound(-np.inf, at.y), Bound(-np.inf, at.y, rounding=np.inf)
    least = np.inf
    for step in range(STEPS):
        at = _absorbed(goal, _silenced(goal, at)) if step <= 1 else at
        by = "multipliers" if step == 0 else "corrected multipliers"
        best = _better(best, at.value, at.y, by)
        if at.forgiven >= goal.target and at.rounding < forgiven.rounding:
            forgiven = Bound(at.forgiven, at.y, by, at.rounding)
        if best.value >= goal.target:
            return best, at
        aims.include(at)
        enough = goal.rounding if step < 2 else LAST_BITS
        stalls = step >= 3 and at.rounding > 0.25 * least
        least = min(least, at.rounding)
        if forgiven.rounding <= enough or stalls or not 0 < aims.index.size <= MOST_COLUMNS:
            break
        if not goal.has_time_for(aims.index.size):
            break
        proof = None
        for ball in (True, False) if form.curved.any() else (False,):
            proof = CorrectionSystem(goal, at, aims.exact, ball)
            for proven in proof.proven():
                best = _better(best, proven, at.y, "an exact correction of the multipliers exists")
            aims.need(proof)
            if best.value >= goal.target:
                return best, at
        if proof is None or not np.array_equal(proof.index, aims.index):
            proof = CorrectionSystem(goal, at, aims.index, ball=False)
        moved = proof.moved(aims.values(at))
        if moved is None:
            break
        at = lagrangian(form, *moved, goal.box)
    return (forgiven if np.isfinite(forgiven.value) else best), at


class _Aims:
    """Target values of the reduced costs of chosen columns: 0, or a margin of the safe sign.

    Columns without any bound must have exactly 0. Columns with one bound need the sign that it
    allows: they get a margin from 0 that a proof may use up, or shall have 0 too.
    """

    def __init__(self, goal: Goal, margin: bool):
        self.goal = goal
        size, box = goal.form.q.size, goal.box
        self.free = ~np.isfinite(box.lower) & ~np.isfinite(box.upper)
        self.sign = 1.0 * np.isfinite(box.lower) - 1.0 * np.isfinite(box.upper)
        if not margin:
            self.free[:], self.sign[:] = True, 0.0
        self.chosen, self.needed = np.zeros(size, dtype=bool), np.zeros(size)

    def include(self, at: Lagrangian) -> None:
        """Choose also the columns whose reduced costs lower the bound too much."""
        self.chosen |= ~np.isfinite(at.loss) | (at.loss < -self.goal.budget / at.loss.size)

    def need(self, proof: CorrectionSystem) -> None:
        """Choose also the columns that the last proof left unbounded, with a sufficient margin."""
        self.chosen[proof.unsafe] = True
        self.needed[proof.unsafe] = np.maximum(self.needed[proof.unsafe], 4 * proof.lacking)

    @property
    def index(self) -> np.ndarray:
        return np.flatnonzero(self.chosen)

    @property
    def exact(self) -> np.ndarray:
        return np.flatnonzero(self.chosen & self.free)

    def values(self, at: Lagrangian) -> np.ndarray:
        """Return the target reduced costs of the chosen columns."""
        form, box, index = self.goal.form, self.goal.box, self.index
        bound = np.where(self.sign > 0, box.lower, box.upper)[index]
        distance = np.abs(at.w[index] - np.where(np.isfinite(bound), bound, at.w[index]))
        terms = (np.abs(form.q) + form.transposed_sizes @ np.abs(at.y))[index]
        affordable = self.goal.budget / index.size / np.maximum(distance, 1e-300)
        margin = np.maximum(np.minimum(affordable, MARGIN * terms), self.needed[index])
        return self.sign[index] * margin


def _better(best: Bound, value: float, y: np.ndarray, by: str) -> Bound:
    return Bound(value, y, by) if value > best.value else best


def _absorbed(goal: Goal, at: Lagrangian) -> Lagrangian:
    """Return the better of two bounds: with and without multipliers of bounds on variables."""
    if not goal.form.single_rows[0].size:
        return at
    y = without_bound_rows(goal.form, at.y, at.w, goal.box)
    other = lagrangian(goal.form, y, at.w, goal.box)
    open_columns = [int(np.sum(~np.isfinite(each.loss))) for each in (other, at)]
    return other if (other.value, -open_columns[0]) > (at.value, -open_columns[1]) else at


def _silenced(goal: Goal, at: Lagrangian) -> Lagrangian:
    """Return the bound with small harmful multipliers of inequalities set to 0; flat programs only.

    An interior-point solution leaves them where a row is inactive, and they should be 0.
    """
    form = goal.form
    bad = ~np.isfinite(at.loss)
    if not bad.any() or form.curved.any():
        return at
    entries = form.transposed[np.flatnonzero(bad)].tocoo()
    harmful = entries.data * at.reduced[np.flatnonzero(bad)][entries.row] < 0
    rows = np.unique(entries.col[harmful])
    small = np.abs(at.y[rows]) <= SILENT * goal.natural[rows]
    rows = rows[small & ~form.equalities[rows] & ~form.curved[rows] & (at.y[rows] != 0)]
    if not rows.size:
        return at
    y = at.y.copy()
    y[rows] = 0.0
    return lagrangian(form, y, at.w, goal.box)


#: Costs are scaled so that the largest is 2 to this power, for an exactly optimal basis.
LARGE_COSTS = 20


def relaxed_bound(
    form: StandardForm,
    y: np.ndarray,
    box: Box,
    target: float,
    spent: float,
    scale: float,
    seconds: float,
) -> Bound | None:
    """Return a bound from the linear program with cone cuts from `y`; None if HiGHS fails.

    See :class:`~convexfs.certification.duals.correction_system.Goal` for `target` and `spent`.
    """
    y = form.into_dual(np.nan_to_num(y))
    cuts = with_cone_cuts(form, y, box)
    # Large costs: HiGHS accepts reduced costs of the wrong sign up to 1e-9.
    large = np.exp2(LARGE_COSTS - np.round(np.log2(np.abs(form.q).max(initial=0.0) or 1.0)))
    found = LinearProgram(cuts, box).solve(q=large * form.q, seconds=seconds)
    if not found.optimal:
        return None
    goal = Goal(cuts, box, target, spent, natural_multipliers(cuts, found.z, scale))
    bound, _ = corrected_bound(goal, found.y / large, found.z)
    return replace(bound, y=y)


def with_cone_cuts(form: StandardForm, y: np.ndarray, box: Box) -> StandardForm:
    """Return `form` with a linear cut for each curved cone where y is not 0, valid within `box`.

    `y` must surely be in the dual cones. Errors of rounding are added to the right-hand sides.
    """
    used = np.flatnonzero(form.curved & (y != 0))
    cones, owner = np.unique(form.first_rows[used], return_inverse=True)
    Y = sp.csr_array((y[used], (owner, used)), shape=(cones.size, form.b.size))
    A, sizes = sp.csr_array(Y @ form.A), sp.csr_array(abs(Y) @ form.sizes)
    # A product with a power of 2 is exact; sums and other products are not.
    inexact = form.sizes.copy()
    inexact.data = np.where(np.frexp(inexact.data)[0] == 0.5, 1.0, 2.0)
    rounded = sp.csr_array(sp.csr_array((np.ones(used.size), (owner, used)), Y.shape) @ inexact)
    rounded.data = np.where(rounded.data > 1.0, (rounded.data + 1.0) * 2 * EPSILON, 0.0)
    rounded.eliminate_zeros()
    errors = rounded.multiply(sizes)
    magnitude = np.where(np.isfinite(box.magnitude), box.magnitude, np.inf)
    terms = abs(Y) @ np.abs(form.b)
    b = Y @ form.b + errors @ magnitude * (1.0 + 1e-9) + 8 * EPSILON * (form.b.size + 1) * terms
    kept = np.isfinite(b)
    return form.with_rows(A[kept], b[kept])
