"""Natural units of a problem's rows, columns and objective; gaps are relative to them.

No absolute size is used, so that a problem stated in grams has the same proofs as in tons.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from convexfs.certification.program.standard_form import StandardForm, once, reduce_rows
from convexfs.certification.rigorous.implied_bounds import Box

#: Entries of A below this share of the largest in their row count as rounding errors.
NOISE = 1e-13
#: Lenient units take right-hand sides below this share of the 90 % quantile for rounding errors.
TINY = 1e-11
#: Right-hand sides of at least this size stand for infinity, as in some files, and are no data.
INFINITE = 1e18
#: Most rounds in which rows and columns without data take their units from each other.
SWEEPS = 4


@dataclass(frozen=True)
class Units:
    """Natural unit of each row (the size of its terms) and of each column (a typical change)."""

    rows: np.ndarray
    columns: np.ndarray


def units_at(
    form: StandardForm, z: np.ndarray, cost: float = 0.0, *, lenient: bool = False
) -> Units:
    """Return natural units of rows and columns at z; `cost` is the objective, 0 if unknown.

    A row with data (b not 0) measures itself: |b| + |A||z|, the rows of a cone together. One
    without, such as x >= 0, takes the unit of its variables. A column's is its own size or,
    if larger, the least change as large as a row it stands in, or as the objective. Where
    no row determines one, it is where the objective's curvature overtakes its slope.

    Beside a bound of 1e15 a right-hand side of 3 looks like a rounding error beside 1, so that
    proofs take every b for data. `lenient` units take tiny ones for rounding errors: a point
    that is off by them is not refuted.
    """
    values = np.abs(z)
    terms = form.together(np.abs(form.b) + form.sizes @ values)
    data = _is_clear_data(form) if lenient else _is_data(form)
    has_data = form.together(data.astype(float)) > 0
    rows = np.where(has_data & (terms > 0), terms, np.inf)
    priced = np.full(z.size, np.inf)
    if cost > 0:
        np.divide(cost, np.abs(form.q), out=priced, where=form.q != 0)
    rows, columns = _spread(form, rows, priced, values)
    if form.P is not None and not np.isfinite(columns).all():
        rows, columns = _spread(form, rows, np.minimum(priced, _curvature_units(form)), values)
    free = max(1.0, float(values.max(initial=0.0)))
    return Units(
        rows=np.where(np.isfinite(rows), rows, 1.0),
        columns=np.where(np.isfinite(columns), columns, free),
    )


def _spread(
    form: StandardForm, rows: np.ndarray, priced: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return units of rows and columns; unknown (infinite) ones of rows follow from columns."""
    significant, unknown = _significant_entries(form), ~np.isfinite(rows)
    columns = priced
    for _ in range(SWEEPS):
        columns = np.maximum(np.minimum(_least_change(significant, rows), priced), values)
        if not unknown.any():
            break
        grown = form.together(_largest_term(significant, columns))
        rows = np.where(unknown, np.minimum(rows, np.where(grown > 0, grown, np.inf)), rows)
    return rows, columns


@once
def _curvature_units(form: StandardForm) -> np.ndarray:
    """Return the change of columns at which curvature exceeds slope; infinity if a row has data.

    All columns that depend on each other may grow by one common factor.
    """
    values = np.zeros(form.q.size)
    data = form.together(_is_data(form).astype(float)) > 0
    terms = form.together(np.abs(form.b))
    rows = np.where(data & (terms > 0), terms, np.inf)
    unknown = ~np.isfinite(_spread(form, rows, np.full(values.size, np.inf), values)[1])
    pattern = form.sizes[~data]
    count, block = connected_components(pattern.T @ pattern + abs(form.P), directed=False)
    priced = np.where(unknown & (form.q != 0), 1.0, np.inf)
    units = _spread(form, np.full(rows.size, np.inf), priced, values)[1]
    units = np.where(unknown & np.isfinite(units), units, 0.0)
    slope, curve = np.zeros(count), np.zeros(count)
    np.maximum.at(slope, block, np.abs(form.q) * units)
    np.maximum.at(curve, block, 0.5 * np.abs(form.P.diagonal()) * units**2)
    turn = np.divide(slope, curve, out=np.full(count, np.inf), where=(slope > 0) & (curve > 0))
    return np.where(units > 0, turn[block] * np.where(units > 0, units, 1.0), np.inf)


@once
def data_units(form: StandardForm) -> Units:
    """Return the units of rows and columns at the point 0, where they depend on data alone."""
    return units_at(form, np.zeros(form.q.size))


def _data_sizes(form: StandardForm) -> np.ndarray:
    """Return absolute right-hand sides divided by the largest entries of their rows."""
    largest = form.largest_entries
    return np.divide(np.abs(form.b), largest, out=np.abs(form.b), where=largest > 0)


@once
def _is_data(form: StandardForm) -> np.ndarray:
    """Return a mask of right-hand sides that are neither 0 nor stand for infinity."""
    return (form.b != 0) & (_data_sizes(form) < INFINITE)


@once
def _is_clear_data(form: StandardForm) -> np.ndarray:
    """Return a mask of right-hand sides that are too large to be rounding errors."""
    sizes = _data_sizes(form)
    finite = sizes[sizes < INFINITE]
    most = finite[finite > TINY**1.5 * finite.max(initial=0.0)]
    return sizes > (TINY * np.quantile(most, 0.9) if most.size else 0.0)


@once
def _significant_entries(form: StandardForm) -> tuple[Any, Any]:
    """Return abs(A) without entries that are rounding errors, and its transpose."""
    noise = form.sizes.data <= NOISE * form.largest_entries[form.entry_rows]
    if not noise.any():
        return form.sizes, form.transposed_sizes
    entries = form.sizes.copy()
    entries.data[noise] = 0.0
    entries.eliminate_zeros()
    return entries, sp.csr_array(entries.T)


