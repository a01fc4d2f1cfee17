r"""Find points that are surely feasible, or have a feasible point nearby.

Equations are rarely satisfied to the last bit. With :math:`A_E D D' A_E' \succeq \sigma I` for some
scales D of the columns, an exact solution of all equations lies within :math:`\eta = |s_E| /
\sqrt\sigma` of z, measured in D. Every other row must have room for that change.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from convexfs.certification.auxiliary import Budget, Inside, Scaling, interior_point
from convexfs.certification.duals.correction_system import lowest_eigenvalue
from convexfs.certification.duals.dual_bound import cost_at
from convexfs.certification.exact.linear_program import LinearProgram
from convexfs.certification.program.cones import Equality
from convexfs.certification.program.scaling import INFINITE, data_units, units_at
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.rounding import (
    EPSILON,
    is_surely_semidefinite,
    matrix_products,
)

#: Points that need a larger relative change to satisfy their equations are not proven feasible.
LARGEST_CHANGE = 1e-3
#: Up to this many equations are solved together; of more, each needs a column that no other has.
MOST_EQUATIONS = 3000
#: Cheaper feasible points are searched for at these fractions of the way from the claimed cost to a
#: lower one.
LEVELS = (0.5, 0.9, 0.1)
#: A point is tight if it violates rows by at most this share of their terms, which count up to this
#: multiple of the data; see :func:`is_tight`.
TIGHT, FAR = 1e-8, 1e4
#: A violation counts as hidden only in rows whose terms exceed this multiple of the data.
FAR_AWAY = 1e7
#: Half-widths of boxes, in units of the columns, tried in turn for a feasible point.
BOXES = (1e-7, 1e-5)
#: Weight of equations in the least squares that guess an interior point, and margins to try.
EQUATIONS_FIRST, MARGINS = 1e4, (0.5, 0.1, 0.01)
#: Largest number of least-squares corrections of a point, and the slack, in row units, below which
#: a row counts as active.
CORRECTIONS, ACTIVE = 6, 1e-6


def change_to_feasible(
    form: StandardForm, z: np.ndarray, margin: np.ndarray | None = None
) -> float | None:
    """Bound the rise in cost from z to a feasible point nearby; None if none is proven to exist.

    With a `margin`, the rows must be inside their cones after it is subtracted.
    """
    slack, error = matrix_products(form.A, z, form.b)
    if not (np.isfinite(slack).all() and np.isfinite(error).all()):
        return None
    scales = _column_scales(form, z, slack)
    if form.equalities.sum() > MOST_EQUATIONS:
        scales = _scales_of_own_columns(form, scales)
    eta = _distance_to_equations(form, slack, error, scales)
    if eta is None:
        return None
    moved = sp.csr_array(form.A @ sp.diags_array(scales))
    radii = np.sqrt(np.asarray(moved.multiply(moved).sum(axis=1)).ravel()) * eta * (1.0 + 1e-9)
    radii += error
    if margin is not None:
        slack = slack - margin
        radii += 2 * EPSILON * (np.abs(slack) + np.abs(margin))
    for block in form.blocks:
        if isinstance(block.cone, Equality):
            continue
        if not block.cone.surely_contains(block.of(slack), block.of(radii)):
            return None
    gradient = form.q + form.curvature(z)
    change = eta * float(np.linalg.norm(np.abs(gradient) * scales))
    if form.P is not None:
        largest = float(abs(form.P).sum(axis=1).max())
        change += 0.5 * (eta * float(scales.max(initial=0.0))) ** 2 * largest
    return change * (1.0 + 1e-9) + cost_at(form, z)[1]


def _column_scales(form: StandardForm, z: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return how far each column may move: its magnitude, limited by the distance to its bounds."""
    scales = np.maximum(np.abs(z), 1e-3 * (float(np.abs(z).max(initial=0.0)) or 1.0))
    rows, columns = form.single_rows
    if rows.size:
        entries = np.abs(form.A.data[form.A.indptr[rows]])
        np.minimum.at(scales, columns, np.maximum(slack[rows], 0.0) / entries)
    return scales


def _scales_of_own_columns(form: StandardForm, scales: np.ndarray) -> np.ndarray:
    """Return scales of columns that occur in one equation only, at most one per equation; else 0.

    Such columns can satisfy any number of equations, one by one.
    """
    equations = sp.csc_array(form.A[form.equalities])
    own = np.flatnonzero(np.diff(equations.indptr) == 1)
    rows, entries = (part[equations.indptr[own]] for part in (equations.indices, equations.data))
    order = np.lexsort((-np.abs(entries) * scales[own], rows))
    first = order[np.unique(rows[order], return_index=True)[1]]
    chosen = np.zeros_like(scales)
    chosen[own[first]] = scales[own[first]]
    return chosen


