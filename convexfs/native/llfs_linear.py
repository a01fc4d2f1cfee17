r"""A linear program with one price: the linear form of LLFS, and the test of stationarity.

.. math::
    \min_f c^T f\quad\text{s.t.}\quad d^T f \ge \delta,\; 0 \le f \le 1,\; 1 \le 1^T f \le \alpha

For a price :math:`\mu \ge 0` of the first constraint the rest is solved by sorting
:math:`c - \mu d`: take the alpha least entries that are negative, and at least one. The
dual value :math:`\mu\delta + \min_f (c - \mu d)^T f` is a lower bound for every price;
bisection finds the price where d'f passes :math:`\delta`, and a mixture of the corners on
both sides of it is optimal.
"""

from dataclasses import dataclass

import numpy as np

#: Halvings of the interval of prices; the interval then has the width of rounding.
HALVINGS = 100


@dataclass(frozen=True)
class PricedSolution:
    """Solution f, price mu of the level and the dual bound it gives."""

    f: np.ndarray
    mu: float
    bound: float


def priced_minimum(c: np.ndarray, d: np.ndarray, level: float, max_features: int) -> PricedSolution:
    """Solve the program; `level` is lowered to what can be reached."""
    low, high = 0.0, 1.0
    cheap = _corner(c, max_features)
    if d @ cheap >= level:
        return PricedSolution(cheap, 0.0, float(c @ cheap))
    most = _corner(-d, max_features)
    level = min(level, float(d @ most))
    dear = most
    scale = max(np.abs(c).max(initial=0.0), 1e-300) / max(np.abs(d).max(initial=0.0), 1e-300)
    while high < 1e18:
        dear = _corner(c - high * scale * d, max_features)
        if d @ dear >= level:
            break
        low, cheap, high = high, dear, 4.0 * high
    else:
        dear = most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        corner = _corner(c - middle * scale * d, max_features)
        if d @ corner >= level:
            high, dear = middle, corner
        else:
            low, cheap = middle, corner
    rise = d @ dear - d @ cheap
    share = min(max((level - d @ cheap) / rise, 0.0), 1.0) if rise > 0 else 1.0
    f = (1.0 - share) * cheap + share * dear
    return PricedSolution(f, high * scale, dual_value(c, d, level, max_features, high * scale))


def dual_value(c: np.ndarray, d: np.ndarray, level: float, max_features: int, mu: float) -> float:
    """A lower bound of the program, for any price mu >= 0."""
    reduced = c - mu * d
    return float(mu * level + reduced @ _corner(reduced, max_features))


def largest_sum(d: np.ndarray, max_features: int) -> float:
    """The largest ``d'f`` over the polytope."""
    return float(d @ _corner(-d, max_features))


def _corner(r: np.ndarray, max_features: int) -> np.ndarray:
    """The corner of least r'f."""
    f = np.zeros(len(r))
    if max_features < len(r):
        chosen = np.argpartition(r, max_features - 1)[:max_features]
    else:
        chosen = np.arange(len(r))
    f[chosen[r[chosen] < 0]] = 1.0
    f[chosen[np.argmin(r[chosen])]] = 1.0
    return f
