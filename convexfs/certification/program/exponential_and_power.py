"""Exponential and power cones, whose duals are other cones; methods as in :class:`Cone`."""

from dataclasses import dataclass

import numpy as np

from convexfs.certification.program.cones import largest_of_each

#: Bound on the relative error of exp, log and powers.
FUNCTIONS = 1e-13
#: Absolute error allowed for values that underflow.
UNDERFLOW = 1e-300
#: If a factorisation fails, Hessians of unit diagonal with a lowest eigenvalue up to this get the
#: factor 0.
LEAST_EIGENVALUE = 1e-14


def _inverse_root_factors(hessians: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return G with G G' the inverse of each Hessian; 0 where `inside` is False or it fails."""
    factors = np.zeros_like(hessians)
    with np.errstate(all="ignore"):
        units = np.sqrt(np.einsum("kii->ki", hessians))
        scaled = hessians / (units[:, :, None] * units[:, None, :])
    good = np.flatnonzero(inside & np.isfinite(scaled).all(axis=(1, 2)))
    try:
        lower = np.linalg.cholesky(scaled[good])
    except np.linalg.LinAlgError:
        good = good[np.linalg.eigvalsh(scaled[good])[:, 0] > LEAST_EIGENVALUE]
        lower = np.linalg.cholesky(scaled[good])
    inverses = np.linalg.solve(lower, np.broadcast_to(np.eye(lower.shape[-1]), lower.shape))
    factors[good] = (inverses / units[good][:, None, :]).transpose(0, 2, 1)
    return factors


def _norms(rows: np.ndarray) -> np.ndarray:
    """Return the norm of each row, rounded up."""
    return np.linalg.norm(rows, axis=1) * (1.0 + FUNCTIONS)


def _ball(eta: float, *terms: tuple[np.ndarray | float, np.ndarray]) -> np.ndarray:
    """Bound |sum of coefficient * G v| for norm(v) <= eta, per row, with rounding errors.

    Terms may cancel, so that errors of rounding are relative to each of them.
    """
    scaled = [np.reshape(coefficient, (-1, 1)) * G for coefficient, G in terms]
    errors = np.sum([_norms(term) for term in scaled], axis=0)
    return eta * (_norms(np.sum(scaled, axis=0)) + 2 * FUNCTIONS * errors)


@dataclass(frozen=True)
class Exponential:
    """Rows (x, y, z) with y exp(x / y) <= z, y > 0, and the closure."""

    kind = "exponential cone"
    size = 3
    curved = True

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Return the least of: fall of x, rise of z, or distance to the face y = 0 (0 inside).

        Or the distance to the face y = 0, x <= 0, z >= 0.
        """
        x, y, z = values.T
        with np.errstate(all="ignore"):
            by_x = np.where((y > 0) & (z > 0), x - y * np.log(z / y), np.inf)
            by_z = np.where(y > 0, y * np.exp(x / y) - z, np.inf)
        to_face = np.maximum.reduce([np.abs(y), x, -z])
        return np.fmin.reduce(np.maximum([by_x, by_z, to_face], 0.0))

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Move rows into the cone: lower x or raise z, whichever changes less."""
        x, y, z = values[:, 0], np.maximum(values[:, 1], 0.0), np.maximum(values[:, 2], 0.0)
        with np.errstate(all="ignore"):
            most_x = np.where(y > 0, y * np.log(z / y), np.minimum(x, 0.0))
            least_z = np.where(y > 0, y * np.exp(x / y), 0.0)
        by_x = np.isfinite(most_x) & ~(least_z - z < x - most_x)
        x = np.where(by_x, np.minimum(x, most_x), x)
        return np.column_stack([x, y, np.where(by_x, z, np.maximum(z, least_z))])

    def surely_contains(self, values: np.ndarray, radii: np.ndarray) -> bool:
        x, z = values[:, 0] + radii[:, 0], values[:, 2] - radii[:, 2]
        ends = values[:, 1] - radii[:, 1], values[:, 1] + radii[:, 1]
        on_face = (values[:, 1] == 0) & (radii[:, 1] == 0) & (x <= 0) & (z >= 0)
        with np.errstate(all="ignore"):
            # y exp(x / y) is convex in y.
            above = [end * np.exp(x / end) * (1.0 + FUNCTIONS) + UNDERFLOW <= z for end in ends]
        return bool(np.all(on_face | ((ends[0] > 0) & above[0] & above[1])))

    def into_dual(self, values: np.ndarray, free: np.ndarray, room: float) -> np.ndarray:
        """Raise w or v (the free one, or the cheaper) until -u exp(v / u - 1) <= w, with u <= 0."""
        u, v, w = np.minimum(values[:, 0], 0.0), values[:, 1], np.maximum(values[:, 2], 0.0)
        more = 1.0 + 2 * FUNCTIONS + room
        with np.errstate(all="ignore"):
            least_w = np.where(u < 0, -u * np.exp(v / u - 1.0) * more, 0.0)
            least_v = np.where(u < 0, u * (1.0 + np.log(w / (-u * more))), 0.0)
            least_v += 8 * FUNCTIONS * (np.abs(least_v) + np.abs(u))
        less = np.where(free[:, 1] == free[:, 2], least_v - v < least_w - w, free[:, 1])
        by_v = (u == 0) | (less & np.isfinite(least_v))
        v = np.where(by_v, np.maximum(v, least_v), v)
        return np.column_stack([u, v, np.where(by_v, w, np.maximum(w, least_w))])

    def dual_factors(self, values: np.ndarray, ball: bool) -> np.ndarray:
        """Return factors of the inverse Hessian of a barrier of the dual cone."""
        a, v, w = -values[:, 0], values[:, 1], values[:, 2]
        inside = (a > 0) & (w > 0)
        a, w = np.where(inside, a, 1.0), np.where(inside, w, 1.0)
        logs = np.log(w / a)
        gap = v + a + a * logs
        inside &= gap > 1e-13 * (np.abs(v) + a)
        gap = np.where(inside, gap, 1.0)
        slope = np.stack([-logs, np.ones_like(a), a / w], axis=1)
        hessians = slope[:, :, None] * slope[:, None, :] / (gap**2)[:, None, None]
        hessians[:, 0, 0] += 1 / (a * gap) + 1 / a**2
        hessians[:, 2, 2] += a / (w**2 * gap) + 1 / w**2
        hessians[:, 0, 2] += 1 / (w * gap)
        hessians[:, 2, 0] += 1 / (w * gap)
        return _inverse_root_factors(hessians, inside)

    def dual_surely_contains(self, values: np.ndarray, factors: np.ndarray, eta: float) -> bool:
        """Return whether values + G v, for norm(v) <= eta, surely lies in the dual cone.

        A Taylor expansion bounds the ellipsoid: no box around it would fit into the cone.

        With r = -u / w and s = v / w the cone is s + h(r) >= 0, where h(r) = r (1 - log r) has
        the second derivative -1 / r.
        """
        used = factors.any(axis=(1, 2))
        (u, v, w), (G_u, G_v, G_w) = values[used].T, factors[used].transpose(1, 0, 2)
        if not (np.all(u < 0) and np.all(w > 0)):
            return False
        r, s = -u / w, v / w
        logs = np.log(r)
        least_w = w - eta * _norms(G_w)
        along = _ball(eta, (-1.0, G_u), (-r, G_w)) / least_w
        # log r = (1 + log r) - 1, so that its absolute error near r = 1 is allowed for.
        by_logs = (1.0 + logs, G_u), (-1.0, G_u), (r + r * logs, G_w), (-r, G_w)
        across = _ball(eta, (1.0, G_v), (-s, G_w), *by_logs) / least_w
        room = s + r - r * logs - FUNCTIONS * (np.abs(s) + r * (2.0 + np.abs(logs)))
        bend = along**2 / (2.0 * (r - along))
        return bool(
            np.all((least_w > 0) & (along < r) & (room >= (across + bend) * (1.0 + FUNCTIONS)))
        )

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        return largest_of_each(sizes)

    def interior(self) -> np.ndarray:
        # This point lies on the central ray of the cone and its dual.
        return np.array([-1.051383945322714, 0.556409619469370, 1.258967884768947])


@dataclass(frozen=True)
class Power:
    """Rows (u, z) with u >= 0 and the product of u ** exponents at least abs(z)."""

    exponents: tuple[float, ...]
    kind = "power cone"
    curved = True

    @property
    def size(self) -> int:
        return len(self.exponents) + 1

    def outside(self, values: np.ndarray) -> np.ndarray:
        u, z = values[:, :-1], values[:, -1]
        short = np.abs(z) - np.prod(np.maximum(u, 0.0) ** self.exponents, axis=1)
        return np.maximum.reduce([short, np.max(-u, axis=1), np.zeros(len(z))])

    def inside(self, values: np.ndarray) -> np.ndarray:
        u = np.maximum(values[:, :-1], 0.0)
        most = np.prod(u**self.exponents, axis=1)
        return np.column_stack([u, np.clip(values[:, -1], -most, most)])

    def surely_contains(self, values: np.ndarray, radii: np.ndarray) -> bool:
        u, z = values[:, :-1] - radii[:, :-1], np.abs(values[:, -1]) + radii[:, -1]
        product = np.prod(np.maximum(u, 0.0) ** self.exponents, axis=1)
        return bool(np.all(u >= 0) and np.all(product * (1.0 - FUNCTIONS) >= z))

    def into_dual(self, values: np.ndarray, free: np.ndarray, room: float) -> np.ndarray:
        """Raise a free u or shrink w until abs(w) <= product of (u / exponents) ** exponents."""
        u, w = np.maximum(values[:, :-1], 0.0), values[:, -1]
        exponents = np.array(self.exponents)
        for k in np.flatnonzero(free[0, :-1] & ~free[0, -1])[:1]:
            others = np.delete((u / exponents) ** exponents, k, axis=1).prod(axis=1)
            with np.errstate(all="ignore"):
                least = exponents[k] * (np.abs(w) / others) ** (1.0 / exponents[k])
                least *= 1.0 + 64.0 * (FUNCTIONS + room) / exponents[k]
            u[:, k] = np.maximum(u[:, k], np.where(np.isfinite(least), least, 0.0))
        most = np.prod((u / exponents) ** exponents, axis=1) * (1.0 - 2 * FUNCTIONS - room)
        return np.column_stack([u, np.clip(w, -most, most)])

    def dual_factors(self, values: np.ndarray, ball: bool) -> np.ndarray:
        """Return factors of the inverse Hessian of a barrier of the dual cone."""
        exponents, u, w = np.array(self.exponents), values[:, :-1], values[:, -1]
        inside = np.all(u > 0, axis=1)
        u = np.where(inside[:, None], u, 1.0)
        product = np.prod((u / exponents) ** (2 * exponents), axis=1)
        gap = product - w**2
        inside &= gap > 1e-13 * product
        gap = np.where(inside, gap, 1.0)
        rates = 2 * exponents / u
        slope = np.column_stack([product[:, None] * rates, -2 * w])
        bend = np.zeros((len(w), self.size, self.size))
        inner = rates[:, :, None] * rates[:, None, :] - _diagonals(2 * exponents / u**2)
        bend[:, :-1, :-1] = product[:, None, None] * inner
        bend[:, -1, -1] = -2.0
        hessians = slope[:, :, None] * slope[:, None, :] / (gap**2)[:, None, None]
        hessians += _diagonals(np.column_stack([(1 - exponents) / u**2, np.zeros(len(w))]))
        return _inverse_root_factors(hessians - bend / gap[:, None, None], inside)

    def dual_surely_contains(self, values: np.ndarray, factors: np.ndarray, eta: float) -> bool:
        """Return whether values + G v, for norm(v) <= eta, surely lies in the dual cone.

        A Taylor expansion bounds the ellipsoid: no box around it would fit into the cone.

        If u changes by the shares m + (1 + m) k, where the mean of k is 0, the product changes by
        the factor 1 + m, and by at least 1 - K, where K is the mean of k^2 / 2 (1 - abs(k)).
        """
        used = factors.any(axis=(1, 2))
        exponents, u, w = np.array(self.exponents), values[used, :-1], values[used, -1]
        if not np.all(u > 0):
            return False
        shares = (factors[used, :-1] / u[:, :, None]).transpose(1, 0, 2)
        G_w, product = factors[used, -1], np.prod((u / exponents) ** exponents, axis=1)
        mean = list(zip(exponents, shares, strict=True))
        m = _ball(eta, *mean)
        from_mean = [_ball(eta, (-1.0, share), *mean) for share in shares]
        k = np.stack(from_mean, axis=1) / (1.0 - m)[:, None]
        bend = (k**2 / (2.0 * (1.0 - k))) @ exponents * (1.0 + m)
        lost = product * (bend * (1.0 + FUNCTIONS) + 8.0 * len(exponents) * FUNCTIONS)
        of_product = [(product * each, share) for each, share in mean]
        inside = (m < 1.0) & np.all(k < 1.0, axis=1)
        for sign in (-1.0, 1.0):
            inside &= product - sign * w - lost >= _ball(eta, *of_product, (-sign, G_w))
        return bool(np.all(inside))

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        """Return the sizes of u as scales, and for z the product of these to the exponents."""
        return np.column_stack([sizes[:, :-1], np.prod(sizes[:, :-1] ** self.exponents, axis=1)])

    def interior(self) -> np.ndarray:
        return np.append(np.ones(len(self.exponents)), 0.0)


def _diagonals(values: np.ndarray) -> np.ndarray:
    return values[:, :, None] * np.eye(values.shape[1])
