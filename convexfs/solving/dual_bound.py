r"""Bounds on an optimum that hold whatever multipliers they come from.

For any y in the dual cone and any w, with reduced costs :math:`r = q + Pw - A'y`, every
feasible z with :math:`|z_j| \le \rho U_j` costs at least

.. math:: d - b'y - \tfrac12 w'Pw - \rho \sum_j |r_j| U_j - \text{rounding errors},

for :math:`q'z + \tfrac12 z'Pz \ge q'z + w'Pz - \tfrac12 w'Pw` and :math:`y'(Az + b) \ge 0`
(Neumaier and Shcherbina; Jansson). U are the columns' units. Farther points are covered by
convexity: one that much cheaper would, on the way to it, make points within reach cheaper.
Multipliers that a solver left slightly off are repaired first, and any repair is allowed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from convexfs.solving.cones import EPSILON
from convexfs.solving.standard_form import StandardForm
from convexfs.solving.units import Units

#: Points up to this many units away are compared with directly, where nothing else is said.
REACH = 100.0
#: Rounding errors of a sum are at most this share of its terms.
ROUNDING = 4.0 * EPSILON
#: Rounds of repair, and how much of its row's natural size a zero multiplier may take in each.
REPAIRS = (1e-8, 1e-8, 1e-3, 1e-3)
#: The round in which multipliers of flat cones stay as they are.
CURVED_ONLY = -1.0
#: Largest side of a matrix that is solved densely.
DENSE = 600


@dataclass(frozen=True)
class Bound:
    """A lower bound of the objective without its constant, and the multipliers behind it.

    `loss` is what reduced costs that nothing carries take from it, column by column.
    """

    value: float
    y: np.ndarray
    loss: np.ndarray


def bound_by(
    form: StandardForm, y: np.ndarray, w: np.ndarray, units: Units, reach: float = REACH
) -> Bound:
    """Return what multipliers of the dual cone prove."""
    Pw = form.curvature(w)
    bent = 0.0 if form.P is None else abs(form.P) @ np.abs(w)
    reduced = form.q + Pw - form.transposed @ y
    terms = np.abs(form.q) + bent + form.transposed_sizes @ np.abs(y)
    loss = reach * np.abs(reduced) * units.columns
    rounding = ROUNDING * float(
        reach * (terms @ units.columns) + np.abs(form.b) @ np.abs(y) + np.abs(w) @ np.abs(Pw)
    )
    value = float(-form.b @ y - 0.5 * w @ Pw - loss.sum()) - rounding
    return Bound(value if np.isfinite(value) else -np.inf, y, loss)


def best_bound(
    form: StandardForm,
    y: np.ndarray,
    w: np.ndarray,
    units: Units,
    cost: float,
    enough: Callable[[Bound], bool],
    reach: float = REACH,
) -> Bound:
    """Return the best bound that y or repairs of it prove, or the first that is enough."""
    best: Bound | None = None
    for candidate in repaired(form, y, form.q + form.curvature(w), units, cost):
        found = bound_by(form, candidate, w, units, reach)
        if best is None or found.value > best.value:
            best = found
        if enough(best):
            break
    assert best is not None
    return best


def repaired(
    form: StandardForm,
    y: np.ndarray,
    gradient: np.ndarray,
    units: Units,
    cost: float,
    rounds: tuple[float, ...] = REPAIRS,
) -> Iterator[np.ndarray]:
    """Yield y inside the dual cone, then repairs of its reduced costs, gradient - A'y."""
    y = form.into_dual(np.nan_to_num(y))
    curved = (CURVED_ONLY,) if form.curved.any() else ()
    for freedom in (*curved, *rounds, None):
        yield y
        carried = form.into_dual(_carried_by_bounds(form, y, gradient))
        yield carried
        if freedom is None:
            return
        try:
            y = _balanced(form, carried, gradient, units, cost or 1.0, freedom)
        except np.linalg.LinAlgError:
            return
        y = form.into_dual(y)


def _carried_by_bounds(form: StandardForm, y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Give reduced costs to bounds of their variables that can carry them."""
    carried = y.copy()
    reduced = gradient - form.transposed @ y
    for sign, (columns, rows, entries) in zip((1.0, -1.0), form.bounds, strict=True):
        able = sign * reduced[columns] > 0
        carried[rows[able]] += reduced[columns[able]] / entries[able]
    return carried


def _balanced(
    form: StandardForm,
    y: np.ndarray,
    gradient: np.ndarray,
    units: Units,
    cost: float,
    freedom: float,
) -> np.ndarray:
    """Change y least so that reduced costs vanish, each multiplier by its own size.

    A multiplier's natural size is that of cost / its row. Those of equations may take all of
    it, others the share `freedom`; or curved cones all of it, and others nothing.
    """
    natural = cost / units.rows
    size = form.together(np.abs(y))
    if freedom == CURVED_ONLY:
        weight = np.where(form.curved, np.maximum(size, natural), 0.0)
    else:
        weight = np.where(form.equalities, np.maximum(size, natural), size + freedom * natural)
    scale = units.columns / cost
    matrix: Any = sp.csr_array(sp.diags_array(scale) @ form.transposed @ sp.diags_array(weight))
    target = (gradient - form.transposed @ y) * scale
    if not (np.isfinite(matrix.data).all() and np.isfinite(target).all()):
        raise np.linalg.LinAlgError("numbers beyond what can be added up")
    if max(matrix.shape) <= DENSE:
        step = np.linalg.lstsq(matrix.toarray(), target, rcond=1e-13)[0]
    else:
        step = lsqr(matrix, target, atol=1e-14, btol=1e-14, iter_lim=500)[0]
    return y + weight * step
