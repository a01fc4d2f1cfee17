r"""Lmba's linear program by Newton's method on its rounded hinges, with a certified gap.

.. math::
    F(u) = A^T u + c \sum_{t=(i,j,p)} [h_t(u)]_+,\qquad
    h_t(u) = \theta_i + d_u(i, j) - d_u(i, p),\qquad u \in U

has some k N^2 hinges but only as many variables as features. Each hinge is
rounded to :math:`\max_{0 \le \pi \le 1} \pi h - \mu \pi^2 / 2` and u is kept inside
U, the box ``0 <= u <= 1`` or the simplex ``u >= 0, 1'u = total``, by a logarithmic
barrier; Newton's method follows the minimiser while mu goes to 0. Triplets are
never stored: a step costs a few passes over the N x N distances.

Every set of shares :math:`0 \le \pi \le 1` proves a bound: with
:math:`v = A + c \sum_t \pi_t (D_{ij} - D_{ip})`,

.. math:: F(u) \ge c \sum_t \theta_i \pi_t + \min_{u \in U} v^T u,

so that the gap needs no word of the solver's.
"""

import logging
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from convexfs.methods.lmba import kernels as kernels
from convexfs.methods.lmba.active_hinges import polish
from convexfs.neighbors.triplets import pair_distances, pair_sums, target_sum

log = logging.getLogger(__name__)

#: Factor between successive widths mu at which hinges are rounded.
_NARROWER = 0.2
#: Most Newton steps at one width.
_STEPS = 30
#: The barrier's part of the gap, relative to that of the rounded hinges.
_BARRIER_SHARE = 0.1
#: Largest step, as a fraction of the distance to the boundary.
_FRACTION = 0.99
#: A line search ends where the slope is at most this fraction of its initial value.
_FLAT = 0.3
_HALVINGS = 40
#: Newton's method ends at a width if its decrement, relative to the barrier parameter, is below
#: this.
_CENTRED = 1e-3
#: Below this relative gap, the hinges that are 0 at the optimum are known: polishing is tried.
_NEARLY = 1e-2
#: Multipliers of bounds stay within this factor of their central values.
_MULTIPLIER_RANGE = 1e4


