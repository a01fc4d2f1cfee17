"""LLFS's problems of one point without cvxpy, and what proves their answers."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from convexfs.methods.llfs.linear import dual_value, largest_sum, priced_minimum
from convexfs.methods.llfs.newton import KKT_TOL
from convexfs.methods.llfs.path import local_point, maximiser
from convexfs.methods.llfs.utility import mean_utility_gradient, tangent
from convexfs.records import INACCURATE, NATIVE, OPTIMAL, Solution

Numbers = Mapping[str, Any]


def llfs_separation(
    a_other: np.ndarray, s: float, lam: float, max_features: int, tangents: np.ndarray
) -> Solution:
    """(6) as it is: `tangents`, of use to linear programs, is not looked at."""
    start = time.perf_counter()
    # The own class has no part in (6).
    point = local_point(a_other[:1], a_other, s, lam, max_features)
    found = maximiser(point)
    converged = found.residual <= KKT_TOL
    return _solution(found.f[:-1], found.u2, converged, start, found.iterations)


def llfs_compactness(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: float,
    max_features: int,
    iterate: np.ndarray,
) -> Solution:
    """One convex step of (7), by the price of its one constraint."""
    start = time.perf_counter()
    c, offset = tangent(a_same, iterate, s, lam)
    g, b = tangent(a_other, iterate, s, lam)
    found = priced_minimum(c, g, eps - b, max_features)
    dual = {"tangents": np.array([found.mu])}
    return _solution(found.f, float(c @ found.f) + offset, True, start, 0, dual)


def llfs_linear(
    a_same: np.ndarray, a_other: np.ndarray, beta: float, max_features: int
) -> Solution:
    """The linear form, by the price of its one constraint."""
    start = time.perf_counter()
    c1, c2 = a_same.mean(axis=0), a_other.mean(axis=0)
    found = priced_minimum(c1, c2, beta * largest_sum(c2, max_features), max_features)
    dual = {"level": np.array([found.mu])}
    return _solution(found.f, float(c1 @ found.f), True, start, 0, dual)


def _solution(
    f: np.ndarray,
    objective: float,
    converged: bool,
    start: float,
    iterations: int,
    dual: Numbers | None = None,
) -> Solution:
    return Solution(
        status=OPTIMAL if converged else INACCURATE,
        solver=NATIVE,
        primal={"f": f},
        dual=dual or {},
        objective=float(objective),
        solve_seconds=time.perf_counter() - start,
        iterations=iterations,
    )


def violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """How far f is outside its polytope and, where there is a level, U2 below it.

    In a step U2 is replaced by its tangent at the iterate.
    """
    given = {**values, **hyper}
    f = np.asarray(primal["f"])
    total = float(f.sum())
    worst = max(0.0, -f.min(), f.max() - 1.0, 1.0 - total, total - given["max_features"])
    if "eps" in given:
        numbers = given["a_other"], given.get("iterate", f), given["s"], given["lam"]
        g, b = tangent(*numbers)
        worst = max(worst, (given["eps"] - float(g @ f) - b) / max(given["eps"], 1e-300))
    if "beta" in given:
        c2 = given["a_other"].mean(axis=0)
        most = largest_sum(c2, given["max_features"])
        worst = max(worst, float(given["beta"] - c2 @ f / most))
    return float(worst)


def llfs_separation_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """``max_g grad U2(f)'(g - f)``: the concave U2 is nowhere above its tangent at f."""
    given, f = {**values, **hyper}, np.asarray(primal["f"])
    gradient = mean_utility_gradient(given["a_other"], f, given["s"], given["lam"])
    return largest_sum(gradient, given["max_features"]) - float(gradient @ f)


def llfs_compactness_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Distance of a step's value at f to its dual bound at the best price.

    Without an iterate the step is that at f itself: then 0 says that f is stationary for
    (7), a *local* property.
    """
    given, f = {**values, **hyper}, np.asarray(primal["f"])
    at, s, lam = given.get("iterate", f), given["s"], given["lam"]
    c, _ = tangent(given["a_same"], at, s, lam)
    g, b = tangent(given["a_other"], at, s, lam)
    best = priced_minimum(c, g, given["eps"] - b, given["max_features"])
    return abs(float(c @ f) - best.bound)


def llfs_linear_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Distance of ``c1'f`` to the dual bound at the best price."""
    given, f = {**values, **hyper}, np.asarray(primal["f"])
    c1, c2 = given["a_same"].mean(axis=0), given["a_other"].mean(axis=0)
    level = given["beta"] * largest_sum(c2, given["max_features"])
    mu = priced_minimum(c1, c2, level, given["max_features"]).mu
    return abs(float(c1 @ f) - dual_value(c1, c2, level, given["max_features"], mu))
