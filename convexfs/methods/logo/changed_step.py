"""Fit Logo with a changed problem: the damped fixed point of its steps."""

from dataclasses import dataclass, replace

import numpy as np

from convexfs.methods.base.change import is_change
from convexfs.methods.base.fixed_point import History, iterate
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.logo.fixed_points.candidate_features import Audit, FixedPoint
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.settings import LogoRequest
from convexfs.methods.logo.working_set import cleaned, hyper_of, left_until


@dataclass(frozen=True)
class ChangedStep:
    """Solution of one step of a changed problem: weights, objective, worst residual, solver."""

    w: np.ndarray
    value: float
    gap: float
    solver: str


def changed_fixed_point(
    locality: Locality, request: LogoRequest, history: History, start: np.ndarray | None = None
) -> FixedPoint:
    """Iterate damped steps of a changed problem over all features, to a fixed point if possible.

    Its gap is that of the last step's cone program: what a score must not
    exceed is known for the printed problems only.
    """
    settings, solving, formulation = request.settings, request.solving, request.formulation
    columns, counts = locality.take(np.arange(locality.X.shape[1])), locality.counts
    objective = request.objective(counts)
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
        return ChangedStep(cleaned(weights, objective), value, certificate.worst, solution.solver)

    start = np.ones(columns.shape[1]) if start is None else start
    end = iterate(
        step, start, history, tol=settings.tol, max_iter=settings.max_iter,
        damping=settings.damping,
    )  # fmt: skip
    audit = Audit(np.empty(0, np.int64), end.answer.gap)
    return FixedPoint(end.answer.w, end.before, end, audit)
