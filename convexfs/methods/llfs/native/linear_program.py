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

#: Most multipliers that are tried; 2 to 10 are usual.
MOST_PRICES = 1000


@dataclass(frozen=True)
class PricedSolution:
    """Solution f, multiplier mu of the level, and the dual bound."""

    f: np.ndarray
    mu: float
    bound: float


def priced_minimum(c: np.ndarray, d: np.ndarray, level: float, max_features: int) -> PricedSolution:
    """Solve the program; `level` is lowered to the largest reachable value."""
    cheap, dear = _corner(c, max_features), _corner(-d, max_features)
    if d @ cheap >= level:
        return PricedSolution(cheap, 0.0, float(c @ cheap))
    level = min(level, float(d @ dear))
    mu = 0.0
    for _ in range(MOST_PRICES):
        rise = float(d @ dear - d @ cheap)
        mu = float(c @ dear - c @ cheap) / rise if rise > 0 else mu
        reduced = c - mu * d
        corner = _corner(reduced, max_features)
        rounding = 1e-15 * ((np.abs(c) + mu * np.abs(d)) @ np.maximum(cheap, corner))
        if rise <= 0 or reduced @ corner >= reduced @ cheap - rounding:
            break
        if d @ corner >= level:
            dear = corner
        else:
            cheap = corner
    rise = d @ dear - d @ cheap
    share = min(max((level - d @ cheap) / rise, 0.0), 1.0) if rise > 0 else 1.0
    f = (1.0 - share) * cheap + share * dear
    return PricedSolution(f, mu, dual_value(c, d, level, max_features, mu))


def dual_value(c: np.ndarray, d: np.ndarray, level: float, max_features: int, mu: float) -> float:
    """Return a lower bound of the program, for any multiplier mu >= 0."""
    reduced = c - mu * d
    return float(mu * level + reduced @ _corner(reduced, max_features))


def largest_sum(d: np.ndarray, max_features: int) -> float:
    """Return the largest ``d'f`` over the polytope."""
    return float(d @ _corner(-d, max_features))


def _corner(r: np.ndarray, max_features: int) -> np.ndarray:
    """Return the corner of least r'f."""
    f = np.zeros(len(r))
    if max_features < len(r):
        chosen = np.argpartition(r, max_features - 1)[:max_features]
    else:
        chosen = np.arange(len(r))
    f[chosen[r[chosen] < 0]] = 1.0
    f[chosen[np.argmin(r[chosen])]] = 1.0
    return f
