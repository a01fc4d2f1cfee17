r"""Solve a linear program with one multiplier: LLFS's linear form, and stationarity tests.

.. math::
    \min_f c^T f\quad\text{s.t.}\quad d^T f \ge \delta,\; 0 \le f \le 1,\; 1 \le 1^T f \le \alpha

For a multiplier :math:`\mu \ge 0` of the first constraint the rest is solved by sorting
:math:`c - \mu d`: take the alpha least entries that are negative, and at least one. The
dual value :math:`\mu\delta + \min_f (c - \mu d)^T f` is a lower bound for every one. Of
two corners on both sides of :math:`\delta` take the multiplier at which they tie: if no corner
is better there, their mixture with d'f = :math:`\delta` is optimal; else the better one
takes the place of that on its side.
"""

from dataclasses import dataclass

import numpy as np

from convexfs.kernels import compiled

#: Most multipliers that are tried; 2 to 10 are usual.
MOST_PRICES = 1000
kernel = compiled(error_model="numpy")


@dataclass(frozen=True)
class PricedSolution:
    """Solution f, multiplier mu of the level, and the dual bound."""

    f: np.ndarray
    mu: float
    bound: float


def priced_minimum(c: np.ndarray, d: np.ndarray, level: float, max_features: int) -> PricedSolution:
    """Minimise c'f over the polytope with d'f >= level, which is lowered if out of reach."""
    c, d = np.ascontiguousarray(c, dtype=float), np.ascontiguousarray(d, dtype=float)
    return PricedSolution(*_priced_minimum(c, d, float(level), int(max_features)))


def dual_value(c: np.ndarray, d: np.ndarray, level: float, max_features: int, mu: float) -> float:
    """Return a lower bound of the program, for any multiplier mu >= 0."""
    reduced = c - mu * d
    return float(mu * level - largest_sum(-reduced, max_features))


def largest_sum(d: np.ndarray, max_features: int) -> float:
    """Return the largest ``d'f`` over the polytope."""
    corner = np.empty(len(d))
    _write_corner(-np.ascontiguousarray(d, dtype=float), int(max_features), corner)
    return float(d @ corner)


#: Entries that differ by less than this fraction of the largest are equal up to rounding.
_TIED = 1e-13


@kernel
def _priced_minimum(c, d, level, max_features):
    """Return f, mu and the dual bound."""
    n = c.size
    cheap, dear, corner, reduced = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    # Entries of d that are equal up to rounding are ordered by c.
    largest_c = largest_d = 0.0
    for m in range(n):
        largest_c, largest_d = max(largest_c, abs(c[m])), max(largest_d, abs(d[m]))
    for m in range(n):
        reduced[m] = _TIED * largest_d * (c[m] / largest_c if largest_c > 0.0 else 0.0) - d[m]
    _write_corner(c, max_features, cheap)
    _write_corner(reduced, max_features, dear)
    c_cheap, d_cheap, c_dear, d_dear = _dot(c, cheap), _dot(d, cheap), _dot(c, dear), _dot(d, dear)
    if d_cheap >= level:
        return cheap, 0.0, c_cheap
    level = min(level, d_dear)
    mu = 0.0
    for _ in range(MOST_PRICES):
        rise = d_dear - d_cheap
        mu = (c_dear - c_cheap) / rise if rise > 0.0 else mu
        rounding = 0.0
        for m in range(n):
            reduced[m] = c[m] - mu * d[m]
        _write_corner(reduced, max_features, corner)
        for m in range(n):
            rounding += 1e-15 * (abs(c[m]) + mu * abs(d[m])) * max(cheap[m], corner[m])
        if rise <= 0.0 or _dot(reduced, corner) >= _dot(reduced, cheap) - rounding:
            break
        c_corner, d_corner = _dot(c, corner), _dot(d, corner)
        if d_corner >= level:
            dear, corner, c_dear, d_dear = corner, dear, c_corner, d_corner
        else:
            cheap, corner, c_cheap, d_cheap = corner, cheap, c_corner, d_corner
    rise, share = d_dear - d_cheap, 1.0
    if rise > 0.0:
        share = min(max((level - d_cheap) / rise, 0.0), 1.0)
    bound = mu * level + _dot(reduced, corner)
    for m in range(n):
        cheap[m] = (1.0 - share) * cheap[m] + share * dear[m]
    return cheap, mu, bound


@kernel
def _dot(a, b):
    total = 0.0
    for m in range(a.size):
        total += a[m] * b[m]
    return total


@kernel
def _write_corner(r, max_features, f):
    """Write the corner of least r'f: the alpha most negative entries, or else the least entry.

    The chosen features are kept in ascending order of r; few are ever inserted.
    """
    chosen, used, least = np.empty(max_features, np.int64), 0, 0
    for m in range(r.size):
        f[m] = 0.0
        if r[m] < r[least]:
            least = m
        if r[m] >= 0.0 or (used == max_features and r[m] >= r[chosen[used - 1]]):
            continue
        place = used if used < max_features else used - 1
        while place > 0 and r[chosen[place - 1]] > r[m]:
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = m
        used = min(used + 1, max_features)
    for i in range(used):
        f[chosen[i]] = 1.0
    f[least] = 1.0