@dataclass(frozen=True)
class Program:
    """Lmba's linear program: samples, classes, target neighbours, margins, penalty, region.

    ``total`` is that of the simplex, None for the box.
    """

    X: np.ndarray
    codes: np.ndarray
    targets: np.ndarray
    theta: np.ndarray
    c: float
    total: float | None

    @cached_property
    def linear(self) -> np.ndarray:
        """Return A: per feature, the sum of squared differences to target neighbours."""
        return target_sum(self.X, self.targets)

    def on(self, features: np.ndarray) -> "Program":
        """Return the program of these features only; all other weights are fixed at 0."""
        return replace(self, X=np.ascontiguousarray(self.X[:, features]))

    def proof(self, d: np.ndarray, mu: float) -> tuple[float, np.ndarray, float, int]:
        """Return hinge sum, slope v, the shares' dual value at width mu, and number rounded."""
        C = np.zeros_like(d)
        hinges, earned, rounded = kernels.hinge_sums(d, self.theta, self.codes, self.targets, mu, C)
        return hinges, self.linear + self.c * pair_sums(self.X, C), self.c * earned, rounded

    def least_over_region(self, v: np.ndarray) -> float:
        """Return ``min v'u`` over the box or the simplex."""
        if self.total is None:
            return float(np.minimum(v, 0.0).sum())
        return float(self.total * v.min())

    def value(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss F(u) and a subgradient."""
        hinges, v, _, _ = self.proof(pair_distances(self.X, u), 0.0)
        return float(self.linear @ u + self.c * hinges), v

    def bound(self, u: np.ndarray, mu: float) -> float:
        """Return the lower bound on F that the hinge shares of u at width mu prove."""
        _, v, earned, _ = self.proof(pair_distances(self.X, u), mu)
        return earned + self.least_over_region(v)

    def typical_hinge(self) -> float:
        """Return the mean squared distance of samples, a width at which many hinges are rounded."""
        return float(np.mean(pair_distances(self.X, np.ones(self.X.shape[1]))))


@dataclass(frozen=True)
class Answer:
    """The best weights found, the best bound proven, and the number of Newton steps."""

    u: np.ndarray
    value: float
    bound: float
    steps: int

    @property
    def gap(self) -> float:
        """Return the duality gap relative to the value."""
        return (self.value - self.bound) / max(abs(self.value), np.finfo(float).tiny)

    def with_point(self, u: np.ndarray, value: float, bound: float, steps: int) -> "Answer":
        """Return an Answer with the better of this and the given point, and the better bound."""
        if value >= self.value:
            u, value = self.u, self.value
        return Answer(u, value, max(bound, self.bound), steps)


def minimise(program: Program, tol: float, max_steps: int) -> Answer:
    """Minimise F by Newton steps at ever narrower rounding, to a relative gap `tol` or a limit."""
    path = _Path(program)
    if path.mu == 0.0:
        # All samples are equal: the loss is 0.
        return Answer(path.u, 0.0, 0.0, 0)
    best = Answer(path.u, np.inf, -np.inf, 0)
    while True:
        going = path.centre(max_steps)
        value, bound = path.value_and_bound()
        best = best.with_point(path.u, value, bound, path.steps)
        log.info("step %d: loss %.6g, gap %.0e", path.steps, best.value, best.gap)
        if tol < best.gap <= _NEARLY or not going:
            best = _polished(program, best)
        if best.gap <= tol or path.steps >= max_steps or path.mu < path.narrowest or not going:
            return best
        path.mu *= _NARROWER


def _polished(program: Program, answer: Answer) -> Answer:
    """Improve the answer's point and bound by the small program over hinges near 0, if it can."""
    polished = polish(program, answer.u)
    if polished is None:
        return answer
    return answer.with_point(polished.u, program.value(polished.u)[0], polished.bound, answer.steps)


class _Path:
    """State of Newton's method, which follows the minimiser from one width of rounding to the next.

    The bounds of u have the multipliers tau over the distance to the
    bound when centred: Newton's method then bears a jump of tau.
    """

    def __init__(self, program: Program):
        self.program = program
        n_features = program.X.shape[1]
        inside = 0.5 if program.total is None else program.total / n_features
        self.u = np.full(n_features, inside)
        self.d = pair_distances(program.X, self.u)
        self.mu = program.typical_hinge()
        #: The search ends at this width: smaller hinges are rounding errors.
        self.narrowest = 1e-13 * self.mu
        self.tau = 0.0
        self.steps = 0

    @property
    def _room(self) -> np.ndarray:
        """Return the distance of u from its upper bound 1; infinite for the simplex."""
        return 1.0 - self.u if self.program.total is None else np.full_like(self.u, np.inf)

    def value_and_bound(self) -> tuple[float, float]:
        program = self.program
        hinges, v, earned, _ = program.proof(self.d, self.mu)
        value = float(program.linear @ self.u + program.c * hinges)
        return value, earned + program.least_over_region(v)

    def centre(self, max_steps: int) -> bool:
        """Take at most 30 Newton steps at this width, until the decrement is small; False if stuck.

        False when rounding errors leave no way to go.
        """
        for taken in range(_STEPS):
            _, v, _, rounded = self.program.proof(self.d, self.mu)
            if taken == 0:
                self._lower_barrier(rounded)
            try:
                du, decrement = self._direction(v)
            except np.linalg.LinAlgError:
                return False
            if decrement <= _CENTRED * self.tau or self.steps >= max_steps:
                return True
            step = self._step_length(du, pair_distances(self.program.X, du))
            if step == 0.0:
                return False
            self._move(du, step)
        return True

    def _lower_barrier(self, rounded: int) -> None:
        """Set the barrier parameter so that it adds less to the gap than the rounded hinges."""
        first = self.tau == 0.0
        gap = self.program.c * self.mu * (1.0 + rounded / len(self.u))
        self.tau = _BARRIER_SHARE * gap
        if first:
            self.lower, self.upper = self.tau / self.u, self.tau / self._room

    def _direction(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """Return Newton's direction for rounded hinges and barrier, and its predicted decrease."""
        slope = v + self._barrier_slope(self.u)
        H = self._curvature()
        H[np.diag_indices_from(H)] += self.lower / self.u + self.upper / self._room
        if self.program.total is None:
            du = _solve_scaled(H, -slope)
        else:
            du = _solve_along_simplex(H, -slope, int(self.u.argmax()))
        return du, float(-slope @ du)

    def _barrier_slope(self, u: np.ndarray) -> np.ndarray:
        upper = 0.0 if self.program.total is not None else 1.0 / (1.0 - u)
        return self.tau * (upper - 1.0 / u)

    def _move(self, du: np.ndarray, step: float) -> None:
        """Move u by `step` along du, and the bounds' multipliers as far as they stay positive."""
        room = self._room
        dlower = self.tau / self.u - self.lower * (1.0 + du / self.u)
        dupper = self.tau / room - self.upper * (1.0 - du / room)
        dual = min(_longest(self.lower, dlower), _longest(self.upper, dupper))
        dual = min(1.0, _FRACTION * dual)
        self.u = self.u + step * du
        if self.program.total is not None:
            self.u *= self.program.total / self.u.sum()
        self.lower = _near(self.lower + dual * dlower, self.tau / self.u)
        self.upper = _near(self.upper + dual * dupper, self.tau / self._room)
        self.d = pair_distances(self.program.X, self.u)
        self.steps += 1

    def _curvature(self) -> np.ndarray:
        """Return the rounded hinges' Hessian: ``c / mu`` times their sum of ``r r'``."""
        program, X = self.program, self.program.X
        H = np.zeros((X.shape[1], X.shape[1]))
        rows = np.zeros((program.targets.shape[1], len(X)))
        for i in range(len(X)):
            kernels.rounded_rows(
                self.d, program.theta, program.codes, program.targets, self.mu, i, rows
            )
            _add_outer_products(H, X, i, program.targets[i], rows)
        return program.c / self.mu * H

    def _step_length(self, du: np.ndarray, g: np.ndarray) -> float:
        """Return the step along du at which the slope nearly vanishes, within the bounds of u."""
        longest = _longest(self.u, du)
        if self.program.total is None:
            longest = min(longest, _longest(1.0 - self.u, -du))
        low, high = 0.0, min(1.0, _FRACTION * longest)
        start = at_low = self._slope_along(du, g, 0.0)
        at_high = self._slope_along(du, g, high)
        for _ in range(_HALVINGS):
            if at_high <= -_FLAT * start:
                return high
            if low > 0.0 and at_low >= _FLAT * start:
                return low
            # Safeguarded regula falsi step.
            share = float(np.clip(at_low / (at_low - at_high), 0.1, 0.9))
            middle = low + share * (high - low)
            at_middle = self._slope_along(du, g, middle)
            if at_middle < 0.0:
                low, at_low = middle, at_middle
            else:
                high, at_high = middle, at_middle
        return low

    def _slope_along(self, du: np.ndarray, g: np.ndarray, step: float) -> float:
        program = self.program
        hinges = kernels.slope(
            self.d, g, step, program.theta, program.codes, program.targets, self.mu
        )
        smooth = program.linear @ du + self._barrier_slope(self.u + step * du) @ du
        return float(program.c * hinges + smooth)


def _add_outer_products(
    H: np.ndarray, X: np.ndarray, i: int, targets: np.ndarray, rows: np.ndarray
) -> None:
    """Add ``sum_jp w_jp (D_ij - D_ip)(D_ij - D_ip)'`` of sample i to H in place."""
    weight = rows.sum(axis=0)
    near = weight > 0
    if not near.any():
        return
    impostors = (X[near] - X[i]) ** 2
    H += impostors.T @ (weight[near, None] * impostors)
    real = targets >= 0
    goals = (X[targets[real]] - X[i]) ** 2
    rows = rows[real][:, near]
    H += goals.T @ (rows.sum(axis=1)[:, None] * goals)
    crossed = goals.T @ (rows @ impostors)
    H -= crossed + crossed.T


def _solve_scaled(H: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve ``H x = right`` after scaling, because features near a bound have large curvature."""
    if not np.all(H.diagonal() > 0):
        raise np.linalg.LinAlgError("rounding has left no curvature")
    scale = H.diagonal() ** -0.5
    return scale * cho_solve(cho_factor(H * np.outer(scale, scale)), right * scale)


def _solve_along_simplex(H: np.ndarray, right: np.ndarray, pivot: int) -> np.ndarray:
    """Solve ``H x = right`` among x that sum to 0, by eliminating entry `pivot`."""
    others = np.arange(len(right)) != pivot
    column = H[others, pivot]
    reduced = H[np.ix_(others, others)] - column[:, None] - column + H[pivot, pivot]
    du = np.empty_like(right)
    du[others] = _solve_scaled(reduced, right[others] - right[pivot])
    du[pivot] = -du[others].sum()
    return du


def _near(multiplier: np.ndarray, central: np.ndarray) -> np.ndarray:
    """Clip multipliers to within a factor of 1e4 of their central values."""
    return np.clip(multiplier, central / _MULTIPLIER_RANGE, central * _MULTIPLIER_RANGE)


def _longest(value: np.ndarray, change: np.ndarray) -> float:
    """Return the longest step along `change` that keeps `value` nonnegative."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=np.inf))
