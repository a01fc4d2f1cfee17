"""I-RELIEF: RELIEF with soft neighbours taken in the weighted space, as a fixed point."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from convexfs.errors import InputError, check_number, warn
from convexfs.methods.base import fixed_point
from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, Step, parameters
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.irelief import METHOD, numbers
from convexfs.methods.relief.fit import margin_of
from convexfs.neighbors.missing_values import of_classes
from convexfs.neighbors.sample_weight import SampleWeights
from convexfs.neighbors.samples import some_features
from convexfs.records import Solution

#: The loop is cycling if the newest iterate is this near to an earlier one, relative to the last
#: move.
_SAME = 0.05


@parameters
class Settings:
    """Parameters of I-RELIEF; see :class:`convexfs.IRelief`."""

    sigma: float = 2.0
    damping: float = 0.5
    keep: int | None = None
    tol: float = 1e-4
    max_iter: int = 200
    start: Any = None
    n_starts: int = 1


@dataclass(frozen=True)
class IReliefResult:
    """Result of I-RELIEF: weights, margin vector, fixed-point certificate and how it ended.

    ``certificate`` and ``solution`` are those of the last convex step, the
    certificate being refuted where that is no fixed point; ``residual`` is how far
    that step moved the weights, ``period`` that of the cycle the iteration ended in,
    0 if it did not. ``iterate`` are the weights at which the last step was taken, of the
    features it had. ``rounds`` has the numbers of features of the rounds of
    back-selection, one if there was none. ``starts`` has one row a start tried; see
    :func:`convexfs.methods.base.fixed_point.start_rows`.
    """

    weights: np.ndarray
    margin: np.ndarray
    solution: Solution
    certificate: fixed_point.FixedPointCertificate
    converged: bool
    residual: float
    period: int
    n_iter: int
    rounds: tuple[int, ...]
    iterate: np.ndarray
    starts: list[dict[str, Any]] = field(default_factory=list)


def irelief(
    X: Any,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    seed: Any = None,
    map: Callable[..., Any] = map,
    watch: Callable[[str], Any] | None = None,
    weights: SampleWeights | None = None,
) -> IReliefResult:
    r"""Compute feature weights by I-RELIEF (Sun 2007).

    With soft nearest neighbours :math:`\alpha, \beta` of kernel
    :math:`f = \exp(-d_w / \sigma)` in the space weighted by w, and the
    probability :math:`\gamma_n` that a sample is no outlier,

    .. math::
        \nu = \frac1N \sum_n \gamma_n \Big(\sum_{i \in M_n} \alpha_{ni} |x_n - x_i|
              - \sum_{i \in H_n} \beta_{ni} |x_n - x_i|\Big),\quad
        \gamma_n = 1 - \frac{\sum_{i \in M_n} f_{ni}}{\sum_{i \ne n} f_{ni}},

    and the next w solves RELIEF's problem, :math:`\max w^T \nu,\ \|w\|_2 \le 1,\ w \ge 0`.
    Every step is convex, the whole is a fixed point: small sigma may cycle.

    Parameters
    ----------
    X : array (N, J), MixedSamples or ColumnSource
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        ``damping`` is the share of the old weights kept in an iteration, 0 as printed; ``keep``
        asks for back-selection: once the iteration has ended the better half of the features
        starts again, down to this many. ``tol`` and ``max_iter`` are the change
        :math:`\|T(w) - w\|_2` that ends an iteration, and its limit. ``n_starts`` are tried:
        ``start``, RELIEF's answer, then random ones; of the proven fixed points that of
        largest margin is returned.
    solving : Solving
        How every step is solved.
    seed
        For the random starts.
    map : callable
        Applied over blocks of rows; a thread pool's ``map`` gives the same answer.
    watch : callable, optional
        Told of every iteration in a line of text.
    weights : SampleWeights, optional
        How much samples count.
    """
    settings = settings or Settings()
    METHOD.formulation("irelief", solving)  # raises if the solver is unsuitable
    _check(settings, X.shape[1])
    start = fixed_point.checked_start(settings.start, settings.n_starts, X.shape[1])
    X = of_classes(X, codes)

    def iterated(columns: Any, begin: np.ndarray) -> IReliefResult:
        return _fixed_point(columns, codes, begin, settings, solving, map, watch, weights)

    def relief() -> np.ndarray:
        return fixed_point.relief_weights(margin_of(X, codes))

    def fit(given: np.ndarray | None) -> IReliefResult:
        begin = np.ones(X.shape[1]) if given is None else given
        return _back_selected(X, begin, settings.keep, iterated)

    points = fixed_point.starting_points(start, settings.n_starts, relief, X.shape[1], seed)
    result = fixed_point.best_of_starts(points, fit, _objective, settings.tol)
    _explain(result)
    return result


def _objective(result: IReliefResult) -> float:
    """Return minus the maximum of the last step, the norm of the margins' positive part."""
    return -float(np.linalg.norm(np.maximum(result.margin, 0.0)))


