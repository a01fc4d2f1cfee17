"""All betas of one representative point: (6), then (7) along beta and back."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.optimize import linprog

from convexfs.native.llfs_newton import Point, kkt_point, least_u1, utilities, workspace

#: Iterations of one attempt; 5 to 30 are usual.
MAX_ITER = 100
#: Gradients of U2 this close, relatively, are tied.
TIE = 1e-9


@dataclass(frozen=True)
class LocalPath:
    """Solutions of one point, one row a beta, betas ascending.

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


@dataclass
class _Stop:
    """Where the path stands at one beta."""

    f: np.ndarray
    u1: float
    u2: float
    mu: float = 0.0
    residual: float = 0.0
    iterations: int = 0

    def serves(self, eps: float) -> bool:
        return self.u2 >= eps and np.isfinite(self.residual)


def local_point(
    a_same: np.ndarray, a_other: np.ndarray, s: float, lam: float, max_features: int
) -> Point:
    """Distances as the kernels want them: a row a feature, and the slack feature."""
    n_features = a_same.shape[1]
    D = np.zeros((n_features + 1, len(a_same) + len(a_other)))
    D[:-1, : len(a_same)] = a_same.T
    D[:-1, len(a_same) :] = a_other.T
    upper = np.ones(n_features + 1)
    upper[-1] = max_features - 1.0
    return Point(D, len(a_same), float(s), float(lam), upper)


def local_path(point: Point, betas: np.ndarray, both_ways: bool = True) -> LocalPath:
    """Solve (6), and (7) for ascending `betas`, each started from the one before.

    A second pass restarts each beta from its larger neighbour: what serves a larger
    beta serves a smaller one, and often leads to a better local optimum.
    """
    widest, max_residual = maximiser(point)
    eps_max = widest.u2
    first = stop = _single(point)
    stops = []
    for beta in betas:
        eps = beta * eps_max
        if beta >= 1.0:
            stop = _among_maximisers(point, widest)
        elif eps > stop.u2:
            stop = _solved(point, stop, eps)
        stops.append(stop)
    for b in range(len(betas) - 2, -1, -1):
        eps = betas[b] * eps_max
        if eps <= first.u2:
            break
        old = stops[b]
        if both_ways or not old.serves(eps):
            new = _solved(point, stops[b + 1], eps)
            if new.serves(eps) and (not old.serves(eps) or new.u1 < old.u1):
                stops[b] = new
            elif not old.serves(eps):
                # Feasible, if not a local optimum of its own.
                larger = stops[b + 1]
                stops[b] = _Stop(larger.f, larger.u1, larger.u2, larger.mu, np.inf)
    columns = ("u1", "u2", "mu", "residual", "iterations")
    table = {name: np.array([getattr(stop, name) for stop in stops]) for name in columns}
    F = np.array([stop.f[:-1] for stop in stops])
    return LocalPath(betas, F, **table, eps_max=eps_max, max_residual=max_residual)


def _solved(point: Point, start: _Stop, eps: float) -> _Stop:
    f = start.f.copy()
    u1, u2, mu, residual, used = least_u1(point, f, start.mu, eps, MAX_ITER)
    return _Stop(f, u1, u2, mu, residual, used)


def maximiser(point: Point) -> tuple[_Stop, float]:
    """(6), started from the features with the largest gradient at uniform f."""
    n_features, n_samples = len(point.D) - 1, point.D.shape[1]
    budget = point.upper[-1] + 1.0
    slope, bend = np.empty(n_samples), np.empty(n_samples)
    utilities(point, point.D.sum(axis=0) * (budget / n_features), slope, bend)
    gradient = point.D[:-1, point.own :] @ slope[point.own :]
    f = np.zeros(n_features + 1)
    f[np.argsort(-gradient, kind="stable")[: int(budget)]] = 1.0
    work = workspace(*point.D.shape)
    u1, u2, _, residual, used = kkt_point(point, work, f, 1.0, 0.0, 0.0, False, 10 * MAX_ITER)
    return _Stop(f, u1, u2, 0.0, residual, used), residual


def _single(point: Point) -> _Stop:
    """The feature of least U1 alone: the global optimum of (7) while U2 allows it.

    U1 is concave, so least at a corner; it increases in f, so at a corner with one feature.
    """
    f = np.zeros(len(point.D))
    best = least_single(point.D, point.own, point.s, point.lam)
    f[best], f[-1] = 1.0, point.upper[-1]
    n = point.D.shape[1]
    u1, u2 = utilities(point, point.D[best], np.empty(n), np.empty(n))
    return _Stop(f, u1, u2)


@njit(nogil=True, cache=True)
def least_single(D, own, s, lam):
    """Feature of least U1(e_m); most are passed over by the chord G(z) >= z G(top)/top."""
    least, best = np.inf, 0
    for m in range(D.shape[0] - 1):
        row = D[m, :own]
        top = row.max()
        if top > 0.0 and row.sum() * ((1.0 / (1.0 + np.exp(-s * top)) - 0.5) / top + lam) >= least:
            continue
        value = 0.0
        for j in range(own):
            value += 1.0 / (1.0 + np.exp(-s * row[j])) - 0.5 + lam * row[j]
        if value < least:
            least, best = value, m
    return best


def _among_maximisers(point: Point, widest: _Stop) -> _Stop:
    r"""Of all maximisers of (6) one of least U1: the answer at beta = 1.

    G is strictly concave, so all maximisers have the same distances to the other
    classes; they differ by exchanges d of tied features with :math:`A_2 d = 0`. U1 is
    minimised over these by majorise-minimise, a small linear program a step.
    """
    n = point.D.shape[1]
    slope = np.empty(n)
    best = widest
    tied = _tied(point, widest.f)
    if len(tied) < 2:
        return best
    columns = np.column_stack([point.D[tied, point.own :], np.ones(len(tied))])
    if np.linalg.matrix_rank(columns) == len(tied):
        return best
    for _ in range(20):
        f = best.f.copy()
        utilities(point, point.D.T @ f, slope, np.empty(n))
        cost = point.D[tied, : point.own] @ slope[: point.own]
        bounds = np.column_stack([-f[tied], point.upper[tied] - f[tied]])
        found = linprog(cost, A_eq=columns.T, b_eq=np.zeros(n - point.own + 1), bounds=bounds)
        if not found.success:
            break
        f[tied] = np.clip(f[tied] + found.x, 0.0, point.upper[tied])
        u1, u2 = utilities(point, point.D.T @ f, slope, np.empty(n))
        if u1 >= best.u1 * (1 - 1e-12) or u2 < widest.u2 * (1 - 1e-14):
            break
        best = _Stop(f, u1, u2, 0.0, widest.residual, widest.iterations)
    return best


def _tied(point: Point, f: np.ndarray) -> np.ndarray:
    """Features that an exchange could move without loss of U2, to first order."""
    n = point.D.shape[1]
    slope = np.empty(n)
    utilities(point, point.D.T @ f, slope, np.empty(n))
    gradient = point.D[:, point.own :] @ slope[point.own :]
    can_rise, can_fall = f < point.upper, f > 0
    if not can_rise.any():
        return np.empty(0, dtype=np.int64)
    margin = TIE * gradient.max()
    best_out, worst_in = gradient[can_rise].max(), gradient[can_fall].min()
    movable = (can_fall & (gradient <= best_out + margin)) | (
        can_rise & (gradient >= worst_in - margin)
    )
    return np.flatnonzero(movable)
