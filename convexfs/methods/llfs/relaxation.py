"""Solve one point of LLFS: its solution path along beta, and the rounded feature sets."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.methods.base.formulation import AUTO
from convexfs.methods.llfs.backend.custom import StatedPrograms
from convexfs.methods.llfs.backend.path import BackendPath, PathSolver
from convexfs.methods.llfs.backend.point import PointUtilities
from convexfs.methods.llfs.backend.separation import Step, Unsolved
from convexfs.methods.llfs.backend.subproblems import RATIO, Subproblems
from convexfs.methods.llfs.lfs import LINEAR
from convexfs.methods.llfs.native.linear_program import largest_sum, priced_minimum
from convexfs.methods.llfs.native.local_path import LocalPath, local_path, local_point, maximiser
from convexfs.methods.llfs.native.newton import KKT_TOL
from convexfs.methods.llfs.numbers import secant_bound
from convexfs.methods.llfs.rounding import best_rounding, best_subset, swap_search
from convexfs.methods.llfs.settings import PointSettings
from convexfs.methods.llfs.utility import mean_utility

#: A path by a cvxpy solver has this share of ``solver_tol`` as its tolerance: errors accumulate.
ROAD_SHARE = 0.1
#: U1 up to this counts as 0: it is the rounding error of a mean of G, a difference near 1/2.
UTILITY_ROUNDING = 1e-15
GLOBAL, LOCAL, EXACT, UNCONVERGED = "global", "local", "exact", "unconverged"
#: One row per point and beta. ``status`` says what is known of the relaxed f: ``global``
#: (one feature, or U1 = 0, proven), ``local`` (a KKT point of eq. 7, to ``residual``),
#: ``linear`` and ``lfs`` (the optimum of the linear form, proven), ``ratio`` (the least ratio,
#: to ``residual``, proven), ``exact`` (binary and searched through), ``unconverged``, or,
#: without an f, ``failed`` and ``timeout``.
#: ``bound`` is a lower bound of U1, NaN if not asked for; ``rounded_u1`` is infinite, and
#: the beta dropped, where no rounding is feasible; ``score`` is that of its sphere.
#: ``programs`` of a backend were solved, of which ``failures`` gave no point and were
#: tried again in other ways.
STATUS_ROW = np.dtype(
    [
        ("beta", float), ("status", "U12"), ("u1", float), ("u2", float), ("level", float),
        ("residual", float), ("bound", float), ("rounded_u1", float), ("score", float),
        ("programs", int), ("failures", int),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class PointSets:
    """The feature sets of one point, one per beta (None if dropped), with their status.

    ``f`` are the relaxed indicators they come from, if there are any.
    """

    masks: list[np.ndarray | None]
    table: np.ndarray
    f: np.ndarray | None = None


def candidates(values: Mapping[str, Any], settings: PointSettings, point: int) -> PointSets:
    """Return one point's set per beta: relaxed and rounded, or exact if ``form`` is "exact"."""
    if settings.form == "exact":
        return _exact_sets(values, settings)
    path = relaxed_path(values, settings)
    table = _table(path, values, settings)
    masks, table["rounded_u1"] = _roundings(path.f, table["level"], values, settings, point)
    return PointSets(masks, table, path.f)


def relaxed_path(values: Mapping[str, Any], settings: PointSettings) -> LocalPath:
    """Solve all betas of the relaxed problem, natively or by a cvxpy solver."""
    if settings.solving.build is not None:
        return _stated_programs(values, settings).path(settings.betas)
    if not settings.native:
        return path_solver(values, settings).path(settings.betas)
    if settings.linear:
        return _linear_path(values, settings)
    return local_path(local_point(**values, max_features=settings.max_features), settings.betas)


def path_solver(
    values: Mapping[str, Any], settings: PointSettings, steps: list[Step] | None = None
) -> PathSolver:
    """Return a point's path solver by cvxpy; it appends its subproblems to `steps`, if given."""
    # Without the sigmoid, (7) is the linear form.
    numbers = {**values, **LINEAR} if settings.linear else dict(values)
    solving, alpha, limit = settings.solving, settings.max_features, settings.solving.time_limit
    tol = ROAD_SHARE * solving.tol
    point = PointUtilities(**numbers, max_features=alpha, free=settings.feasible is None)
    # (6) needs no mixed-integer or changed program.
    alone = settings.form == "exact" or solving.build is not None
    solver = AUTO if alone else solving.solver
    programs = Subproblems(solver, point.n_features, alpha, tol, solving.options, settings.feasible)
    deadline = np.inf if limit is None else time.monotonic() + limit
    form = "compactness" if settings.linear or settings.form == "exact" else settings.form
    singles = None
    if settings.allows is not None:
        singles = settings.allows(np.eye(point.n_features, dtype=bool))
    return PathSolver(point, programs, form, tol, deadline, steps, singles)


def backend_name(values: Mapping[str, Any], settings: PointSettings) -> str:
    """Return the name of the solver of a point's subproblems, or of its changed steps."""
    if settings.solving.build is None and settings.form != "exact":
        return path_solver(values, settings).programs.solver
    return _stated_programs(values, settings).backend_name()


