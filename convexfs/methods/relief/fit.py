"""RELIEF and RELIEF-F: one convex problem, no outer loop."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.errors import InputError, warn
from convexfs.methods.base.formulation import Formulation
from convexfs.methods.base.parameters import AS_USUAL, Solving, parameters, taken_by
from convexfs.methods.base.step import check_solver, require_answer, solve_step
from convexfs.methods.relief import METHOD, numbers
from convexfs.records import Certificate, Solution


@parameters
class Settings:
    """Parameters of RELIEF; :class:`convexfs.Relief` says what they mean."""

    n_neighbors: float = 1
    miss: str = "nearest"
    metric: str = "manhattan"
    online: bool = False
    n_epochs: int = 1
    l1: float = 0.0


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
    settings: Settings | None = None,
    solving: Solving = AS_USUAL,
    *,
    seed: Any = None,
    map: Callable[..., Any] = map,
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
    settings : Settings
        With ``online``, samples are drawn at random as the algorithm of Fig. 1 does,
        ``n_epochs`` times N of them, and z is an estimate scaled to the whole set; ``l1``
        is lambda as a share of the largest z, since z grows with N.
    solving : Solving
        How the problem is solved.
    seed
        For the draws; as :func:`numpy.random.default_rng` takes it.
    map : callable
        Applied over blocks of rows; a thread pool's ``map`` gives the same answer.
    """
    settings = settings or Settings()
    formulation = METHOD.formulation("relief")
    check_solver(formulation, solving)
    chosen = taken_by(numbers.relief, settings)
    values, hyper = numbers.relief(X, codes, **chosen, seed=seed, map=map)
    nothing = "hits are as far as misses; check the labels"
    return solved(formulation, values, hyper, settings.l1, solving, nothing)


def solved(
    formulation: Formulation,
    values: dict[str, np.ndarray],
    hyper: dict[str, float],
    l1: float,
    solving: Solving,
    nothing: str,
) -> ReliefResult:
    """Solve RELIEF's problem for any margin vector; `nothing` is said where it has no answer."""
    build = solving.build
    if l1 and build is not None and "lam" not in inspect.signature(build).parameters:
        raise InputError("l1 has no effect on a changed problem that takes no lam: leave it out")
    solution, certificate = solve_step(formulation, values, hyper, solving)
    weights = require_answer(solution, formulation.symbol)
    if not np.any(values["z"] > hyper["lam"]):
        warn(
            f"no feature has a positive margin, so all weights are 0: {nothing}, scale the "
            "features, or use more neighbours",
        )
    return ReliefResult(weights, values["z"], solution, certificate)


def margin_of(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """RELIEF's margin vector z, with its settings as usual."""
    chosen = taken_by(numbers.relief, Settings())
    return numbers.relief(X, codes, **chosen)[0]["z"]
