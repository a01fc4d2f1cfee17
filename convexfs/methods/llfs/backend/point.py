"""Values, repairs and multipliers of one point in LLFS's solution path, in numpy.

No solver's solution is trusted: it is moved into the polytope and to the true ``U2 >= eps``, and
one multiplier bounds the gain that is still possible.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from convexfs.methods.llfs.backend import line_search
from convexfs.methods.llfs.native.linear_program import priced_minimum
from convexfs.methods.llfs.utility import utility

#: An entry this close to 0 or 1 counts as integral, is set to it, and is tried there as well.
EDGE, DUST, SNAP = 1e-9, 1e-6, 1e-4
#: Entries farther than this from 0 and 1 count as free to move.
INTERIOR = 1e-7
#: Directions whose curvature is below this share of the Hessian's largest entry are left out.
FLAT = 1e-6
#: Most exchanges of two features in a repair; then the repair fails.
MOST_EXCHANGES = 4
#: A level counts as reached if U2 misses it by at most this, relatively.
LEVEL_SLACK = 1e-12


@dataclass(frozen=True)
class Place:
    """A point f with U1, U2, their gradients, and -d2U/dz2 of every distance."""

    f: np.ndarray
    u1: float
    g1: np.ndarray
    bend1: np.ndarray
    u2: float
    g2: np.ndarray
    bend2: np.ndarray

    @cached_property
    def fractional(self) -> np.ndarray:
        return (self.f > EDGE) & (self.f < 1.0 - EDGE)


@dataclass(frozen=True)
class Price:
    """An upper bound on the gain of a step, a multiplier `mu` of U2, and the reduced costs.

    ``gain`` bounds ``c'(f - g)`` over all feasible g; ``mu`` is the multiplier of U2
    and ``reduced`` the reduced costs, 0 for features that are worth moving.
    """

    gain: float
    mu: float
    reduced: np.ndarray


class PointUtilities:
    """Utilities of one representative point; see :mod:`convexfs.methods.llfs.problem`.

    With changed constraints (`free` False) points are only moved along lines between
    points that keep them.
    """

    def __init__(
        self,
        a_same: np.ndarray,
        a_other: np.ndarray,
        s: float,
        lam: float,
        max_features: int,
        free: bool = True,
    ):
        self.a_same = np.ascontiguousarray(a_same, dtype=float)
        self.a_other = np.ascontiguousarray(a_other, dtype=float)
        self.s, self.lam = float(s), float(lam)
        self.max_features, self.free = max_features, free
        self.n_features = a_same.shape[1]
        # U2 is concave and increasing, so its minimum over the polytope is at a single feature.
        self.least_u2 = float(utility(self.a_other, self.s, self.lam).mean(axis=0).min())

    def u1(self, f: np.ndarray) -> float:
        return line_search.mean_of(self.a_same @ f, self.s, self.lam)

    def u2(self, f: np.ndarray) -> float:
        return line_search.mean_of(self.a_other @ f, self.s, self.lam)

    def at(self, f: np.ndarray) -> Place:
        u1, g1, bend1 = self._slopes(self.a_same, f)
        return Place(f, u1, g1, bend1, *self._slopes(self.a_other, f))

    def _slopes(self, a: np.ndarray, f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        slope, bend = np.empty(len(a)), np.empty(len(a))
        u = line_search.mean_and_slopes(a @ f, self.s, self.lam, slope, bend)
        return u, slope @ a, bend

    def cut(self, f: np.ndarray) -> tuple[np.ndarray, float]:
        """Return slope and intercept of the tangent of U2 at f."""
        u, g, _ = self._slopes(self.a_other, f)
        return g, u - float(g @ f)

    def reaches(self, f: np.ndarray, eps: float) -> bool:
        return self.u2(f) >= eps * (1.0 - LEVEL_SLACK)

    def spends_all(self, f: np.ndarray) -> bool:
        return float(f.sum()) >= self.max_features - EDGE

    def sum_binds(self, f: np.ndarray) -> bool:
        return self.spends_all(f) or float(f.sum()) <= 1.0 + EDGE

    def inside(self, f: np.ndarray) -> np.ndarray:
        """Move a solver's point into the polytope; under changed constraints, only into [0, 1]."""
        f = np.clip(f, 0.0, 1.0)
        if not self.free:
            return f
        total = float(f.sum())
        if total > self.max_features:
            return f * (self.max_features / total)
        return f + (1.0 - total) * (1.0 - f) / (len(f) - total) if total < 1.0 else f

    def snapped(self, f: np.ndarray, near: float = SNAP) -> np.ndarray:
        """Snap entries near 0 or 1, and a sum near 1 or alpha; only clip if constraints changed."""
        if not self.free:
            return self.inside(f)
        f = self.inside(np.where(f < near, 0.0, np.where(f > 1.0 - near, 1.0, f)))
        return self._spent(f, near)

    def _spent(self, f: np.ndarray, near: float) -> np.ndarray:
        """Return f with its sum set to the budget, or to 1, if it is near."""
        where, total = (f > DUST) & (f < 1.0 - DUST), float(f.sum())
        for limit in (self.max_features, 1):
            if 0.0 < abs(limit - total) <= near * len(f) and where.any():
                f = f.copy()
                f[where] += (limit - total) / where.sum()
                return self.inside(f)
        return f

    def towards(self, f: np.ndarray, goal: np.ndarray, eps: float) -> np.ndarray:
        """Return the first point with U2 >= eps on the line from f to `goal`, or else `goal`."""
        z = self.a_other @ f
        t = line_search.share_to_level(z, self.a_other @ goal - z, eps, self.s, self.lam)
        return goal if t >= 1.0 else f + t * (goal - f)

    def highest(self, f: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Return the point of largest U2 on the line from f to `goal`."""
        z = self.a_other @ f
        return f + line_search.best_share(z, self.a_other @ goal - z, self.s, self.lam) * (goal - f)

    def along_fractions(self, f: np.ndarray, eps: float) -> np.ndarray | None:
        """Return f with U2 raised to eps by moving its fractional features; None if impossible."""
        where = np.flatnonzero((f > DUST) & (f < 1.0 - DUST))
        full = self.spends_all(f)
        if len(where) < 1 + full:
            return None
        rise = self._slopes(self.a_other, f)[1][where]
        if full:
            rise = rise - rise.mean()
        if np.abs(rise).max() <= 1e-12:
            return None
        part = f[where]
        room = np.where(rise > 0, 1.0 - part, part) / np.maximum(np.abs(rise), 1e-300)
        most = float(room.min())
        if not full:
            most = min(most, (self.max_features - float(f.sum())) / max(float(rise.sum()), 1e-300))
        goal = f.copy()
        goal[where] = np.clip(part + most * rise, 0.0, 1.0)
        reached = self.towards(f, goal, eps)
        return reached if self.reaches(reached, eps) else None

    def by_exchanges(self, f: np.ndarray, eps: float, cost: np.ndarray) -> np.ndarray | None:
        """Return f with U2 raised to eps by at most four exchanges of two features, or None."""
        for _ in range(MOST_EXCHANGES):
            pair = self._cheapest_exchange(f, self._slopes(self.a_other, f)[1], cost)
            if pair is None:
                return None
            up, down = pair
            goal = f.copy()
            step = 1.0 - f[up] if down is None else min(1.0 - f[up], f[down])
            if down is None:
                step = min(step, self.max_features - float(f.sum()))
            else:
                goal[down] -= step
            goal[up] += step
            f = self.towards(f, goal, eps)
            if self.reaches(f, eps):
                return f
        return None

    def _cheapest_exchange(
        self, f: np.ndarray, rise: np.ndarray, cost: np.ndarray
    ) -> tuple[int, int | None] | None:
        """Return features to raise and to lower (or None) at least cost per U2; None if none."""
        can_rise, can_fall = np.flatnonzero(f < 1.0 - EDGE), np.flatnonzero(f > EDGE)
        full = self.spends_all(f)
        if not len(can_rise):
            return None

        def steepest(r: np.ndarray) -> tuple[int, int | None]:
            up = int(can_rise[np.argmin(r[can_rise])])
            down = int(can_fall[np.argmax(r[can_fall])])
            return up, None if not full and r[down] <= 0.0 else down

        def between(r: np.ndarray, pair: tuple[int, int | None]) -> float:
            return float(r[pair[0]]) - (0.0 if pair[1] is None else float(r[pair[1]]))

        best = steepest(-rise)
        least = 0.05 * between(rise, best)
        if least <= 0.0:
            return None
        for _ in range(10):
            price = between(cost, best) / between(rise, best)
            pair = steepest(cost - price * rise)
            if pair == best or between(rise, pair) <= least:
                break
            best = pair
        return best

    def repaired(self, f: np.ndarray, eps: float, goal: np.ndarray) -> list[np.ndarray]:
        """Return points with U2 >= eps: f, or f moved along its fractions and towards `goal`."""
        if self.reaches(f, eps):
            return [f]
        own = self.along_fractions(f, eps) if self.free else None
        return [*([] if own is None else [own]), self.towards(f, goal, eps)]

    def price(self, place: Place, slope: np.ndarray, eps: float) -> Price:
        """Bound the decrease of `slope`'f by a step from `place`, with U2 replaced by its tangent.

        Return also U2's multiplier and the reduced costs.
        """
        f, g2 = place.f, place.g2
        priced = priced_minimum(slope, g2, float(g2 @ f) - place.u2 + eps, self.max_features)
        gain = max(float(slope @ f) - priced.bound, 0.0)
        mu, full = priced.mu, self.sum_binds(f)
        moving = (f > INTERIOR) & (f < 1.0 - INTERIOR)
        if moving.sum() >= 1 + full and place.u2 - eps <= 1e-6 * eps:
            # On fractional features a stationary point has slope = mu g2 plus a constant.
            a, b = slope[moving], g2[moving]
            if full:
                a, b = a - a.mean(), b - b.mean()
            if b @ b > 0 and a @ b > 0:
                mu = float(a @ b / (b @ b))
        reduced = slope - mu * g2
        if full:
            reduced = reduced - np.median(reduced[moving if moving.any() else f > DUST])
        return Price(gain, mu, reduced)

    def curvature(
        self, place: Place, reduced: np.ndarray, mu: float, concave: bool, rank: int
    ) -> np.ndarray:
        """Return R (rank x M), R'R a psd part of the Hessian of ``U1 - mu U2`` or ``-mu U2``.

        On the features that are fractional or cheapest to move; without U1 if not
        `concave`. With it the Hessian is indefinite, and R'R keeps it exactly on the
        fractional features, as quadratic convergence needs.
        """
        which, n_fractional = self._curved_features(place, reduced, rank)
        a = self.a_other[:, which]
        hessian = mu * (a.T * place.bend2) @ a
        if concave:
            own = self.a_same[:, which]
            hessian -= (own.T * place.bend1) @ own
            sums = np.ones(n_fractional) if self.sum_binds(place.f) else None
            part = exact_positive_root(hessian, place.g2[which[:n_fractional]], sums)
        else:
            part = positive_root(hessian)
        root = np.zeros((rank, self.n_features))
        root[: len(part), which] = part
        return root

    def _curved_features(
        self, place: Place, reduced: np.ndarray, rank: int
    ) -> tuple[np.ndarray, int]:
        """Return at most `rank` features, fractional ones first, and how many are fractional."""
        f = place.f
        # Prefer features well inside their bounds to noise of an inaccurate solution.
        depth = np.minimum(f, 1.0 - f)
        inside = depth * np.abs(reduced).max() / DUST
        cost = np.where(f <= EDGE, reduced, np.where(place.fractional, -inside, -reduced))
        size = min(rank, self.n_features)
        which = np.argpartition(cost, size - 1)[:size]
        which = which[np.argsort(-depth[which])]
        return which, int(np.count_nonzero(depth[which] > INTERIOR))


def positive_root(matrix: np.ndarray) -> np.ndarray:
    """Return R with R'R the symmetric matrix without its negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


def exact_positive_root(
    hessian: np.ndarray, slope: np.ndarray, sums: np.ndarray | None
) -> np.ndarray:
    """Return R with R'R psd, equal to the Hessian along steps that keep U2 (and the sum).

    These are the directions of positive curvature among the first ``len(slope)`` features
    that keep ``slope'f`` and, unless `sums` is None, ``sums'f``. Their curvature stays
    exact, also against the other features; the Schur complement of the others loses its
    negative eigenvalues. Dropping those of the whole matrix would stiffen every direction,
    and steps would converge linearly.
    """
    k = len(slope)
    along = hessian[:k, :k].copy()
    for normal in _orthonormal(slope, sums):
        along -= np.outer(normal, normal @ along)
        along -= np.outer(along @ normal, normal)
    values, vectors = np.linalg.eigh(along)
    # Directions that the constraints fix have only rounding errors left as curvature.
    kept = values > FLAT * np.abs(hessian).max()
    scaled = vectors[:, kept] * np.sqrt(values[kept])
    cross = (vectors[:, kept] / np.sqrt(values[kept])).T @ hessian[:k, k:]
    rest = positive_root(hessian[k:, k:] - cross.T @ cross)
    root = np.zeros((len(cross) + len(rest), len(hessian)))
    root[: len(cross), :k], root[: len(cross), k:] = scaled.T, cross
    root[len(cross) :, k:] = rest
    return root


def _orthonormal(slope: np.ndarray, sums: np.ndarray | None) -> list[np.ndarray]:
    """Return an orthonormal basis of `slope` and, if given, `sums`; drop a dependent vector."""
    basis: list[np.ndarray] = []
    for vector in (slope, sums):
        if vector is not None:
            for other in basis:
                vector = vector - (vector @ other) * other
            length = float(np.sqrt(vector @ vector))
            if length > 1e-12:
                basis.append(vector / length)
    return basis
