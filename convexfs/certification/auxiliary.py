"""Use Clarabel to find points, multipliers and rays, in units that suit its tolerances.

They prove nothing by themselves; they are verified like those of any other solver. Here is also
the budget of CPU time that a certificate, with all that it solves, may take.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import clarabel as untyped_clarabel
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from convexfs.certification.program.cones import (
    Block,
    Equality,
    NonNegative,
    SecondOrder,
    Semidefinite,
)
from convexfs.certification.program.exponential_and_power import Exponential, Power
from convexfs.certification.program.scaling import Units, units_at
from convexfs.certification.program.standard_form import StandardForm

clarabel: Any = untyped_clarabel
TOLERANCE = 1e-10
ITERATIONS = 300
EQUILIBRATIONS = 12
#: Rays are searched for in a box of this half-width, in units of the columns.
LONGEST_RAY = 1e4
#: Clarabel takes at least this many iterations, and does at most this many operations per second;
#: it is not started if these alone would exceed the time left.
FEWEST_ITERATIONS, FASTEST = 8, 5e10


class Stopped(Exception):
    """The budget of CPU time is used up."""


@dataclass(frozen=True)
class Budget:
    """Deadline for a certificate or a part of its work, in CPU seconds of this thread.

    Examples
    --------
    >>> Budget.of(60.0).share(0.5).left < 31
    True
    """

    deadline: float = np.inf

    @classmethod
    def of(cls, seconds: float) -> "Budget":
        """Return a budget of some seconds of this thread's CPU time, counted from now."""
        return cls(time.thread_time() + seconds)

    @property
    def left(self) -> float:
        return self.deadline - time.thread_time()

    def share(self, share: float) -> "Budget":
        """Return a budget of the fraction `share` of the CPU time that is left."""
        return Budget.of(share * self.left)

    def check(self) -> None:
        """Raise Stopped if the budget of CPU time is used up."""
        if self.left <= 0:
            raise Stopped


@dataclass(frozen=True)
class Scaling:
    """Units of columns, rows and objective by which a program is scaled for Clarabel."""

    columns: np.ndarray
    rows: np.ndarray
    cost: float

    @classmethod
    def of(cls, form: StandardForm, units: Units, cost: float) -> "Scaling":
        """Return the scaling of columns by `units`, and of rows by their terms at these."""
        own = np.abs(form.b) + form.sizes @ units.columns
        return cls(units.columns, form.scales(np.where(own > 0, own, units.rows)), cost or 1.0)

    @classmethod
    def equilibrated(cls, form: StandardForm) -> "Scaling":
        """Return the scaling that makes largest entries of rows and columns near 1 (Ruiz)."""
        rows, columns, entries = np.ones(form.b.size), np.ones(form.q.size), form.sizes.tocoo()
        for _ in range(EQUILIBRATIONS):
            scaled = rows[entries.row] * entries.data * columns[entries.col]
            by_row, by_column = np.zeros(rows.size), np.zeros(columns.size)
            np.maximum.at(by_row, entries.row, scaled)
            np.maximum.at(by_column, entries.col, scaled)
            by_row = form.together(by_row)
            rows /= np.sqrt(np.where(by_row > 0, by_row, 1.0))
            columns /= np.sqrt(np.where(by_column > 0, by_column, 1.0))
        offset = np.abs(rows * form.b).max(initial=0.0) or 1.0
        cost = np.abs(columns * form.q).max(initial=0.0) or 1.0
        return cls(offset * columns, offset / rows, offset * cost)


@dataclass(frozen=True)
class Found:
    """A point and multipliers from Clarabel.

    `contradicts` is True if the multipliers suggest infeasibility.
    """

    z: np.ndarray
    y: np.ndarray
    contradicts: bool = False


def solved_again(form: StandardForm, scaling: Scaling, seconds: float = np.inf) -> Found | None:
    """Return Clarabel's solution of `form` in these units; None if it fails or needs too long."""
    if least_seconds(form) > seconds:
        return None
    columns, rows = scaling.columns, 1.0 / scaling.rows
    n = form.q.size
    P = sp.csc_array((n, n))
    if form.P is not None:
        across = sp.diags_array(columns)
        P = sp.csc_array(sp.triu(across @ form.P @ across / scaling.cost))
    A = sp.diags_array(rows) @ form.A @ sp.diags_array(columns)
    q = columns * form.q / scaling.cost
    found = _run(P, q, A, rows * form.b, _as_clarabel(form.blocks), seconds)
    if found is None:
        return None
    return Found(columns * found.z, scaling.cost * rows * found.y, found.contradicts)


def least_seconds(form: StandardForm) -> float:
    """Return a lower estimate of Clarabel's CPU seconds for `form`; 0 without psd cones.

    Clarabel looks at the clock between iterations only. In each it factors a matrix with a dense
    block for every semidefinite cone, of as many rows as the cone has rows with entries.
    """
    operations = 0.0
    for block in form.blocks:
        if isinstance(block.cone, Semidefinite):
            sides = block.of(~form.constant | (form.b != 0)).sum(axis=1)
            operations += float(np.sum(sides.astype(float) ** 3)) / 3
    return FEWEST_ITERATIONS * operations / FASTEST


