"""Who solves Logo's convex step: the native solver, a cvxpy backend, a changed problem."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convexfs.methods.base.change import is_change, takes
from convexfs.methods.base.formulation import Formulation
from convexfs.methods.base.parameters import Solving
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.logo.fixed_points.candidate_features import Audit, FixedPoint
from convexfs.methods.logo.fixed_points.damped_iteration import History, iterate
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.newton import solve_restricted
from convexfs.methods.logo.objective import Constrained, Objective
from convexfs.methods.logo.working_set import Restricted

#: Weights a cvxpy solver leaves below this share of the largest are its rounding.
_SOLVER_ROUNDING = 1e-7

#: Seconds a backend gets when the time is up.
_MOMENT = 0.01


def restricted_solver(
    formulation: Formulation, native: bool, solving: Solving, until: float = np.inf
) -> Restricted:
    """Return the solver for working sets; it ends at `until`, by ``time.perf_counter``."""
    if native:
        return partial(solve_restricted, until=until)
    from convexfs.solving.solve import solve

    def restricted(Z: np.ndarray, objective: Objective, start: np.ndarray, _: float) -> np.ndarray:
        problem = formulation.build(Z, **hyper_of(objective), counts=objective.counts)
        limit = left_until(until)
        solution = solve(
            problem, solving.solver, solving.tol, limit, solving.options, solving.verbose
        )
        return _cleaned(require_answer(solution, formulation.symbol, solving), objective)

    return restricted


def left_until(until: float) -> float | None:
    """Return the seconds a backend may take, a moment at least; None if there is no limit."""
    return None if until == np.inf else max(until - time.perf_counter(), _MOMENT)


def takes_counts(build: Callable[..., Any]) -> bool:
    """Tell whether a changed problem asks how much samples count."""
    return takes(build, "counts")


def hyper_of(objective: Objective) -> dict[str, float]:
    """Return the objective's numbers by the names the formulation takes."""
    return {name: value for name, value in vars(objective).items() if name != "counts"}


@dataclass(frozen=True)
class ChangedStep:
    """The answer of a changed problem."""

    w: np.ndarray
    value: float
    gap: float
    solver: str


def changed_fixed_point(
    locality: Locality,
    objective: Objective,
    formulation: Formulation,
    solving: Solving,
    history: History,
    *,
    tol: float,
    max_iter: int,
    damping: float,
    start: np.ndarray | None = None,
) -> FixedPoint:
    """Find the damped fixed point of a changed problem, each step over all features.

    Its gap is that of the last step's cone program: what a score must not
    exceed is known for the printed problems only.
    """
    columns = locality.take(np.arange(locality.X.shape[1]))
    counts = objective.counts
    if counts is None and not is_change(solving.build):
        counts = np.ones(len(locality.rows))

    def step(w: np.ndarray) -> ChangedStep:
        Z = locality.margins(columns, locality.signed(columns, w))
        within = replace(solving, time_limit=left_until(history.until))
        values = {"Z": Z, "counts": counts}
        solution, certificate = solve_step(formulation, values, hyper_of(objective), within)
        at = f"iteration {len(history.rows) + 1}, neighbours at {np.count_nonzero(w)} weights"
        weights = require_answer(solution, formulation.symbol, solving, at)
        value = np.nan if solution.objective is None else solution.objective
        return ChangedStep(_cleaned(weights, objective), value, certificate.worst, solution.solver)

    start = np.ones(columns.shape[1]) if start is None else start
    end = iterate(step, start, history, tol=tol, max_iter=max_iter, damping=damping)
    audit = Audit(np.empty(0, np.int64), end.answer.gap)
    return FixedPoint(end.answer.w, end.before, end, audit)


def _cleaned(w: np.ndarray, objective: Objective) -> np.ndarray:
    """Take a solver's rounding off its weights: none negative, negligible or beyond the budget."""
    w = np.maximum(w, 0.0)
    w[w < _SOLVER_ROUNDING * w.max(initial=0.0)] = 0.0
    if isinstance(objective, Constrained) and w.sum() > objective.beta:
        w *= objective.beta / w.sum()
    return w
