"""Find the least relaxation: the smallest change of limits that makes a problem feasible.

The changes are rounded first. Then the problem with the rounded limits, as printed, is verified to
be feasible.
"""

import math
from dataclasses import dataclass, replace

import highspy
import numpy as np
import scipy.sparse as sp

from convexfs.certification.auxiliary import Budget, Scaling, Stopped, solved_again
from convexfs.certification.exact.linear_program import LinearProgram, silent_highs
from convexfs.certification.program.cones import SecondOrder
from convexfs.certification.program.exponential_and_power import Exponential
from convexfs.certification.program.scaling import data_units
from convexfs.certification.program.standard_form import StandardForm
from convexfs.diagnosis.decisions import POINT, decide_form
from convexfs.diagnosis.naming import Names
from convexfs.diagnosis.ownership import CONSTRAINT, OwnedProgram, StatedRow

#: Slacks below this share of their rows' units count as 0: in flat programs, and in curved ones.
NOTHING = 1e-10, 1e-6
#: Number of solves of curved programs, reweighted to concentrate the slack on few rows; flat ones
#: are solved once.
REWEIGHTED = 4
#: Significant digits of a step, and the share by which it is enlarged first; tried in turn.
ROUNDINGS = ((3, 0.0), (3, 1e-3), (2, 1e-2), (2, 5e-2))
#: A limit that is this near to a round number, relative to the step, is set to it.
ROUND = 1e-4


@dataclass(frozen=True)
class Change:
    """The change of one row's limit by `step`, and the sentence that describes it."""

    member: StatedRow
    step: float
    sentence: str


@dataclass(frozen=True)
class Relaxation:
    """Changes of limits that together make a problem feasible; `verified` if proven."""

    changes: tuple[Change, ...]
    verified: bool
    by: str = ""


def least_relaxation(program: OwnedProgram, names: Names, budget: Budget) -> Relaxation | None:
    """Return small changes of few limits, verified or not to make it feasible; None if none found.

    Semidefinite and power cones, attributes and domains are never relaxed.
    """
    form, kept = program.restricted(program.stated_rows)
    rows = [(member, _soft_row(program, member)) for member in program.stated_rows]
    at = {id(each): int(np.searchsorted(kept, row)) for each, row in rows if row is not None}
    soft = [member for member, row in rows if row is not None]
    try:
        slack = _least_slacks(form, np.array([at[id(member)] for member in soft], int), budget)
        if slack is None:
            return None
        best: Relaxation | None = None
        for digits, more in ROUNDINGS:
            changes = tuple(
                _change(program, names, soft[k], size * (1.0 + more), digits)
                for k, size in slack.items()
            )
            steps = {at[id(change.member)]: change.step for change in changes}
            decision = decide_form(relaxed_form(form, steps), budget)
            if decision.feasible and decision.by == POINT:
                return Relaxation(changes, True, decision.by)
            if best is None or (decision.feasible and not best.verified):
                best = Relaxation(changes, bool(decision.feasible), decision.by)
    except Stopped:
        return None
    return best


def _soft_row(program: OwnedProgram, member: StatedRow) -> int | None:
    """Return the program row whose constant relaxes a stated row; None if that stays fixed."""
    if member.part.kind != CONSTRAINT:
        return None
    row = int(member.own[0])
    if not program.form.curved[row]:
        return row
    block = next(each for each in program.form.blocks if each.rows.start <= row < each.rows.stop)
    if isinstance(block.cone, SecondOrder):
        return row
    return row + 2 if isinstance(block.cone, Exponential) else None


