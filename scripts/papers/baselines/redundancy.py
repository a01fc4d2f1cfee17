"""Features that tell much of the class and little of each other."""

from typing import Any

import numpy as np

from convexfs.errors import ConvexfsError
from papers.baselines.checks import checked, standardised

#: Correlations are held below 1, where the information is infinite.
_MOST = 1.0 - 1e-12


def mrmr(X: Any, y: Any) -> np.ndarray:
    r"""Minimum redundancy, maximum relevance (Peng, Long and Ding 2005), greedy.

    One after the other, the feature with the largest

    .. math:: I(x_j; y) - \frac{1}{|S|} \sum_{s \in S} I(x_j; x_s)

    joins the set S. Information is that of Gaussians: :math:`-\frac12 \log(1 - r^2)`,
    r the correlation of two features, or the correlation ratio of a feature with
    the class. The score is the number of features that joined later.
    """
    X, codes = checked(X, y)
    relevance = _information(_class_correlation(X, codes))
    Z = standardised(X)
    redundancy = np.zeros(X.shape[1])
    scores, left = np.zeros(X.shape[1]), np.ones(X.shape[1], bool)
    for joined in range(X.shape[1]):
        merit = np.where(left, relevance - redundancy / max(joined, 1), -np.inf)
        best = int(merit.argmax())
        left[best] = False
        scores[best] = left.sum()
        redundancy += _information(Z.T @ Z[:, best] / len(Z))
    return scores


def qpfs(X: Any, y: Any, tol: float = 1e-8) -> np.ndarray:
    r"""Quadratic programming feature selection (Rodriguez-Lujan et al. 2010).

    The convex form of redundancy against relevance,

    .. math::
        \min_x\; \tfrac12 (1 - \alpha) x^T Q x - \alpha F^T x
        \quad\text{s.t.}\quad x \ge 0,\; 1^T x = 1,

    Q the absolute correlations of features with negative eigenvalues clipped, F
    their correlation ratios with the class, :math:`\alpha = \bar q / (\bar q + \bar f)`
    from the mean entries. The score is x.
    """
    X, codes = checked(X, y)
    Z = standardised(X)
    values, vectors = np.linalg.eigh(np.abs(Z.T @ Z / len(Z)))
    Q = (vectors * np.maximum(values, 0.0)) @ vectors.T
    F = _class_correlation(X, codes)
    total = Q.mean() + F.mean()
    alpha = Q.mean() / total if total > 0 else 0.5
    return least_on_simplex((1.0 - alpha) * Q, alpha * F, tol)


def _class_correlation(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Correlation ratio: the root of between-class over total scatter."""
    Z = standardised(X)
    shares = np.bincount(codes) / len(codes)
    means = np.array([Z[codes == c].mean(axis=0) for c in range(len(shares))])
    return np.sqrt(shares @ means**2)


def _information(r: np.ndarray) -> np.ndarray:
    return -0.5 * np.log1p(-np.minimum(r**2, _MOST))


def least_on_simplex(H: np.ndarray, f: np.ndarray, tol: float) -> np.ndarray:
    """``min 1/2 x'Hx - f'x`` on the unit simplex, by accelerated projected gradients.

    The gap ``g'x - min g``, g the gradient, bounds the distance to the optimum.
    """
    length = 1.0 / max(float(np.linalg.eigvalsh(H)[-1]), 1e-12)
    x = ahead = np.full(len(f), 1.0 / len(f))
    momentum = 1.0
    for _ in range(100_000):
        g = H @ x - f
        if g @ x - g.min() <= tol * max(1.0, float(np.abs(f).max())):
            return x
        moved = _onto_simplex(ahead - length * (H @ ahead - f))
        if (ahead - moved) @ (moved - x) > 0:
            # Momentum points uphill: start it afresh.
            momentum, moved = 1.0, _onto_simplex(x - length * g)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = moved + (momentum - 1.0) / following * (moved - x)
        x, momentum = moved, following
    raise ConvexfsError("the quadratic program of qpfs did not converge: use a larger tol")


def _onto_simplex(v: np.ndarray) -> np.ndarray:
    """Return the nearest point of the unit simplex."""
    falling = np.sort(v)[::-1]
    level = (np.cumsum(falling) - 1.0) / np.arange(1, len(v) + 1)
    return np.maximum(v - level[np.flatnonzero(falling > level)[-1]], 0.0)
