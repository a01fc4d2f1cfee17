"""RELIEF and RELIEF-F: one convex problem, no outer loop."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.errors import ConvexfsWarning, InputError
from convexfs.methods.base.step import check_solver, require_answer, solve_step
from convexfs.methods.relief import METHOD, numbers
from convexfs.records import Certificate, Solution



@dataclass(frozen=True)
class ReliefResult:
    """Weights, the margin vector z they come from, and their proof."""

    weights: np.ndarray
    margin: np.ndarray
    solution: Solution
    certificate: Certificate


def relief(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    n_neighbors: int = 1,
    miss: str = "nearest",
    metric: str = "manhattan",
    online: bool = False,
    n_epochs: int = 1,
    l1: float = 0.0,
    solver: str = "auto",
    solver_tol: float = 1e-6,
    solver_options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    build: Callable[..., Any] | None = None,
    seed: Any = None,
    map: Callable[..., Any] = map,
    verbose: bool = False,
) -> ReliefResult:
    r"""Feature weights of RELIEF (Sun & Wu 2009, eq. 3-7).

    Margins are summed over the samples,
    :math:`z = \sum_n (|x_n - NM(x_n)| - |x_n - NH(x_n)|)`, and the weights solve
    :math:`\max w^T z - \lambda 1^T w,\ \|w\|_2 \le 1,\ w \ge 0`.

    A constant feature has z = 0 and weighs 0; copies of a feature weigh the same. Of
    equally near samples the first in the data are the neighbours. Where no z is positive
    w = 0 is the optimum: it is returned, certified, with a warning.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Classes, 0 to K - 1.
    n_neighbors, miss, metric
        See :func:`convexfs.neighbors.hits_misses.signed_neighbors`.
    online : bool
        Draw samples at random, as the algorithm of Fig. 1 does, `n_epochs`
        times N of them; z is then an estimate scaled to the whole set.
    l1 : float in [0, 1]
        lambda as a share of the largest z, since z grows with N.
    solver, solver_tol, solver_options, time_limit, build, verbose
        See :func:`convexfs.methods.base.step.solve_step`.
    seed
        For the draws; as :func:`numpy.random.default_rng` takes it.
    map : callable
        Applied over blocks of rows; a thread pool's ``map`` gives the same answer.
    """
    formulation = METHOD.formulation("relief")
    check_solver(formulation, solver, solver_tol, build)
    if l1 and build is not None and "lam" not in inspect.signature(build).parameters:
        raise InputError("l1 has no effect on a changed problem that takes no lam: leave it out")
    values, hyper = numbers.relief(
        X, codes, n_neighbors=n_neighbors, miss=miss, metric=metric,
        online=online, n_epochs=n_epochs, l1=l1, seed=seed, map=map,
    )  # fmt: skip
    solution, certificate = solve_step(
        formulation, values, hyper, solver=solver, tol=solver_tol,
        solver_options=solver_options, time_limit=time_limit, build=build, verbose=verbose,
    )  # fmt: skip
    weights = require_answer(solution, formulation.symbol)
    if not np.any(values["z"] > hyper["lam"]):
        warnings.warn(
            "no feature has a positive margin, so all weights are 0: hits are as far as misses; "
            "check the labels, scale the features, or use more neighbours",
            ConvexfsWarning,
            stacklevel=2,
        )
    return ReliefResult(weights, values["z"], solution, certificate)
