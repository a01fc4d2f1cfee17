r"""Find Logo's fixed point by Newton's method if repeating the convex step oscillates.

With neighbours, margins Z and pulls p all taken at w, a fixed point is where

.. math::
    0 \le w \perp \lambda - c(w) \ge 0,\qquad c(w) = Z(w)^T p(Z(w) w).

The convex step T answers to a small error of w with :math:`H^{-1}` times the change of
c, and where its objective is flat (H small, as with more features than the samples can
tell apart) it overshoots: eigenvalues of -20 to -120 were seen. Then damping of .5
amplifies even rounding, and damping that does not leaves hundreds of steps to go.

Here the total slope c'(w) is used instead of H: each step solves the linear
complementarity problem of

.. math:: (\mu I - c'(w)) d = c(w) - \lambda,\quad w + d \ge 0.

With a large :math:`\mu` this follows :math:`\dot w = c(w) - \lambda`, which ended at
every fixed point tried; as the residual falls so does :math:`\mu`, and what is left is
Newton's method. Eq. 8 has its multiplier for lam, and ``1'd = beta - 1'w``.

No function has :math:`\lambda - c(w)` as its gradient, but one nearly does. Let :math:`s_n(w)`
be the distance of sample n to its soft nearest miss minus that to its soft nearest hit, soft minima
:math:`-\sigma \ln` mean :math:`e^{-d/\sigma}`. Its gradient is :math:`\bar z_n(w)`, so that

.. math:: \Phi(w) = \sum_n \log(1 + e^{-s_n(w)}) + \lambda 1^T w

has the gradient :math:`\lambda - Z(w)^T p(s(w))`. A step from w is taken if it lowers
:math:`\Phi` plus the linear function whose gradient at w is the difference of the two.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexfs.methods.base.fixed_point import History, period_of, relative_change
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.newton import Constrained, Objective, relative

#: The search ends at this residual of the complementarity problem; at the second in float32.
_SETTLED, _SETTLED_ROUGHLY = 1e-10, 1e-3
#: Regularisation mu, in units of the penalty over the largest weight, times the residual (at most
#: 1). In float64 it is strong, so that rounding errors of the data do not decide where the search
#: ends; in float32 it is weak, which takes fewer steps.
_STRONG, _WEAK = 3.0, 1.0
#: A rejected step is repeated with mu times this, up to a limit; an accepted one halves mu.
_FIRMER, _FIRMEST = 4.0, 1e6
#: In float32 mu may fall to this fraction, which rises by the factor above where steps, too long,
#: go round a cycle: where one of so many last weights comes back as near as this share of the move.
_SOFTEST, _LONGEST_CYCLE, _SAME = 0.02, 16, 0.2
#: Fraction of the total weight of sample pairs left out of the slope, times the residual: a rough
#: slope suffices far from the solution, but the last steps must be Newton's.
_DROPPED_SHARE = 0.02
#: Below this residual steps are Newton's, and any that lowers it is taken.
_NEAR = 0.3
#: Rounding errors of Phi, in units of its size and of the precision of distances.
_ROUNDING = 8.0
#: Steps without progress before the search ends: the flow may pass a saddle slowly.
_PATIENCE = 100
#: A residual below this fraction of the least one so far counts as progress.
_PROGRESS = 0.9
#: Most violated features that enter at a time, unless more have weight.
_ENTERING = 50
_MOST_PIVOTS = 30
#: A budget has no multiplier if the total weight is below this fraction of beta.
_BUDGET_USED = 0.99


@dataclass(frozen=True)
class State:
    """Weights of a few columns, with their margins, scores, residual and Jacobian on demand."""

    locality: Locality
    objective: Objective
    columns: Any
    w: np.ndarray

    @cached_property
    def distances(self) -> np.ndarray:
        used = np.flatnonzero(self.w)
        return self.locality.distances(self.columns[:, used], self.w[used])

    @cached_property
    def signed(self) -> np.ndarray:
        return self.locality.signed_at(self.distances)

    @cached_property
    def soft_margins(self) -> np.ndarray:
        return self.locality.soft_margins(self.distances, self.signed)

    @cached_property
    def Z(self) -> np.ndarray:
        return self.locality.margins(self.columns, self.signed)

    @cached_property
    def margins(self) -> np.ndarray:
        return self.Z @ self.w

    @cached_property
    def scores(self) -> np.ndarray:
        return self.objective.pull(self.margins) @ self.Z

    @cached_property
    def level(self) -> float:
        """Return the penalty lam or, in eq. 8, the multiplier of the budget."""
        return self.objective.level(self.scores)

    @cached_property
    def residual(self) -> float:
        """Return the norm of ``min(w / max w, 1 - scores / level)``; 0 at a fixed point."""
        short = 1.0 - self.scores / self.level
        return float(np.linalg.norm(np.minimum(self.w / self.w.max(), short)))

    @property
    def value(self) -> float:
        return self.objective.value(self.margins, self.w)

    @property
    def gap(self) -> float:
        """Return the relative duality gap of the convex step at w; 0 only at a fixed point."""
        gap = self.objective.gap(self.margins, self.w, np.max(self.scores, initial=0.0))
        return relative(gap, self.value)

    @cached_property
    def free(self) -> np.ndarray:
        """Return one sorted index array: features with weight, and the most violated without."""
        used, bar = np.flatnonzero(self.w), self.level
        if isinstance(self.objective, Constrained):
            bar = self.w @ self.scores / self.w.sum()
        above = np.flatnonzero((self.w == 0) & (self.scores > bar))
        most = max(_ENTERING, len(used))
        return np.union1d(used, above[np.argsort(-self.scores[above])[:most]])

    @cached_property
    def slope(self) -> np.ndarray:
        """Return the Jacobian of `scores` in the free weights; neighbours change with w too."""
        X, w, p = self.columns[:, self.free], self.w[self.free], self.objective.pull(self.margins)
        Z, rough = self.Z[:, self.free], self.locality.rough
        distances = self.distances.astype(rough.dtype, copy=False)
        signed = self.signed.astype(rough.dtype, copy=False)
        dropped = _DROPPED_SHARE * min(1.0, self.residual)
        curved, moved = rough.turning(X, w, distances, signed, Z, p, dropped)
        sigma = self.locality.sigma
        total = Z - moved / sigma
        return -(Z * self.objective.curvature(self.margins)[:, None]).T @ total - curved / sigma

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Return minus the slope; far from a fixed point, in float32, with positive curvatures.

        Steps then leave saddles of Phi instead of approaching them.
        """
        if self.residual <= _NEAR or self.locality.dtype is float:
            return -self.slope
        curvatures, directions = np.linalg.eigh(-0.5 * (self.slope + self.slope.T))
        raised = np.abs(curvatures) - curvatures
        return -self.slope + (directions * raised) @ directions.T

    def merit(self, other: "State") -> float:
        """Return Phi at another state, plus the linear function that fits its slope to this one."""
        drift = self.objective.pull(self.soft_margins) @ self.Z - self.scores
        return self.objective.value(other.soft_margins, other.w) + float(drift @ other.w)

    def is_lowered_by(self, reached: "State") -> bool:
        """Return whether a step lowers the merit function, or a small residual."""
        before, after = self.merit(self), self.merit(reached)
        rounding = _ROUNDING * float(np.finfo(self.distances.dtype).eps) * (1.0 + abs(before))
        if after <= before + rounding:
            return True
        return self.residual <= _NEAR and reached.residual < self.residual

    @property
    def usable(self) -> bool:
        """Return whether any weight is positive and, in eq. 8, the total is nearly beta or more."""
        total = float(self.w.sum())
        if isinstance(self.objective, Constrained):
            return total > _BUDGET_USED * self.objective.beta
        return total > 0

    def step(self, mu: float) -> "State | None":
        """Return the state after one regularised Newton step; None if there is no such step."""
        budget = None
        if isinstance(self.objective, Constrained):
            budget = self.objective.beta - float(self.w.sum())
        if not np.isfinite(self.slope).all():
            return None
        matrix = mu * np.eye(len(self.free)) + self.stiffness
        push = (self.scores - (self.level if budget is None else 0.0))[self.free]
        move = complementary(matrix, push, -self.w[self.free], budget)
        if move is None:
            return None
        w = self.w.copy()
        w[self.free] = np.maximum(w[self.free] + move, 0.0)
        return replace(self, w=w) if w.any() else None


