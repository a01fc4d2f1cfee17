"""Fit RReliefF: one convex problem without an outer loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.errors import InputError, warn
from convexfs.methods.base.change import takes
from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, Step, parameters, taken_by
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.relief.fit import ReliefResult
from convexfs.methods.relief_regression import METHOD, numbers
from convexfs.neighbors.missing_values import MixedSamples


@parameters
class Settings:
    """Parameters of RReliefF; see :class:`convexfs.ReliefRegressor`."""

    n_neighbors: float = 10
    spread: float | None = None
    sigma: float | None = None
    difference: str = "rank"
    l1: float = 0.0


def relief_regression(
    X: np.ndarray | MixedSamples,
    y: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    map: Callable[..., Any] = map,
) -> ReliefResult:
    r"""Compute feature weights for a numeric target by RReliefF or its soft variant.

    The margin vector z takes the place of RELIEF's, and the weights solve its problem,
    :math:`\max w^T z - \lambda 1^T w,\ \|w\|_2 \le 1,\ w \ge 0`. z are RReliefF's weights
    (Robnik-Sikonja and Kononenko 2003, Fig. 3) or, with a ``sigma``, the differences to soft
    misses minus those to soft hits; see :mod:`convexfs.neighbors.regression`.

    Parameters
    ----------
    X : array (N, J), or MixedSamples
    y : array (N,)
        Numbers.
    settings : Settings
    solving : Solving
        How the problem is solved.
    map : callable
        Applied over blocks of rows or features; a thread pool's ``map`` gives the same answer.
    """
    settings = settings or Settings()
    stated = step(X, y, settings, solving, map=map)
    formulation, values, hyper = stated.formulation, stated.values, stated.hyper
    build = solving.build
    if settings.l1 and build is not None and not takes(build, "lam"):
        raise InputError("l1 has no effect on a changed problem that takes no lam: leave it out")
    solution, certificate = solve_step(formulation, values, hyper, solving)
    weights = require_answer(solution, formulation.symbol, solving)
    if not np.any(values["z"] > hyper["lam"]):
        warn(
            "no feature has a positive margin, so all weights are 0: samples of like targets are "
            "as far apart as others; check the target, scale the features, or use more neighbours"
        )
    return ReliefResult(weights, values["z"], solution, certificate)


def step(
    X: np.ndarray | MixedSamples,
    y: np.ndarray,
    settings: Settings,
    solving: Solving,
    *,
    map: Callable[..., Any] = map,
) -> Step:
    """Return RReliefF's convex problem (Step) of these samples; the soft one if sigma is set."""
    soft = settings.sigma is not None
    formulation = METHOD.formulation("rrelief-soft" if soft else "rrelief", solving)
    make = numbers.rrelief_soft if soft else numbers.rrelief
    values, hyper = make(X, y, **taken_by(make, settings), map=map)
    return Step(formulation, values, hyper)
