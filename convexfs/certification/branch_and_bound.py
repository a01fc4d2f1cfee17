"""Optima of integer problems: integers rounded exactly, then a small branch and bound.

Integer variables are set to the nearest integers, and the claim about the others is verified as
that of a continuous problem. Then branch and bound proves that no other integers are better. Every
node is cut off by bounds that the constraints imply or by verified multipliers only; a node is a
better point only if its rounded integers leave a feasible rest.

Rows of integer columns alone are loosened by 1e-13 of their terms: ``0.9 x == y`` has hardly an
integer solution in doubles, but users write decimals. No feasible point is lost by that.
"""

import heapq
import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexfs.certification.auxiliary import Budget, Scaling, Stopped, solved_again
from convexfs.certification.duals.correction_system import Goal
from convexfs.certification.duals.dual_bound import cost_at, lagrangian, natural_multipliers
from convexfs.certification.duals.dual_correction import corrected_bound
from convexfs.certification.exact.linear_program import LinearProgram, Session
from convexfs.certification.feasible_points import is_tight
from convexfs.certification.optimality import OptimalityProof
from convexfs.certification.program.scaling import least_unit_of_objective, proof_scale, units_at
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import BoundPropagation, Box
from convexfs.certification.rigorous.rounding import EPSILON, matrix_products
from convexfs.records import PROVEN, REFUTED, UNDECIDED

#: Rows that hold integer columns only are loosened by this share of their terms (rounding of
#: decimals).
LOOSE = 1e-13
#: A relaxation's value within this distance of an integer is rounded to it, and then verified.
INTEGRAL = 1e-6
#: Most rounds of bound propagation in a new node.
ROUNDS = 6
#: If no value of a node is fractional, an integer column is bisected; a missing bound then counts
#: as this far from 0.
FAR = 1e6


@dataclass(frozen=True)
class IntegerOutcome:
    """Verdict on a claimed optimum of an integer program; costs omit the objective's constant."""

    verdict: str
    reason: str = ""
    bound: float | None = None
    better: float | None = None
    gap: float | None = None
    scale: float = 1.0
    by: str = ""


def verified_integer_optimum(
    form: StandardForm,
    point: np.ndarray,
    known: np.ndarray,
    cost: float,
    tol: float,
    nodes: int,
    budget: Budget,
) -> IntegerOutcome:
    """Return the verdict on optimality of a point of cost `cost` with nearly integral integers."""
    integers = np.round(point[form.integer])
    terms = max(abs(cost), float(np.abs(form.q[form.integer] * integers).max(initial=0.0)))
    box = BoundPropagation(form).run()
    scale = proof_scale(terms, least_unit_of_objective(form, box.lower, box.upper), tol) or 1.0
    try:
        rest = _verified_rest(form, point, known, integers, cost, tol, scale, budget)
        if rest.verdict != PROVEN:
            return rest
        step = _objective_step(form)
        target = cost - max(tol * scale, 0.999 * step)
        box = BoundPropagation(form, cost + tol * scale).run()
        tree = _Tree(_loosened(form, box), target, nodes, budget)
        tree.run()
    except Stopped:
        reason = "stopped: the budget of CPU time is used up"
        return IntegerOutcome(UNDECIDED, reason, scale=scale)
    by = f"branch and bound, {tree.used} nodes"
    if tree.point is not None:
        better = cost_at(form, tree.point)[0]
        return IntegerOutcome(
            REFUTED, "a verified feasible point has objective", better=better, scale=scale, by=by
        )
    if tree.bound >= target:
        # An objective that only takes multiples of a step has no value between the target and the
        # cost.
        bound = cost if step else target
        return IntegerOutcome(PROVEN, bound=bound, gap=(cost - bound) / scale, scale=scale, by=by)
    found = tree.bound if np.isfinite(tree.bound) else None
    gap = None if found is None else (cost - found) / scale
    reason = f"feasible, but not proven optimal after {tree.used} nodes"
    return IntegerOutcome(UNDECIDED, reason, bound=found, gap=gap, scale=scale, by=by)