def _back_selected(
    X: Any,
    begin: np.ndarray,
    keep: int | None,
    iterated: Callable[[Any, np.ndarray], IReliefResult],
) -> IReliefResult:
    """Return the fixed point of all features or, with `keep`, of ever better halves down to it."""
    features, rounds, n_iter = np.arange(X.shape[1]), [], 0
    while True:
        rounds.append(len(features))
        columns = X if len(rounds) == 1 else some_features(X, features)
        result = iterated(columns, begin[features])
        n_iter += result.n_iter
        if keep is None or len(features) <= keep:
            break
        better = np.argsort(-result.weights, kind="stable")[: max(keep, len(features) // 2)]
        features, begin = features[np.sort(better)], np.ones(X.shape[1])
    whole = np.zeros(X.shape[1])
    whole[features] = result.weights
    return replace(result, weights=whole, n_iter=n_iter, rounds=tuple(rounds))


def _fixed_point(
    X: np.ndarray,
    codes: np.ndarray,
    begin: np.ndarray,
    settings: Settings,
    solving: Solving,
    map: Callable[..., Any],
    watch: Callable[[str], Any] | None,
    counted: SampleWeights | None,
) -> IReliefResult:
    """Iterate damped steps until a fixed point, a cycle or `max_iter` steps."""
    formulation = METHOD.formulation("irelief")
    w, past, n_iter, before = begin / np.linalg.norm(begin), [], 0, None
    while True:
        n_iter += 1
        margin = numbers.soft_margin(X, codes, w, settings.sigma, map, counted)
        solution, certificate = solve_step(formulation, {"z": margin}, {"lam": 0.0}, solving)
        target = require_answer(solution, formulation.symbol, solving)
        before = solution = solution.after(before)
        residual = float(np.linalg.norm(target - w))
        if watch is not None:
            watch(f"iteration {n_iter} over {X.shape[1]} features: change {residual:.1e}")
        past = [*past[1 - fixed_point.LONGEST_CYCLE :], w]
        period = fixed_point.period_of(past, _SAME)
        fixed = residual < settings.tol
        if fixed or period or n_iter == settings.max_iter:
            break
        # If no margin is positive, go to w = 0 undamped: the next step shows whether it is a fixed
        # point.
        damping = settings.damping if target.any() else 0.0
        w = damping * w + (1.0 - damping) * target
    proof = fixed_point.FixedPointCertificate(
        **vars(certificate), residual=0.0 if fixed else residual, residual_tol=settings.tol,
        n_violated=0, n_features=X.shape[1],
    )  # fmt: skip
    converged = fixed and proof.ok is not False
    return IReliefResult(
        target, margin, solution, proof, converged, residual, 0 if fixed else period,
        n_iter, (X.shape[1],), w,
    )  # fmt: skip


def step(
    X: Any,
    codes: np.ndarray,
    settings: Settings,
    solving: Solving,
    *,
    at: np.ndarray | None = None,
    weights: SampleWeights | None = None,
) -> Step:
    """Return the convex problem (Step) with neighbours at the weights `at`, by default equal."""
    _check(settings, X.shape[1])
    X, start = of_classes(X, codes), np.full(X.shape[1], X.shape[1] ** -0.5) if at is None else at
    margin = numbers.soft_margin(X, codes, start, settings.sigma, counted=weights)
    return Step(METHOD.formulation("irelief"), {"z": margin}, {"lam": 0.0}, start)


def _check(settings: Settings, n_features: int) -> None:
    check_number("sigma", settings.sigma, 0, open_ends=True)
    check_number("damping", settings.damping, 0, 0.999)
    check_number("tol", settings.tol, 0)
    check_number("max_iter", settings.max_iter, 1, whole=True)
    keep = settings.keep
    if keep is not None:
        check_number("keep", keep, 1, whole=True)
        if keep > n_features:
            raise InputError(f"keep={keep} must lie between 1 and the {n_features} features")


def _explain(result: IReliefResult) -> None:
    """Warn if all weights are 0, if they are no fixed point, or if starts end at different ones."""
    if not result.weights.any():
        warn(
            "no feature has a positive margin, so all weights are 0: hits are as far as misses; "
            "check the labels, scale the features, or use a larger sigma"
        )
    if not result.converged:
        period = result.period
        how = f"goes round a cycle of {period}" if period else "has not converged"
        warn(
            f"the iteration {how} after {result.n_iter} iterations (last change "
            f"{result.residual:.2g}): use a larger sigma, damping or max_iter"
        )
    if elsewhere := fixed_point.another_point(result.starts):
        warn(elsewhere)
