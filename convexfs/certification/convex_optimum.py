"""Is the point of a convex problem an optimum? Feasible, as cheap as reported, and no worse."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from convexfs.certification.auxiliary import Budget
from convexfs.certification.branch_and_bound import verified_integer_optimum
from convexfs.certification.convex_form import (
    ConvexForm,
    completions,
    differs_at,
    differs_at_random,
)
from convexfs.certification.duals.dual_bound import cost_at, is_convex
from convexfs.certification.duals.multiplier_search import of_cone_point, of_constraints
from convexfs.certification.feasibility import (
    Violation,
    integer_entries,
    lacks_structure,
    value_of,
    violation,
)
from convexfs.certification.feasible_points import (
    a_feasible_point,
    cheaper_points,
    hidden_by_distance,
    is_tight,
    tightened,
)
from convexfs.certification.optimality import ROUNDING, Candidate, OptimalityProof
from convexfs.certification.program.scaling import units_at
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import BoundPropagation
from convexfs.certification.rigorous.rounding import EPSILON
from convexfs.records import PROVEN, REFUTED, UNDECIDED, Certificate, ConePoint, values_kept

BASIS = "cone program"
#: Share of the CPU budget for proofs; the rest searches for better points.
SEARCHED = 0.75
#: An integer variable farther than this from an integer refutes the point; nearer ones are rounded.
INTEGRALITY = 2e-5
#: A point counts as a better one only if its relative violation of constraints is at most this.
CLEARLY_FEASIBLE = 1e-7
COMPILED_DIFFERENTLY = "cvxpy compiled another problem than the stated one"
NOT_COMPARED = "the compiled program could not be compared with the problem at this point"


@dataclass(frozen=True)
class Claimed:
    """A claimed status, with the reported objective and, if known, the solver's vectors."""

    status: str
    reported: float | None
    cone: ConePoint | None = None


@dataclass(frozen=True)
class Rules:
    """Tolerance of a verification, whether to search, and limits on nodes and CPU time."""

    tol: float
    search: bool
    nodes: int
    budget: Budget


