"""Explain an unbounded problem by a ray in the user's variables, and limits that stop it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from convexfs.certification.auxiliary import (
    Budget,
    Scaling,
    Stopped,
    cheaper_direction,
    solved_again,
)
from convexfs.certification.duals.dual_bound import cost_at
from convexfs.certification.feasible_points import is_tight
from convexfs.certification.infeasibility import has_feasible_point, proof_of_infeasibility
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.unboundedness import is_ray
from convexfs.diagnosis.explanation import Explanation, Line, Section, first_lines
from convexfs.diagnosis.naming import Names
from convexfs.records import UNBOUNDED

#: Entries of a ray below this share of the largest are set to 0.
NOISE = 1e-6
#: Most entries of a ray that are listed, and for which a limit is tried.
MOST_ENTRIES = 6


def explain_unbounded(names: Names, budget: Budget) -> Explanation | None:
    """Return the Explanation of an unbounded problem by a short ray, or None.

    None if there are integers, or no ray or no feasible point is found in time.
    """
    program, form = names.program, names.program.form
    if form.integer.size:
        return None
    homogeneous = replace(form, b=np.zeros_like(form.b))
    try:
        rays = list(_rays(homogeneous, program.own_columns))
        proven = [each for each in rays if is_ray(homogeneous, each)]
        nearly = [each for each in rays if is_tight(homogeneous, each) and form.q @ each < 0]
        ray = next(iter([*proven, *nearly]), None)
        if ray is None or not has_feasible_point(form, budget):
            return None
        own = np.flatnonzero(program.own_columns & (ray != 0))
        own = own[np.argsort(-np.abs(ray[own]), kind="stable")]
        stops = [
            column for column in own[:MOST_ENTRIES].tolist()
            if _is_stopped(homogeneous, column, float(np.sign(ray[column])), budget)
        ]  # fmt: skip
    except Stopped:
        return None
    return _explanation(names, ray, own, stops, bool(proven))


def _explanation(
    names: Names, ray: np.ndarray, own: np.ndarray, stops: list[int], proven: bool
) -> Explanation:
    program = names.program
    form = program.form
    entries = [(program.column_name(int(each)), float(ray[each])) for each in own]
    moves = [
        Line(f"{'grows' if step > 0 else 'falls'} by {abs(step):.6g} each step", name)
        for name, step in entries
    ]
    moves = first_lines(moves, MOST_ENTRIES)
    gain = abs(cost_at(form, ray)[0])
    verb = "rises" if isinstance(program.stated.objective, cp.Maximize) else "falls"
    moves.append(Line(f"{verb} by {gain:.6g} each step", "objective"))
    limits = [
        f"{'an upper' if ray[each] > 0 else 'a lower'} limit on {program.column_name(each)}"
        for each in stops
    ]
    words = "No single limit on these variables is proven to stop all rays."
    if limits:
        words = "Each of these alone would bound the objective, proven by multipliers."
    count = len(entries)
    word = "proven" if proven else "not proven"
    headline = f"UNBOUNDED, {word}: the objective {verb} forever as {_listed(entries)}"
    proof = ("A feasible point and the ray are verified: from any feasible point, all steps "
             "along the ray stay feasible." if proven else
             "A feasible point is verified; the ray leaves its cones by less than 1e-8 of its "
             "terms, which proves nothing.")  # fmt: skip
    sections = (
        Section("The ray", moves),
        Section("What would stop it", [*(Line(each) for each in limits), Line(words)]),
        Section("Proof", [Line(proof)]),
    )
    data: dict[str, Any] = {
        "ray": dict(entries), "gain": gain, "stopped_by": limits, "entries": count
    }  # fmt: skip
    return Explanation(UNBOUNDED, proven, headline, sections, data)


def _listed(entries: list[tuple[str, float]]) -> str:
    verbs = {True: "grow", False: "fall"}
    if len(entries) == 1:
        return f"{entries[0][0]} {verbs[entries[0][1] > 0]}s"
    rising = [name for name, step in entries if step > 0]
    falling = [name for name, step in entries if step < 0]
    parts = [
        f"{_joined(group)} {verbs[up]}{'s' * (len(group) == 1)}"
        for up, group in ((True, rising), (False, falling))
        if group
    ]
    return " and ".join(parts) + " together"


def _joined(words: list[str]) -> str:
    shown = words[:3] + [f"{len(words) - 3} more"] * (len(words) > 3)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _rays(form: StandardForm, own: np.ndarray) -> Iterator[np.ndarray]:
    """Yield candidate rays: the shortest, then one deep inside; each rounded, then as found."""
    for ray in (_short_ray(form, own), cheaper_direction(form, Scaling.equilibrated(form), True)):
        if ray is None:
            continue
        ray = ray / (float(np.abs(ray[own]).max(initial=0.0)) or 1.0)
        cleaned = np.where(np.abs(ray) <= NOISE, 0.0, ray)
        for steps in (1.0, 12.0, 1e4):
            yield np.round(cleaned * steps) / steps
        yield cleaned
        yield ray


def _short_ray(form: StandardForm, own: np.ndarray) -> np.ndarray | None:
    """Return the ray of least l1 norm in the stated variables along which cost falls, or None."""
    n, at = form.q.size, np.flatnonzero(own)
    sizes = sp.eye_array(at.size)
    pick = sp.csr_array((np.ones(at.size), (np.arange(at.size), at)), (at.size, n))
    wide = form.with_columns(sp.csr_array((form.b.size, at.size)), np.ones(at.size))
    falls = sp.hstack([sp.csr_array(-form.q[None]), sp.csr_array((1, at.size))])
    rows = sp.vstack([sp.hstack([-pick, sizes]), sp.hstack([pick, sizes]), falls])
    wide = wide.with_rows(sp.csr_array(rows), np.append(np.zeros(2 * at.size), -1.0))
    found = solved_again(wide, Scaling.equilibrated(wide))
    return None if found is None or found.contradicts else found.z[:n]


def _is_stopped(form: StandardForm, column: int, sign: float, budget: Budget) -> bool:
    """Return whether a limit on this column (upper if `sign` > 0) provably stops all rays."""
    limit = sp.csr_array(([-sign], ([0], [column])), (1, form.q.size))
    falls = sp.csr_array(-form.q[None])
    closed = form.with_rows(sp.csr_array(sp.vstack([limit, falls])), np.array([0.0, -1.0]))
    return proof_of_infeasibility(closed.without_objective(), budget) is not None
