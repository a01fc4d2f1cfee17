"""Solve all betas of one representative point: (6), then (7) along beta and back."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog

from convexfs.methods.llfs.native.kernels import Point, kernel, utilities
from convexfs.methods.llfs.native.newton import COLUMNS, MU, U2, Work, follow, workspace

#: Features are tied if their gradients of U2 differ by at most this share of the largest.
TIE = 1e-9


@dataclass(frozen=True)
class LocalPath:
    """Solutions of one point, one row per beta, betas ascending.

    Attributes
    ----------
    betas : array (B,)
    f : array (B, M)
        Local optima of (7), or the global one for the first betas, where a single
        feature is enough.
    u1, u2 : array (B,)
    mu : array (B,)
        Multiplier of ``U2 >= eps``; nothing is known of it at beta = 1.
    residual : array (B,)
        How far from a KKT point, relative to the reduced gradient; infinite if the
        iteration did not end.
    iterations : int array (B,)
    eps_max, max_residual : float
        Value of (6), and its KKT residual.
    """

    betas: np.ndarray
    f: np.ndarray
    u1: np.ndarray
    u2: np.ndarray
    mu: np.ndarray
    residual: np.ndarray
    iterations: np.ndarray
    eps_max: float
    max_residual: float


@dataclass(frozen=True)
class Maximiser:
    """A solution of (6)."""

    f: np.ndarray
    u1: float
    u2: float
    residual: float
    iterations: int


def local_point(
    a_same: np.ndarray, a_other: np.ndarray, s: float, lam: float, max_features: int
) -> Point:
    """Return the distances for the kernels: one row per feature, and the slack feature."""
    n_features = a_same.shape[1]
    D = np.zeros((n_features + 1, len(a_same) + len(a_other)))
    D[:-1, : len(a_same)] = a_same.T
    D[:-1, len(a_same) :] = a_other.T
    upper = np.ones(n_features + 1)
    upper[-1] = max_features - 1.0
    return Point(D, len(a_same), float(s), float(lam), upper)


def local_path(point: Point, betas: np.ndarray, both_ways: bool = True) -> LocalPath:
    """Solve (6), then (7) along ascending `betas` and back, each from its neighbour's solution.

    A second pass restarts each beta from its larger neighbour: what serves a larger
    beta serves a smaller one, and often leads to a better local optimum.
    """
    work = workspace(point)
    widest = maximiser(point, work)
    # Row 0 is the best single feature, the solution while U2 allows it; the last row is beta = 1.
    levels = np.concatenate([[0.0], betas[betas < 1.0], [1.0]]) * widest.u2
    F, table = np.empty((len(levels), len(widest.f))), np.zeros((len(levels), len(COLUMNS)))
    F[0], table[0, :2] = _single(point)
    follow(point, work, levels[:-1], F[:-1], table[:-1], 1.0, False, False)
    best = _among_maximisers(point, widest)
    F[-1], table[-1] = best.f, (best.u1, best.u2, 0.0, best.residual, best.iterations)
    follow(point, work, levels, F, table, 1.0, True, not both_ways)
    rows = np.minimum(np.arange(len(betas)) + 1, len(levels) - 1)
    known: dict[str, Any] = dict(zip(COLUMNS, table[rows].T, strict=True))
    known["iterations"] = known["iterations"].astype(int)
    known |= {"eps_max": widest.u2, "max_residual": widest.residual}
    return LocalPath(betas, F[rows, :-1], **known)


def maximiser(point: Point, work: Work | None = None) -> Maximiser:
    """Solve (6), started from the features with the largest gradient at uniform f."""
    n_features = len(point.D) - 1
    budget = point.upper[-1] + 1.0
    gradient = _separation_gradient(point, point.D.sum(axis=0) * (budget / n_features))[:-1]
    F, table = np.zeros((2, n_features + 1)), np.zeros((2, len(COLUMNS)))
    F[0, np.argsort(-gradient, kind="stable")[: int(budget)]] = 1.0
    # Follow a path of one level, which is above the start.
    table[0, U2], table[0, MU] = -1.0, 1.0
    follow(point, work or workspace(point), np.zeros(2), F, table, 0.0, False, False)
    u1, u2, _, residual, used = table[1].tolist()
    return Maximiser(F[1], u1, u2, residual, int(used))


def _separation_gradient(point: Point, z: np.ndarray) -> np.ndarray:
    slope = np.empty(len(z))
    utilities(point, z, slope, np.empty(len(z)))
    return point.D[:, point.own :] @ slope[point.own :]


def _single(point: Point) -> tuple[np.ndarray, tuple[float, float]]:
    """Return the f of one feature of least U1 (optimal in (7) while U2 allows it), and (U1, U2).

    U1 is concave, so least at a corner; it increases in f, so at a corner with one feature.
    """
    f = np.zeros(len(point.D))
    best = least_single(point.D, point.own, point.s, point.lam)
    f[best], f[-1] = 1.0, point.upper[-1]
    n = point.D.shape[1]
    return f, utilities(point, point.D[best], np.empty(n), np.empty(n))


@kernel
def least_single(D, own, s, lam):
    """Return the feature of least U1(e_m); the chord G(z) >= z G(top)/top skips most of them."""
    least, best = np.inf, 0
    for m in range(D.shape[0] - 1):
        row, top, total = D[m], 0.0, 0.0
        for j in range(own):
            top = max(top, row[j])
            total += row[j]
        if top > 0.0 and total * ((1.0 / (1.0 + np.exp(-s * top)) - 0.5) / top + lam) >= least:
            continue
        value = 0.0
        for j in range(own):
            value += 1.0 / (1.0 + np.exp(-s * row[j])) - 0.5 + lam * row[j]
        if value < least:
            least, best = value, m
    return best


def _among_maximisers(point: Point, widest: Maximiser) -> Maximiser:
    r"""Return a maximiser of (6) with U1 lowered by exchanges of tied features, for beta = 1.

    G is strictly concave, so all maximisers have the same distances to the other
    classes; they differ by exchanges d of tied features with :math:`A_2 d = 0`. U1 is
    minimised over these by majorise-minimise, a small linear program a step.
    """
    best = widest
    tied = _tied(point, widest.f)
    if len(tied) < 2:
        return best
    columns = np.column_stack([point.D[tied, point.own :], np.ones(len(tied))])
    if np.linalg.matrix_rank(columns) == len(tied):
        return best
    n = point.D.shape[1]
    slope, bend = np.empty(n), np.empty(n)
    for _ in range(20):
        f = best.f.copy()
        utilities(point, f @ point.D, slope, bend)
        cost = point.D[tied, : point.own] @ slope[: point.own]
        bounds = np.column_stack([-f[tied], point.upper[tied] - f[tied]])
        exchange = linprog(cost, A_eq=columns.T, b_eq=np.zeros(n - point.own + 1), bounds=bounds)
        if not exchange.success:
            break
        f[tied] = np.clip(f[tied] + exchange.x, 0.0, point.upper[tied])
        u1, u2 = utilities(point, f @ point.D, slope, bend)
        if u1 >= best.u1 * (1 - 1e-12) or u2 < widest.u2 * (1 - 1e-14):
            break
        best = replace(widest, f=f, u1=u1, u2=u2)
    return best


def _tied(point: Point, f: np.ndarray) -> np.ndarray:
    """Return the features that an exchange could move without loss of U2, to first order."""
    gradient = _separation_gradient(point, f @ point.D)
    can_rise, can_fall = f < point.upper, f > 0
    if not can_rise.any():
        return np.empty(0, dtype=np.int64)
    margin = TIE * gradient.max()
    best_out, worst_in = gradient[can_rise].max(), gradient[can_fall].min()
    falling, rising = gradient <= best_out + margin, gradient >= worst_in - margin
    return np.flatnonzero((can_fall & falling) | (can_rise & rising))
