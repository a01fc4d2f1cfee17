"""Compute the data of LLFS's problems from samples: distances, steepness, levels."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.errors import InputError, check_choice, check_number
from convexfs.methods.llfs.lfs import localities
from convexfs.methods.llfs.native.linear_program import largest_sum, priced_minimum
from convexfs.methods.llfs.native.local_path import LocalPath, local_path, local_point
from convexfs.methods.llfs.utility import (
    LINEAR_SHARE,
    mean_utility,
    mean_utility_gradient,
    steepness,
    utility,
)

#: Assumed largest relative rounding error of a mean utility or its slope; bounds are lowered by it.
_ROUNDING = 1e-13
SIGMA_INITS = ("feasible", "literal")
STEPS = ("first", "last")
#: Selections of the pass before: none (first pass), or every feature at every point.
EARLIER = ("none", "all")
Values = tuple[dict[str, Any], dict[str, Any]]


def checked_max_features(
    max_features: int | None, n_features: int, n_varying: int | None = None
) -> int:
    """Return the budget alpha, at most `n_varying`; by default its square root, rounded up.

    Of features that do not vary none is chosen: the budget is that of `n_varying` others.
    """
    n_varying = n_features if n_varying is None else n_varying
    if max_features is None:
        return math.ceil(math.sqrt(n_varying))
    check_number("max_features", max_features, 1, n_features, whole=True)
    return min(int(max_features), n_varying)


def local_values(
    X: np.ndarray, codes: np.ndarray, point: int, max_features: int, sigma_init: str = "feasible"
) -> dict[str, Any]:
    """Return a point's distances to its class and to the others, and s and lam of G."""
    check_choice("sigma_init", sigma_init, SIGMA_INITS)
    same = _class_of(point, codes)
    others = ~same
    same[point] = False
    a_same, a_other = np.abs(X[same] - X[point]), np.abs(X[others] - X[point])
    s = steepness(a_same, a_other, max_features, sigma_init)
    if not np.isfinite(s) or not a_other.any():
        raise InputError(
            f"sample {point + 1} is equal, in every feature, to all samples it is compared with: "
            "LLFS cannot separate it; leave out constant features and repeated samples"
        )
    return {"a_same": a_same, "a_other": a_other, "s": s, "lam": LINEAR_SHARE / max_features}


def _class_of(point: int, codes: np.ndarray) -> np.ndarray:
    """Return a mask of a point's class; raise if it has no other sample, or all samples."""
    check_number("point", point, 0, len(codes) - 1, whole=True)
    same = codes == codes[point]
    if same.sum() < 2:
        raise InputError(
            f"sample {point + 1} is the only one of its class, so LLFS has nothing to draw it "
            "near to: leave the class out or join it with another"
        )
    if same.all():
        raise InputError("there is only one class, so LLFS has nothing to separate")
    return same


def lfs_values(
    X: np.ndarray, codes: np.ndarray, point: int, supports: np.ndarray | None, width: float
) -> dict[str, Any]:
    """Return LFS's differences and weights of a point, given the selections of the pass before."""
    _class_of(point, codes)
    return localities(X, codes, point, supports, width)


def _solved(
    X: np.ndarray, codes: np.ndarray, point: int, beta: float, alpha: int, sigma_init: str
) -> tuple[dict[str, Any], LocalPath]:
    """Return a point's data and its local optima at betas 0.05 apart up to this one, and at 1."""
    check_number("beta", beta, 0, 1)
    values = local_values(X, codes, point, alpha, sigma_init)
    steps = np.append(np.arange(0.0, beta - 1e-9, 0.05), [beta, 1.0] if beta < 1 else [1.0])
    return values, local_path(local_point(**values, max_features=alpha), steps)


def _tangents(path: LocalPath, f: np.ndarray) -> np.ndarray:
    """Return points for tangents: on the way to the maximiser of (6), there, and at f."""
    scaled = np.linspace(0.1, 0.9, 5)[:, None] * path.f[-1]
    return np.vstack([scaled, path.f[-1], f])


def llfs_separation(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    point: int = 0,
    max_features: int | None = None,
    sigma_init: str = "feasible",
) -> Values:
    """Return the data of (6) for one point, with tangents that make the program exact."""
    alpha = checked_max_features(max_features, X.shape[1])
    values, path = _solved(X, codes, point, 1.0, alpha, sigma_init)
    del values["a_same"]
    return values | {"tangents": _tangents(path, path.f[-1])}, {"max_features": alpha}


def llfs_compactness(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    point: int = 0,
    beta: float = 0.5,
    max_features: int | None = None,
    sigma_init: str = "feasible",
    step: str = "first",
) -> Values:
    """Return the data of one convex step of (7), the same for every solver.

    The first one is linearised at the answer of the beta .05 below, where the way upwards
    comes from; the last one at the local optimum, which solves it.
    """
    check_choice("step", step, STEPS)
    alpha = checked_max_features(max_features, X.shape[1])
    values, path = _solved(X, codes, point, beta, alpha, sigma_init)
    at = _row(path, beta)
    iterate = path.f[at if step == "last" else max(at - 1, 0)]
    return values | {"eps": beta * path.eps_max, "iterate": iterate}, {"max_features": alpha}


