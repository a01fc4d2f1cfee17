r"""Is a point an optimum? Its cost against a bound that nothing feasible can be below.

Two things are needed: a feasible point that costs no more than the claimed one, and a bound
(:mod:`dual_bound`) that is no lower by more than the tolerance. Multipliers come from the solver,
or are searched for; whoever they come from, they are verified here. Costs are compared relative to

.. math:: \max(|p|, |L|, \max_j |q_j z_j|),

p and L without the objective's constant and columns that the constraints fix; in a proof to no more
than the objective itself. An optimum of 0 has the scale of the data's own units.
"""

import itertools
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from convexfs.certification.auxiliary import Budget, Inside, Stopped
from convexfs.certification.duals.correction_system import Goal
from convexfs.certification.duals.dual_bound import (
    Bound,
    Lagrangian,
    cost_at,
    lagrangian,
    natural_multipliers,
    radius_of,
)
from convexfs.certification.duals.dual_correction import corrected_bound, relaxed_bound
from convexfs.certification.duals.multiplier_search import Candidate, MultiplierSearch
from convexfs.certification.exact.linear_program import ExactOptimum, lagrangian_costs, rounded_down
from convexfs.certification.feasible_points import (
    change_to_feasible,
    cost_of_feasibility,
    interior_points,
    tightened,
)
from convexfs.certification.program.scaling import (
    NEAR_ZERO,
    least_unit_of_objective,
    proof_scale,
    size_of_terms,
    unit_of_objective,
)
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.elimination import without_defined_columns
from convexfs.certification.rigorous.implied_bounds import Box, implied_box

#: A proof for a flat program counts if it holds for costs changed by up to this share of their
#: terms (rounding of the data).
ROUNDING = 2.0**-50
#: Fractions of the tolerance: the gap that a proof aims at, and the loss allowed to corrections.
ENOUGH, SPENT = 0.5, 0.1
#: Multipliers of curved cones are moved inside them by these shares of their size, in turn.
ROOMS = (0.0, 1e-9, 1e-7)
#: After this share of the remaining budget, no further ROOMS are tried for a candidate.
ONE_CANDIDATE = 0.3
#: Programs with more entries get no bound from linear cuts in place of curved cones.
MOST_RELAXED = 200_000
#: Flat programs with at most this many entries, if proven up to rounding, are tried for an exact
#: proof.
SMALL = 3000


#: Value of `inside` after a failed search for an interior point.
NOWHERE = Inside(np.empty(0), 0.0, np.empty(0))


