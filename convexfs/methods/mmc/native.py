r"""MMC's closed form, and its duality gap.

The largest :math:`\mathrm{tr}(W S)` over :math:`0 \preceq W \preceq I,
\mathrm{tr}(W) = q` is the sum of the q largest eigenvalues of S, reached by
:math:`W = V V^T` with their eigenvectors in V (Ky Fan).
"""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.linalg import eigh

from convexfs.methods.base.solve_step import native_solution
from convexfs.records import Solution

#: A gap up to this times the largest eigenvalue and the number of features is rounding: 0.
_ROUNDING = 1e-15
Numbers = Mapping[str, Any]


def mmc(Sb: np.ndarray, Sw: np.ndarray, q: int = 1) -> Solution:
    """Solve for ``W = V V'``, where V are the q leading eigenvectors of ``Sb - Sw``."""
    start = time.perf_counter()
    eigenvalues, vectors = eigh(Sb - Sw)
    V = vectors[:, len(Sb) - q :]
    return native_solution(start, {"W": V @ V.T}, float(eigenvalues[len(Sb) - q :].sum()))


def violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of ``0 <= W <= I``, ``tr(W) = q`` and symmetry."""
    W = np.asarray(primal["W"])
    spectrum = np.linalg.eigvalsh(0.5 * (W + W.T))
    skewed = np.abs(W - W.T).max(initial=0.0)
    traced = abs(np.trace(W) - hyper["q"])
    return float(max(-spectrum[0], spectrum[-1] - 1.0, skewed, traced, 0.0))


def gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap: sum of the q largest eigenvalues of S = Sb - Sw, minus ``tr(W S)``.

    Where that sum is 0, rounding errors of all eigenvalues would be all there is: a gap
    within them is 0.
    """
    S = np.asarray(values["Sb"]) - np.asarray(values["Sw"])
    eigenvalues = np.linalg.eigvalsh(S)
    apart = eigenvalues[len(S) - hyper["q"] :].sum() - np.sum(np.asarray(primal["W"]) * S)
    rounding = _ROUNDING * len(S) * np.abs(eigenvalues).max()
    return 0.0 if abs(apart) <= rounding else float(apart)
