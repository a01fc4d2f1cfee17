r"""RELIEF's closed form, and its duality gap.

The dual of ``max w'(z - lam), norm2(w) <= 1, w >= 0`` is to minimise
:math:`\|z - \lambda + \theta\|_2` over :math:`\theta \ge 0`, solved by
:math:`\theta = (\lambda - z)^+`; so the optimal value, and the multiplier of the
norm, is :math:`\|(z - \lambda)^+\|_2` (Sun & Wu 2009, eq. 7).
"""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from convexfs.methods.base.solve_step import native_solution
from convexfs.records import Solution

Numbers = Mapping[str, Any]


def relief(z: np.ndarray, lam: float = 0.0) -> Solution:
    """Solve for ``w = (z - lam)+ / norm2((z - lam)+)``; all zeros if no z exceeds lam."""
    start = time.perf_counter()
    rising = np.maximum(z - lam, 0.0)
    length = _norm(rising)
    w = rising / length if length > 0 else rising
    dual = {"norm": np.array([length]), "sign": np.maximum(lam - z, 0.0)}
    return native_solution(start, {"w": w}, float(w @ (z - lam)), dual=dual)


def violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of ``norm2(w) <= 1, w >= 0``."""
    w = np.asarray(primal["w"])
    return float(max(_norm(w) - 1.0, np.max(-w, initial=0.0), 0.0))


def gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the gap ``norm2((z - lam)+) - w'(z - lam)``: dual bound minus objective."""
    lifted = np.asarray(values["z"]) - hyper.get("lam", 0.0)
    return float(_norm(np.maximum(lifted, 0.0)) - np.asarray(primal["w"]) @ lifted)


def _norm(v: np.ndarray) -> float:
    """Return the Euclidean norm without overflow or underflow."""
    largest = np.max(np.abs(v), initial=0.0)
    return float(largest * np.linalg.norm(v / largest)) if largest > 0 else 0.0
