r"""Logo as printed: Algorithm 1 of Sun, Todorovic and Goodison (2010).

Undamped; each convex step by gradient descent in :math:`v, w = v^2` (eq. 10). Kept for
comparison: it may cycle. Asked to prune, it takes weights below 1e-8 for 0 for good
(Sec. 3.2, not in Algorithm 1), and what it leaves out it never asks again.
"""

import time

import numpy as np

from convexfs.methods.base.fixed_point import History, iterate
from convexfs.methods.logo.fixed_points.candidate_features import FixedPoint, audit_all
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.newton import Objective, relative
from convexfs.methods.logo.settings import LogoRequest
from convexfs.methods.logo.working_set import WorkingSetAnswer

#: With `prune`, weights w = v^2 below this are set to 0 for good (Sec. 3.2: v below 1e-4).
_PRUNED = 1e-8
#: Relative norm of the gradient that ends the descent, and most steps.
_GRADIENT, _MOST_STEPS = 1e-5, 2000
#: Line search: fraction of the predicted decrease that a step must achieve, and shortest step.
_ARMIJO, _SHORTEST = 1e-4, 1e-18


def paper_fixed_point(
    locality: Locality, request: LogoRequest, history: History, start: np.ndarray | None = None
) -> FixedPoint:
    """Run the paper's Algorithm 1 from `start` (default 1), then score all features as proof."""
    settings, objective = request.settings, request.objective(locality.counts)
    columns = locality.take(np.arange(locality.X.shape[1]))

    def step(w: np.ndarray) -> WorkingSetAnswer:
        """Take an iteration over the features whose weight is not 0.

        A weight of exactly 0 stays so: there the descent in v has no slope.
        """
        alive, signed = np.flatnonzero(w), locality.signed(columns, w)
        Z = locality.margins(columns[:, alive], signed)
        own = descend(Z, objective, np.sqrt(w[alive]), history.until) ** 2
        if settings.prune:
            own[own < _PRUNED] = 0.0
        margins = Z @ own
        scores = objective.pull(margins) @ Z
        value = objective.value(margins, own)
        gap = relative(objective.gap(margins, own, np.max(scores, initial=0.0)), value)
        weights = np.zeros(len(w))
        weights[alive] = own
        return WorkingSetAnswer(weights, margins, scores, value, gap, (len(own),), signed)

    start = np.ones(locality.X.shape[1]) if start is None else start
    end = iterate(step, start, history, tol=settings.tol, max_iter=settings.max_iter, damping=0.0)
    audit = audit_all(locality, objective, end.answer, np.flatnonzero(end.before))
    return FixedPoint(end.answer.w, end.before, end, audit)


def descend(
    Z: np.ndarray, objective: Objective, v: np.ndarray, until: float = np.inf
) -> np.ndarray:
    """Minimise eq. 9 by at most 2000 gradient steps from v with backtracking; return v."""

    def value_at(v: np.ndarray) -> float:
        w = v * v
        return objective.value(Z @ w, w)

    size, value = 1.0, value_at(v)
    for _ in range(_MOST_STEPS):
        p = objective.pull(Z @ (v * v))
        gradient = 2.0 * (objective.level(p) - p @ Z) * v
        square = float(gradient @ gradient)
        slight = np.sqrt(square) <= _GRADIENT * max(1.0, float(np.linalg.norm(v)))
        if slight or time.perf_counter() > until:
            break
        size *= 2.0
        while (reached := value_at(v - size * gradient)) > value - _ARMIJO * size * square:
            size *= 0.5
            if size < _SHORTEST:
                return v
        v, value = v - size * gradient, reached
    return v
