r"""Lmba's linear program by a primal-dual interior-point method, with a certified gap.

With a loss :math:`\xi_t \ge 0` and a slack :math:`s_t = \xi_t - h_t(u) \ge 0` per triplet, the
optimum has :math:`\pi_t s_t = 0` and :math:`(1 - \pi_t) \xi_t = 0` for shares
:math:`0 \le \pi \le 1`, and :math:`A + c \sum_t \pi_t r_t = \lambda 1 + l - m` with multipliers
l of ``u >= 0`` and m of the upper bound. Mehrotra's predictor and corrector follow these products
to 0. Triplets are eliminated from the equations of a step: as many remain as there are features.

Close to the optimum it is clear which weights and hinges are exactly 0 there (a :class:`Face`). The
nearest point where they are 0, and the nearest shares whose slope is level along the other weights,
are two small least-squares problems. If value and bound agree there, both are optimal.
"""

import logging
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lstsq

from convexfs.methods.lmba.program import Program

log = logging.getLogger(__name__)

#: Largest step, as a fraction of the distance to the boundary.
_FRACTION = 0.995
#: Products start at this fraction of a typical hinge.
_START = 0.03
#: Multiples of the identity that are added to the scaled equations if they are not definite.
_RIDGES = (0.0, 1e-15, 1e-13, 1e-11, 1e-9)
#: Below this relative gap, the hinges and weights that are 0 at the optimum are looked for.
_NEARLY = 1e-4
#: Steps after the gap is closed, in which weights that are exactly 0 may be found.
_STEPS_AFTER = 5
#: Steps shorter than this, twice in a row, end the search.
_STUCK = 1e-8
#: With more hinges at 0 than this many per weight between its bounds, no face is sought.
_MOST_PER_WEIGHT = 10
#: Parts of a point that stay positive, and move by the same step.
_PRIMAL, _DUAL = ("u", "room", "loss", "slack"), ("share", "rest", "lower", "upper")


@dataclass(frozen=True)
class Answer:
    """The best weights found, the best bound proven with its shares, and the number of steps."""

    u: np.ndarray
    value: float
    bound: float
    share: np.ndarray
    steps: int

    @property
    def gap(self) -> float:
        """Return the duality gap relative to the value; infinite at first."""
        if not np.isfinite(self.value - self.bound):
            return np.inf
        return (self.value - self.bound) / max(abs(self.value), np.finfo(float).tiny)

    def with_point(self, u: np.ndarray, value: float) -> "Answer":
        """Return an answer with the better of these weights and its own."""
        return self if value >= self.value else replace(self, u=u, value=value)

    def with_shares(self, share: np.ndarray, bound: float) -> "Answer":
        """Return an answer with the better of the bound of these shares and its own."""
        return self if bound <= self.bound else replace(self, share=share, bound=bound)


@dataclass
class _Point:
    """Weights, losses and slacks of triplets; shares and what they lack to 1; multipliers.

    Also a direction between such points. All but `level` (lambda) stay positive.
    """

    u: np.ndarray
    room: np.ndarray
    loss: np.ndarray
    slack: np.ndarray
    share: np.ndarray
    rest: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    level: float

    def products(self, other: "_Point") -> tuple[np.ndarray, ...]:
        """Return the four products of primal parts of this with dual parts of the other."""
        losses = self.slack * other.share, self.loss * other.rest
        return *losses, self.u * other.lower, self.room * other.upper

    def moved(self, by: "_Point", primal: float, dual: float) -> "_Point":
        """Return this point moved by steps of these lengths along a direction."""
        lengths = dict.fromkeys(_PRIMAL, primal) | dict.fromkeys((*_DUAL, "level"), dual)
        moved = {name: getattr(self, name) + t * getattr(by, name) for name, t in lengths.items()}
        return _Point(**moved)

    def longest(self, by: "_Point") -> tuple[float, float]:
        """Return the longest primal and dual steps along a direction that keep all parts >= 0."""
        primal, dual = (
            min(_longest(getattr(self, name), getattr(by, name)) for name in names)
            for names in (_PRIMAL, _DUAL)
        )
        return primal, dual


def minimise(program: Program, tol: float, max_steps: int) -> Answer:
    """Minimise F to a relative gap `tol`, or as far as the steps or rounding errors allow."""
    return InteriorPoint(program).run(tol, max_steps)