def least_violation(
    form: StandardForm, scaling: Scaling, room: float = 0.0, seconds: float = np.inf
) -> Found | None:
    """Return Clarabel's point of least violation, with multipliers that bound it below; or None.

    Minimises t >= -1 with Az + b + te in K, where e is inside K, and |Az + b| <= t in
    equations: there is always a solution. With some `room`, multipliers y + room e of curved
    cones are found, if there are any: they can be repaired without leaving their cones.
    Returns None if Clarabel fails or exceeds `seconds`.
    """
    if least_seconds(form) > seconds:
        return None
    columns, rows = scaling.columns, 1.0 / scaling.rows
    A = sp.csr_array(sp.diags_array(rows) @ form.A @ sp.diags_array(columns))
    b, n = rows * form.b, columns.size
    equal, others = np.flatnonzero(form.equalities), np.flatnonzero(~form.equalities)
    inside = form.interior()
    # These vectors lie inside both the cone and its dual.
    lift = room * np.where(form.curved, inside, 0.0)
    sides = np.concatenate([np.ones(2 * equal.size), inside[others], [1.0]])
    stacked = sp.vstack([A[equal], -A[equal], A[others], sp.csr_array((1, n))])
    M = sp.hstack([stacked, sides[:, None]])
    blocks = [each for each in form.blocks if not isinstance(each.cone, Equality)]
    cones = [
        *([clarabel.NonnegativeConeT(2 * equal.size)] if equal.size else []),
        *_as_clarabel(blocks),
        clarabel.NonnegativeConeT(1),
    ]
    offsets = np.concatenate([b[equal], -b[equal], b[others], [1.0]])
    q = np.append(-A.T @ lift, 1.0 - inside @ lift)
    found = _run(sp.csc_array((n + 1, n + 1)), q, M, offsets, cones, seconds)
    if found is None or (room and found.contradicts):
        return None
    y = lift.copy()
    y[equal] += found.y[: equal.size] - found.y[equal.size : 2 * equal.size]
    y[others] += found.y[2 * equal.size : -1]
    return Found(columns * found.z[:n], rows * y)


@dataclass(frozen=True)
class Inside:
    """A point inside its cones by a margin, measured in units of the rows."""

    z: np.ndarray
    margin: float
    rows: np.ndarray


def interior_point(
    form: StandardForm, scaling: Scaling, level: float | None, seconds: float = np.inf
) -> Inside | None:
    """Return a point deep inside its cones (margin at most 1) with q'z <= `level`, or None."""
    columns, rows, n = scaling.columns, 1.0 / scaling.rows, form.q.size
    A = sp.diags_array(rows) @ form.A @ sp.diags_array(columns)
    parts = [
        sp.hstack([A, -form.interior()[:, None]]),
        sp.csr_array(np.append(np.zeros(n), -1.0)[None]),
    ]
    offsets = [rows * form.b, [1.0]]
    if level is not None:
        q = form.q * columns
        largest = float(np.abs(q).max(initial=0.0)) or 1.0
        parts.append(sp.csr_array(np.append(-q / largest, -1e-3)[None]))
        offsets.append([level / largest])
    cones = [*_as_clarabel(form.blocks), clarabel.NonnegativeConeT(len(parts) - 1)]
    cost = np.append(np.zeros(n), -1.0)
    M = sp.csr_array(sp.vstack(parts))
    found = _run(sp.csc_array((n + 1, n + 1)), cost, M, np.concatenate(offsets), cones, seconds)
    if found is None or found.contradicts or not found.z[n] > 0:
        return None
    return Inside(columns * found.z[:n], float(found.z[n]), scaling.rows)


def interior_multipliers(
    form: StandardForm, scaling: Scaling, lift: np.ndarray, seconds: float = np.inf
) -> Found | None:
    """Return Clarabel's point and multipliers that lie inside their cones by `lift`, or None."""
    found = solved_again(replace(form, q=form.q - form.transposed @ lift), scaling, seconds)
    return None if found is None or found.contradicts else Found(found.z, found.y + lift)


def completed(
    form: StandardForm,
    point: np.ndarray,
    known: np.ndarray,
    *,
    priced: bool = False,
    natural: bool = False,
) -> Found | None:
    """Return Clarabel's minimum with known columns fixed at `point`; None if it fails.

    `contradicts` if there are none. Rows without any such column are left out; so are, with
    `priced`, columns that no cost depends on. With `natural`, in units of the data.
    """
    A: Any = sp.csc_array(form.A)
    free, fixed = np.flatnonzero(~known), np.flatnonzero(known)
    if priced:
        free = np.flatnonzero(priced_columns(form, known))
    rows = np.unique(sp.coo_array(A[:, free]).row)
    touched = np.zeros(form.b.size)
    touched[rows] = 1.0
    kept = form.together(touched) > 0
    part = form.restricted(kept, free)
    part = replace(part, b=form.b[kept] + A[kept][:, fixed] @ point[fixed])
    if form.P is not None:
        part = replace(part, q=part.q + sp.csr_array(form.P)[free][:, fixed] @ point[fixed])
    scaling = Scaling.equilibrated(part)
    if natural:
        scaling = Scaling.of(part, units_at(part, np.zeros(free.size)), 1.0)
    found = solved_again(part, scaling)
    if found is None or found.contradicts:
        return found
    z = point.copy()
    z[free] = found.z
    return Found(z, found.y)


