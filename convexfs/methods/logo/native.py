"""Solve Logo's convex step without cvxpy: eq. 7 and eq. 8 for a given margin matrix."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from convexfs.methods.base.solve_step import native_solution
from convexfs.methods.logo.newton import Constrained, Objective, Penalised, minimise
from convexfs.methods.logo.working_set import DenseColumns, solve_by_working_set
from convexfs.records import Solution

TOL = 1e-10
Numbers = Mapping[str, Any]


def logo_penalised(Z: np.ndarray, lam: float = 1.0, tol: float = TOL) -> Solution:
    """Solve Logo's penalised problem (eq. 7) for margins Z to a relative duality gap of `tol`."""
    return _solve(Z, Penalised(lam), tol)


def logo_constrained(Z: np.ndarray, beta: float = 1.0, tol: float = TOL) -> Solution:
    """Solve Logo's constrained problem (eq. 8) for margins Z to a relative duality gap of `tol`."""
    return _solve(Z, Constrained(beta), tol)


def logo_penalised_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap ``P(w) - sum H(s p)``, where s scales p so that ``Z'p <= lam``.

    With lam = 0 (eq. 6) only p = 0 is sure to be feasible, and the gap says no
    more than that the loss is positive.
    """
    return _gap(Penalised(hyper["lam"]), values, primal)


def logo_constrained_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap ``P(w) - sum H(p) + beta max(0, max Z'p)``."""
    return _gap(Constrained(hyper["beta"]), values, primal)


def logo_penalised_violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of w >= 0."""
    return Penalised(hyper["lam"]).violation(np.asarray(primal["w"]))


def logo_constrained_violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of w >= 0 and, relative to beta, of 1'w <= beta."""
    return Constrained(hyper["beta"]).violation(np.asarray(primal["w"]))


def lam_max(Z: np.ndarray) -> float:
    """Return the least lam at which w = 0 solves eq. 7: ``max_j sum_n z_n(j) / 2``."""
    return max(float(Z.sum(axis=0).max(initial=0.0)) / 2.0, 0.0)


def _solve(Z: np.ndarray, objective: Objective, tol: float) -> Solution:
    start = time.perf_counter()
    Z = np.asarray(Z, dtype=np.float64)
    answer = solve_by_working_set(DenseColumns(Z), objective, minimise, tol=tol)
    level = objective.level(answer.scores)
    dual = {"sign": np.maximum(level - answer.scores, 0.0)}
    if isinstance(objective, Constrained):
        dual["total"] = np.array([level])
    return native_solution(
        start, {"w": answer.w}, answer.value, dual=dual, solved=answer.gap <= tol,
        iterations=len(answer.sizes), tol=tol,
    )  # fmt: skip


def _gap(objective: Objective, values: Numbers, primal: Numbers) -> float:
    Z, w = np.asarray(values["Z"]), np.asarray(primal["w"])
    margins = Z @ w
    scores = DenseColumns(Z).scores(objective.pull(margins))
    return objective.gap(margins, w, np.max(scores, initial=0.0))
