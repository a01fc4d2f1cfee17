r"""LFE's closed form, and its duality gap.

With :math:`\Sigma - \lambda I = \sum_i s_i v_i v_i^T`, the dual of
``max tr(W (Sigma - lam I)), normF(W) <= 1, W psd`` is to minimise
:math:`\|\Sigma - \lambda I + \Theta\|_F` over psd :math:`\Theta`, solved by
turning the negative :math:`s_i` to 0; so the optimal value, and the multiplier
of the norm, is :math:`\|s^+\|_2`, and
:math:`W = \sum_i s_i^+ v_i v_i^T / \|s^+\|_2` (Sun & Wu 2009, eq. 19-21).
"""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.linalg import eigh

from convexfs.methods.base.solve_step import native_solution
from convexfs.records import Solution

#: An eigenvalue minus lam up to this fraction of the largest eigenvalue counts as 0.
_ROUNDING = 1e-14
Numbers = Mapping[str, Any]


def lfe(Sigma: np.ndarray) -> Solution:
    """Solve for ``W = Sigma+ / normF(Sigma+)``; zero if no eigenvalue is positive."""
    return lfe_trace(Sigma)


def lfe_trace(Sigma: np.ndarray, lam: float = 0.0) -> Solution:
    """Solve for ``W = (Sigma - lam I)+ / normF((Sigma - lam I)+)``.

    Zero if no eigenvalue exceeds lam.
    """
    start = time.perf_counter()
    eigenvalues, vectors = eigh(Sigma)
    lifted, rising = eigenvalues - lam, _rising(eigenvalues, lam)
    power = float(np.linalg.norm(rising))
    beta = rising / power if power > 0 else rising
    dual = {"norm": np.array([power]), "psd": _composed(vectors, np.maximum(-lifted, 0.0))}
    W = _composed(vectors, beta)
    return native_solution(start, {"W": W}, float(beta @ lifted), dual=dual)


def violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of ``normF(W) <= 1``, ``W psd`` and symmetry."""
    W = np.asarray(primal["W"])
    lowest = np.linalg.eigvalsh(0.5 * (W + W.T)).min(initial=0.0)
    skewed = np.abs(W - W.T).max(initial=0.0)
    return float(max(np.linalg.norm(W) - 1.0, -lowest, skewed, 0.0))


def gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap ``normF((Sigma - lam I)+) - tr(W (Sigma - lam I))``.

    Eigenvalues that are rounding errors of others are taken for 0: where W = 0 is the
    optimum they would be all there is.
    """
    Sigma, lam = np.asarray(values["Sigma"]), hyper.get("lam", 0.0)
    rising = _rising(np.linalg.eigvalsh(Sigma), lam)
    W = np.asarray(primal["W"])
    return float(np.linalg.norm(rising) - np.sum(W * Sigma) + lam * np.trace(W))


def _rising(eigenvalues: np.ndarray, lam: float) -> np.ndarray:
    """Return ``max(eigenvalue - lam, 0)`` of each eigenvalue, with rounding errors set to 0."""
    lifted = eigenvalues - lam
    return np.where(lifted > _ROUNDING * np.abs(eigenvalues).max(), lifted, 0.0)


def _composed(vectors: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
    """Return the psd matrix with these eigenvectors and eigenvalues; negative ones count as 0."""
    used = eigenvalues > 0
    root = vectors[:, used] * np.sqrt(eigenvalues[used])
    return root @ root.T
