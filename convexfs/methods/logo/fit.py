"""Fit Logo: local-learning feature selection as a fixed point of convex problems."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from convexfs.errors import InputError, warn
from convexfs.methods.base import fixed_point
from convexfs.methods.base.change import takes
from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, Step
from convexfs.methods.base.row_permutations import permuted_labels
from convexfs.methods.logo.changed_step import changed_fixed_point
from convexfs.methods.logo.fixed_points.algorithm1 import paper_fixed_point
from convexfs.methods.logo.fixed_points.candidate_features import certified_fixed_point
from convexfs.methods.logo.margins import (
    Locality,
    entry_scores,
    lam_max,
    locality_of,
    null_penalty,
    relief_margin,
)
from convexfs.methods.logo.margins import MixedLocality as MixedLocality
from convexfs.methods.logo.settings import LogoRequest, Settings
from convexfs.methods.logo.working_set import hyper_of
from convexfs.neighbors.missing_values import MixedSamples
from convexfs.neighbors.sample_weight import SampleWeights
from convexfs.records import INACCURATE, NATIVE, OPTIMAL, Solution

#: Most entries of the margin matrix of a stated problem, 0.8 GB; more is an error.
_MOST_MARGINS = 100_000_000


@dataclass(frozen=True)
class LogoResult:
    """Result of Logo: weights, solution, fixed-point certificate and iteration history.

    ``history`` has one row an iteration; see
    :class:`convexfs.methods.base.fixed_point.History`. ``converged`` is True at
    proven fixed points only. ``period`` is that of the cycle the iteration ended
    in, 0 if it did not. ``starts`` has one row a start tried; see
    :func:`convexfs.methods.base.fixed_point.start_rows`. ``lam`` is the penalty, None with a bound;
    ``iterate`` are the weights at which the last step was taken.
    """

    weights: np.ndarray
    solution: Solution
    certificate: fixed_point.FixedPointCertificate
    converged: bool
    period: int
    history: list[dict[str, Any]]
    n_iter: int
    iterate: np.ndarray
    starts: list[dict[str, Any]] = field(default_factory=list)
    lam: float | None = None


def logo(
    X: np.ndarray | MixedSamples,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    seed: Any = None,
    map: Callable[..., Any] = map,
    watch: Callable[[str], Any] | None = None,
    weights: SampleWeights | None = None,
    permuted: Callable[..., np.ndarray] | None = None,
) -> LogoResult:
    r"""Compute feature weights by Logo (Sun, Todorovic and Goodison 2010).

    A fixed point of: take the soft nearest neighbours of every sample at the
    weights w; average the differences to them into margin vectors
    :math:`\bar z_n`; solve

    .. math::
        \min_w \sum_n \log(1 + \exp(-w^T \bar z_n)) + \lambda 1^T w,\quad w \ge 0

    (eq. 7), or with :math:`1^T w \le \beta` instead of the penalty (eq. 8).

    Parameters
    ----------
    X : array (N, J), or MixedSamples
        Any real dtype, in memory or memory-mapped; it is not copied.
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        ``algorithm`` is "certified", which damps the iteration and asks every feature at the
        end, or "paper", Algorithm 1 as printed, which may cycle or stop early; ``prune`` has
        "paper" leave features out for good, as its Sec. 3.2 suggests. ``n_starts`` are tried:
        ``start``, RELIEF's answer, then random ones; of the proven fixed points that of least
        objective is returned.
    solving : Solving
        A cvxpy solver is given only the features that matter; a changed problem all of them.
        After ``time_limit`` seconds the iteration ends, wherever it is, without a proof; a pass
        over all features that has begun is finished.
    seed
        For the random starts.
    map : callable
        Applied over blocks of features; a thread pool's ``map`` gives the same answer.
    watch : callable, optional
        Told of every iteration in a line of text.
    weights : SampleWeights, optional
        How much samples count.
    permuted : callable, optional
        From labels and a number to permuted labels, for ``lam="null"``.
    """
    request = LogoRequest(settings or Settings(), solving)
    request.check()
    build = solving.build
    if weights is not None and build is not None and not takes(build, "counts"):
        raise InputError(
            "samples count differently, and the changed problem does not ask for it: have build "
            "take counts, as in counts @ cp.logistic(-(Z @ w)), or leave the weights out"
        )
    locality = locality_of(X, codes, float(request.settings.sigma), map, weights=weights)
    return fit_locality(locality, request, seed, watch, permuted)


def fit_locality(
    locality: Locality,
    request: LogoRequest,
    seed: Any = None,
    watch: Callable[[str], Any] | None = None,
    permuted: Callable[..., np.ndarray] | None = None,
) -> LogoResult:
    """Fit Logo to a Locality (classes or numeric target) from every start; warn of failures."""
    settings, n_features = request.settings, locality.X.shape[1]
    start = fixed_point.checked_start(settings.start, settings.n_starts, n_features)
    if request.searches:
        request = _penalised(locality, request, permuted)
        if watch is not None:
            lam, number = request.settings.lam, settings.n_permutations
            watch(f"lam {lam:.3g}, set by {number} permutations of the labels")
    until = request.deadline

    def relief() -> np.ndarray:
        return fixed_point.relief_weights(relief_margin(locality))

    def fit(given: np.ndarray | None) -> LogoResult:
        return _fit(locality, request, until, start=given, watch=watch)

    points = fixed_point.starting_points(start, settings.n_starts, relief, n_features, seed)
    result = fixed_point.best_of_starts(points, fit, _objective, settings.tol, until)
    _explain(result, request, locality)
    return replace(result, lam=None if settings.beta is not None else float(request.settings.lam))


def _penalised(
    locality: Locality,
    request: LogoRequest,
    permuted: Callable[..., np.ndarray] | None,
    lam: float | None = None,
) -> LogoRequest:
    """Return the request with a penalty, by default the one that permuted labels set."""
    if lam is None:
        permuted = permuted or partial(permuted_labels, seed=0)
        labels = permuted(locality.codes, request.settings.n_permutations)
        lam = null_penalty(labels, lambda codes: entry_scores(locality.at_labels(codes)))
    return request.changed(lam=lam)


def step(
    X: np.ndarray | MixedSamples,
    codes: np.ndarray,
    settings: Settings,
    solving: Solving,
    *,
    at: np.ndarray | None = None,
    lam: float | None = None,
    weights: SampleWeights | None = None,
    permuted: Callable[..., np.ndarray] | None = None,
) -> Step:
    """Return the convex problem (Step) over all features with neighbours at weights `at`.

    `lam` is the penalty, if permuted labels have set it already.
    """
    locality = locality_of(X, codes, float(settings.sigma), weights=weights)
    return step_at(locality, LogoRequest(settings, solving), at, lam, permuted)


def step_at(
    locality: Locality,
    request: LogoRequest,
    at: np.ndarray | None = None,
    lam: float | None = None,
    permuted: Callable[..., np.ndarray] | None = None,
) -> Step:
    """Return the convex problem of :func:`step` for a Locality; raise if it is too large."""
    request.check()
    n_samples, n_features = locality.X.shape
    if n_samples * n_features > _MOST_MARGINS:
        raise InputError(
            f"the problem of {n_samples} samples with {n_features} features has "
            f"{n_samples * n_features:.0e} margins, too many to hold: state it on fewer columns"
        )
    if request.searches:
        request = _penalised(locality, request, permuted, lam)
    start = np.ones(n_features) if at is None else at
    columns = locality.take(np.arange(n_features))
    values = {"Z": locality.margins(columns, locality.signed(columns, start))}
    if locality.counts is not None:
        values["counts"] = locality.counts
    return Step(request.formulation, values, hyper_of(request.objective()), start)


def _objective(result: LogoResult) -> float:
    value = result.solution.objective
    return np.inf if value is None or np.isnan(value) else value


def fit_logo(
    X: np.ndarray, codes: np.ndarray, request: LogoRequest, *, start: np.ndarray | None = None
) -> LogoResult:
    """Fit Logo from one start, by default w = 1, without warnings or sample weights."""
    locality = locality_of(X, codes, float(request.settings.sigma))
    return _fit(locality, request, request.deadline, start=start)


def _fit(
    locality: Locality,
    request: LogoRequest,
    until: float,
    *,
    start: np.ndarray | None = None,
    watch: Callable[[str], Any] | None = None,
) -> LogoResult:
    began, history = time.perf_counter(), fixed_point.History(until=until, watch=watch)
    find = certified_fixed_point
    if request.printed:
        find = paper_fixed_point
    elif request.solving.build is not None:
        find = changed_fixed_point
    point = find(locality, request, history, start)
    certificate = fixed_point.FixedPointCertificate(
        primal_residual=request.objective().violation(point.weights), dual_residual=None,
        complementarity=None, gap=point.audit.gap, tol=request.gap_tol, basis="formula",
        residual=point.end.residual, residual_tol=request.settings.tol,
        n_violated=len(point.audit.violated), n_features=len(point.weights),
    )  # fmt: skip
    rows, end = history.rows, point.end
    solution = Solution(
        OPTIMAL if certificate.ok else INACCURATE, _solver_that_ran(request, end.answer),
        primal={request.formulation.symbol: point.weights}, objective=end.answer.value,
        solve_seconds=time.perf_counter() - began, iterations=len(rows), tol=request.gap_tol,
    )  # fmt: skip
    converged = end.converged and certificate.ok is True
    return LogoResult(
        point.weights, solution, certificate, converged, end.period, rows, len(rows), point.before
    )


def _solver_that_ran(request: LogoRequest, answer: Any) -> str:
    """Return the name of the solver of the last step, as the solver table has it."""
    if request.native:
        return NATIVE
    from convexfs.solving.backends import backend

    return getattr(answer, "solver", "") or backend(request.solving.solver).name


def _explain(result: LogoResult, request: LogoRequest, locality: Locality) -> None:
    """Warn if all weights are 0, no fixed point is proven, lam is 0, or a start ends elsewhere."""
    settings = request.settings
    price = settings.beta is None
    if price and settings.lam == 0:
        warn(
            "lam=0 (eq. 6) has no bound to certify by, and its minimum may not be attained: "
            "a small positive lam gives nearly the same weights with a certificate"
        )
    if not result.weights.any() and not _out_of_time(result, request):
        cure = "check that some feature goes along with the target"
        if price:
            top = f"lam={settings.lam:g} is not below lam_max={lam_max(locality):.4g}"
            cure = f"{top}: use a smaller lam, or {cure}"
        warn(f"all weights are 0; {cure}")
    if not result.converged and not (price and settings.lam == 0):
        warn(_refusal(result, request))
    if elsewhere := fixed_point.another_point(result.starts):
        warn(elsewhere)


def _out_of_time(result: LogoResult, request: LogoRequest) -> bool:
    limit = request.solving.time_limit
    return limit is not None and result.solution.solve_seconds >= limit


def _refusal(result: LogoResult, request: LogoRequest) -> str:
    """Return a warning: why the result is not a proven fixed point, and what to do."""
    n_iter, certificate = len(result.history), result.certificate
    if _out_of_time(result, request):
        return (
            f"the time limit of {request.solving.time_limit:g} s ended the iteration after "
            f"{n_iter} iterations, before a fixed point was proven: use a larger time_limit or tol"
        )
    if certificate.residual <= certificate.residual_tol:
        what = f"the iteration stopped after {n_iter} iterations at a point that is not proven"
        cure = f"its certificate is {certificate}"
    else:
        how = f"goes round a cycle of {result.period}" if result.period else "has not converged"
        what = f"the iteration {how} after {n_iter} iterations"
        cure = f"relative change {certificate.residual:.2g}"
    use = "algorithm='certified'" if request.printed else "a larger damping or max_iter,"
    return f"{what} ({cure}): use {use} or another sigma"
