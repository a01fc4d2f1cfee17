r"""Logo as printed: Algorithm 1 of Sun, Todorovic and Goodison (2010).

Undamped; each convex step by gradient descent in :math:`v, w = v^2` (eq. 10). Kept for
comparison: it may cycle. Asked to prune, it takes weights below 1e-8 for 0 for good
(Sec. 3.2, not in Algorithm 1), and what it leaves out it never asks again.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.methods.base.fixed_point import History, iterate
from convexfs.methods.logo.fixed_points.candidate_features import (
    CandidateStep,
    FixedPoint,
    audit_all,
)
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.newton import Objective, relative

#: With `prune`, weights w = v^2 below this are set to 0 for good (Sec. 3.2: v below 1e-4).
_PRUNED = 1e-8
#: Relative norm of the gradient that ends the descent, and most steps.
_GRADIENT, _MOST_STEPS = 1e-5, 2000
#: Line search: fraction of the predicted decrease that a step must achieve, and shortest step.
_ARMIJO, _SHORTEST = 1e-4, 1e-18


def paper_fixed_point(
    locality: Locality,
    objective: Objective,
    history: History,
    *,
    tol: float,
    max_iter: int,
    prune: bool = False,
    start: np.ndarray | None = None,
) -> FixedPoint:
    """Run the paper's Algorithm 1 from `start` (default 1), then score all features as proof."""
    columns = locality.take(np.arange(locality.X.shape[1]))
    algorithm = _Algorithm(locality, objective, columns, prune, history.until)
    start = np.ones(locality.X.shape[1]) if start is None else start
    end = iterate(algorithm.step, start, history, tol=tol, max_iter=max_iter, damping=0.0)
    audit = audit_all(locality, objective, end.answer, algorithm.alive)
    return FixedPoint(end.answer.w, end.before, end, audit)


class _Algorithm:
    """One iteration of Algorithm 1, over the features whose weight is not 0.

    A weight of exactly 0 stays so: there the descent in v has no slope.
    """

    def __init__(
        self,
        locality: Locality,
        objective: Objective,
        columns: Any,
        prune: bool,
        until: float,
    ):
        self._locality, self._objective, self._columns = locality, objective, columns
        self._prune, self._until = prune, until
        self.alive = np.arange(columns.shape[1])

    def step(self, w: np.ndarray) -> CandidateStep:
        self.alive = np.flatnonzero(w)
        signed = self._locality.signed(self._columns, w)
        Z = self._locality.margins(self._columns[:, self.alive], signed)
        own = descend(Z, self._objective, np.sqrt(w[self.alive]), self._until) ** 2
        if self._prune:
            own[own < _PRUNED] = 0.0
        margins = Z @ own
        scores = self._objective.pull(margins) @ Z
        value = self._objective.value(margins, own)
        gap = self._objective.gap(margins, own, np.max(scores, initial=0.0))
        weights = np.zeros(len(w))
        weights[self.alive] = own
        return CandidateStep(
            w=weights, margins=margins, scores=scores, value=value,
            gap=relative(gap, value), sizes=(len(own),), signed=signed,
        )  # fmt: skip


@dataclass
class _Descent:
    """Value and gradient of eq. 9, as functions of v with w = v^2."""

    Z: np.ndarray
    objective: Objective

    def value(self, v: np.ndarray) -> float:
        w = v * v
        return self.objective.value(self.Z @ w, w)

    def gradient(self, v: np.ndarray) -> np.ndarray:
        p = self.objective.pull(self.Z @ (v * v))
        return 2.0 * (self.objective.level(p) - p @ self.Z) * v


def descend(
    Z: np.ndarray, objective: Objective, v: np.ndarray, until: float = np.inf
) -> np.ndarray:
    """Minimise eq. 9 by at most 2000 gradient steps from v with backtracking; return v."""
    problem, size = _Descent(Z, objective), 1.0
    value = problem.value(v)
    for _ in range(_MOST_STEPS):
        gradient = problem.gradient(v)
        square = float(gradient @ gradient)
        slight = np.sqrt(square) <= _GRADIENT * max(1.0, float(np.linalg.norm(v)))
        if slight or time.perf_counter() > until:
            break
        size *= 2.0
        while (reached := problem.value(v - size * gradient)) > value - _ARMIJO * size * square:
            size *= 0.5
            if size < _SHORTEST:
                return v
        v, value = v - size * gradient, reached
    return v