def integer_point_exists(form: StandardForm, nodes: int, budget: Budget) -> tuple[bool | None, int]:
    """Return whether a feasible integer point exists (None if undecided), and the node count."""
    tree = _Tree(_loosened(form, BoundPropagation(form).run()), np.inf, nodes, budget)
    tree.run()
    if tree.point is not None:
        return True, tree.used
    return (False if tree.bound == np.inf else None), tree.used


def _verified_rest(
    form: StandardForm,
    point: np.ndarray,
    known: np.ndarray,
    integers: np.ndarray,
    cost: float,
    tol: float,
    scale: float,
    budget: Budget,
) -> IntegerOutcome:
    """Return the verdict on the point's optimality with its integer columns fixed at `integers`."""
    fixed, rest = _with_fixed(form, integers)
    offset = fixed.d - form.d
    proven = IntegerOutcome(PROVEN, scale=scale)
    broken = IntegerOutcome(REFUTED, "infeasible once its integers are rounded", scale=scale)
    if not rest.size:
        if np.any(fixed.outside(fixed.b) > 0):
            return broken
        if abs(cost - offset) > tol * max(scale, abs(offset)):
            return IntegerOutcome(REFUTED, "its objective is that of other integers", scale=scale)
        return proven
    proof = OptimalityProof(fixed, point[rest], known[rest], cost - offset, tol, budget, scale)
    if proof.box.empty:
        return broken
    proof.run(())
    if proof.proven:
        return proven
    if proof.too_cheap:
        reason = "better than possible once its integers are rounded"
        return IntegerOutcome(REFUTED, reason, bound=proof.above.value + offset, scale=scale)
    for z in proof.better:
        if is_tight(fixed, z):
            better = cost_at(fixed, z)[0] + offset
            reason = "with the same integers, a verified feasible point has objective"
            return IntegerOutcome(REFUTED, reason, better=better, scale=scale)
    from convexfs.certification.infeasibility import proof_of_infeasibility

    if not proof.attained and proof_of_infeasibility(fixed, budget) is not None:
        return broken
    reason = "the continuous variables could not be verified with the integers rounded"
    return IntegerOutcome(UNDECIDED, reason, scale=scale)


def _with_fixed(form: StandardForm, integers: np.ndarray) -> tuple[StandardForm, np.ndarray]:
    """Return the program with its integer columns fixed, and the indices of the remaining columns.

    Rows that lack other columns, and are broken by rounding errors alone, count as satisfied.
    """
    rest = np.setdiff1d(np.arange(form.q.size), form.integer)
    A = sp.csc_array(form.A)
    b, _ = matrix_products(sp.csr_array(A[:, form.integer]), integers, form.b)
    values = np.zeros(form.q.size)
    values[form.integer] = integers
    d = form.d + cost_at(form, values)[0]
    fixed = form.restricted(np.ones(form.b.size, dtype=bool), rest)
    q = fixed.q + form.curvature(values)[rest]
    terms = np.abs(form.b) + form.sizes @ np.abs(values)
    fixed = replace(fixed, b=b, q=q, d=d)
    constant = fixed.constant & ~fixed.curved
    tiny = constant & (np.abs(b) <= LOOSE * terms)
    b = np.where(tiny & fixed.equalities, 0.0, np.where(tiny, np.maximum(b, 0.0), b))
    flat = ~constant & ~fixed.curved & ~fixed.equalities
    return replace(fixed, b=np.where(flat, b + 8 * EPSILON * terms, b)), rest


def _objective_step(form: StandardForm) -> float:
    """Return the largest number of which all objective values are multiples, or 0 if unknown."""
    used = np.flatnonzero(form.q)
    if form.P is not None or not used.size or not np.isin(used, form.integer).all():
        return 0.0
    step = Fraction(0)
    for value in form.q[used].tolist():
        simple = Fraction(value).limit_denominator(10**6)
        if float(simple) != value:
            return 0.0
        common = math.gcd(step.numerator * simple.denominator, simple.numerator * step.denominator)
        step = Fraction(common, step.denominator * simple.denominator)
    return float(step)