def _stated_programs(values: Mapping[str, Any], settings: PointSettings) -> StatedPrograms:
    """Return the stated subproblems of a point, with a tighter tolerance: errors accumulate."""
    own, built_in = settings.solving, path_solver(values, settings)
    return StatedPrograms(built_in, own.solver, 0.01 * own.tol, own.options, own.build)


def _linear_path(values: Mapping[str, Any], settings: PointSettings) -> LocalPath:
    c1, c2 = values["a_same"].mean(axis=0), values["a_other"].mean(axis=0)
    alpha, most = settings.max_features, largest_sum(c2, settings.max_features)
    solved = [priced_minimum(c1, c2, beta * most, alpha) for beta in settings.betas]
    F = np.array([priced.f for priced in solved])
    mu, bound = (np.array([getattr(each, name) for each in solved]) for name in ("mu", "bound"))
    # Use the values of the linear form, not U1 and U2, because it trades these off.
    u1 = F @ c1
    left = np.maximum(u1 - bound, 0.0) / np.maximum(u1, 1e-300)
    none = np.zeros(len(solved), dtype=int)
    return LocalPath(settings.betas, F, u1, F @ c2, mu, left, none, most, 0.0)


def _table(path: LocalPath, values: Mapping[str, Any], settings: PointSettings) -> np.ndarray:
    table = np.zeros(len(path.betas), dtype=STATUS_ROW)
    for name in ("u1", "u2", "residual"):
        table[name] = getattr(path, name)
    table["beta"] = path.betas
    table["level"] = path.betas * path.eps_max
    table["score"] = -np.inf
    table["bound"] = np.nan
    # A single feature of the least U1 at all betas is the closed form, globally optimal.
    single = (path.f.sum(axis=1) <= 1 + 1e-12) & (path.f.max(axis=1) >= 1 - 1e-12)
    closed = settings.native & single & (path.iterations == 0)
    # U1 is never below 0; at 0, gradients and residuals are rounding errors.
    least = path.u1 <= UTILITY_ROUNDING
    table["residual"][least] = 0.0
    table["status"] = np.where(closed | least, GLOBAL, LOCAL)
    if settings.linear or settings.form == RATIO:
        table["status"] = settings.form
    table["status"][~(table["residual"] <= KKT_TOL)] = UNCONVERGED
    if isinstance(path, BackendPath):
        table["programs"], table["failures"] = path.iterations, path.failures
        table["status"] = np.where(path.ended == "", table["status"], path.ended)
    if settings.bound and not settings.linear:
        most = settings.most_features(path.f.shape[1])
        for b in np.flatnonzero(np.isfinite(path.u1)):
            known = {"eps": table[b]["level"], "max_features": most, "tangent": path.f[b]}
            table[b]["bound"] = secant_bound(**values, **known)
    return table


def _roundings(
    F: np.ndarray,
    levels: np.ndarray,
    values: Mapping[str, Any],
    settings: PointSettings,
    point: int,
) -> tuple[list[np.ndarray | None], list[float]]:
    """Return the best feasible set near each row of F, or None, and its U1 or infinity."""
    numbers = {**values, **LINEAR} if settings.linear else values
    distances = (numbers["a_same"], numbers["a_other"], numbers["s"], numbers["lam"])
    how = (settings.most_features(F.shape[1]), settings.rounding, settings.n_roundings)
    seed = (*np.atleast_1d(settings.seed), point)
    masks, least = [], []
    for b, (f, level) in enumerate(zip(F, levels.tolist(), strict=True)):
        if np.isnan(f).any():
            masks.append(None)
            least.append(np.inf)
            continue
        mask, value = best_rounding(f, *distances, level, *how, (*seed, b), settings.allows)
        if mask is not None and settings.swap:
            mask, value = swap_search(mask, *distances, level, settings.max_features)
        masks.append(mask)
        least.append(value)
    return masks, least


def _exact_sets(values: Mapping[str, Any], settings: PointSettings) -> PointSets:
    """Return the best set of each beta by exact search or mixed-integer programs, or None."""
    a_same, a_other, s, lam = (values[name] for name in ("a_same", "a_other", "s", "lam"))
    alpha, masks = settings.max_features, []
    programs = None if settings.native else _stated_programs(values, settings)
    if programs is None:
        eps_max = maximiser(local_point(**values, max_features=alpha)).u2
    else:
        with suppress(Unsolved):
            programs.built_in.separation()
        eps_max = programs.built_in.eps_max
    table = np.zeros(len(settings.betas), dtype=STATUS_ROW)
    table["beta"], table["level"] = settings.betas, settings.betas * eps_max
    table["status"], table["score"], table["bound"] = EXACT, -np.inf, np.nan
    for row in table:
        if programs is None:
            mask = best_subset(a_same, a_other, s, lam, row["level"], alpha)[0]
        else:
            f, best = programs.exact(row["level"]) if np.isfinite(eps_max) else (None, True)
            row["status"] = EXACT if best else UNCONVERGED
            mask = None if f is None or not f.any() else f > 0.5
        masks.append(mask)
        if mask is None:
            row["u1"] = row["u2"] = row["rounded_u1"] = np.inf
            continue
        row["u1"] = row["rounded_u1"] = mean_utility(a_same, mask.astype(float), s, lam)
        row["u2"] = mean_utility(a_other, mask.astype(float), s, lam)
    return PointSets(masks, table)