class InteriorPoint:
    """The iterates of the method on one program, and the best answer so far."""

    def __init__(self, program: Program):
        self.program, self.c = program, program.c
        self.steps = 0
        u, width = program.equal_weights(), _START * program.typical_hinge()
        #: All samples are equal: the loss is constant.
        self.is_flat = width == 0.0
        hinge = program.hinges(u)
        # The products of every triplet are `width`.
        root = np.hypot(hinge, 2.0 * width)
        with np.errstate(invalid="ignore", divide="ignore"):
            loss = width + 0.5 * np.where(hinge >= 0, hinge + root, 4 * width**2 / (root - hinge))
            slack = width + 0.5 * np.where(hinge <= 0, root - hinge, 4 * width**2 / (root + hinge))
            share, rest = width / slack, width / loss
        v = program.linear + program.share_sums(share)
        lower, upper, level = self._first_multipliers(v, u, width)
        self.point = _Point(u, program.upper - u, loss, slack, share, rest, lower, upper, level)
        self.answer = Answer(u, np.inf, -np.inf, share, 0)

    def run(self, tol: float, max_steps: int) -> Answer:
        """Take steps to a relative gap `tol`; weights are exactly 0 where that was found out."""
        if self.is_flat:
            value, share = self.program.value(self.point.u), np.zeros_like(self.point.share)
            return Answer(self.point.u, value, value, share, 0)
        short = after = 0
        while after < _STEPS_AFTER and self.steps < max_steps and short < 2:
            short = short + 1 if self.step() < _STUCK else 0
            self.answer = answer = self._improved()
            exact = self._on_face() if answer.gap <= _NEARLY else answer
            log.info("step %d: loss %.6g, gap %.0e", self.steps, answer.value, answer.gap)
            if exact.gap <= tol:
                return exact
            after += answer.gap <= tol
            if answer.value - answer.bound <= self.program.rounding:
                return answer
        return self.answer

    def _first_multipliers(
        self, v: np.ndarray, u: np.ndarray, width: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return positive multipliers with ``v = level + lower - upper``."""
        product = self.c * width / u.mean()
        level = 0.0 if self.program.total is None else float(v.min())
        rest = v - level
        root = np.hypot(rest, 2.0 * product)
        return product + 0.5 * (root + rest), product + 0.5 * (root - rest), level

    def _improved(self) -> Answer:
        """Return the better of the best answer and of the point reached."""
        at = self.point
        # What a share lacks to 1 is kept by itself; shares above 1 by rounding prove nothing.
        share = np.clip(at.share, 0.0, 1.0)
        u = self._feasible(at.u)
        better = self.answer.with_point(u, self.program.value(u))
        better = better.with_shares(share, self.program.bound(share))
        return replace(better, steps=self.steps)

    def _on_face(self) -> Answer:
        """Return the exact weights and shares that this point lies near, whatever their gap."""
        face = self._face()
        u = self._feasible(np.maximum(nearest_point(self.program, face), 0.0))
        share = nearest_shares(self.program, face)
        value, bound = self.program.value(u), self.program.bound(share)
        return Answer(u, value, bound, share, self.steps)

    def _face(self) -> "Face":
        """Return the weights and hinges whose multipliers tend to 0 more slowly than they."""
        at, unit = self.point, self.program.typical_hinge()
        slope = float(np.abs(self.program.linear).max(initial=0.0)) + self.c * unit
        largest = at.u.max()
        used, below = at.u * slope > at.lower * largest, at.room * slope > at.upper * largest
        u = np.where(used, np.where(below, at.u, 1.0), 0.0)
        hinges = np.flatnonzero((at.slack < unit * at.share) & (at.loss < unit * at.rest))
        share = np.where(at.share > at.rest, 1.0, 0.0)
        share[hinges] = at.share[hinges]
        return Face(u, used & below, hinges, share, np.minimum(at.share, at.rest)[hinges])

    def _feasible(self, u: np.ndarray) -> np.ndarray:
        if self.program.total is None:
            return np.clip(u, 0.0, 1.0)
        return u * (self.program.total / u.sum())

    def step(self) -> float:
        """Take a predictor-corrector step; return the longer of its primal and dual lengths."""
        self.steps += 1
        at = self.point
        gap = self._gap(at)
        if gap <= 0.0:
            return 0.0
        try:
            equations = _Equations(self.program, at)
        except np.linalg.LinAlgError:
            return 0.0
        ahead = equations.direction((0.0, 0.0, 0.0, 0.0))
        primal, dual = (min(1.0, length) for length in at.longest(ahead))
        predicted = self._gap(at.moved(ahead, primal, dual))
        n_products = 2 * (len(at.share) + len(at.u))
        width = max(predicted / gap, 0.0) ** 3 * gap / self.c / n_products
        slack, loss, lower, upper = ahead.products(ahead)
        aims = (width - slack, width - loss, self.c * width - lower, self.c * width - upper)
        direction = equations.direction(aims)
        primal, dual = (min(1.0, _FRACTION * length) for length in at.longest(direction))
        self.point = at.moved(direction, primal, dual)
        return max(primal, dual)

    def _gap(self, point: _Point) -> float:
        """Return the sum of all products: the gap of a feasible point."""
        slack, loss, lower, upper = (float(each.sum()) for each in point.products(point))
        return self.c * (slack + loss) + lower + upper


class _Equations:
    """The equations of a step at a point: their factor, and directions for given products."""

    def __init__(self, program: Program, at: _Point):
        self.program, self.at = program, at
        self.weight = 1.0 / (at.loss / at.rest + at.slack / at.share)
        H = program.c * program.curvature(self.weight)
        H[np.diag_indices_from(H)] += at.lower / at.u + at.upper / at.room
        self.scale = H.diagonal() ** -0.5
        self.factor = _factor(H * np.outer(self.scale, self.scale))
        self.ones = self._solve(np.ones(len(H)))

    def _solve(self, right: np.ndarray) -> np.ndarray:
        return self.scale * cho_solve(self.factor, self.scale * right)

    def direction(self, aims: tuple) -> _Point:
        """Return the direction in which the four products become `aims`, to first order."""
        program, at = self.program, self.at
        slack, loss, lower, upper = aims
        # What slack and loss would change by if shares stayed.
        still_slack, still_loss = slack / at.share - at.slack, loss / at.rest - at.loss
        still_lower, still_upper = lower / at.u - at.lower, upper / at.room - at.upper
        apart = still_slack - still_loss
        v = program.linear + program.share_sums(at.share + self.weight * apart)
        right = -(v - at.level - at.lower + at.upper) + still_lower - still_upper
        du, dlevel = self._solve(right), 0.0
        if program.total is not None:
            dlevel = (program.total - at.u.sum() - du.sum()) / self.ones.sum()
            du = du + dlevel * self.ones
        dshare = self.weight * (program.changes(du) + apart)
        return _Point(
            u=du, room=-du, share=dshare, rest=-dshare, level=float(dlevel),
            loss=still_loss + at.loss / at.rest * dshare,
            slack=still_slack - at.slack / at.share * dshare,
            lower=still_lower - at.lower / at.u * du, upper=still_upper + at.upper / at.room * du,
        )  # fmt: skip


def _factor(H: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the Cholesky factor of a matrix of unit diagonal, with a ridge if it needs one."""
    if not np.all(np.isfinite(H)):
        raise np.linalg.LinAlgError("the equations of a step are not finite")
    for ridge in _RIDGES:
        try:
            return cho_factor(H + ridge * np.eye(len(H)))
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("the equations of a step are not definite")


def _longest(value: np.ndarray, change: np.ndarray) -> float:
    """Return the longest step along `change` that keeps `value` nonnegative."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=np.inf))


@dataclass(frozen=True)
class Face:
    """The weights between their bounds (``free``), the hinges at 0, and a point and shares nearby.

    ``u`` has all other weights at their bounds, ``share`` has 0 or 1 for all other hinges.
    ``trust`` is the change of each share up to which it stays between 0 and 1.
    """

    u: np.ndarray
    free: np.ndarray
    hinges: np.ndarray
    share: np.ndarray
    trust: np.ndarray

    @property
    def is_small(self) -> bool:
        """Return whether its equations are few enough to be solved."""
        return 0 < len(self.hinges) <= _MOST_PER_WEIGHT * np.count_nonzero(self.free)


def nearest_point(program: Program, face: Face) -> np.ndarray:
    """Return the weights of the face nearest to its point, relative to their size."""
    if not face.is_small:
        return face.u
    sizes = face.u[face.free]
    rows = _changes(program, face) * sizes
    missing = -program.hinges(face.u)[face.hinges]
    if program.total is not None:
        # In units of its rows, the sum is another equation.
        scale = np.abs(rows).max(initial=0.0) / sizes.max()
        rows = np.vstack([rows, scale * sizes])
        missing = np.append(missing, scale * (program.total - face.u.sum()))
    u = face.u.copy()
    u[face.free] += sizes * _least_squares(rows, missing)
    return u


def nearest_shares(program: Program, face: Face) -> np.ndarray:
    """Return the nearest shares whose slope is level along all weights between their bounds."""
    if not face.is_small:
        return face.share
    v = (program.linear + program.share_sums(face.share))[face.free]
    columns = program.c * _changes(program, face).T * face.trust
    if program.total is not None:
        # The level itself is unknown too.
        v = v - v.mean()
        columns = columns - columns.mean(axis=0)
    share = face.share.copy()
    share[face.hinges] += face.trust * _least_squares(columns, -v)
    return np.clip(share, 0.0, 1.0)


def _changes(program: Program, face: Face) -> np.ndarray:
    """Return the row r of every hinge at 0, over the weights between their bounds."""
    X, t = program.X[:, face.free], program.triplets
    i, j, p = (each[face.hinges] for each in (t.sample, t.target, t.impostor))
    return (X[i] - X[j]) ** 2 - (X[i] - X[p]) ** 2


def _least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the shortest of the solutions that come closest."""
    solution, *_ = lstsq(A, b, cond=1e-13, lapack_driver="gelsy", check_finite=False)  # type: ignore
    return np.asarray(solution)