def _loosened(form: StandardForm, box: Box) -> StandardForm:
    """Return the program with flat rows of integer columns alone loosened by the share LOOSE."""
    integer = np.zeros(form.q.size, dtype=bool)
    integer[form.integer] = True
    counts = np.diff(form.A.indptr)
    others = np.zeros(form.b.size)
    entries = form.A.tocoo()
    np.add.at(others, entries.row, 1.0 * ~integer[entries.col])
    alone = (others == 0) & (counts > 0) & ~form.curved
    size = np.where(np.isfinite(box.magnitude), box.magnitude, 0.0)
    slack = LOOSE * (np.abs(form.b) + form.sizes @ size)
    b = np.where(alone & ~form.equalities, form.b + slack, form.b)
    equal = alone & form.equalities
    if not equal.any():
        return replace(form, b=b)
    kept = replace(form, b=b).restricted(~equal, np.arange(form.q.size))
    kept = replace(kept, integer=form.integer)
    A, b, slack = sp.csr_array(form.A)[equal], form.b[equal], slack[equal]
    return kept.with_rows(sp.vstack([A, -A]), np.concatenate([b + slack, -b + slack]))


class _Tree:
    """Branch and bound for integer points that cost at most `target`.

    After :meth:`run`, `point` is one or None; if None, `bound` is a lower bound of their
    costs: infinite if there are none.
    """

    def __init__(self, form: StandardForm, target: float, nodes: int, budget: Budget):
        self.form, self.target, self.nodes, self.budget = form, target, nodes, budget
        finite = np.isfinite(target)
        self.propagation = BoundPropagation(form, target if finite else None)
        self.cost = abs(target) if finite and target else 1.0
        self.program = None if form.curved.any() or form.P is not None else LinearProgram(form)
        self.session = None if self.program is None else Session(self.program)
        self.point: np.ndarray | None = None
        self.bound, self.used = np.inf, 0

    def run(self) -> None:
        root = self.propagation.run()
        order = itertools.count()
        heap = [] if root.empty else [(-np.inf, next(order), root)]
        left: list[float] = []
        while heap and self.used < self.nodes and self.budget.left > 0:
            known, _, box = heapq.heappop(heap)
            self.used += 1
            bound, z = self._relaxed(box)
            bound = max(bound, known)
            if bound > self.target or (bound == np.inf):
                continue
            if z is not None and self._is_point(z, box):
                return
            split = self._split(z, box)
            if split is None:
                left.append(bound)
                continue
            for half in self._halves(box, *split):
                heapq.heappush(heap, (bound, next(order), half))
        self.bound = min([each for each, _, _ in heap] + left, default=np.inf)

    def _relaxed(self, box: Box) -> tuple[float, np.ndarray | None]:
        """Return a node's proven lower bound (inf: infeasible), and its relaxed point or None."""
        found = self._flat(box) if self.session is not None else self._curved(box)
        if found is None:
            return -np.inf, None
        z, y = found
        if z is None:
            return (np.inf if self._contradicts(y, box) else -np.inf), None
        bound = lagrangian(self.form, self.form.into_dual(y), z, box).value
        value = cost_at(self.form, z)[0]
        if not bound > self.target and np.isfinite(self.target) and value > self.target:
            natural = natural_multipliers(self.form, z, abs(value) or self.cost)
            spent = 0.1 * (value - self.target)
            goal = Goal(self.form, box, self.target, spent, natural)
            better, _ = corrected_bound(goal, y, z)
            bound = max(bound, better.value if better.rounding == 0 else -np.inf)
        return bound, z

    def _flat(self, box: Box) -> tuple[np.ndarray | None, np.ndarray] | None:
        assert self.program is not None
        assert self.session is not None
        lower, upper = self.program.lower.copy(), self.program.upper.copy()
        integer = self.form.integer
        lower[integer] = np.maximum(lower, box.lower)[integer]
        upper[integer] = np.minimum(upper, box.upper)[integer]
        if np.any(lower > upper):
            return None, np.zeros(self.form.b.size)
        found = self.session.solve(lower, upper)
        if found.optimal:
            return found.z, found.y
        return None if found.ray is None else (None, found.ray)

    def _curved(self, box: Box) -> tuple[np.ndarray | None, np.ndarray] | None:
        form, integer = self.form, self.form.integer
        sides = sp.csr_array(sp.eye_array(form.q.size))[integer]
        lower, upper = box.lower[integer], box.upper[integer]
        low, high = np.isfinite(lower), np.isfinite(upper)
        boxed = form.with_rows(
            sp.vstack([sides[low], -sides[high]]), np.concatenate([-lower[low], upper[high]])
        )
        units = units_at(boxed, np.clip(np.zeros(form.q.size), box.lower, box.upper), self.cost)
        found = solved_again(boxed, Scaling.of(boxed, units, self.cost))
        if found is None:
            return None
        return (None if found.contradicts else found.z), found.y[: form.b.size]

    def _contradicts(self, y: np.ndarray, box: Box) -> bool:
        """Whether multipliers prove that the node has no feasible point."""
        nothing, origin = self.form.without_objective(), np.zeros(self.form.q.size)
        for signed in (y, -y):
            dual = self.form.into_dual(signed)
            size = float(np.abs(self.form.b) @ np.abs(dual)) or 1.0
            if lagrangian(nothing, dual / size, origin, box).value > 0:
                return True
            goal = Goal(nothing, box, 1e-12, 1e-9, natural_multipliers(self.form, origin, 1.0))
            found, _ = corrected_bound(goal, dual / size, origin)
            if found.value > 0 and found.rounding == 0:
                return True
        return not y.any()  # y = 0 is enough if the integer bounds alone are contradictory.

    def _is_point(self, z: np.ndarray, box: Box) -> bool:
        """Store z with rounded integers if it is feasible and within `target`; return whether."""
        form, integer = self.form, self.form.integer
        values = np.clip(np.round(z[integer]), box.lower[integer], box.upper[integer])
        if np.abs(z[integer] - values).max(initial=0.0) > INTEGRAL:
            return False
        fixed, rest = _with_fixed(form, values)
        full = np.zeros(form.q.size)
        full[integer] = values
        if rest.size:
            again = _cheapest(fixed)
            if again is None or not is_tight(fixed, again):
                return False
            full[rest] = again
        elif np.any(fixed.outside(fixed.b) > 0):
            return False
        if cost_at(form, full)[0] > self.target:
            return False
        self.point = full
        return True

    def _split(self, z: np.ndarray | None, box: Box) -> tuple[int, float] | None:
        """Return an integer column and the value at which to branch; None if all are fixed."""
        integer = self.form.integer
        lower, upper = box.lower[integer], box.upper[integer]
        free = np.flatnonzero(lower < upper)
        if not free.size:
            return None
        k, value = int(free[0]), 0.0
        if z is not None:
            off = np.abs(z[integer] - np.round(z[integer]))[free]
            if off.max() > INTEGRAL:
                k = int(free[np.argmax(off)])
                value = float(np.floor(z[integer[k]]))
            else:
                z = None
        if z is None:
            k = int(free[np.argmax((upper - lower)[free])])
            value = float(np.floor((max(lower[k], -FAR) + min(upper[k], FAR)) / 2))
        value = max(value, lower[k])
        return int(integer[k]), min(value, upper[k] - 1) if np.isfinite(upper[k]) else value

    def _halves(self, box: Box, column: int, value: float) -> list[Box]:
        below, above = box.upper.copy(), box.lower.copy()
        below[column], above[column] = value, value + 1.0
        halves = (Box(box.lower, below), Box(above, box.upper))
        narrowed = [self.propagation.run(half, ROUNDS) for half in halves]
        return [half for half in narrowed if not half.empty]


def _cheapest(form: StandardForm) -> np.ndarray | None:
    """Return a solver's optimum of a continuous program, not verified; None if it finds none."""
    if form.P is None and not form.curved.any():
        found: Any = LinearProgram(form).solve()
        return found.z if found.optimal else None
    again = solved_again(form, Scaling.of(form, units_at(form, np.zeros(form.q.size)), 1.0))
    return None if again is None or again.contradicts else again.z
