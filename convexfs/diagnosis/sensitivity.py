"""Explain an optimum: binding constraints, dual values, ranges and redundant constraints."""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import Equality, Inequality

from convexfs.certification.auxiliary import Budget, Stopped
from convexfs.certification.certify import certify
from convexfs.certification.exact.linear_program import highs_model, silent_highs
from convexfs.certification.infeasibility import proof_of_infeasibility
from convexfs.certification.program.scaling import data_units
from convexfs.diagnosis.convexity import describer
from convexfs.diagnosis.explanation import Explanation, Line, Section, first_lines
from convexfs.diagnosis.naming import Names
from convexfs.diagnosis.ownership import CONSTRAINT, OwnedProgram, StatedRow
from convexfs.records import OPTIMAL, Certificate, Solution, values_kept
from convexfs.solving.dcp_rules import broken_rules
from convexfs.solving.solve import solve

#: Dual values below this share of the largest count as 0, as do slacks below this share of a row's
#: unit.
NO_PRICE, NO_SLACK = 1e-6, 1e-6
#: Most rows that are listed, most that are tested for redundancy, and most of a linear program
#: whose limits are ranged.
MOST_LISTED, MOST_TRIED, MOST_RANGED = 12, 60, 3000
#: A row is redundant if the others exclude that it is violated by this share of its unit.
VIOLATION = 1e-9
#: Fraction by which limits are moved where none is ranged, and most limits that are.
MOVED, MOST_MOVED = 0.1, 3


@dataclass(frozen=True)
class Price:
    """The dual value of a row, as the change of the objective if its limit rises by 1."""

    member: StatedRow
    per_unit: float
    sentence: str


def explain_optimal(
    names: Names, solution: Solution, certificate: Certificate, budget: Budget
) -> Explanation:
    """Return the Explanation of a certified optimum: what binds, ranges, redundancy, health."""
    from convexfs.diagnosis.health import health_sections

    problem, program = names.program.stated, names.program
    found = prices(names)
    slacks = _slacks(program)
    free = [member for member in program.stated_rows if slacks.get(id(member), 0.0) > NO_SLACK]
    silent = _silent(program, found, slacks)
    ranges = _ranges(names, found) or _moved(names, found, solution, budget)
    redundant = _redundant(names, free, Budget.of(0.3 * budget.left))
    listed = [Line(each.sentence, names.row(each.member), names.source(each.member.part))
              for each in found]  # fmt: skip
    listed = first_lines(listed, MOST_LISTED)
    sections = [Section("What binds, and what it costs", listed or [Line(_no_prices(program))])]
    if silent:
        shown = ", ".join(names.row(each) for each in silent[:8])
        words = f"{shown} hold with equality at a dual value of 0: others may be as good."
        sections.append(Section("Degenerate", [Line(words)]))
    if ranges:
        sections.append(Section("How far the limits may move", [Line(t, n) for n, t in ranges]))
    if redundant:
        lines = [Line("is implied by the others, proven", names.row(each)) for each in redundant]
        sections.append(Section("Never binding", lines[:MOST_LISTED]))
    if problem.parameters() and not problem.is_dpp():
        broken = [Line(each) for each in broken_rules(problem, describer(problem), dpp=True)]
        sections.append(Section("Compiled again for every value of its parameters (DPP)", broken))
    health, data = health_sections(names, problem, budget, certified=True)
    sections += health
    value = certificate.objective if certificate.objective is not None else solution.objective
    headline = f"OPTIMAL, proven: {value:.9g}"
    headline += f", gap {certificate.gap:.1g}" if certificate.gap is not None else ""
    data |= {
        "objective": value, "bound": certificate.bound, "gap": certificate.gap,
        "solver": solution.solver,
        "prices": [{"name": names.row(e.member), "per_unit": e.per_unit, "sentence": e.sentence}
                   for e in found],
        "degenerate": [names.row(each) for each in silent],
        "ranges": dict(ranges), "redundant": [names.row(each) for each in redundant],
    }  # fmt: skip
    return Explanation(OPTIMAL, True, headline + f" ({solution.solver})", tuple(sections), data)


