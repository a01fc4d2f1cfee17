"""Features as a kernel scales them."""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from papers.baselines.checks import checked, standardised
from papers.baselines.redundancy import least_on_simplex

#: Logarithms of scales relative to 1 / J: what is below the first is out, and the last is steep.
_BOUNDS = (-12.0, 6.0)


def ams(X: Any, y: Any, C: float = 1.0, n_steps: int = 30) -> np.ndarray:
    r"""Adaptive scaling (Chapelle, Vapnik, Bousquet and Mukherjee 2002), by radius and margin.

    .. math::
        \min_{s \ge 0} R^2(s) \|w(s)\|^2,\qquad
        K_{nm} = \exp\big(-\textstyle\sum_j s_j (x_{nj} - x_{mj})^2\big) + [n = m] / C,

    R the radius of the smallest ball that holds all samples and w the hard-margin machine of
    this kernel: a bound of the leave-one-out error, minimised over the scales by quasi-Newton
    steps from :math:`s = 1/J`. Not convex. The score is s, of several classes the largest of
    each against the others. (The authors' code may minimise the span bound instead, which
    costs a machine for every sample.)
    """
    X, codes = checked(X, y)
    X = standardised(X)
    classes = range(1, 2) if codes.max() == 1 else range(codes.max() + 1)
    return np.max([_scales(X, codes == c, C, n_steps) for c in classes], axis=0)


def _scales(X: np.ndarray, own: np.ndarray, C: float, n_steps: int) -> np.ndarray:
    start = -np.log(X.shape[1])

    def bound(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        scales = np.exp(start + logarithms)
        value, slope = radius_margin(X, own, scales, C)
        return np.log(value), slope * scales / value

    found = minimize(
        bound, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B",
        bounds=[_BOUNDS] * X.shape[1], options={"maxiter": n_steps},
    )  # fmt: skip
    return np.exp(start + found.x)


def radius_margin(
    X: np.ndarray, own: np.ndarray, scales: np.ndarray, C: float
) -> tuple[float, np.ndarray]:
    """Return the bound at some scales, and its gradient.

    At their optima the multipliers of both problems may be held fixed.
    """
    Z = X * np.sqrt(scales)
    kernel = np.exp(-cdist(Z, Z, "sqeuclidean"))
    ridged = kernel + np.eye(len(X)) / C
    machine = SVC(kernel="precomputed", C=1e6, tol=1e-6).fit(ridged, own)
    alpha = np.zeros(len(X))
    alpha[machine.support_] = machine.dual_coef_[0]
    weight = float(alpha @ ridged @ alpha)
    ball = least_on_simplex(2.0 * ridged, np.diag(ridged), 1e-8)
    radius = float(np.diag(ridged) @ ball - ball @ ridged @ ball)
    slope = weight * _through_kernel(X, kernel, ball) + radius * _through_kernel(X, kernel, alpha)
    return radius * weight, slope


def _through_kernel(X: np.ndarray, kernel: np.ndarray, v: np.ndarray) -> np.ndarray:
    """``sum_nm v_n v_m K_nm (x_nj - x_mj)^2`` for every j."""
    shares = np.outer(v, v) * kernel
    return 2.0 * (shares.sum(axis=1) @ X**2 - (X * (shares @ X)).sum(axis=0))
