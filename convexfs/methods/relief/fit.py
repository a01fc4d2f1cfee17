"""Fit RELIEF and RELIEF-F: one convex problem without an outer loop."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.errors import InputError, check_number, warn
from convexfs.methods.base.change import takes
from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, Step, parameters, taken_by
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.relief import METHOD, numbers
from convexfs.neighbors.sample_weight import SampleWeights
from convexfs.neighbors.samples import some_features
from convexfs.records import Certificate, Solution


@parameters
class Settings:
    """Parameters of RELIEF; see :class:`convexfs.Relief`."""

    n_neighbors: float | str = 0.25
    miss: str = "nearest"
    metric: str = "manhattan"
    online: bool = False
    n_epochs: int = 1
    l1: float = 0.0
    keep: int | None = None
    dropped: float = 0.5


@dataclass(frozen=True)
class ReliefResult:
    """Result of RELIEF: weights, margin vector z, solution and certificate.

    ``rounds`` has the numbers of features of the rounds of back-selection, one if there was
    none; the margin vector is that of the last.
    """

    weights: np.ndarray
    margin: np.ndarray
    solution: Solution
    certificate: Certificate
    rounds: tuple[int, ...] = ()


def relief(
    X: Any,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    seed: Any = None,
    map: Callable[..., Any] = map,
    weights: SampleWeights | None = None,
    spread: np.ndarray | None = None,
) -> ReliefResult:
    r"""Compute feature weights by RELIEF (Sun & Wu 2009, eq. 3-7).

    Margins are summed over the samples,
    :math:`z = \sum_n (|x_n - NM(x_n)| - |x_n - NH(x_n)|)`, and the weights solve
    :math:`\max w^T z - \lambda 1^T w,\ \|w\|_2 \le 1,\ w \ge 0`.

    A constant feature has z = 0 and weighs 0; copies of a feature weigh the same. Of
    equally near samples the first in the data are the neighbours. Where no z is positive
    w = 0 is the optimum: it is returned, certified, with a warning.

    Parameters
    ----------
    X : array (N, J), or MixedSamples
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        With ``online``, samples are drawn at random as the algorithm of Fig. 1 does,
        ``n_epochs`` times N of them, and z is an estimate scaled to the whole set. ``l1`` is
        lambda as a share of the largest z, since z grows with N. ``keep`` asks for
        back-selection (TuRF): the share ``dropped`` of least z is left out and neighbours are
        taken anew in the other features, down to this many.
    solving : Solving
        How the problem is solved.
    seed
        For the draws; as :func:`numpy.random.default_rng` takes it.
    map : callable
        Applied over blocks of rows; a thread pool's ``map`` gives the same answer.
    weights : SampleWeights, optional
        How much samples count.
    spread : array (J,), optional
        Ranges of the features, if they are known.
    """
    settings = settings or Settings()
    formulation = METHOD.formulation("relief", solving)
    build = solving.build
    check_number("l1, a share of the largest margin,", settings.l1, 0, 1)
    if settings.l1 and build is not None and not takes(build, "lam"):
        raise InputError("l1 has no effect on a changed problem that takes no lam: leave it out")
    _check_back_selection(settings, X.shape[1])
    chosen: dict[str, Any] = taken_by(numbers.relief, settings) | {"seed": seed, "map": map}
    features, rounds = np.arange(X.shape[1]), []
    while True:
        rounds.append(len(features))
        few = X if len(rounds) == 1 else some_features(X, features)
        ranges = None if spread is None else spread[features]
        values, hyper = numbers.relief(few, codes, **chosen, weights=weights, spread=ranges)
        if settings.keep is None or len(features) <= settings.keep:
            break
        number = max(settings.keep, math.ceil(len(features) * (1.0 - settings.dropped)))
        better = np.argsort(-values["z"], kind="stable")[:number]
        features = features[np.sort(better)]
    solution, certificate = solve_step(formulation, values, hyper, solving)
    whole = np.zeros(X.shape[1])
    whole[features] = require_answer(solution, formulation.symbol, solving)
    if not np.any(values["z"] > hyper["lam"]):
        warn(
            "no feature has a positive margin, so all weights are 0: hits are as far as misses; "
            "check the labels, scale the features, or use more neighbours"
        )
    return ReliefResult(whole, values["z"], solution, certificate, tuple(rounds))


def step(
    X: Any,
    codes: np.ndarray,
    settings: Settings,
    solving: Solving,
    *,
    seed: Any = None,
    weights: SampleWeights | None = None,
) -> Step:
    """Return RELIEF's convex problem (Step) of these samples over all features, ignoring `keep`."""
    chosen = taken_by(numbers.relief, settings)
    values, hyper = numbers.relief(X, codes, **chosen, seed=seed, weights=weights)
    return Step(METHOD.formulation("relief"), values, hyper)


def _check_back_selection(settings: Settings, n_features: int) -> None:
    check_number("dropped", settings.dropped, 0, 1, open_ends=True)
    if settings.keep is not None:
        check_number(f"keep, of {n_features} features,", settings.keep, 1, n_features, whole=True)


def margin_of(X: Any, codes: np.ndarray) -> np.ndarray:
    """Return the margin vector z of the original RELIEF, with one neighbour."""
    return numbers.relief(X, codes, **taken_by(numbers.relief, Settings(n_neighbors=1)))[0]["z"]
