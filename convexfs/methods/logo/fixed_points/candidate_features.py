"""Logo over all features: a fixed point on few of them, then scores of all others.

1. Neighbours at w = 1, and the convex step over all features, roughly.
2. The features that score highest at its weights become candidates.
3. A damped fixed point over the candidates; when it goes round a cycle or comes no
   nearer, Newton's method looks for it
   (:mod:`convexfs.methods.logo.fixed_points.complementarity`), with many samples along easier
   problems (:mod:`convexfs.methods.logo.fixed_points.easier_problems`). Should that fail, the
   step is halved.
4. One pass over all features: those that would take weight become candidates
   too, and the loop goes on from 3; when there is none, the last convex step is
   solved over all features, and its duality gap proves it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convexfs.methods.base.fixed_point import History, LoopEnd, iterate
from convexfs.methods.logo.fixed_points.complementarity import State, newton_fixed_point
from convexfs.methods.logo.fixed_points.easier_problems import approach, improve
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.newton import Objective, relative
from convexfs.methods.logo.settings import LogoRequest
from convexfs.methods.logo.working_set import (
    DenseColumns,
    Restricted,
    WorkingSetAnswer,
    restricted_solver,
    solve_by_working_set,
)

#: Most features among the first candidates, and most that join after a pass over all features.
MOST_CANDIDATES = 1000
#: Relative gap of the first step over very many features, which only finds candidates.
_FIRST_GAP = 1e-2
#: Fraction of the total weight of sample pairs that is left out of scores: when they select columns
#: for a working set, and when they select candidates.
_SOLVING_SHARE, _FINDING_SHARE = 1e-6, 0.3
#: Total weight of sample pairs left out of the proving pass, relative to the penalty: the error of
#: its scores is bounded.
_PROVING_SHARE = 0.1
#: Candidates without weight whose score is below this fraction of the penalty are dropped.
_PRUNING_SHARE = 0.5
#: Weights below this fraction of the largest are not in the first working set of a step.
_STARTING_SHARE = 1e-2
#: Relative change that ends iterations in float32.
_ROUGH_TOL = 1e-2
#: Newton's method is tried after this many iterations without progress, divided by 1 - damping. In
#: float32 it is tried at once: this took less time, and ended at lower objectives more often.
_PATIENCE, _ROUGH_PATIENCE = 5, 1
#: A feature is violated if its score exceeds the penalty by more than this fraction, a rounding
#: error.
_ABOVE = 1e-9


@dataclass(frozen=True)
class StreamedColumns:
    """Margin matrix of all features that is never stored: columns and scores on demand."""

    locality: Locality
    signed: np.ndarray
    dropped_share: float

    @property
    def n_features(self) -> int:
        return self.locality.X.shape[1]

    def take(self, index: np.ndarray) -> np.ndarray:
        return self.locality.margins(self.locality.take(index), self.signed)

    def scores(self, p: np.ndarray) -> np.ndarray:
        p = self.locality.on_all_samples(p)
        return self.locality.scores(self.signed, p, self.dropped_share * 2.0 * p.sum())[0]


@dataclass(frozen=True)
class Audit:
    """Result of scoring all features: indices of the violated ones, and the gap over all."""

    violated: np.ndarray
    gap: float


#: The audit if no time was left: nothing is proven.
_UNASKED = Audit(np.empty(0, np.int64), np.inf)


@dataclass(frozen=True)
class FixedPoint:
    """Weights of all features, the end of the loop, and the last audit.

    ``before`` are the weights of all features at which the last step was taken. ``swings`` says
    that repeating the convex step led nowhere.
    """

    weights: np.ndarray
    before: np.ndarray
    end: LoopEnd
    audit: Audit
    swings: bool = False


def certified_fixed_point(
    locality: Locality, request: LogoRequest, history: History, start: np.ndarray | None = None
) -> FixedPoint:
    """Find a fixed point with no violated feature; if that fails, return the end of the iteration.

    `start` are weights to begin with instead of w = 1. With many samples float32 leads near the
    fixed point, and float64 from there on proves it.
    """
    settings, swings = request.settings, False
    tol, max_iter, damping = settings.tol, settings.max_iter, settings.damping
    if locality.dtype is float and locality.rough is not locality:
        roughly = request.changed(tol=max(tol, _ROUGH_TOL), max_iter=max_iter - 1)
        rough = certified_fixed_point(locality.rough, roughly, history, start)
        if rough.weights.any():
            start, swings = rough.weights, rough.swings
    patience = _PATIENCE if locality.dtype is float else _ROUGH_PATIENCE
    objective = request.objective(locality.counts)
    restricted = restricted_solver(request, history.until)
    step = ConvexStep(locality, objective, restricted, request.step_tol, history.until)
    index, w = _first_candidates(step, history, start)
    first, prune, first_search = index, not swings, locality.dtype is not float and start is None
    while True:
        state = State(locality, objective, locality.take(index), w)
        candidates = CandidateMap(step, state.columns, prune)
        if swings:
            state = newton_fixed_point(state, history, max_iter - len(history.rows) - 1)
            if first_search:
                state = improve(state, history, max_iter - len(history.rows) - 1)
        end = iterate(
            candidates.step, state.w, history, tol=tol, max_iter=max_iter - len(history.rows),
            damping=damping, patience=round(patience / (1.0 - damping)),
        )  # fmt: skip
        weights, before = np.zeros((2, locality.X.shape[1]))
        weights[index], before[index] = end.answer.w, end.before
        index = index[candidates.active]
        more = len(history.rows) < max_iter and not history.over
        if (end.period or end.stalled) and more:
            # Do not use the damped weights: remainders of old features would slow each step.
            if swings:
                damping = (1.0 + damping) / 2.0
                w = weights[index]
            else:
                # Start Newton's method with all first candidates, so that features need not enter
                # in rounds.
                index, prune, swings = np.union1d(index, first), False, True
                w = weights[index]
                if first_search:
                    state = State(locality, objective, locality.take(index), w)
                    w = approach(state, history, max_iter - len(history.rows) - 1)
            continue
        # Float64 begins with all features if they are few, so that float32 need not look at them.
        few = locality.X.shape[1] <= MOST_CANDIDATES
        if history.over or (few and locality.dtype is not float):
            return FixedPoint(weights, before, end, _UNASKED, swings)
        audit = audit_all(locality, objective, end.answer, index)
        if not len(audit.violated) or not more:
            return FixedPoint(weights, before, end, audit, swings)
        # A feature that was dropped and came back stays, so that the loop terminates.
        prune = False
        index = np.union1d(index, audit.violated[:MOST_CANDIDATES])
        w = weights[index]


@dataclass(frozen=True)
class ConvexStep:
    """Solver of the convex problem over a few columns at given neighbour probabilities."""

    locality: Locality
    objective: Objective
    restricted: Restricted
    gap_tol: float
    until: float

    def solve(self, columns: Any, signed: np.ndarray, start: np.ndarray | None) -> WorkingSetAnswer:
        Z = DenseColumns(self.locality.margins(columns, signed))
        return solve_by_working_set(
            Z, self.objective, self.restricted, start, self.gap_tol, self.until
        )


class CandidateMap:
    """The fixed-point map T on a few features: neighbours at w, then the convex step.

    With `prune`, features whose score falls well below the penalty take no part in later steps;
    the pass over all features asks them again. ``active`` are the features of the last step.
    """

    def __init__(self, convex: ConvexStep, columns: Any, prune: bool):
        self._convex, self._columns, self._prune = convex, columns, prune
        self.active = self._near = np.arange(columns.shape[1])

    def step(self, w: np.ndarray) -> WorkingSetAnswer:
        signed = self._convex.locality.signed(self._columns, w)
        self.active = self._near
        columns = self._columns[:, self.active]
        # Start without the remainders of damping, which would only enlarge the working set.
        start = np.where(w > _STARTING_SHARE * w.max(initial=0.0), w, 0.0)[self.active]
        answer = self._convex.solve(columns, signed, start)
        if answer.gap > self._convex.gap_tol:
            # Where the objective is flat, the solver may reach the gap from all old weights
            # instead.
            whole = self._convex.solve(columns, signed, w[self.active])
            answer = min(answer, whole, key=lambda each: each.gap)
        weights = np.zeros(len(w))
        weights[self.active] = answer.w
        if self._prune:
            floor = _PRUNING_SHARE * self._convex.objective.level(answer.scores)
            near = (answer.scores > floor) | (weights + w)[self.active].astype(bool)
            self._near = self.active[near]
        return replace(answer, w=weights, signed=signed)


def _first_candidates(
    step: ConvexStep,
    history: History,
    start: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices of the first candidates (all if at most 1000), and their starting weights."""
    locality = step.locality
    n_features = locality.X.shape[1]
    if n_features <= MOST_CANDIDATES:
        index = np.arange(n_features)
        if start is not None:
            return index, start
        columns = locality.take(index)
        answer = step.solve(columns, locality.signed_at(locality.plain_distances), None)
        history.record(answer, np.inf)
        return index, answer.w
    if start is None:
        signed = locality.signed_at(locality.plain_distances)
        streamed = StreamedColumns(locality, signed, _SOLVING_SHARE)
        gap_tol = max(step.gap_tol, _FIRST_GAP)
        answer = solve_by_working_set(
            streamed, step.objective, step.restricted, None, gap_tol, step.until
        )
        history.record(answer, np.inf)
        start = answer.w
    index = _highest_scores(locality, step.objective, start)
    return index, start[index]