def _least_slacks(form: StandardForm, rows: np.ndarray, budget: Budget) -> dict[int, float] | None:
    """Return {position in `rows`: slack}, small in total, that makes `form` feasible; or None."""
    equal = np.flatnonzero(form.equalities[rows])
    units = data_units(form).rows[rows]
    m, n, count = form.b.size, form.q.size, rows.size + equal.size
    up = sp.csr_array((units, (rows, np.arange(rows.size))), (m, rows.size))
    down = sp.csr_array((-units[equal], (rows[equal], np.arange(equal.size))), (m, equal.size))
    weights, values = np.ones(count), np.zeros(count)
    for _ in range(REWEIGHTED if form.curved.any() else 1):
        budget.check()
        wide = form.with_slacks(sp.hstack([up, down]), weights)
        z = _cheapest(replace(wide, integer=form.integer), budget)
        if z is None:
            return None
        values = np.maximum(z[n:], 0.0)
        weights = 1.0 / (values + 1e-2 * values.max(initial=0.0) + 1e-9)
        weights /= weights.min()
    nothing = NOTHING[int(form.curved.any())]
    total = values[: rows.size] * units
    total[equal] = np.maximum(total[equal], values[rows.size :] * units[equal])
    return {int(k): float(total[k]) for k in np.flatnonzero(total > nothing * units)}


def _cheapest(form: StandardForm, budget: Budget) -> np.ndarray | None:
    vertex = None if form.curved.any() else linear_optimum(form, budget)
    if vertex is not None or form.integer.size:
        return vertex
    solved = solved_again(form, Scaling.equilibrated(form))
    return None if solved is None or solved.contradicts else solved.z


def linear_optimum(form: StandardForm, budget: Budget) -> np.ndarray | None:
    """Return HiGHS's optimum of a linear or mixed-integer program, or None."""
    program = LinearProgram(form)
    if not form.integer.size:
        found = program.solve(seconds=budget.left)
        return found.z if found.optimal else None
    model = program.model(form.q)
    kinds = np.full(form.q.size, highspy.HighsVarType.kContinuous, dtype=object)
    kinds[form.integer] = highspy.HighsVarType.kInteger
    model.integrality_ = kinds.tolist()
    highs = silent_highs(time_limit=max(0.1, budget.left))
    highs.passModel(model)
    highs.run()
    optimal = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.array(highs.getSolution().col_value) if optimal else None


def relaxed_form(form: StandardForm, steps: dict[int, float]) -> StandardForm:
    """Return the program with rows loosened by {row: step}; equations become ranges."""
    b, integer = form.b.copy(), form.integer
    wide = [(row, step) for row, step in steps.items() if form.equalities[row]]
    for row, step in steps.items():
        b[row] += 0.0 if form.equalities[row] else step
    form = replace(form, b=b)
    if not wide:
        return form
    rows, widths = (np.array(each) for each in zip(*wide, strict=True))
    size, n = rows.size, form.q.size
    column = sp.csr_array((np.ones(size), (rows, np.arange(size))), (b.size, size))
    ranged = form.with_columns(column, np.zeros(size))
    ends = sp.hstack([sp.csr_array((size, n)), sp.eye_array(size)])
    ranged = ranged.with_rows(
        sp.csr_array(sp.vstack([ends, -ends])), np.concatenate([widths, widths])
    )
    return replace(ranged, integer=integer)


def _change(
    program: OwnedProgram, names: Names, member: StatedRow, step: float, digits: int
) -> Change:
    """Return the Change of a row's limit by `step`, rounded outwards to some digits."""
    name, limit = names.row(member), names.limit(member)
    equal = program.form.equalities[member.own[0]]
    if limit is None or equal:
        width = _rounded(step, step, digits)
        around = "" if limit is None else f" {limit[0]:.10g}"
        words = f"let {name} lie within{around} +- {width:.10g}" if equal else (
            f"loosen {name} by {width:.10g}"
        )  # fmt: skip
        return Change(member, width, words)
    value, sign = limit
    target = sign * _rounded(sign * value + step, step, digits) + 0.0
    verb, side = ("raise", "upper") if sign > 0 else ("lower", "lower")
    sentence = f"{verb} the {side} limit of {name} from {value:.10g} to {target:.10g}"
    return Change(member, abs(target - value), sentence)


def _rounded(target: float, step: float, digits: int) -> float:
    """Return `target` rounded up to digits relative to `step`, or to a nearby round number."""
    decimals = digits - 1 - math.floor(math.log10(step))
    near = round(target, decimals)
    if abs(near - target) <= ROUND * step:
        return near
    unit = 10.0**-decimals
    return round(math.ceil(target / unit) * unit, max(decimals, 0))
