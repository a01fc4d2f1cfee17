r"""Newton's method for maximum entropy and reconstructability, and their duality gaps.

With :math:`A = 2 \Sigma - D(s)` both objectives are sums of smooth barriers, so that every
iterate is inside and Newton's steps, shortened where need be, lead to the optimum: a dozen
inversions of A. Weak duality at :math:`Y = A^{-1}` and :math:`Y = A^{-2}` gives gaps that are
sums of a term a feature, all of them 0 exactly where the gradient is.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.linalg.lapack import dpotri  # type: ignore[attr-defined]

from convexfs.methods.base.solve_step import native_solution
from convexfs.records import Solution

Numbers = Mapping[str, Any]
#: A function of s, inverse and log-determinant of A, that returns value, gradient and Hessian.
_Barrier = Callable[[np.ndarray, np.ndarray, float], tuple[float, np.ndarray, np.ndarray]]
#: Newton's method ends if the relative decrease of a step would be below this.
_TOL = 1e-14
_MOST_STEPS, _MOST_HALVINGS = 100, 60
#: Share of the predicted decrease that a step must achieve (Armijo).
_ARMIJO = 0.1


def knockoffs_me(Sigma: np.ndarray) -> Solution:
    """Maximise ``sum log(s) + log det(2 Sigma - diag(s))`` by Newton's method."""
    return _newton(Sigma, _entropy, sign=-1.0)


def knockoffs_mvr(Sigma: np.ndarray) -> Solution:
    """Minimise ``sum 1/s + tr(inv(2 Sigma - diag(s)))`` by Newton's method."""
    return _newton(Sigma, _reconstructability, sign=1.0)


def knockoffs_equi(Sigma: np.ndarray) -> Solution:
    """Solve the equicorrelated problem: all ``s_j = min(1, 2 lambda_min(Sigma))``."""
    start = time.perf_counter()
    level = _largest_equal(Sigma)
    primal = {"s": np.full(len(Sigma), level), "t": np.array(level)}
    return native_solution(start, primal, len(Sigma) * level)


def violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of ``s >= 0`` and ``2 Sigma - diag(s)`` psd."""
    s = np.asarray(primal["s"])
    left = 2 * values["Sigma"] - np.diag(s)
    least = 0.0 if factor_of(left) is not None else np.linalg.eigvalsh(left)[0]
    return float(max(-least, -s.min(), 0.0))


def knockoffs_equi_violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of the constraints, including s <= 1 and equal entries."""
    s = np.asarray(primal["s"])
    return max(violation(values, hyper, primal), float(max(s.max() - 1.0, np.ptp(s))))


def knockoffs_me_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    r"""Return the duality gap ``sum_j (r_j - 1 - log r_j)`` with ``r_j = s_j (A^-1)_jj``.

    The dual function, :math:`2\,\mathrm{tr}(Y \Sigma) - \log\det Y - \sum_j \log Y_{jj} - 2J`,
    at :math:`Y = A^{-1}`, minus the objective.
    """
    s = np.asarray(primal["s"])
    known = _inverse(np.asarray(values["Sigma"]), s)
    if known is None:
        return np.inf
    excess = s * known[0].diagonal() - 1.0
    return float(np.sum(excess - np.log1p(excess)))


def knockoffs_mvr_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    r"""Return the duality gap :math:`\sum_j (s_j^{-1/2} - (s_j (A^{-2})_{jj})^{1/2})^2`.

    The objective minus the dual function, :math:`2 \sum_j Y_{jj}^{1/2} + 2\,\mathrm{tr}\,Y^{1/2}
    - 2\,\mathrm{tr}(Y \Sigma)`, at :math:`Y = A^{-2}`.
    """
    s = np.asarray(primal["s"])
    known = _inverse(np.asarray(values["Sigma"]), s)
    if known is None:
        return np.inf
    squared = np.sum(known[0] ** 2, axis=0)
    return float(np.sum((1.0 / np.sqrt(s) - np.sqrt(s * squared)) ** 2))


def knockoffs_equi_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap ``J min(1, 2 lambda_min(Sigma)) - 1's``."""
    Sigma = np.asarray(values["Sigma"])
    return float(len(Sigma) * _largest_equal(Sigma) - np.sum(primal["s"]))


def _largest_equal(Sigma: np.ndarray) -> float:
    return float(np.clip(2.0 * np.linalg.eigvalsh(Sigma)[0], 0.0, 1.0))


def _equal_inside(Sigma: np.ndarray) -> float:
    """Return t for a start s = t 1 inside the cone: half of the first feasible 1, 1/2, 1/4, ..."""
    level = 1.0
    for _ in range(_MOST_HALVINGS):
        if factor_of(2 * Sigma - level * np.eye(len(Sigma))) is not None:
            break
        level *= 0.5
    return 0.5 * level


def _newton(Sigma: np.ndarray, barrier: _Barrier, sign: float) -> Solution:
    """Minimise a barrier over s by at most 100 Newton steps from equal entries."""
    begun = time.perf_counter()
    Sigma = np.asarray(Sigma, dtype=np.float64)
    s = np.full(len(Sigma), _equal_inside(Sigma))
    solved, steps = False, 0
    value, slope, curvature = _at(Sigma, s, barrier)
    while steps < _MOST_STEPS:
        step = -cho_solve(cho_factor(curvature), slope)
        promised = -float(slope @ step)
        if promised <= _TOL * (1.0 + abs(value)):
            solved = True
            break
        length = 1.0
        for _ in range(_MOST_HALVINGS):
            tried = _at(Sigma, s + length * step, barrier)
            if tried[0] <= value - _ARMIJO * length * promised:
                break
            length *= 0.5
        else:  # Rounding hides the remaining decrease; the certificate reports it.
            break
        s, steps = s + length * step, steps + 1
        value, slope, curvature = tried
    return native_solution(begun, {"s": s}, sign * value, solved=solved, iterations=steps)


def _at(
    Sigma: np.ndarray, s: np.ndarray, barrier: _Barrier
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return a barrier's value, gradient and Hessian at s; the value is inf if s is infeasible."""
    known = _inverse(Sigma, s)
    return (np.inf, s, Sigma) if known is None else barrier(s, *known)


def _inverse(Sigma: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return inverse and log-determinant of ``2 Sigma - diag(s)``; None if s is infeasible."""
    if not s.min() > 0:
        return None
    factor = factor_of(2 * Sigma - np.diag(s))
    if factor is None:
        return None
    return inverse_of(factor), 2.0 * float(np.log(factor.diagonal()).sum())


def _entropy(
    s: np.ndarray, inverse: np.ndarray, log_det: float
) -> tuple[float, np.ndarray, np.ndarray]:
    value = -float(np.log(s).sum()) - log_det
    return value, inverse.diagonal() - 1.0 / s, inverse**2 + np.diag(s**-2)


def _reconstructability(
    s: np.ndarray, inverse: np.ndarray, log_det: float
) -> tuple[float, np.ndarray, np.ndarray]:
    squared = inverse @ inverse
    value = float((1.0 / s).sum() + np.trace(inverse))
    return value, squared.diagonal() - s**-2, 2.0 * inverse * squared + np.diag(2.0 * s**-3)


def factor_of(matrix: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor L with ``L L' = matrix``; None if not positive definite."""
    try:
        return cholesky(matrix, lower=True)
    except np.linalg.LinAlgError:
        return None


def inverse_of(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of ``L L'``, given the Cholesky factor L."""
    lower, _ = dpotri(factor, lower=1)
    return lower + np.tril(lower, -1).T