def priced_columns(form: StandardForm, known: np.ndarray) -> np.ndarray:
    """Return a mask of unknown columns with a cost, or linked to such columns by shared cones."""
    columns = np.flatnonzero(~known)
    part = sp.coo_array(sp.csc_array(form.A)[:, columns])
    shape = (form.b.size, columns.size)
    cones = sp.csr_array((np.ones(part.nnz), (form.first_rows[part.row], part.col)), shape)
    _, label = connected_components(cones.T @ cones, directed=False)
    cost = form.q != 0
    if form.P is not None:
        cost |= np.diff(form.P.indptr) > 0
    priced = np.zeros(form.q.size, dtype=bool)
    priced[columns] = np.isin(label, label[cost[columns]])
    return priced


def cheaper_direction(
    form: StandardForm, scaling: Scaling, inside: bool, seconds: float = np.inf
) -> np.ndarray | None:
    """Return a ray z with Az in K, Pz = 0 and q'z = -1, or None; if `inside`, deep inside K.

    Returns None if Clarabel fails or exceeds `seconds`.
    """
    if least_seconds(form) > seconds:
        return None
    columns, rows, n = scaling.columns, 1.0 / scaling.rows, form.q.size
    A = sp.diags_array(rows) @ form.A @ sp.diags_array(columns)
    q = columns * form.q
    q = q / (np.abs(q).max(initial=0.0) or 1.0)
    flat: Any = sp.csr_array((0, n))
    if form.P is not None:
        flat = sp.csr_array(sp.diags_array(columns) @ form.P @ sp.diags_array(columns))
        flat = flat / abs(flat).max()
    margin = -form.interior() if inside else np.zeros(form.b.size)
    unit = sp.eye_array(n)
    z_parts = [A, sp.csr_array((2, n)), unit, -unit, sp.csr_array(q[None]), flat]
    last = np.concatenate([margin, [-1.0, 1.0], np.zeros(2 * n + 1 + flat.shape[0])])
    M = sp.hstack([sp.vstack(z_parts), last[:, None]])
    offsets = np.concatenate([
        np.zeros(form.b.size), [1.0, 0.0], np.full(2 * n, LONGEST_RAY), [1.0],
        np.zeros(flat.shape[0]),
    ])  # fmt: skip
    cones = [
        *_as_clarabel(form.blocks),
        clarabel.NonnegativeConeT(2 + 2 * n),
        clarabel.ZeroConeT(1 + flat.shape[0]),
    ]
    cost = np.append(np.zeros(n), -1.0)
    found = _run(sp.csc_array((n + 1, n + 1)), cost, M, offsets, cones, seconds)
    return None if found is None else columns * _without_noise(found.z[:n])


def _without_noise(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) <= 1e-9 * np.abs(values).max(initial=0.0), 0.0, values)


def _run(
    P: Any, q: np.ndarray, A: Any, b: np.ndarray, cones: list[Any], seconds: float = np.inf
) -> Found | None:
    """Minimise 1/2 z'Pz + q'z with Az + b in the cones by Clarabel; None if it fails or is late."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = ITERATIONS
    # Clarabel's thread pool does not survive a fork: a forked worker would wait for it forever.
    settings.max_threads = 1
    settings.time_limit = max(seconds, 0.0)
    settings.presolve_enable = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    settings.tol_infeas_abs = settings.tol_infeas_rel = 1e-12
    try:
        answer = clarabel.DefaultSolver(P, q, sp.csc_matrix(-A), b, cones, settings).solve()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # Clarabel's Rust panics do not derive from Exception.
        return None
    if "MaxTime" in str(answer.status):
        return None
    z, y = np.array(answer.x), np.array(answer.z)
    contradicts = "PrimalInfeasible" in str(answer.status)
    if not np.isfinite(y).all() or not (contradicts or np.isfinite(z).all()):
        return None
    return Found(np.nan_to_num(z), y, contradicts)


def _as_clarabel(blocks: Iterable[Block]) -> list[Any]:
    return [each for block in blocks for each in _cones_of(block)]


def _cones_of(block: Block) -> list[Any]:
    match block.cone:
        case Equality():
            return [clarabel.ZeroConeT(block.count)]
        case NonNegative():
            return [clarabel.NonnegativeConeT(block.count)]
        case SecondOrder(size):
            return [clarabel.SecondOrderConeT(size)] * block.count
        case Semidefinite(side):
            return [clarabel.PSDTriangleConeT(side)] * block.count
        case Exponential():
            return [clarabel.ExponentialConeT()] * block.count
        case Power((first, _)):
            return [clarabel.PowerConeT(first)] * block.count
        case Power(exponents):
            return [clarabel.GenPowerConeT(list(exponents), 1)] * block.count
    raise TypeError(block.cone)