def _no_prices(program: OwnedProgram) -> str:
    if program.form.integer.size:
        return "Integer problems have no dual values."
    return "No constraint has a dual value: the optimum lies inside all limits."


def prices(names: Names) -> list[Price]:
    """Return nonzero dual values of linear rows, largest first; [] for integer problems or DGP."""
    problem = names.program.stated
    if names.program.form.integer.size or not problem.is_dcp():
        return []
    best = "maximum" if isinstance(problem.objective, cp.Maximize) else "minimum"
    turned = -1.0 if best == "maximum" else 1.0
    found = []
    for member in names.program.stated_rows:
        if member.part.kind != CONSTRAINT:
            continue
        constraint = problem.constraints[member.part.position]
        value = _dual(constraint, member)
        if value is not None:
            # cvxpy's multiplier y of left - right <= 0 adds y (left - right) to the minimum.
            found.append(_price(names, member, constraint, -turned * value, best))
    largest = max((abs(each.per_unit) for each in found), default=0.0)
    kept = [each for each in found if abs(each.per_unit) > NO_PRICE * largest > 0]
    return sorted(kept, key=lambda each: -abs(each.per_unit))


def _dual(constraint: Any, member: StatedRow) -> float | None:
    value = constraint.dual_value
    if value is None or isinstance(value, list):
        return None
    flat = np.ravel(np.asarray(value, dtype=float), order="F")
    linear = isinstance(constraint, Inequality | Equality)
    return float(flat[member.number]) if linear and member.number < flat.size else None


def _price(names: Names, member: StatedRow, constraint: Any, rate: float, best: str) -> Price:
    """Return the Price of a row; `rate` is the optimum's change per unit of loosening."""
    limit = names.limit(member)
    per_unit = rate if limit is None else limit[1] * rate
    if limit is None:
        move = "loosening it"
    elif isinstance(constraint, Equality):
        move, rate = f"raising its right side {limit[0]:.6g}", per_unit
    else:
        side = "raising its upper" if limit[1] > 0 else "lowering its lower"
        move = f"{side} limit {limit[0]:.6g}"
    verb = "raises" if rate > 0 else "lowers"
    words = f"{move} {verb} the {best} by {abs(rate):.6g} per unit (small changes)"
    return Price(member, per_unit, words)


def _slacks(program: OwnedProgram) -> dict[int, float]:
    """Return {id of stated row: slack in units of the row} at the solution, if linear."""
    z = np.zeros(program.form.q.size)
    for variable in program.problem.variables():
        at = program.form.columns.get(variable.id, slice(0, 0))
        if variable.value is None or at.stop - at.start != variable.size:
            return {}
        z[at] = np.ravel(np.asarray(variable.value), order="F")
    rows = program.form.A @ z + program.form.b
    units = data_units(program.form).rows
    return {
        id(member): float(rows[member.own[0]] / units[member.own[0]])
        for member in program.stated_rows
        if member.rows.size == 1 and not program.form.curved[member.own[0]]
    }


def _silent(program: OwnedProgram, found: list[Price], slacks: dict[int, float]) -> list[StatedRow]:
    """Return tight inequalities with dual value 0 (degenerate); [] if no row has a dual value."""
    if not found:
        return []
    priced = {id(each.member) for each in found}
    return [
        member for member in program.stated_rows
        if member.part.kind == CONSTRAINT and id(member) not in priced
        and not program.form.equalities[member.own[0]]
        and slacks.get(id(member), 1.0) <= NO_SLACK
    ]  # fmt: skip


