r"""The utility G of distances in LLFS, its mean U, and tangents of U, in numpy.

.. math::
    G(z) = \frac{1}{1 + e^{-sz}} - \frac12 + \lambda z,\qquad
    U(f) = \frac1n \sum_j G(a_j^T f)

G is increasing and, on :math:`z \ge 0`, concave: it counts distances up to about
:math:`1/s` and hardly sees larger ones (Armanfard, Reilly & Komeili 2017, eq. 3).
"""

import numpy as np
from scipy.special import expit

#: The value s z at which the sigmoid reaches .97; (8) puts the farthest sample there.
SATURATION = float(np.log(0.97 / 0.03))
#: The paper's lam is LINEAR_SHARE / alpha, where alpha is ``max_features``.
LINEAR_SHARE = 0.01


def utility(z: np.ndarray, s: float, lam: float) -> np.ndarray:
    """Return ``G(z) = 1 / (1 + exp(-s z)) - 1/2 + lam z``, entry by entry."""
    return expit(s * z) - 0.5 + lam * z


def utility_slope(z: np.ndarray, s: float, lam: float) -> np.ndarray:
    """Return the derivative of G, entry by entry."""
    p = expit(s * z)
    return s * p * (1.0 - p) + lam


def mean_utility(a: np.ndarray, f: np.ndarray, s: float, lam: float) -> float:
    """Return U(f), the mean of ``G(a_j' f)`` over the rows ``a_j`` of `a`."""
    return float(utility(a @ f, s, lam).mean())


def mean_utility_gradient(a: np.ndarray, f: np.ndarray, s: float, lam: float) -> np.ndarray:
    """Return the gradient of U at f."""
    return a.T @ utility_slope(a @ f, s, lam) / len(a)


def tangent(a: np.ndarray, f: np.ndarray, s: float, lam: float) -> tuple[np.ndarray, float]:
    """Return slope g, offset b of U's tangent at f: ``U <= g'f + b`` where ``a f >= 0``."""
    slope = mean_utility_gradient(a, f, s, lam)
    return slope, mean_utility(a, f, s, lam) - float(slope @ f)


def tangents_of_mean(
    a: np.ndarray, points: np.ndarray, s: float, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes (one row each) and offsets of the tangents of U at these points."""
    slopes, offsets = zip(*(tangent(a, f, s, lam) for f in np.atleast_2d(points)), strict=True)
    return np.array(slopes), np.array(offsets)


def steepness(
    a_same: np.ndarray, a_other: np.ndarray, max_features: int, sigma_init: str = "feasible"
) -> float:
    r"""Return the steepness s by (8): at uniform f the largest :math:`a_j^T f` reaches .97.

    The text asks for a uniform f within the budget, which is :math:`\alpha/M`
    (``"feasible"``); Algorithm 1 prints :math:`1/\alpha` (``"literal"``), which breaks
    the budget when :math:`M > \alpha^2`. Infinite when all distances are 0.
    """
    n_features = a_same.shape[1]
    entry = max_features / n_features if sigma_init == "feasible" else 1.0 / max_features
    farthest = entry * max(a_same.sum(axis=1).max(), a_other.sum(axis=1).max())
    return SATURATION / farthest if farthest > 0 else np.inf
