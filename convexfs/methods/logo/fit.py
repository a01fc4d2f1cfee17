"""Logo: local-learning feature selection as a fixed point of convex problems."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from convexfs.errors import ConvexfsWarning, InputError, check_choice, check_number
from convexfs.methods.base.formulation import Formulation
from convexfs.methods.base.starts import (
    another_point,
    best_of_starts,
    checked_start,
    relief_weights,
    starting_points,
)
from convexfs.methods.base.step import NATIVE_TOL, check_solver, runs_natively
from convexfs.methods.logo import METHOD, numbers
from convexfs.methods.logo.certificate import FixedPointCertificate
from convexfs.methods.logo.certified import FixedPoint, certified_fixed_point
from convexfs.methods.logo.fixed_point import History
from convexfs.methods.logo.locality import Locality, lam_max, relief_margin
from convexfs.methods.logo.native import INACCURATE
from convexfs.methods.logo.objective import Constrained, Objective, Penalised
from convexfs.methods.logo.paper import paper_fixed_point
from convexfs.methods.logo.solvers import changed_fixed_point, restricted_solver
from convexfs.records import NATIVE, OPTIMAL, Solution

ALGORITHMS = ("certified", "paper")
#: Relative duality gap the native solver is asked for; its certificate allows NATIVE_TOL.
_NATIVE_GAP = 1e-10
#: The dual point is made from w alone, which shows a solver's accuracy at its worst:
#: 1e-6 on the cone program is 1e-4 here.
_BACKEND_SLACK = 100.0


@dataclass(frozen=True)
class LogoSettings:
    """Everything about a Logo fit but the data; see :func:`logo`."""

    sigma: float = 2.0
    lam: float = 1.0
    beta: float | None = None
    algorithm: str = "certified"
    damping: float = 0.5
    tol: float = 1e-3
    max_iter: int = 1000
    solver: str = "auto"
    solver_tol: float = 1e-6
    solver_options: Mapping[str, Any] | None = None
    build: Callable[..., Any] | None = None
    verbose: bool = False
    prune: bool = False
    time_limit: float | None = None

    def __post_init__(self) -> None:
        numbers.check_sigma(self.sigma)
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_number("damping", self.damping, 0, 0.999)
        check_number("tol", self.tol, 0)
        check_number("max_iter", self.max_iter, 1, whole=True)
        if self.time_limit is not None:
            check_number("time_limit, in seconds,", self.time_limit, 0, open_ends=True)
        if self.prune and not self.printed:
            raise InputError(
                "prune=True is of algorithm='paper': 'certified' prunes and asks again"
            )
        if self.beta is None:
            check_number("lam", self.lam, 0)
        else:
            check_number("beta", self.beta, 0, open_ends=True)
        if self.printed and (self.beta is not None or self.build is not None):
            raise InputError(
                "algorithm='paper' is printed for eq. 7 only: leave beta and formulation out, "
                "or use algorithm='certified'"
            )
        check_solver(self.formulation, self.solver, self.solver_tol, self.build)

    @property
    def printed(self) -> bool:
        return self.algorithm == "paper"

    @property
    def objective(self) -> Objective:
        return Penalised(float(self.lam)) if self.beta is None else Constrained(float(self.beta))

    @property
    def formulation(self) -> Formulation:
        return METHOD.formulation("logo-penalised" if self.beta is None else "logo-constrained")

    @property
    def native(self) -> bool:
        """Whether no cvxpy solver takes part."""
        return self.printed or runs_natively(self.formulation, self.solver, self.build)

    @property
    def gap_tol(self) -> float:
        """The relative gap a certificate accepts."""
        exact = self.native and not self.printed
        return NATIVE_TOL if exact else _BACKEND_SLACK * self.solver_tol


@dataclass(frozen=True)
class LogoResult:
    """Weights and how they were reached.

    ``history`` has one row an iteration; see
    :class:`convexfs.methods.logo.fixed_point.History`. ``converged`` is True at
    proven fixed points only. ``period`` is that of the cycle the iteration ended
    in, 0 if it did not. ``starts`` has one row a start tried; see
    :func:`convexfs.methods.base.starts.told`.
    """

    weights: np.ndarray
    solution: Solution
    certificate: FixedPointCertificate
    converged: bool
    period: int
    history: list[dict[str, Any]]
    starts: list[dict[str, Any]] = field(default_factory=list)


def logo(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    sigma: float = 2.0,
    lam: float = 1.0,
    beta: float | None = None,
    algorithm: str = "certified",
    damping: float = 0.5,
    tol: float = 1e-3,
    max_iter: int = 1000,
    solver: str = "auto",
    solver_tol: float = 1e-6,
    solver_options: Mapping[str, Any] | None = None,
    build: Callable[..., Any] | None = None,
    map: Callable[..., Any] = map,
    verbose: bool = False,
    prune: bool = False,
    time_limit: float | None = None,
    start: Any = None,
    n_starts: int = 1,
    seed: Any = None,
    watch: Callable[[str], Any] | None = None,
) -> LogoResult:
    r"""Feature weights of Logo (Sun, Todorovic and Goodison 2010).

    A fixed point of: take the soft nearest neighbours of every sample at the
    weights w; average the differences to them into margin vectors
    :math:`\bar z_n`; solve

    .. math::
        \min_w \sum_n \log(1 + \exp(-w^T \bar z_n)) + \lambda 1^T w,\quad w \ge 0

    (eq. 7), or with :math:`1^T w \le \beta` instead of the price (eq. 8).

    Parameters
    ----------
    X : array (N, J)
        Any real dtype, in memory or memory-mapped; it is not copied.
    codes : int array (N,)
        Classes, 0 to K - 1.
    sigma : float
        Kernel width of the soft neighbours; may be infinite.
    lam, beta : float
        Price of weight, and its bound, which replaces the price.
    algorithm : {"certified", "paper"}
        "certified" damps the iteration and asks every feature at the end;
        "paper" is Algorithm 1 as printed, which may cycle or stop early.
    damping : float in [0, 1)
        Share of the old weights that "certified" keeps in each iteration.
    tol, max_iter
        Relative change of the weights that ends the iteration, and its limit.
    solver, solver_tol, solver_options, build, verbose
        See :func:`convexfs.methods.base.step.solve_step`. A cvxpy solver is given
        only the features that matter; a changed `build` all of them.
    map : callable
        Applied over blocks of features; a thread pool's ``map`` gives the same answer.
    prune : bool
        Whether "paper" leaves features out for good, as its Sec. 3.2 suggests.
    time_limit : float, optional
        Seconds after which the iteration ends, wherever it is, without a proof; a
        pass over all features that has begun is finished.
    start : array (J,), optional
        Weights to start from instead of 1.
    n_starts, seed
        Starts tried: `start`, RELIEF's answer, then random ones. Of the proven
        fixed points that of least objective is returned.
    watch : callable, optional
        Told of every iteration in a line of text.
    """
    settings = LogoSettings(
        sigma, lam, beta, algorithm, damping, tol, max_iter,
        solver, solver_tol, solver_options, build, verbose, prune, time_limit,
    )  # fmt: skip
    start = checked_start(start, n_starts, X.shape[1])
    place = Locality(X, codes, float(sigma), map)
    until = _deadline(settings)
    points = starting_points(
        start, n_starts, lambda: relief_weights(relief_margin(place)), X.shape[1], seed
    )
    result = best_of_starts(
        points,
        lambda weights: _fit(place, settings, until, start=weights, watch=watch),
        _objective,
        tol,
        until,
    )
    _explain(result, settings, place)
    return result


def _objective(result: LogoResult) -> float:
    value = result.solution.objective
    return np.inf if value is None or np.isnan(value) else value


def _deadline(settings: LogoSettings) -> float:
    limit = settings.time_limit
    return np.inf if limit is None else time.perf_counter() + limit


def fit_logo(
    X: np.ndarray,
    codes: np.ndarray,
    settings: LogoSettings,
    *,
    map: Callable[..., Any] = map,
    distances: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> LogoResult:
    """:func:`logo` without its warnings.

    `distances` are the Manhattan distances with all weights 1, if they are known
    already; `start` are weights to start from instead of 1.
    """
    place = Locality(X, codes, float(settings.sigma), map, distances)
    return _fit(place, settings, _deadline(settings), start=start)


def _fit(
    place: Locality,
    settings: LogoSettings,
    until: float,
    *,
    start: np.ndarray | None = None,
    watch: Callable[[str], Any] | None = None,
) -> LogoResult:
    began, history = time.perf_counter(), History(until=until, watch=watch)
    found = _find(place, settings, history, start)
    certificate = FixedPointCertificate(
        primal_residual=settings.objective.violation(found.weights),
        dual_residual=None,
        complementarity=None,
        gap=found.audit.gap,
        tol=settings.gap_tol,
        basis="formula",
        residual=found.outcome.residual,
        residual_tol=settings.tol,
        n_violated=len(found.audit.violated),
        n_features=len(found.weights),
    )
    solution = Solution(
        status=OPTIMAL if certificate.ok else INACCURATE,
        solver=NATIVE if settings.native else settings.solver,
        primal={settings.formulation.symbol: found.weights},
        objective=found.outcome.answer.value,
        solve_seconds=time.perf_counter() - began,
        iterations=len(history.rows),
        tol=settings.gap_tol,
    )
    converged = found.outcome.converged and certificate.ok is True
    period = found.outcome.period
    return LogoResult(found.weights, solution, certificate, converged, period, history.rows)


def _find(
    place: Locality,
    settings: LogoSettings,
    history: History,
    start: np.ndarray | None,
) -> FixedPoint:
    limits = {"tol": settings.tol, "max_iter": settings.max_iter, "start": start}
    if settings.printed:
        return paper_fixed_point(place, settings.objective, history, prune=settings.prune, **limits)
    options = (settings.solver, settings.solver_tol, settings.solver_options, settings.verbose)
    if settings.build is not None:
        return changed_fixed_point(
            place, settings.objective, settings.formulation, settings.build, options, history,
            damping=settings.damping, **limits,
        )  # fmt: skip
    restricted = restricted_solver(settings.formulation, settings.native, options, history.until)
    return certified_fixed_point(
        place, settings.objective, restricted, history, damping=settings.damping,
        gap_tol=_NATIVE_GAP if settings.native else settings.solver_tol,
        **limits,
    )  # fmt: skip


def _explain(result: LogoResult, settings: LogoSettings, place: Locality) -> None:
    """Warn of an answer that is all zeros, no fixed point, or not certified by its nature."""
    price = settings.beta is None
    if price and settings.lam == 0:
        _warn(
            "lam=0 (eq. 6) has no bound to certify by, and its minimum may not be attained: "
            "a small positive lam gives nearly the same weights with a certificate"
        )
    if not result.weights.any():
        cure = "check that some feature tells the classes apart"
        if price:
            top = f"lam={settings.lam:g} is not below lam_max={lam_max(place):.4g}"
            cure = f"{top}: use a smaller lam, or {cure}"
        _warn(f"all weights are 0; {cure}")
    if not result.converged and not (price and settings.lam == 0):
        _warn(_refusal(result, settings))
    if elsewhere := another_point(result.starts):
        _warn(elsewhere)


def _refusal(result: LogoResult, settings: LogoSettings) -> str:
    """Why an answer is no proven fixed point, and what to do."""
    n_iter, certificate, limit = len(result.history), result.certificate, settings.time_limit
    if limit is not None and result.solution.solve_seconds >= limit:
        return (
            f"the time limit of {limit:g} s ended the iteration after {n_iter} iterations, "
            "before a fixed point was proven: use a larger time_limit or tol"
        )
    if certificate.residual <= certificate.residual_tol:
        what = f"the iteration stopped after {n_iter} iterations at a point that is not proven"
        cure = f"its certificate is {certificate}"
    else:
        how = f"goes round a cycle of {result.period}" if result.period else "has not converged"
        what = f"the iteration {how} after {n_iter} iterations"
        cure = f"relative change {certificate.residual:.2g}"
    use = "algorithm='certified'" if settings.printed else "a larger damping or max_iter,"
    return f"{what} ({cure}): use {use} or another sigma"


def _warn(message: str) -> None:
    warnings.warn(message, ConvexfsWarning, stacklevel=4)