def _row(path: LocalPath, beta: float) -> int:
    return len(path.betas) - (2 if beta < 1 else 1)


def _at_local_optimum(add: Callable[..., dict[str, Any]]) -> Callable[..., Values]:
    """Return a function that passes a point's data and its local optimum f to `add`."""

    def numbers(
        X: np.ndarray,
        codes: np.ndarray,
        *,
        point: int = 0,
        beta: float = 0.5,
        max_features: int | None = None,
        sigma_init: str = "feasible",
    ) -> Values:
        alpha = checked_max_features(max_features, X.shape[1])
        values, path = _solved(X, codes, point, beta, alpha, sigma_init)
        f = path.f[_row(path, beta)]
        values |= {"eps": beta * path.eps_max, "tangents": _tangents(path, f)}
        return add(values, f), {"max_features": alpha}

    numbers.__doc__ = add.__doc__
    return numbers


def llfs_linear(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    point: int = 0,
    beta: float = 0.5,
    max_features: int | None = None,
) -> Values:
    """Return the data of the linear form for one point."""
    check_number("beta", beta, 0, 1)
    alpha = checked_max_features(max_features, X.shape[1])
    values = local_values(X, codes, point, alpha)
    distances = {name: values[name] for name in ("a_same", "a_other")}
    return distances, {"beta": beta, "max_features": alpha}


def lfs(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    point: int = 0,
    beta: float = 0.5,
    max_features: int | None = None,
    width: float = 1.0,
    earlier: str = "all",
) -> Values:
    """Return the data of LFS for one point, in the first pass or after an all-features pass."""
    check_number("beta", beta, 0, 1)
    check_number("width", width, 0, open_ends=True)
    check_choice("earlier", earlier, EARLIER)
    alpha = checked_max_features(max_features, X.shape[1])
    supports = None if earlier == "none" else np.ones(X.shape, dtype=bool)
    return lfs_values(X, codes, point, supports, width), {"beta": beta, "max_features": alpha}


@_at_local_optimum
def llfs_bisection(values: dict[str, Any], f: np.ndarray) -> dict[str, Any]:
    """Return the data of the bisection's subproblem at the local optimum."""
    del values["eps"]
    level = mean_utility(values["a_same"], f, values["s"], values["lam"])
    return values | {"iterate": f, "level": level}


@_at_local_optimum
def llfs_ratio(values: dict[str, Any], f: np.ndarray) -> dict[str, Any]:
    """Return the data of F(t) at the ratio t of the local optimum of (7)."""
    u2 = mean_utility(values["a_other"], f, values["s"], values["lam"])
    return values | {"ratio": float(values["a_same"].mean(axis=0) @ f) / u2}


@_at_local_optimum
def llfs_exact(values: dict[str, Any], f: np.ndarray) -> dict[str, Any]:
    """Return the data of the mixed-integer program with one cut, which gives a lower bound."""
    a_same = values.pop("a_same")
    cut = polymatroid_cut(a_same, np.argsort(-f, kind="stable"), values["s"], values["lam"])
    return values | {"cuts": cut[None, :]}


def polymatroid_cut(a_same: np.ndarray, order: np.ndarray, s: float, lam: float) -> np.ndarray:
    """Return the increase of U1 by each feature when features are added in this order."""
    values = utility(np.cumsum(a_same[:, order], axis=1), s, lam).mean(axis=0)
    cut = np.empty(len(order))
    cut[order] = np.diff(values, prepend=0.0)
    return cut


def secant_bound(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: float,
    max_features: int,
    tangent: np.ndarray,
) -> float:
    r"""Return a lower bound of (7) over the entire polytope.

    :math:`G(z) \ge z\,G(Z_j)/Z_j` on :math:`[0, Z_j]`, where :math:`Z_j` is the sum of the
    alpha largest entries of :math:`a_j`, and U2 is below its tangent at the point
    `tangent`: a linear program with one multiplier. Where the tangent is flat it is huge,
    so the level is lowered, and the bound too, by what rounding may have added to them.
    """
    farthest = -np.sort(-a_same, axis=1)[:, :max_features].sum(axis=1)
    zero, heights = np.zeros(len(a_same)), utility(farthest, s, lam)
    chords = np.divide(heights, farthest, out=zero, where=farthest > 0)
    slope = mean_utility_gradient(a_other, tangent, s, lam)
    u2, along = mean_utility(a_other, tangent, s, lam), float(slope @ tangent)
    # The bound must also hold for a point that misses the level by its solver's tolerance.
    level = min(eps, u2) - u2 + along - _ROUNDING * (u2 + largest_sum(slope, max_features))
    cost = chords @ a_same / len(a_same)
    priced = priced_minimum(cost, slope, level, max_features)
    terms = largest_sum(cost, max_features) + priced.mu * largest_sum(slope, max_features)
    return max(priced.bound - _ROUNDING * terms, 0.0)