class ConvexOptimum:
    """Verification of the claim that the values in a DCP or DGP `problem` are optimal."""

    def __init__(
        self, problem: cp.Problem, claimed: Claimed, objective: float, reported: float, rules: Rules
    ):
        self.claimed, self.rules = claimed, rules
        self.objective, self.reported = objective, reported
        self.convex = ConvexForm.of(problem)
        self.convex.take_values()
        self.form = StandardForm.of(self.convex.convex)
        self.point, self.known = self.convex.columns(self.form)
        self.worst = Violation(0.0)
        self.full: np.ndarray | None = None

    def certificate(self) -> Certificate:
        if not is_convex(self.form):
            reason = "the objective is not convex, though it was assumed to be"
            return self._made(UNDECIDED, reason)
        if self.form.integer.size:
            return self._integer()
        if difference := self._compiled_differently():
            return self._made(UNDECIDED, difference)
        self.worst, strict = self._violations()
        if not strict.value <= self.rules.tol:
            return self._violated(strict)
        off = 0.0 if self.full is None else hidden_by_distance(self.form, self.full, self.rules.tol)
        if off > 0:
            reason = f"feasible to {self.worst.value:.0e} of its terms, but far away: off by "
            return self._made(UNDECIDED, f"{reason}{off:.0e} of the data")
        if self.form.P is None and not self.form.q.any():
            return self._feasible()
        return self._proven_or_not()

    def _compiled_differently(self) -> str:
        """Set `full`, the completed point; return why compiled and stated costs differ, or "".

        Costs of curved programs that are too high may be those of columns that are not the
        cheapest: solvers miss them at points far away.
        """
        own = None if self.claimed.cone is None else self.claimed.cone.x
        difference = NOT_COMPARED
        for full in completions(self.form, self.point, self.known, own):
            self.full = full
            if not differs_at(self.convex, self.form, full):
                return COMPILED_DIFFERENTLY if differs_at_random(self.convex, self.form) else ""
            if full is None or not self.form.curved.any() or self._is_cheaper(full):
                difference = COMPILED_DIFFERENTLY
        return difference

    def _is_cheaper(self, full: np.ndarray) -> bool:
        """Return whether `full` is nearly feasible and costs less as compiled than as stated."""
        cost = cost_at(self.form, full)[0] + self.form.d
        return cost < self.convex.cost() and is_tight(self.form, full)

    def _violations(self) -> tuple[Violation, Violation]:
        """Return the worst violation in natural units, and in units capped by the largest value.

        A variable whose natural unit is 1e11 among others of 1 hides a violation of 1e4: such a
        point is neither proven nor refuted.
        """
        plain = violation(self.convex.stated)
        if plain.value <= self.rules.tol or lacks_structure(self.convex.stated, self.rules.tol):
            return plain, plain  # Columns cannot represent a violated structure, such as symmetry.
        units = units_at(self.form, self.point if self.full is None else self.full).columns
        stated = units[self.known]
        most = max(np.abs(self.point[self.known]).max(initial=0.0), stated.min(initial=np.inf))
        natural = self._violation(plain, units)
        if not natural.value <= self.rules.tol:
            return natural, natural
        return natural, self._violation(plain, np.minimum(units, most))

    def _violation(self, worst: Violation, columns: np.ndarray) -> Violation:
        """Return the worst violation, or the smaller relative change of variables that repairs it.

        Rows without data, such as x <= 50 z at 0, are broken by 100 % of their terms
        when a last bit is off.
        """
        sizes = self.convex.sizes(self.form, columns)
        worst = min(worst, violation(self.convex.stated, sizes), key=lambda each: each.value)
        if worst.value <= self.rules.tol or self.full is None or self.form.integer.size:
            return worst
        near = tightened(self.form, self.full)
        if near is not None:
            moved = np.abs(near - self.full)[self.known] / columns[self.known]
            moved = float(moved.max(initial=0.0))
            if moved < worst.value and self._is_feasible_as_stated(near, sizes):
                return Violation(moved, worst.where)
        return worst

    def _is_clearly_violated(self) -> bool:
        """Return whether constraints are violated even if tiny data count as rounding errors."""
        if lacks_structure(self.convex.stated, self.rules.tol):
            return True
        z = self.point if self.full is None else self.full
        sizes = self.convex.sizes(self.form, units_at(self.form, z, lenient=True).columns)
        return not violation(self.convex.stated, sizes).value <= self.rules.tol

    def _violated(self, strict: Violation) -> Certificate:
        """Return an infeasible point's certificate: refuted, or undecided if it may be rounding."""
        reason = f"{strict.where} is violated by {strict.value:.1e}"
        if self.worst.value <= self.rules.tol:
            reason = f"{reason} of the point's size, but less in its own unit"
            return self._made(UNDECIDED, reason)
        if self._is_clearly_violated():
            return self._made(REFUTED, reason)
        return self._made(UNDECIDED, f"{reason} of its terms, which may be rounding errors")

    def _is_feasible_as_stated(self, z: np.ndarray, sizes: dict[int, np.ndarray]) -> bool:
        """Return whether the stated constraints hold at columns z, to the tolerance.

        The variables keep their values.
        """
        with values_kept(variable for _, variable in self.convex.variables):
            moved = self.convex.moved_to(self.form, z)
            return moved and violation(self.convex.stated, sizes).value <= self.rules.tol

    def _made(self, verdict: str, reason: str = "", **fields: object) -> Certificate:
        made = Certificate(
            self.worst.value, None, None, None, self.rules.tol, BASIS,
            objective=self.objective, verdict=verdict, reason=reason,
            where=(self.worst.where,) if self.worst.value > 0 else (),
        )  # fmt: skip
        return replace(made, **fields)  # type: ignore[arg-type]

    def _feasible(self) -> Certificate:
        """Return the certificate for a constant objective: every feasible point is optimal."""
        form, tol = self.form, self.rules.tol
        off = self._report_is_off(abs(self.objective))
        if off > tol:
            return self._made(REFUTED, f"the reported objective is off by {off:.1e}", reported=off)
        found = [] if self.full is None else [self.full]
        if a_feasible_point(form, *found) is not None:
            return self._made(PROVEN, gap=0.0, bound=self.objective, by="a verified feasible point")
        if self.full is not None and not form.curved.any():
            slack = form.A @ self.full + form.b
            terms = np.abs(form.b) + form.sizes @ np.abs(self.full)
            share = np.max(form.outside(slack) / np.where(terms > 0, terms, 1.0), initial=0.0)
            if share <= ROUNDING:
                return self._made(
                    PROVEN, gap=0.0, bound=self.objective, rounding=float(max(share, EPSILON)),
                    by="a point that is feasible but for rounding",
                )  # fmt: skip
        if self._nothing_is_feasible():
            return self._made(REFUTED, "no point is feasible")
        reason = (
            f"feasible to {max(self.worst.value, 1e-16):.0e}, but no feasible point is verified"
        )
        return self._made(UNDECIDED, reason)

    def _nothing_is_feasible(self) -> bool:
        """Return whether bound propagation proves infeasibility, even with rows loosened by tol."""
        return BoundPropagation(self.form, loosened=self.rules.tol).run().empty

    def _report_is_off(self, scale: float) -> float:
        off = abs(self.reported - self.objective)
        return 0.0 if off == 0 else off / scale if scale > 0 else np.inf

    def _given(self) -> Iterator[Candidate]:
        """Yield the solver's own multipliers as candidates; none for DGP or if they do not fit."""
        form, cone = self.form, self.claimed.cone
        if self.convex.logarithmic or self.full is None:
            return
        if cone is not None:
            candidates = of_cone_point(form, cone)
        elif self.known.all():
            candidates = of_constraints(self.convex.convex, form)
        else:
            return
        own = cone.x if cone is not None and cone.x.size == form.q.size else self.full
        for y in candidates:
            yield Candidate("the solver's", own, y)

    def _proof(self) -> OptimalityProof:
        form = self.form
        cost = self.convex.cost() - form.d
        if self.known.all():
            # Leave out the constant, so that its rounding errors do not count.
            cost = cost_at(form, self.point)[0]
        point = self.point if self.full is None else self.full
        known = self.known if self.full is None else np.ones_like(self.known)
        scale = 1.0 if self.convex.logarithmic else None
        budget = self.rules.budget.share(SEARCHED)
        return OptimalityProof(form, point, known, cost, self.rules.tol, budget, scale)

    def _proven_or_not(self) -> Certificate:
        proof = self._proof()
        if proof.box.empty:
            if self._nothing_is_feasible():
                return self._made(REFUTED, "no point is feasible")
            return self._made(UNDECIDED, "feasible to the tolerance, but not exactly")
        proof.run(self._given(), self.rules.search)
        scale = abs(self.objective) if self.convex.logarithmic else proof.scale_of_terms
        fields = {
            "gap": proof.gap,
            "bound": self._objective(proof.best.value) if proof.best.rounding <= ROUNDING else None,
            "reported": self._report_is_off(scale),
            "by": proof.best.by,
            "rounding": proof.best.rounding or None,
        }
        off = fields["reported"]
        if off > self.rules.tol:
            return self._made(REFUTED, f"the reported objective is off by {off:.1e}", **fields)
        if proof.proven:
            return self._made(PROVEN, **fields)
        if proof.too_cheap:
            least = self._objective(proof.above.value)
            word = "most" if self.convex.sign < 0 else "least"
            reason = f"better than any feasible point: the optimum is at {word} {least:.9g}"
            return self._made(REFUTED, reason, **fields | {"bound": least})
        better = self._better(proof)
        if better is not None:
            reason = f"a verified feasible point has objective {better:.9g}"
            return self._made(REFUTED, reason, better=better, **fields)
        return self._undecided(proof, fields)

    def _objective(self, cost: float) -> float:
        return self.convex.objective_of(cost + self.form.d)

    def _better(self, proof: OptimalityProof) -> float | None:
        """Return the objective of a verified better point, or None."""
        margin = self.rules.tol * proof.coarse_scale
        exact = proof.exact
        if exact is not None and exact.primal is not None and exact.z is not None:
            if float(exact.primal) < proof.cost - margin:
                return self._objective(float(exact.primal))
            return None
        for z in cheaper_points(
            self.form, proof.cost, proof.cost - margin, proof.better, self.rules.budget
        ):
            if not self.convex.moved_to(self.form, z):
                continue
            cost = self.convex.cost()
            clear = violation(self.convex.stated).value <= CLEARLY_FEASIBLE
            if clear and cost - self.form.d < proof.cost - margin:
                return self.convex.objective_of(cost)
        return None

    def _undecided(self, proof: OptimalityProof, fields: dict) -> Certificate:
        rounding = proof.best.rounding if np.isfinite(proof.best.value) else None
        radius = proof.radius or None
        if proof.above.value > proof.cost + self.rules.tol * proof.scale:
            least = self._objective(proof.above.value)
            reason = f"no feasible point is this good: the bound is {least:.9g}"
        elif not proof.attained and proof.gap <= self.rules.tol:
            reason = "nothing is better, but no feasible point as good was found"
        else:
            reason = f"no proof that nothing is better: the gap is {proof.gap:.1e}"
        if rounding:
            reason += f"; proven for costs changed by {rounding:.0e} of their terms"
        if radius:
            reason += f"; proven among points within {radius:.0e} of this one"
        if proof.stopped:
            reason = f"stopped: the budget of CPU time is used up; {reason}"
        known = {"rounding": rounding or None, "radius": radius, "where": self._where(proof)}
        return self._made(UNDECIDED, reason, **fields | known)

    def _where(self, proof: OptimalityProof) -> tuple[str, ...]:
        """Return sentences about up to three columns that weaken the dual bound most."""
        if proof.last is None:
            return ()
        loss, left = proof.last[0].loss, proof.eliminated

        def name(column: int) -> str:
            return self.form.column_name(column if left is None else int(left.columns[column]))

        order = np.argsort(loss)[:3]
        margin = self.rules.tol * proof.scale
        return tuple(
            f"{name(int(column))}: no bound on it is known, and its reduced cost "
            f"is {proof.last[0].reduced[column]:.1e}"
            if not np.isfinite(loss[column])
            else f"{name(int(column))}: its reduced cost takes "
            f"{-loss[column] / proof.scale:.1e} from the bound"
            for column in order
            if loss[column] < -0.1 * margin
        )

    def _round_integers(self) -> None:
        """Round the values of integer variables in place."""
        for variable in self.convex.stated.variables():
            value = value_of(variable)
            variable.save_value(np.where(integer_entries(variable), np.round(value), value))

    def _integer(self) -> Certificate:
        off = np.abs(self.point - np.round(self.point))[self.form.integer].max(initial=0.0)
        if off > INTEGRALITY:
            return self._made(REFUTED, f"an integer variable is off by {off:.1e}")
        if not self.known[self.form.integer].all():
            return self._made(UNDECIDED, "cvxpy added integer variables, which are not verified")
        self._round_integers()
        self.point, _ = self.convex.columns(self.form)
        if difference := self._compiled_differently():
            return self._made(UNDECIDED, difference)
        self.worst, strict = self._violations()
        if not strict.value <= self.rules.tol:
            return self._violated(strict)
        found = verified_integer_optimum(
            self.form, self.point, self.known, self.convex.cost() - self.form.d,
            self.rules.tol, self.rules.nodes, self.rules.budget,
        )  # fmt: skip
        # Compare the reported objective and the one at the point with the objective at rounded
        # integers.
        rounded = self.convex.objective_of(self.convex.cost())
        off = max(abs(each - rounded) for each in (self.reported, self.objective))
        reported = 0.0 if off == 0 else off / found.scale
        fields: dict = {
            "gap": found.gap,
            "bound": None if found.bound is None else self._objective(found.bound),
            "better": None if found.better is None else self._objective(found.better),
            "reported": reported,
            "by": found.by,
        }
        reason = found.reason
        if found.better is not None:
            reason = f"{reason} {fields['better']:.9g}"
        if reported > self.rules.tol:
            return self._made(REFUTED, f"the reported objective is off by {reported:.1e}", **fields)
        return self._made(found.verdict, reason, **fields)
