"""Solve LLFS's problems of one point without cvxpy, and compute their duality gaps."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from convexfs.methods.base.solve_step import native_solution
from convexfs.methods.llfs.native.linear_program import dual_value, largest_sum, priced_minimum
from convexfs.methods.llfs.native.local_path import local_point, maximiser
from convexfs.methods.llfs.native.newton import KKT_TOL
from convexfs.methods.llfs.utility import mean_utility_gradient, tangent
from convexfs.records import Solution

Numbers = Mapping[str, Any]


def llfs_separation(
    a_other: np.ndarray, s: float, lam: float, max_features: int, tangents: np.ndarray
) -> Solution:
    """Solve (6); `tangents` is needed by linear programs only and is ignored."""
    start = time.perf_counter()
    # The point's own class does not occur in (6).
    point = local_point(a_other[:1], a_other, s, lam, max_features)
    widest = maximiser(point)
    return native_solution(
        start, {"f": widest.f[:-1]}, widest.u2, solved=widest.residual <= KKT_TOL,
        iterations=widest.iterations,
    )  # fmt: skip


def llfs_compactness(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: float,
    max_features: int,
    iterate: np.ndarray,
) -> Solution:
    """Solve one convex step of (7) by the multiplier of its single constraint."""
    start = time.perf_counter()
    c, offset = tangent(a_same, iterate, s, lam)
    g, b = tangent(a_other, iterate, s, lam)
    priced = priced_minimum(c, g, eps - b, max_features)
    dual = {"tangents": np.array([priced.mu])}
    return native_solution(start, {"f": priced.f}, float(c @ priced.f) + offset, dual=dual)


def llfs_linear(
    a_same: np.ndarray, a_other: np.ndarray, beta: float, max_features: int
) -> Solution:
    """Solve the linear form by the multiplier of its single constraint."""
    return _traded(a_same.mean(axis=0), a_other.mean(axis=0), beta, max_features)


def lfs(
    d_same: np.ndarray,
    d_other: np.ndarray,
    v_same: np.ndarray,
    v_other: np.ndarray,
    beta: float,
    max_features: int,
) -> Solution:
    """Solve LFS's two programs: the first by sorting, the second by the multiplier of its level."""
    return _traded(v_same @ d_same, v_other @ d_other, beta, max_features)


def _traded(c1: np.ndarray, c2: np.ndarray, beta: float, max_features: int) -> Solution:
    start = time.perf_counter()
    priced = priced_minimum(c1, c2, beta * largest_sum(c2, max_features), max_features)
    dual = {"level": np.array([priced.mu])}
    return native_solution(start, {"f": priced.f}, float(c1 @ priced.f), dual=dual)


def violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation at f: of its polytope and, relative, of the level if any.

    In a step U2 is replaced by its tangent at the iterate.
    """
    numbers = {**values, **hyper}
    f = np.asarray(primal["f"])
    total = float(f.sum())
    worst = max(0.0, -f.min(), f.max() - 1.0, 1.0 - total, total - numbers["max_features"])
    if "eps" in numbers:
        at = numbers.get("iterate", f)
        g, b = tangent(numbers["a_other"], at, numbers["s"], numbers["lam"])
        worst = max(worst, (numbers["eps"] - float(g @ f) - b) / max(numbers["eps"], 1e-300))
    if "beta" in numbers:
        c2 = _traded_means(numbers)[1]
        most = largest_sum(c2, numbers["max_features"])
        worst = max(worst, float(numbers["beta"] - c2 @ f / most))
    return float(worst)


def llfs_separation_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return ``max_g grad U2(f)'(g - f)``, a gap because the concave U2 is below its tangent."""
    numbers, f = {**values, **hyper}, np.asarray(primal["f"])
    gradient = mean_utility_gradient(numbers["a_other"], f, numbers["s"], numbers["lam"])
    return largest_sum(gradient, numbers["max_features"]) - float(gradient @ f)


def llfs_compactness_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the gap between a step's value at f and its best dual bound.

    Without an iterate the step is that at f itself: then 0 says that f is stationary for
    (7), a *local* property.
    """
    numbers, f = {**values, **hyper}, np.asarray(primal["f"])
    at, s, lam = numbers.get("iterate", f), numbers["s"], numbers["lam"]
    c, _ = tangent(numbers["a_same"], at, s, lam)
    g, b = tangent(numbers["a_other"], at, s, lam)
    best = priced_minimum(c, g, numbers["eps"] - b, numbers["max_features"])
    return abs(float(c @ f) - best.bound)


def _traded_means(numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Return the objectives of the linear form or LFS: mean distances to own class and others."""
    if "v_same" in numbers:
        return numbers["v_same"] @ numbers["d_same"], numbers["v_other"] @ numbers["d_other"]
    return numbers["a_same"].mean(axis=0), numbers["a_other"].mean(axis=0)


def llfs_linear_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return abs(``c1'f`` - best dual bound), for the linear form or LFS."""
    numbers, f = {**values, **hyper}, np.asarray(primal["f"])
    c1, c2 = _traded_means(numbers)
    level = numbers["beta"] * largest_sum(c2, numbers["max_features"])
    mu = priced_minimum(c1, c2, level, numbers["max_features"]).mu
    return abs(float(c1 @ f) - dual_value(c1, c2, level, numbers["max_features"], mu))


lfs_gap = llfs_linear_gap