def _least_change(significant: tuple[Any, Any], rows: np.ndarray) -> np.ndarray:
    """Return, per column, the least change that makes a term as large as its row's unit."""
    entries = significant[1]
    return reduce_rows(entries, rows[entries.indices] / entries.data, np.minimum, np.inf)


def _largest_term(significant: tuple[Any, Any], columns: np.ndarray) -> np.ndarray:
    """Return each row's largest term: entry times the unit of its column, if that is known."""
    entries = significant[0]
    sizes = columns[entries.indices]
    terms = np.where(np.isfinite(sizes), entries.data * sizes, 0.0)
    return reduce_rows(entries, terms, np.maximum, 0.0)


def least_unit_of_objective(form: StandardForm, *ends: np.ndarray) -> float:
    """Return the least cost of a column that changes by its unit or to an implied bound, or 0.

    A bound of 1e15, or a row with tiny coefficients, gives a column a huge unit, of which no
    proof may take a share: so the least of all counts.
    """
    rows, own = data_units(form).rows, np.abs(form.b) > 0
    entries = _significant_entries(form)[1]
    least = np.where(own, rows, np.inf)[entries.indices] / entries.data
    units = reduce_rows(entries, least, np.minimum, np.inf)
    units = np.where(np.isfinite(units), units, data_units(form).columns)
    sizes = [np.where(np.isfinite(end), np.abs(end), 0.0) for end in ends]
    for size in sizes:
        # If one bound is near 0, it is a rounding error relative to the other.
        own = size > TINY * np.max(sizes, axis=0)
        units = np.where(own, np.minimum(units, size), units)
    costs, _ = _costs_of_units(form, units)
    return float(np.min(costs[costs > 0], initial=np.inf)) if np.any(costs > 0) else 0.0


def _costs_of_units(form: StandardForm, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of each column's change by its unit, and the coefficient of that cost.

    A column changes by less if its quadratic cost exceeds the linear one before.
    """
    q = np.abs(form.q)
    bend = np.zeros(q.size) if form.P is None else np.abs(form.P.diagonal())
    turn = np.divide(q, bend, out=np.full(q.size, np.inf), where=bend > 0)
    costs = np.where(q > 0, q * np.minimum(units, turn), 0.5 * bend * units**2)
    return costs, np.where(q > 0, q, bend)


@once
def unit_of_objective(form: StandardForm) -> float:
    """Return a scale for objectives near 0: the least cost of a group of columns; 0 if none.

    Variables of one curved cone, and others of equal cost, are terms of one sum: of them the
    largest counts, and of the sums the least, so that no penalty sets the scale.
    """
    costs, coefficients = _costs_of_units(form, data_units(form).columns)
    used = np.flatnonzero(costs > 0)
    if not used.size:
        return 0.0
    kinds = np.round(np.log2(coefficients[used]), 9)
    cones = _curved_cones(form)[used]
    _, group = np.unique(cones + 1j * np.where(cones >= 0, 0.0, kinds), return_inverse=True)
    largest = np.zeros(group.max() + 1)
    np.maximum.at(largest, group, costs[used])
    return float(largest.min())


def _curved_cones(form: StandardForm) -> np.ndarray:
    """Return, per column, the first row of a curved cone that contains it, else -1."""
    found = np.full(form.q.size, -1)
    if form.curved.any():
        curved = form.curved[form.entry_rows]
        found[form.A.indices[curved]] = form.first_rows[form.entry_rows[curved]]
    return found


#: Costs below tol times this share of the objective's unit count as 0; gaps are then relative to
#: this share of the unit.
NIL = 1e-3
#: Costs below this share of the objective's unit are refuted only relative to that unit.
NEAR_ZERO = 1e-5
#: The scale of an objective is at least this share of its largest term in fixed columns.
OFFSET = 1e-8


def proof_scale(terms: float, unit: float, tol: float) -> float:
    """Return `terms`, the size of an objective's terms, or a share NIL of `unit` if nearly 0.

    `unit` is the cost of the data's own units, of which a cost of 0 may miss a small share.
    """
    return max(terms, NIL * unit) if terms <= tol * NIL * unit else terms


def size_of_terms(form: StandardForm, z: np.ndarray, box: Box, cost: float) -> float:
    """Return the largest of cost and terms of the objective at z, without fixed columns."""
    size = np.where(box.bounded, np.maximum(box.magnitude, 1e-300), 0.0)
    fixed = box.bounded & (np.where(box.bounded, box.upper - box.lower, np.inf) <= 1e-9 * size)
    fixed &= _has_stated_value(form)
    constant = float(form.q[fixed] @ z[fixed])
    offset = float(np.abs(form.q * z)[fixed].max(initial=0.0))
    largest = float(np.abs(form.q * z)[~fixed].max(initial=0.0))
    if form.P is not None:
        largest = max(largest, 0.5 * float(np.abs(z * (form.P @ z)).max(initial=0.0)))
    return max(abs(cost - constant), largest, OFFSET * offset)


@once
def _has_stated_value(form: StandardForm) -> np.ndarray:
    """Return a mask of columns that an equation, or two bounds, of this column alone fix.

    Columns that only all rows together fix are found by solvers to their accuracy alone.
    """
    alone = (np.diff(form.A.indptr) == 1) & form.equalities
    equal = form.A.indices[form.A.indptr[:-1][alone]]
    columns = np.concatenate([equal, equal, form.single_rows[1]])
    return np.bincount(columns, minlength=form.q.size) >= 2
