"""Solve Logo's problems over very many features by a working set.

At the optimum almost all weights are 0, and a weight of 0 is right exactly if the feature's score
``c_j = z_j'p`` does not exceed lam. So: solve on a working set of columns, score every feature, add
those of highest score, repeat. The result solves the full problem, and the duality gap over all
features proves it. Any solver can solve the restricted problems.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from convexfs.methods.base.solve_step import require_answer
from convexfs.methods.logo.newton import Constrained, Objective, minimise, relative
from convexfs.methods.logo.settings import LogoRequest

#: Most features that enter the working set at a time, unless more have weight.
_FIRST_COLUMNS = 200
_MOST_ROUNDS = 60

#: Type of a solver for a few columns: ``restricted(Z, objective, start, tol) -> weights``.
Restricted = Callable[[np.ndarray, Objective, np.ndarray, float], np.ndarray]
#: Tolerance of the native restricted solver, relative to that of the full problem.
_RESTRICTED_SHARE = 0.1
#: Weights of a cvxpy solver below this fraction of the largest are set to 0, as rounding errors.
_SOLVER_ROUNDING = 1e-7

#: Least seconds that a cvxpy solver gets, even if the time is up.
_MOMENT = 0.01


@dataclass(frozen=True)
class DenseColumns:
    """A margin matrix Z held in memory."""

    Z: np.ndarray

    @property
    def n_features(self) -> int:
        return self.Z.shape[1]

    def take(self, index: np.ndarray) -> np.ndarray:
        """Return some columns of Z."""
        return self.Z[:, index]

    def scores(self, p: np.ndarray) -> np.ndarray:
        """Return ``Z'p``, the score of every feature."""
        return p @ self.Z


@dataclass(frozen=True)
class WorkingSetAnswer:
    """Solution by working sets: weights, margins and scores, and the gap over all features.

    ``gap`` is relative to one plus the objective; ``scores`` are those of all
    features at the answer; ``sizes`` those of the working sets; ``signed`` the neighbour
    probabilities that the margins are of, if these are known.
    """

    w: np.ndarray
    margins: np.ndarray
    scores: np.ndarray
    value: float
    gap: float
    sizes: tuple[int, ...]
    signed: np.ndarray | None = None


def solve_by_working_set(
    columns: Any,
    objective: Objective,
    restricted: Restricted,
    start: np.ndarray | None = None,
    tol: float = 1e-10,
    until: float = np.inf,
) -> WorkingSetAnswer:
    """Minimise Logo's objective over all features by a growing working set, to `tol` or a limit.

    Parameters
    ----------
    columns : DenseColumns
        Or another object with its methods: a matrix that is not held in memory.
    objective : Penalised or Constrained
    restricted : callable
        Solves the problem on a few columns.
    start : array (J,), optional
        Weights to start from.
    tol : float
        Relative duality gap at which to stop. If no feature is violated before,
        the restricted solver has reached its own accuracy, and that is the end.
    until : float
        When to stop in any case, by ``time.perf_counter``; a round that has begun
        is finished.
    """
    w = np.zeros(columns.n_features) if start is None else np.array(start, dtype=np.float64)
    index = np.flatnonzero(w)
    Z = columns.take(index)
    sizes: list[int] = []
    while True:
        margins = Z @ w[index]
        scores = columns.scores(objective.pull(margins))
        value = objective.value(margins, w[index])
        gap = relative(objective.gap(margins, w[index], np.max(scores, initial=0.0)), value)
        entering = _entering(scores, w, index, objective)
        ended = sizes and (not len(entering) or time.perf_counter() > until)
        if gap <= tol or ended or len(sizes) == _MOST_ROUNDS:
            return WorkingSetAnswer(w, margins, scores, value, gap, tuple(sizes))
        index = np.union1d(np.flatnonzero(w), entering)
        sizes.append(len(index))
        Z = columns.take(index)
        weights = restricted(Z, objective, w[index], _RESTRICTED_SHARE * tol)
        w = np.zeros(columns.n_features)
        w[index] = weights


def _entering(
    scores: np.ndarray, w: np.ndarray, index: np.ndarray, objective: Objective
) -> np.ndarray:
    """Return indices of violated features of highest score: at most 200, or as many as in use."""
    outside = scores.copy()
    outside[index] = -np.inf
    level = objective.level(scores[index])
    most = min(max(_FIRST_COLUMNS, np.count_nonzero(w)), len(scores))
    highest = np.argpartition(-outside, most - 1)[:most]
    return highest[outside[highest] > level]


def restricted_solver(request: LogoRequest, until: float = np.inf) -> Restricted:
    """Return a function that solves a working set, natively or by cvxpy, until `until`."""
    formulation, solving = request.formulation, request.solving
    if request.native:
        return partial(minimise, until=until)
    from convexfs.solving.solve import solve

    def restricted(Z: np.ndarray, objective: Objective, start: np.ndarray, _: float) -> np.ndarray:
        problem = formulation.build(Z, **hyper_of(objective), counts=objective.counts)
        told = (solving.solver, solving.tol, left_until(until), solving.options, solving.verbose)
        solution = solve(problem, *told)
        return cleaned(require_answer(solution, formulation.symbol, solving), objective)

    return restricted


def left_until(until: float) -> float | None:
    """Return the seconds left for a cvxpy solver, at least a moment; None without a limit."""
    return None if until == np.inf else max(until - time.perf_counter(), _MOMENT)


def hyper_of(objective: Objective) -> dict[str, float]:
    """Return the objective's hyperparameters by their names in the formulation."""
    return {name: value for name, value in vars(objective).items() if name != "counts"}


def cleaned(w: np.ndarray, objective: Objective) -> np.ndarray:
    """Return a solver's weights without rounding errors: negative, tiny, or in excess of beta."""
    w = np.maximum(w, 0.0)
    w[w < _SOLVER_ROUNDING * w.max(initial=0.0)] = 0.0
    if isinstance(objective, Constrained) and w.sum() > objective.beta:
        w *= objective.beta / w.sum()
    return w