def _distance_to_equations(
    form: StandardForm, slack: np.ndarray, error: np.ndarray, scales: np.ndarray
) -> float | None:
    """Bound the scaled distance from z to a solution of all equations; None if none is proven."""
    rows = np.flatnonzero(form.equalities)
    residuals = np.abs(slack[rows]) + error[rows]
    if not residuals.any():
        return 0.0
    moved = sp.csr_array(form.A[rows] @ sp.diags_array(scales))
    moved.eliminate_zeros()
    norms = np.sqrt(np.asarray(moved.multiply(moved).sum(axis=1)).ravel())
    if np.any((norms <= 0) & (residuals > 0)):
        return None
    # Equations that hold exactly and whose columns cannot move are left out.
    used = norms > 0
    rows, residuals, norms, moved = rows[used], residuals[used], norms[used], moved[used]
    sigma = _lowest_eigenvalue_of_rows(moved, norms)
    if sigma is None:
        return None
    eta = float(np.linalg.norm(residuals / norms)) / math.sqrt(sigma) * (1.0 + 1e-9)
    return eta if eta <= LARGEST_CHANGE else None


def _lowest_eigenvalue_of_rows(rows: Any, norms: np.ndarray) -> float | None:
    """Bound the eigenvalues of R R' from below (R: normalised rows); None if none is proven."""
    entries, size = int(np.diff(rows.indptr).max(initial=0)), norms.size
    if entries <= 1 and np.unique(rows.indices).size == rows.nnz:
        return 0.5  # R R' is the identity, up to rounding
    if size > MOST_EQUATIONS:
        return None
    normal = (rows @ rows.T).toarray() / np.outer(norms, norms)
    sigma = 0.5 * lowest_eigenvalue(normal)
    rounding = 2 * (entries + 12) * EPSILON * size
    if not sigma > 2 * rounding or not is_surely_semidefinite(normal, sigma + rounding):
        return None
    return sigma


def is_tight(form: StandardForm, z: np.ndarray) -> bool:
    """Return whether z violates no row by more than `TIGHT` of its terms, or rounding errors.

    Terms of points far away count no more than `FAR` times the data: they could hide anything.
    """
    slack = form.A @ z + form.b
    terms = form.together(np.abs(form.b) + form.sizes @ np.abs(z))
    entries = form.together(np.diff(form.A.indptr).astype(float)) + 16.0
    units = np.minimum(units_at(form, z).rows, FAR * data_units(form).rows)
    limit = np.maximum(TIGHT * units, entries * EPSILON * terms)
    return bool(np.all(form.outside(slack) <= limit))


def hidden_by_distance(form: StandardForm, z: np.ndarray, tol: float) -> float:
    """Return the violation relative to the data if much larger terms hide it, else 0.

    Flat programs have a feasible point near one that misses it by its own last digits.
    """
    largest = form.largest_entries
    sizes = np.divide(np.abs(form.b), largest, out=np.zeros_like(form.b), where=largest > 0)
    reach = float(sizes[sizes < INFINITE].max(initial=0.0))
    data = form.together(np.abs(form.b) + largest * reach)
    terms = form.together(np.abs(form.b) + form.sizes @ np.abs(z))
    off = form.outside(form.A @ z + form.b)
    hidden = (off > tol * data) & (terms > FAR_AWAY * data) & (data > 0)
    if not form.curved.any():
        hidden &= off > TIGHT * terms
    return float(np.max(off[hidden] / data[hidden], initial=0.0))


def tightened(form: StandardForm, z: np.ndarray) -> np.ndarray | None:
    """Return a point near z that violates no row (see is_tight); None if none is found."""
    if is_tight(form, z):
        return z
    near = _corrected(form, z)
    if near is not None and is_tight(form, near):
        return near
    near = None if form.curved.any() else _in_small_box(form, z)
    return near if near is not None and is_tight(form, near) else None


def _in_small_box(form: StandardForm, z: np.ndarray) -> np.ndarray | None:
    """Return a feasible point in a tiny box around z, found by a linear program, or None."""
    program, units = LinearProgram(form), units_at(form, z).columns
    for width in BOXES:
        lower = np.maximum(program.lower, z - width * units)
        upper = np.minimum(program.upper, z + width * units)
        lower = np.minimum(lower, program.upper)
        box = lower, np.maximum(upper, lower)
        gradient = form.q + form.curvature(z)
        found = program.solve(q=gradient, box=box, units=np.exp2(np.round(np.log2(units))))
        if found.optimal:
            return found.z
    return None


def _corrected(form: StandardForm, z: np.ndarray) -> np.ndarray | None:
    """Correct violated rows of z by up to CORRECTIONS least squares; None if not finite."""
    units = units_at(form, z)
    for _ in range(CORRECTIONS):
        if is_tight(form, z):
            return z
        slack = form.A @ z + form.b
        moved = np.empty_like(slack)
        for block in form.blocks:
            moved[block.rows] = block.cone.inside(block.of(slack)).ravel()
        # Include nearly active rows, so that a correction keeps their slack.
        active = (moved != slack) | (~form.curved & (np.abs(slack) <= ACTIVE * units.rows))
        rows = np.flatnonzero(form.together(active.astype(float)) > 0)
        weights = 1.0 / units.rows[rows]
        matrix = sp.diags_array(weights) @ form.A[rows] @ sp.diags_array(units.columns)
        step = lsqr(matrix, weights * (moved - slack)[rows], atol=1e-14, btol=1e-14, iter_lim=300)
        if not np.isfinite(step[0]).all():
            return None
        z = z + units.columns * step[0]
    return z