def newton_fixed_point(
    start: State, history: History, max_iter: int, settled: float | None = None
) -> State:
    """Search a fixed point by Newton's method from `start`; return the state of least residual.

    The search ends at the residual `settled`, by default as far as rounding allows. One row of
    the history a step taken, its residual the relative change.
    """
    state = best = start
    if not state.usable:
        return start
    firmness, idle, taken, past = 1.0, 0, 0, [start.w]
    careful = start.locality.dtype is float
    softest = 1.0 if careful else _SOFTEST
    if settled is None:
        settled = _SETTLED if careful else _SETTLED_ROUGHLY
    while taken < max_iter and not history.over and state.level > 0:
        if state.residual <= settled or idle > _PATIENCE or firmness > _FIRMEST:
            break
        shrink = min(1.0, state.residual)
        mu = (_STRONG if careful else _WEAK) * firmness * shrink * state.level / state.w.max()
        reached = state.step(mu)
        if reached is None or not state.is_lowered_by(reached):
            firmness *= _FIRMER
            continue
        taken += 1
        history.record(reached, relative_change(state.w, reached.w))
        idle = 0 if reached.residual < _PROGRESS * best.residual else idle + 1
        past = [*past[-_LONGEST_CYCLE:], reached.w]
        if period_of(past, _SAME):
            softest *= _FIRMER
        firmness = max(softest, firmness / 2.0)
        state = reached
        best = min(best, state, key=lambda each: each.residual)
    return best


def complementary(
    matrix: np.ndarray, push: np.ndarray, low: np.ndarray, total: float | None = None
) -> np.ndarray | None:
    """Return d of the complementarity problem ``matrix d >= push, d >= low``; None if it fails.

    With a `total` the d sum up to it, and a multiplier is taken from `push`.
    """
    free = np.ones(len(push), dtype=bool)
    for _ in range(_MOST_PIVOTS):
        inside, outside = np.flatnonzero(free), np.flatnonzero(~free)
        move, price = low.copy(), 0.0
        right = push[inside] - matrix[np.ix_(inside, outside)] @ low[outside]
        system = matrix[np.ix_(inside, inside)]
        if total is not None:
            system = np.block([[system, np.ones((len(inside), 1))], [np.ones(len(inside)), 0.0]])
            right = np.append(right, total - low[outside].sum())
        try:
            solution = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return None
        move[inside] = solution[: len(inside)]
        if total is not None:
            price = solution[-1]
        below = free & (move < low)
        back = ~free & (matrix @ move + price < push)
        if not below.any() and not back.any():
            return move
        free = (free & ~below) | back
    return None
