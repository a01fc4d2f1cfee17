r"""Bounds on an optimum that hold whatever multipliers they come from.

For any y in the dual cone and any point w, with slacks :math:`s = Aw + b` and reduced costs
:math:`r = q + Pw - A'y`, every feasible z costs at least

.. math:: f(w) - s'y + \sum_j r_j (z_j - w_j),

because f is convex and :math:`y'(Az + b) \ge 0`. Bounds of the columns that the constraints imply
(:mod:`rigorous.implied_bounds`) make a number of it (Neumaier and Shcherbina 2004; Jansson 2004). A
column without a bound must have a reduced cost of 0, or of the sign that its one bound allows:
reduced costs are computed almost exactly, so that 0 means 0.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from convexfs.certification.program.standard_form import StandardForm, once
from convexfs.certification.rigorous.implied_bounds import Box
from convexfs.certification.rigorous.rounding import EPSILON, dot, matrix_products

#: In the terms of reduced costs, multipliers count up to this multiple of their natural size only.
LARGEST_MULTIPLIER = 1e3
#: Most points whose costs are cached; the cache is emptied before another is added.
REMEMBERED = 8


@dataclass(frozen=True)
class Bound:
    """A lower bound of the objective without its constant, and the multipliers that prove it.

    Attributes
    ----------
    value : float
        No feasible point costs less; -inf if nothing is proven.
    y : ndarray
        The multipliers that prove it.
    by : str
        How it was found.
    rounding : float
        Share of their own terms by which costs must change for the bound to hold; 0 if it
        holds as it stands.
    """

    value: float
    y: np.ndarray
    by: str = ""
    rounding: float = 0.0


@dataclass(frozen=True)
class Lagrangian:
    """The lower bound that multipliers y prove by the tangent at w, split into columns.

    `reduced` are the reduced costs, `error` bounds their errors, `loss` is what each column
    adds to `centre`, mostly negative. `forgiven` is the bound if reduced costs of columns without
    a bound were 0, as they would be if costs changed by the share `rounding` of their terms.
    """

    y: np.ndarray
    w: np.ndarray
    reduced: np.ndarray
    error: np.ndarray
    centre: float
    loss: np.ndarray
    forgiven: float
    rounding: float

    @property
    def value(self) -> float:
        return total(self.centre, self.loss)


def lagrangian(form: StandardForm, y: np.ndarray, w: np.ndarray, box: Box) -> Lagrangian:
    """Return the lower bound that `y`, which must be in the dual cone, proves at point `w`."""
    reduced, error = reduced_costs(form, y, w)
    centre = _centre(form, y, w)
    loss = column_losses(reduced, error, w, box)
    beyond = ~np.isfinite(loss)
    return Lagrangian(
        y, w, reduced, error, centre, loss,
        forgiven=total(centre, np.where(beyond, 0.0, loss)),
        rounding=_rounding(form, y, w, np.abs(reduced) + error, beyond) if beyond.any() else 0.0,
    )  # fmt: skip


def _rounding(
    form: StandardForm, y: np.ndarray, w: np.ndarray, off: np.ndarray, beyond: np.ndarray
) -> float:
    """Return the largest error `off` of a reduced cost in the mask `beyond`, over its terms.

    Multipliers far beyond their natural size may cancel, and would excuse any reduced cost.
    """
    cost = max(float(np.abs(form.q * w).max(initial=0.0)), abs(cost_at(form, w)[0]))
    if cost == 0:
        largest = float(np.abs(w).max(initial=0.0)) or 1.0
        cost = float(np.abs(form.q).max(initial=0.0)) * largest
    sizes = np.minimum(np.abs(y), LARGEST_MULTIPLIER * natural_multipliers(form, w, cost))
    terms = np.abs(form.q) + form.transposed_sizes @ sizes
    if form.P is not None:
        terms += abs(form.P) @ np.abs(w)
    with np.errstate(all="ignore"):
        shares = np.where(terms > 0, off / terms, np.inf)
    return float(shares[beyond].max(initial=0.0))


def reduced_costs(
    form: StandardForm, y: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the reduced costs q + Pw - A'y, and bounds on their rounding errors."""
    if form.P is None:
        return matrix_products(form.transposed, -y, form.q)
    return matrix_products(form.gradients, np.concatenate([-y, w]), form.q)


def cost_at(form: StandardForm, w: np.ndarray) -> tuple[float, float]:
    """Return the objective at w without its constant, and a bound on its rounding error; cached."""
    costs = _costs(form)
    key = w.tobytes()
    if key not in costs:
        if len(costs) >= REMEMBERED:
            costs.clear()
        costs[key] = _cost_at(form, w)
    return costs[key]


@once
def _costs(form: StandardForm) -> dict[bytes, tuple[float, float]]:
    """Return the form's cache of costs: a dict by the bytes of the point."""
    return {}


def _cost_at(form: StandardForm, w: np.ndarray) -> tuple[float, float]:
    value, error = dot(form.q, w)
    if form.P is not None:
        Pw, Pw_error = matrix_products(form.P, w, np.zeros_like(w))
        half, half_error = dot(Pw, 0.5 * w)
        value, error = value + half, error + half_error + 0.5 * float(Pw_error @ np.abs(w))
        error += EPSILON * abs(value)
    return value, error