def cheaper_points(
    form: StandardForm, cost: float, target: float, found: Iterable[np.ndarray], budget: Budget
) -> Iterator[np.ndarray]:
    """Yield points near a feasible one that surely costs less than `target`, from those `found`.

    `cost` is the claimed one, without the constant.
    """
    for z in found:
        for candidate in _candidates(form, cost, z, budget):
            change = change_to_feasible(form, candidate)
            if change is None:
                continue
            value, error = cost_at(form, candidate)
            if value + error + change < target:
                yield candidate


def _candidates(
    form: StandardForm, cost: float, z: np.ndarray, budget: Budget
) -> Iterator[np.ndarray]:
    yield z
    own = cost_at(form, z)[0]
    scalings = (Scaling.equilibrated(form), Scaling.of(form, units_at(form, z, abs(own)), abs(own)))
    if form.P is None:
        for level in LEVELS:
            for scaling in scalings:
                if budget.left <= 0:
                    return
                inside = interior_point(form, scaling, cost + level * (own - cost), budget.left)
                if inside is not None:
                    yield inside.z
        return
    inside = any_interior_point(form) if budget.left > 0 else None
    if inside is not None:
        for share in (1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.3):
            yield (1 - share) * z + share * inside.z


def guessed_interior_point(form: StandardForm, z: np.ndarray) -> Inside | None:
    """Return a least-squares guess of an interior point; None if it is not inside all cones.

    Many problems have such a point, and least squares find it far sooner than a solver.
    """
    units, middle = units_at(form, z).rows, form.interior()
    weights = np.where(form.equalities, EQUATIONS_FIRST, 1.0) / units
    wanted = np.where(form.equalities, 0.0, units * middle) - form.b
    matrix = sp.diags_array(weights) @ form.A
    guess = lsqr(matrix, weights * wanted, atol=1e-14, btol=1e-14, iter_lim=300)[0]
    if not np.isfinite(guess).all():
        return None
    rows = (form.A @ guess + form.b) / units
    for margin in MARGINS:
        short = form.outside(rows - np.where(form.equalities, rows, margin * middle))
        if not short.any():
            return Inside(guess, margin, units)
    return None


def interior_points(
    form: StandardForm, z: np.ndarray, level: float, budget: Budget
) -> Iterator[Inside]:
    """Yield verified interior points: a guess, one of cost at most `level`, the deepest one."""
    scaling = Scaling.equilibrated(form)
    searches = (
        lambda: guessed_interior_point(form, z),
        lambda: interior_point(form, scaling, level, budget.left),
        lambda: any_interior_point(form),
    )
    for search in searches:
        inside = search()
        if inside is not None and is_surely_inside(form, inside):
            yield inside
        budget.check()


def any_interior_point(form: StandardForm) -> Inside | None:
    """Return a point deep inside all cones, whatever it costs; None if Clarabel finds none."""
    feasible = replace(form, q=np.zeros_like(form.q), P=None)
    at_zero = data_units(form)
    for scaling in (Scaling.equilibrated(feasible), Scaling.of(feasible, at_zero, 1.0)):
        inside = interior_point(feasible, scaling, None)
        if inside is not None:
            return inside
    return None


def is_surely_inside(form: StandardForm, inside: Inside) -> bool:
    """Return whether surely a feasible point near `inside` keeps half of its margin."""
    margin = np.where(form.equalities, 0.0, 0.5 * inside.margin * inside.rows * form.interior())
    return change_to_feasible(form, inside.z, margin) is not None


def cost_of_feasibility(form: StandardForm, z: np.ndarray, inside: Inside, above: float) -> float:
    """Bound the cost of making z feasible by moving it towards the interior point `inside`.

    On the way from z to that point all cones are entered once its margin, in proportion, is
    larger than the violation. Without such a point there may be a duality gap, and no bound.
    """
    rows = (form.A @ z + form.b) / inside.rows
    violation = float(np.where(form.equalities, 0.0, form.outside(rows)).max(initial=0.0))
    return max(above, 0.0) * violation / (violation + 0.5 * inside.margin)


def a_feasible_point(form: StandardForm, *found: np.ndarray) -> np.ndarray | None:
    """Return the first of `found`, or an interior point, proven feasible or near it; else None."""
    for z in found:
        if change_to_feasible(form, z) is not None:
            return z
    inside = any_interior_point(form)
    if inside is not None and change_to_feasible(form, inside.z) is not None:
        return inside.z
    return None