class OptimalityProof:
    """Search for a proof that no feasible point costs less than `cost`, and that one costs no more.

    Parameters
    ----------
    form : StandardForm
        The program, flat or curved, without integers.
    point, known : ndarray
        Columns of the claimed point, and which of them the claim gives.
    cost : float
        The claimed cost, minimised, without the constant.
    tol : float
        Gap that counts as none.
    scale : float or None
        Size of the objective that gaps are relative to; None to infer it.
    """

    def __init__(
        self,
        form: StandardForm,
        point: np.ndarray,
        known: np.ndarray,
        cost: float,
        tol: float,
        budget: Budget,
        scale: float | None = None,
    ):
        self.objective = cost + form.d
        self.eliminated = without_defined_columns(form) if form.curved.any() else None
        if self.eliminated is not None:
            form, columns = self.eliminated.form, self.eliminated.columns
            point, known = point[columns], known[columns]
        self.form, self.point, self.known, self.cost, self.tol = form, point, known, cost, tol
        self.budget, self.fixed_scale = budget, scale
        self.flat = not form.curved.any()
        self.best = Bound(-np.inf, np.zeros(form.b.size))
        self.above = Bound(-np.inf, np.zeros(form.b.size))
        self.attained = False
        self.exact: ExactOptimum | None = None
        self.better: list[np.ndarray] = []
        self.last: tuple[Lagrangian, float] | None = None
        self.stopped = False
        self.limit = np.inf
        self.inside: Inside | None = None
        self._least_scale = np.inf
        self.box = implied_box(form)
        self.cut = Box.everything(0)
        self.unit = unit_of_objective(form) if scale is None else scale
        least = least_unit_of_objective(form, self.box.lower, self.box.upper)
        self.least_unit = min(self.unit, least)

    @property
    def scale(self) -> float:
        """Return the number that gaps are divided by in a proof: objective or terms, not near 0.

        Terms that cancel, as those of (x - 1000)^2 written out, would hide a gap.
        """
        if self.fixed_scale is not None:
            return self.fixed_scale
        return proof_scale(min(self._terms, abs(self.objective)), self.least_unit, self.tol)

    @property
    def scale_of_terms(self) -> float:
        """Return the size of the objective's terms, by which reported errors are divided."""
        if self.fixed_scale is not None:
            return self.fixed_scale
        return proof_scale(self._terms, self.least_unit, self.tol)

    @property
    def _terms(self) -> float:
        """Return the least size of the objective's terms at points seen; else the claimed cost."""
        return self._least_scale if np.isfinite(self._least_scale) else abs(self.cost)

    @property
    def coarse_scale(self) -> float:
        """Return the number that gaps are divided by in a refutation; near 0, the data's unit."""
        if self.fixed_scale is not None:
            return self.fixed_scale
        terms = max(self.scale, self._terms)
        return max(terms, self.unit) if self._terms < NEAR_ZERO * self.unit else terms

    @property
    def target(self) -> float:
        return self.cost - ENOUGH * self.tol * self.scale

    @property
    def proven(self) -> bool:
        """Return whether, up to `tol`, no feasible point is cheaper and one is as cheap."""
        margin = self.tol * self.scale
        good = self.cost - margin <= self.best.value and self.above.value <= self.cost + margin
        return good and self.attained and self.best.rounding <= self.rounding

    @property
    def rounding(self) -> float:
        """Return the relative change of costs that counts as rounding: 0 for curved programs."""
        return ROUNDING if self.flat else 0.0

    @property
    def too_cheap(self) -> bool:
        """Return whether every feasible point surely costs more than the claimed cost."""
        return self.above.value > self.cost + self.tol * self.coarse_scale

    @property
    def gap(self) -> float:
        scale = self.scale
        off = self.cost - min(self.best.value, self.cost)
        return off / scale if scale > 0 else (0.0 if off == 0 else np.inf)

    @property
    def radius(self) -> float:
        """Return how far unbounded columns may be from the point for the proof to hold."""
        if self.last is None:
            return 0.0
        return radius_of(self.last[0], self.cost - self.tol * self.scale, self.cut)

    def run(self, given: Iterable[Candidate], search: bool = True) -> None:
        """Search for the proof: by bounds, by the given multipliers, then by others if `search`."""
        if self.known.all():
            self._measure(self.point)
        given = [self._reduced(candidate) for candidate in given]
        # For unbounded columns, multipliers prove nothing unless reduced costs are exactly 0.
        seen = self.flat and bool(self.box.bounded.all())
        if seen and self._proven_at_once(given):
            return
        # Points that are clearly more expensive are cut off.
        self.limit = self.cost + self.tol * self.coarse_scale
        self.cut = implied_box(self.form, self.limit, self.box)
        if self.cut.empty:
            by = "bounds of the variables"
            self.above = Bound(np.nextafter(self.limit, np.inf), np.zeros(self.form.b.size), by)
            self.best = Bound(self.cost, self.best.y, by)
            return
        try:
            if self.known.all() and not seen:
                self._see(self.point)
            self._run(given, search)
        except Stopped:
            self.stopped = True

    def _proven_at_once(self, given: list[Candidate]) -> bool:
        """Store the bounds of the given multipliers, uncorrected; return whether they suffice."""
        for candidate in given:
            y = self.form.into_dual(np.nan_to_num(candidate.y))
            at = lagrangian(self.form, y, candidate.z, self.box)
            self._keep(Bound(at.value, at.y, f"{candidate.by}: multipliers"), self.box)
            if self.best.value >= self.target:
                break
        if self.known.all():
            self._see(self.point)
        return self.proven

    def _run(self, given: list[Candidate], search: bool) -> None:
        if not (self.flat and given):
            self._by_bounds_alone()
        self._attain(self.point)
        if self.proven:
            return
        found: Iterable[Candidate] = ()
        if search:
            found = MultiplierSearch(
                self.form, self.point, self.cut, self.tol, lambda: self.scale, self.budget
            ).candidates()
        upgrade = False
        for candidate in itertools.chain(given, found):
            self.budget.check()
            if not (np.isfinite(candidate.z).all() and np.isfinite(candidate.y).all()):
                continue
            self._see(candidate.z)
            self._attempt(candidate)
            self._attain(candidate.z)
            if self.too_cheap or (self.exact is not None and self.exact.primal is not None):
                return
            if self.proven:
                # A small program that is proven up to rounding may also have an exact proof.
                if self.best.rounding == 0 or upgrade or self.form.A.nnz > SMALL or not self.flat:
                    return
                upgrade = True

    def _reduced(self, candidate: Candidate) -> Candidate:
        """Map a candidate of the full program to the one without eliminated rows and columns."""
        left = self.eliminated
        if left is None:
            return candidate
        return replace(candidate, z=candidate.z[left.columns], y=candidate.y[left.rows])

    def _measure(self, z: np.ndarray) -> None:
        """Lower the recorded size of the objective's terms to that at z, if smaller.

        Terms of a claimed point far away may cancel, and would hide any gap.
        """
        for point in (np.where(self.known, self.point, z), z):
            terms = size_of_terms(self.form, point, self.box, self.cost)
            self._least_scale = min(self._least_scale, terms)

    def _see(self, z: np.ndarray) -> None:
        """Record the point z if it is cheaper than claimed, or feasible and as cheap (`attained`).

        Flat programs have a feasible point near one that is nearly feasible. Curved ones may
        have none that is as cheap, so that a feasible point must be verified.
        """
        self._measure(z)
        value, margin = cost_at(self.form, z)[0], self.tol * self.scale
        if value < self.cost - margin:
            self.better.append(z if self.eliminated is None else self.eliminated.expanded(z))
        if value <= self.cost + margin and not self.attained:
            near = tightened(self.form, z) if self.flat else z
            self.attained = near is not None and self._is_feasible(near)

    def _is_feasible(self, z: np.ndarray) -> bool:
        """Return whether a feasible point near z costs no more than claimed; if flat, z counts."""
        change = 0.0 if self.flat else change_to_feasible(self.form, z)
        if change is None:
            return False
        return cost_at(self.form, z)[0] + change <= self.cost + self.tol * self.scale

    def _attain(self, z: np.ndarray) -> None:
        """If curved and the bound is good, set `attained` if a feasible point near is as cheap."""
        if self.flat or self.attained or self.best.value < self.cost - self.tol * self.scale:
            return
        near = tightened(self.form, z)
        if near is None:
            return
        if self.inside is None:
            self.budget.check()
            self.inside = next(
                interior_points(self.form, near, self.cost + 10 * self.scale, self.budget), NOWHERE
            )
        if self.inside.margin > 0:
            value = cost_at(self.form, near)[0]
            above = cost_at(self.form, self.inside.z)[0] - value
            value += cost_of_feasibility(self.form, near, self.inside, above)
            self.attained = value <= self.cost + self.tol * self.scale

    def _by_bounds_alone(self) -> None:
        at = lagrangian(self.form, np.zeros(self.form.b.size), self.point, self.cut)
        self._keep(Bound(at.value, at.y, "bounds of the variables alone"), self.cut)

    def _keep(self, bound: Bound, box: Box) -> None:
        """Store `bound` if better: first by whether it needs no rounding, then by its value.

        A bound among points of the cut box holds everywhere up to the limit, because all others
        cost more.
        """
        above = bound.value
        if box is not self.box:
            above = min(above, float(np.nextafter(self.limit, np.inf)))
        if bound.rounding == 0 and above > self.above.value:
            self.above = replace(bound, value=above)
        value = min(bound.value, self.cost)
        usable = bound.rounding <= self.rounding, self.best.rounding <= self.rounding
        exacter = value >= self.target and bound.rounding < self.best.rounding
        if (usable[0], value) > (usable[1], self.best.value) or exacter:
            self.best = replace(bound, value=value)

    def _attempt(self, candidate: Candidate) -> None:
        """Try a candidate: its multipliers with corrections, then its basis in exact arithmetic."""
        value = cost_at(self.form, candidate.z)[0]
        # If the claimed cost may be lower than every feasible one, also look for a higher bound.
        dearer = candidate.optimal and value > self.cost + self.tol * self.coarse_scale
        if dearer or not self._bound_is_enough:
            self._correct(candidate, dearer, ROOMS[:1])
        if not (dearer or self.flat or self._bound_is_enough):
            self._relax_cones(candidate)
        if not self.flat and (dearer or not self._bound_is_enough):
            self._correct(candidate, dearer, ROOMS[1:])
        if candidate.basis is not None and not (self.proven and self.best.rounding == 0):
            self._exactly(candidate)

    @property
    def _bound_is_enough(self) -> bool:
        """Return whether an exact bound reaches the target: only a feasible point is missing."""
        return self.best.value >= self.target and self.best.rounding == 0

    def _correct(self, candidate: Candidate, dearer: bool, rooms: tuple[float, ...]) -> None:
        """Store the bounds that the candidate's multipliers prove, as they are and corrected."""
        scale = self.scale or 1.0
        natural = natural_multipliers(self.form, candidate.z, scale)
        # For small programs, try to prove the bound without rounding the costs.
        rounding = ROUNDING if self.flat and self.form.A.nnz > SMALL else 0.0
        share = self.budget.share(ONE_CANDIDATE)
        for room in rooms:
            self.budget.check()
            if room and share.left <= 0:
                break  # Other candidates may need no correction.
            target, box = (
                (self.cost + 2 * self.tol * scale, self.box) if dearer else (self.target, self.cut)
            )
            spent = SPENT * self.tol * scale
            goal = Goal(self.form, box, target, spent, natural, rounding, self.budget)
            bound, at = corrected_bound(goal, candidate.y, candidate.z, room)
            bound = replace(bound, by=f"{candidate.by}: {bound.by}" if bound.by else candidate.by)
            if not dearer:
                self.last = at, target
            self._keep(bound, box)
            if bound.value >= target and bound.rounding <= self.rounding:
                break

    def _relax_cones(self, candidate: Candidate) -> None:
        """Store the bound of a linear program with cuts from the candidate's multipliers."""
        if self.form.P is not None or self.form.A.nnz > MOST_RELAXED:
            return
        self.budget.check()
        scale = self.scale or 1.0
        spent = SPENT * self.tol * scale
        relaxed = relaxed_bound(
            self.form, candidate.y, self.cut, self.target, spent, scale, self.budget.left
        )
        if relaxed is not None:
            by = f"{candidate.by}: linear relaxation, {relaxed.by}"
            self._keep(replace(relaxed, by=by), self.cut)

    def _exactly(self, candidate: Candidate) -> None:
        """Store the rational bound of the candidate's basis, and its optimum if exactly feasible.

        Do nothing if the program is large.
        """
        program, basis = candidate.program, candidate.basis
        if program is None or basis is None or not program.cheap:
            return
        costs, constant = lagrangian_costs(self.form, np.zeros(self.form.b.size), candidate.z)
        optimum = program.exact_optimum(basis, costs, primal=False)
        if optimum.dual is None:
            return
        value = rounded_down(optimum.dual + constant)
        if self.form.P is None and not (self.attained and value >= self.target):
            optimum = program.exact_optimum(basis)
        self._keep(Bound(value, candidate.y, f"{candidate.by}: exact basis"), self.box)
        if optimum.primal is not None:
            self.exact = optimum
            self.attained |= float(optimum.primal) <= self.cost + self.tol * self.scale