def _highest_scores(locality: Locality, objective: Objective, w: np.ndarray) -> np.ndarray:
    """Return the indices of features with weight in w, and of the 1000 highest scores at w."""
    signed, margins = locality.seen_from(w)
    scores = StreamedColumns(locality, signed, _FINDING_SHARE).scores(objective.pull(margins))
    highest = np.argpartition(-scores, MOST_CANDIDATES)[:MOST_CANDIDATES]
    return np.union1d(np.flatnonzero(w), highest)


def audit_all(locality: Locality, objective: Objective, answer: Any, index: np.ndarray) -> Audit:
    """Score the features outside `index` at a step's solution; return violated ones and the gap.

    Scores are first taken in float32 over the heavy pairs only, with a bound on
    the error; where the bound leaves doubt they are taken exactly.
    """
    level = objective.level(answer.scores)
    if len(index) == locality.X.shape[1]:
        return Audit(np.empty(0, np.int64), answer.gap)
    p = locality.on_all_samples(objective.pull(answer.margins))
    scores, errors = locality.scores(answer.signed, p, _PROVING_SHARE * level)
    scores[index] = -np.inf
    doubtful = np.flatnonzero(scores + errors > level)
    exact = locality.exact_scores(doubtful, answer.signed, p)
    above = exact > level * (1.0 + _ABOVE)
    violated = doubtful[above][np.argsort(-exact[above])]
    largest = max(np.max(answer.scores, initial=0.0), np.max(exact, initial=0.0))
    gap = relative(objective.gap(answer.margins, answer.w, largest), answer.value)
    return Audit(violated, gap)