def _centre(form: StandardForm, y: np.ndarray, w: np.ndarray) -> float:
    """Return f(w) - s'y rounded down, where s = Aw + b are the slacks."""
    cost, cost_error = cost_at(form, w)
    slack, slack_error = matrix_products(form.A, w, form.b)
    gap, gap_error = dot(slack, y)
    error = cost_error + gap_error + float(slack_error @ np.abs(y))
    centre = cost - gap - error - 4 * EPSILON * (abs(cost) + abs(gap) + error)
    return centre if np.isfinite(centre) else -np.inf


def column_losses(reduced: np.ndarray, error: np.ndarray, w: np.ndarray, box: Box) -> np.ndarray:
    """Return, per column, the least r_j (z_j - w_j) over z in the box and r within its error."""
    with np.errstate(all="ignore"):
        ends = [
            np.where(cost == 0, 0.0, cost * side)
            for cost in (reduced - error, reduced + error)
            for side in (box.lower - w, box.upper - w)
        ]
    least = np.min(ends, axis=0)
    least = np.where(np.isnan(least), -np.inf, least)
    return least - 8 * EPSILON * np.where(np.isfinite(least), np.abs(least), 0.0)


def total(centre: float, loss: np.ndarray) -> float:
    """Return the centre plus all column losses, rounded down; -inf if not finite."""
    lost = float(loss.sum())
    if not np.isfinite(lost) or not np.isfinite(centre):
        return -np.inf
    return centre + lost - (loss.size + 2) * EPSILON * (abs(centre) + abs(lost))


def without_bound_rows(form: StandardForm, y: np.ndarray, w: np.ndarray, box: Box) -> np.ndarray:
    """Return y with 0 for bounds x_j >= l_j (or <=) where the reduced cost gets a safe sign.

    An interior-point solution has such multipliers strictly positive: reduced costs are then
    safely positive and cost only the multiplier times the slack.
    """
    rows, columns = form.single_rows
    bare = y.copy()
    bare[rows] = 0.0
    reduced, error = reduced_costs(form, bare, w)
    safe = ((reduced - error >= 0) & np.isfinite(box.lower)) | (
        (reduced + error <= 0) & np.isfinite(box.upper)
    )
    changed = y.copy()
    changed[rows[safe[columns]]] = 0.0
    return changed


def radius_of(at: Lagrangian, target: float, box: Box) -> float:
    """Return how far unbounded columns may lie from w for the bound to reach `target`, or 0."""
    free = ~np.isfinite(at.loss)
    room = total(at.centre, np.where(free, 0.0, at.loss)) - target
    rate = float((np.abs(at.reduced) + at.error)[free].sum())
    return max(room / rate, 0.0) if rate > 0 and np.isfinite(room) else 0.0


def natural_multipliers(form: StandardForm, z: np.ndarray, cost: float) -> np.ndarray:
    """Return a typical multiplier size per row: the objective's scale over the row's terms."""
    rows = form.together(np.abs(form.b) + form.sizes @ np.abs(z))
    largest = float(rows.max(initial=0.0)) or 1.0
    return (cost or 1.0) / np.where(rows > 0, rows, largest)


def is_convex(form: StandardForm) -> bool:
    """Return whether P is positive semidefinite up to rounding, whatever cvxpy assumes."""
    return form.P is None or has_no_negative_eigenvalue(form.P)


def has_no_negative_eigenvalue(P: sp.csr_array) -> bool:
    """Return whether a symmetric matrix is positive semidefinite up to rounding of each row."""
    diagonal = P.diagonal()
    if np.any(diagonal < 0):
        return False
    if P.count_nonzero() == np.count_nonzero(diagonal):
        return True
    used = np.flatnonzero(np.diff(P.indptr))
    matrix = sp.csr_array(P)[used][:, used]
    units = 1.0 / np.sqrt(np.where(diagonal[used] > 0, diagonal[used], 1.0))
    scaled = sp.csc_array(matrix * units[:, None] * units[None, :])
    lifted = sp.csc_array(scaled + 20 * used.size * EPSILON * sp.eye_array(used.size))
    if lifted.nnz > SPARSE[used.size > SMALL] * used.size**2:
        return _has_cholesky_factor(lifted.toarray())
    mode = {"SymmetricMode": True}
    try:
        factors = splu(lifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=mode)
    except RuntimeError:  # A pivot is exactly 0.
        return False
    symmetric = np.array_equal(factors.perm_r, factors.perm_c)
    return bool(symmetric and np.all(factors.U.diagonal() > 0))


#: A matrix with a larger share of entries is factorised by dense Cholesky, else by sparse LU: the
#: share of matrices up to SMALL rows, where dense Cholesky takes less than 0.1 s, and of others.
SMALL, SPARSE = 2000, (0.005, 0.3)


def _has_cholesky_factor(matrix: np.ndarray) -> bool:
    try:
        np.linalg.cholesky((matrix + matrix.T) / 2)
    except np.linalg.LinAlgError:
        return False
    return True