def _ranges(names: Names, found: list[Price]) -> list[tuple[str, str]]:
    """Return (row name, sentence): for which limits dual values hold; [] if nonlinear or large."""
    form = names.program.form
    if form.curved.any() or form.integer.size or form.b.size > MOST_RANGED:
        return []
    ranged = _ranging(form)
    if ranged is None:
        return []
    lines = []
    for price in found[:MOST_LISTED]:
        row, limit = int(price.member.own[0]), names.limit(price.member)
        if limit is None:
            continue
        moves = (ranged[0][row] + form.b[row], ranged[1][row] + form.b[row])
        value, sign = limit
        ends = sorted(value + (-move if sign > 0 else move) for move in moves)
        low, high = (f"{each:.6g}" if abs(each) < 1e20 else "any" for each in ends)
        name = names.row(price.member)
        lines.append((name, f"its dual value holds while the limit {value:.6g} is {low} to {high}"))
    return lines


def _ranging(form: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return lower and upper values of each row's side that keep the basis optimal; or None."""
    free = np.full(form.q.size, np.inf)
    highs = silent_highs()
    highs.passModel(
        highs_model(form.q, sp.csc_array(form.A), form.b, form.equalities, (-free, free))
    )
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    _, found = highs.getRanging()
    return np.array(found.row_bound_dn.value_), np.array(found.row_bound_up.value_)


def _moved(
    names: Names, found: list[Price], solution: Solution, budget: Budget
) -> list[tuple[str, str]]:
    """Return (row name, sentence) of up to 3 rows: optimum if loosened by 10 %, and predicted."""
    problem, lines = names.program.stated, []
    for price in found[:MOST_MOVED]:
        limit = names.limit(price.member)
        if limit is None or not limit[0] or budget.left <= 0 or solution.objective is None:
            continue
        step = MOVED * abs(limit[0])
        other = _with_moved_limit(problem, price.member, step * limit[1])
        with values_kept(problem.variables()):
            again = solve(other, solution.solver)
            proven = again.objective is not None and certify(other, again).ok
        predicted = solution.objective + price.per_unit * step * limit[1]
        if proven:
            to = limit[0] + step * limit[1]
            lines.append((names.row(price.member), (
                f"at a limit of {to:.6g} the optimum is {again.objective:.6g} "
                f"(predicted by its dual value: {predicted:.6g})"
            )))  # fmt: skip
    return lines


def _with_moved_limit(problem: cp.Problem, member: StatedRow, step: float) -> cp.Problem:
    """Return the problem with the limit of one row moved by `step`."""
    constraints = list(problem.constraints)
    old = constraints[member.part.position]
    change = np.zeros(old.size)
    change[member.number] = step
    change = np.reshape(change, old.shape, order="F")
    left, right = old.args
    sides = (left, right + change) if right.is_constant() else (left + change, right)
    moved = sides[0] == sides[1] if isinstance(old, Equality) else sides[0] <= sides[1]
    constraints[member.part.position] = moved
    return cp.Problem(problem.objective, constraints)


def _redundant(names: Names, free: list[StatedRow], budget: Budget) -> list[StatedRow]:
    """Return the rows, of the first MOST_TRIED of `free`, that the others provably imply."""
    program, found = names.program, []
    candidates = [each for each in free if each.part.kind == CONSTRAINT][:MOST_TRIED]
    left = list(program.stated_rows)
    for member in candidates:
        others = [each for each in left if each is not member]
        try:
            implied = _is_implied(program, member, others, budget)
        except Stopped:
            break
        if implied:
            found.append(member)
            left = others  # Two rows may imply each other, and only one of them can be dropped.
    return found


def _is_implied(
    program: OwnedProgram, member: StatedRow, others: list[StatedRow], budget: Budget
) -> bool:
    """Return whether the other rows provably exclude every violation of this row."""
    budget.check()
    form, kept = program.restricted([*others, member], relaxed=True)
    row = int(np.searchsorted(kept, member.own[0]))
    mask = np.ones(form.b.size, dtype=bool)
    mask[row] = False
    unit = data_units(form).rows[row]
    rest = form.restricted(mask, np.arange(form.q.size))
    broken = rest.with_rows(-form.A[[row]], np.array([-form.b[row] - VIOLATION * unit]))
    return proof_of_infeasibility(broken, Budget.of(min(1.0, budget.left))) is not None
