r"""Logo's objectives with their dual bounds, and proximal Newton on columns held in memory.

Each step minimises the quadratic model of the loss plus ``lam 1'w`` over w >= 0
by coordinate descent, and moves there as far as the objective agrees. Eq. 8 is
solved through eq. 7: the total weight falls continuously as lam grows, so a root
search finds the lam at which it is beta.

With margins :math:`m = Zw`, :math:`p_n = 1/(1 + e^{m_n})`, :math:`c = Z^T p` and the
binary entropy :math:`H(q) = -q \ln q - (1-q) \ln(1-q)`, both duals maximise
:math:`\sum_n H(p_n)`:

======== ============================== ======================================
problem  dual                           gap at w, from p made feasible
======== ============================== ======================================
eq. 7    s.t. Z'p <= lam, 0 <= p <= 1   P(w) - sum H(s p), s = min(1, lam / max c)
eq. 8    - beta max(0, max Z'p)         P(w) - sum H(p) + beta max(0, max c)
======== ============================== ======================================

c is needed only through its largest entry, so the gap over all features can be
had without holding Z. Where samples count, each term of loss and entropy counts so often, and
so does its part in c.
"""

import time
from dataclasses import dataclass, field

import numpy as np
from scipy.special import entr, expit

from convexfs.kernels import compiled


@dataclass(frozen=True)
class Loss:
    """Logistic loss with its derivatives and dual, which eq. 7 and eq. 8 share.

    Attributes
    ----------
    counts : array (N,), optional
        How much the term of each sample counts; 1 by default.
    """

    counts: np.ndarray | None = field(default=None, compare=False, kw_only=True)

    def loss(self, margins: np.ndarray) -> float:
        """Return ``sum_n log(1 + exp(-m_n))`` without overflow."""
        return self._sum(np.logaddexp(0.0, -margins))

    def entropy(self, shrink: float, margins: np.ndarray) -> float:
        """Return the dual objective: the summed entropy of the dual variables times `shrink`."""
        p = shrink * expit(-margins)
        return self._sum(entr(p) + entr(1.0 - p))

    def pull(self, margins: np.ndarray) -> np.ndarray:
        """Return each sample's dual variable: minus the derivative of the loss in its margin."""
        return self._counted(expit(-margins))

    def curvature(self, margins: np.ndarray) -> np.ndarray:
        """Return the second derivative of the loss in each margin."""
        p = expit(-margins)
        return self._counted(p * (1.0 - p))

    def _counted(self, terms: np.ndarray) -> np.ndarray:
        return terms if self.counts is None else self.counts * terms

    def _sum(self, terms: np.ndarray) -> float:
        return float(terms.sum() if self.counts is None else self.counts @ terms)


@dataclass(frozen=True)
class Penalised(Loss):
    """The objective ``sum_n log(1 + exp(-z_n'w)) + lam 1'w, w >= 0`` (eq. 7; eq. 6 if lam = 0)."""

    lam: float

    def value(self, margins: np.ndarray, w: np.ndarray) -> float:
        return self.loss(margins) + self.lam * float(w.sum())

    def gap(self, margins: np.ndarray, w: np.ndarray, largest_score: float) -> float:
        shrink = 1.0 if largest_score <= self.lam else self.lam / largest_score
        if self.lam == 0 and w.any():
            shrink = 0.0  # All scores are 0, and rounding decides their sign.
        return self.value(margins, w) - self.entropy(shrink, margins)

    def level(self, scores: np.ndarray) -> float:
        """Return lam, the largest score that a feature may have at the optimum."""
        return self.lam

    def violation(self, w: np.ndarray) -> float:
        return float(np.max(-w, initial=0.0))


@dataclass(frozen=True)
class Constrained(Loss):
    """The objective ``sum_n log(1 + exp(-z_n'w)), 1'w <= beta, w >= 0`` (eq. 8)."""

    beta: float

    def value(self, margins: np.ndarray, w: np.ndarray) -> float:
        return self.loss(margins)

    def gap(self, margins: np.ndarray, w: np.ndarray, largest_score: float) -> float:
        bound = self.entropy(1.0, margins) - self.beta * max(largest_score, 0.0)
        return self.value(margins, w) - bound

    def level(self, scores: np.ndarray) -> float:
        """Return the largest score, at least 0: the multiplier of ``1'w <= beta``."""
        return float(np.max(scores, initial=0.0))

    def violation(self, w: np.ndarray) -> float:
        return float(max(w.sum() / self.beta - 1.0, np.max(-w, initial=0.0), 0.0))


Objective = Penalised | Constrained


def relative(gap: float, value: float) -> float:
    """Return ``gap / (1 + |value|)``: a duality gap relative to the objective value."""
    return gap / (1.0 + abs(value))


#: Most Newton steps, and most sweeps of coordinate descent in each; both usually end much earlier.
_MOST_STEPS, _MOST_SWEEPS = 100, 200
#: Coordinate descent ends when the violation is this fraction of that at its start.
_SWEEP_ACCURACY = 1e-2
#: Fraction of the predicted decrease that a step must achieve (Armijo).
_ARMIJO = 1e-4
#: Below this predicted decrease, relative to 1 + objective, only the gap shows progress.
_BLIND = 1e-14
#: Smaller second derivatives of a sample's loss, which vanish at large margins, are raised to this.
_LEAST_CURVATURE = 1e-12
_MOST_HALVINGS, _MOST_ROOT_STEPS, _MOST_POLISHES = 40, 60, 20
#: To solve eq. 8, lam falls by this factor, then by larger ones, until the total weight exceeds
#: beta; then the lam of total weight beta is searched to this accuracy, near enough for Newton's
#: method.
_LAM_FACTOR, _ROOT_ACCURACY = 4.0, 1e-6


def minimise(
    Z: np.ndarray,
    objective: Objective,
    start: np.ndarray | None = None,
    tol: float = 1e-10,
    until: float = np.inf,
) -> np.ndarray:
    """Minimise the objective over w >= 0 to a relative gap of `tol` or a limit; return w.

    Parameters
    ----------
    Z : float64 array (N, k)
    objective : Penalised or Constrained
    start : array (k,), optional
        Weights to start from.
    until : float
        When to stop with less, by ``time.perf_counter``.
    """
    # Rows of the transpose are columns of Z, contiguous for coordinate sweeps.
    columns = np.ascontiguousarray(Z.T)
    w = np.zeros(len(columns)) if start is None else np.array(start, dtype=np.float64)
    if isinstance(objective, Penalised):
        return _penalised(columns, objective, w, tol, until)
    return _constrained(columns, objective, w, tol, until)


def _penalised(
    columns: np.ndarray, objective: Penalised, w: np.ndarray, tol: float, until: float
) -> np.ndarray:
    margins, best = w @ columns, np.inf
    for _ in range(_MOST_STEPS):
        scores = columns @ objective.pull(margins)
        value = objective.value(margins, w)
        gap = relative(objective.gap(margins, w, np.max(scores, initial=0.0)), value)
        if gap <= tol or time.perf_counter() > until:
            return w
        curvature, gradient = objective.curvature(margins), objective.lam - scores
        direction, change = _newton_direction(columns, curvature, gradient, w)
        slope = float(gradient @ direction)
        size = _step_size(objective, (margins, change), (w, direction), (value, slope))
        # If rounding hides the decrease of the objective, only the gap shows progress.
        blind = -slope <= _BLIND * (1.0 + value)
        if size == 0.0 or (blind and gap > 0.5 * best):
            return w
        best = gap if blind else np.inf
        w = np.maximum(w + size * direction, 0.0)
        # Recompute, because updated margins would accumulate rounding errors.
        margins = w @ columns
    return w


def _newton_direction(
    columns: np.ndarray, curvature: np.ndarray, gradient: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the step to the quadratic model's minimiser over w >= 0, and the margins' change."""
    direction = np.zeros(len(w))
    movable = np.flatnonzero((w > 0) | (gradient < 0))
    own, slope, left = columns[movable], gradient[movable], w[movable]
    curvature = np.maximum(curvature, _LEAST_CURVATURE)
    diagonal = (own * own) @ curvature
    # A weight whose slope pushes it to 0 violates optimality at most by weight times curvature.
    violated = np.minimum(np.abs(slope), np.where(slope > 0, left * diagonal, np.inf))
    accuracy = _SWEEP_ACCURACY * np.max(violated, initial=0.0)
    direction[movable], change = _descend(own, curvature, diagonal, slope, left, accuracy)
    return direction, change


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _descend(columns, curvature, diagonal, gradient, w, accuracy):
    """Minimise ``g'd + d'Z'HZd / 2`` over ``w + d >= 0`` by coordinate descent; return d and Zd."""
    k, n = columns.shape
    d, change = np.zeros(k), np.zeros(n)
    for _ in range(_MOST_SWEEPS):
        largest = 0.0
        for j in range(k):
            if diagonal[j] <= 0.0:
                continue
            z = columns[j]
            slope = gradient[j]
            for i in range(n):
                slope += z[i] * curvature[i] * change[i]
            goal = max(d[j] - slope / diagonal[j], -w[j])
            move = goal - d[j]
            if move != 0.0:
                d[j] = goal
                for i in range(n):
                    change[i] += move * z[i]
                largest = max(largest, abs(move) * diagonal[j])
        if largest <= accuracy:
            break
    return d, change


def _step_size(
    objective: Penalised,
    margins: tuple[np.ndarray, np.ndarray],
    weights: tuple[np.ndarray, np.ndarray],
    model: tuple[float, float],
) -> float:
    """Return the first of 1, 1/2, 1/4 ... that decreases the objective enough; 0 if none does."""
    (at, change), (w, direction), (value, slope) = margins, weights, model
    size, rounding = 1.0, _BLIND * (1.0 + value)
    for _ in range(_MOST_HALVINGS):
        reached = objective.value(at + size * change, w + size * direction)
        if reached <= value + _ARMIJO * size * slope + rounding:
            return size
        size *= 0.5
    return 0.0


def _constrained(
    columns: np.ndarray, objective: Constrained, w: np.ndarray, tol: float, until: float
) -> np.ndarray:
    """Solve eq. 8: search the lam at which the total weight is beta, then polish by Newton steps.

    At the optimum of eq. 7 the gap of eq. 8 is ``lam (beta - 1'w)``: at the lowest
    lam tried here it is negligible even if the budget is not used up.
    """
    lowest = 0.1 * tol / objective.beta
    counts = objective.counts
    sums = columns.sum(axis=1) if counts is None else columns @ counts
    high = max(float(np.max(sums, initial=0.0)) / 2.0, lowest)
    at_high, lam = -objective.beta, max(high / _LAM_FACTOR, lowest)
    w = _penalised(columns, Penalised(lam, counts=counts), w, tol, until)
    factor = _LAM_FACTOR
    while w.sum() < objective.beta and lam > lowest:
        # Increase the factor: a budget of 1e30 would otherwise take hundreds of steps.
        high, at_high, factor = lam, w.sum() - objective.beta, factor**1.5
        lam = max(lam / factor, lowest)
        w = _penalised(columns, Penalised(lam, counts=counts), w, tol, until)
    if w.sum() <= objective.beta:
        return w
    w = _root(columns, objective, w, (lam, high, at_high), until)
    return _polished(columns, objective, w, tol)


def _root(
    columns: np.ndarray,
    objective: Constrained,
    w: np.ndarray,
    bracket: tuple[float, float, float],
    until: float,
) -> np.ndarray:
    """Search the lam whose total weight is close to beta by the Illinois method, in log lam."""
    low, high, at_high = bracket
    at_low, side = w.sum() - objective.beta, 0
    for _ in range(_MOST_ROOT_STEPS):
        share = np.clip(at_low / (at_low - at_high), 0.05, 0.95)
        lam = float(low ** (1 - share) * high**share)
        priced = Penalised(lam, counts=objective.counts)
        w = _penalised(columns, priced, w, _ROOT_ACCURACY, until)
        excess = w.sum() - objective.beta
        if abs(excess) <= _ROOT_ACCURACY * objective.beta:
            break
        # Halve the value at an end of the bracket that stays twice, so that both ends move
        # (Illinois).
        if excess > 0:
            low, at_low, at_high = lam, excess, at_high / (2 if side > 0 else 1)
        else:
            high, at_high, at_low = lam, excess, at_low / (2 if side < 0 else 1)
        side = 1 if excess > 0 else -1
    return w


def _polished(columns: np.ndarray, objective: Constrained, w: np.ndarray, tol: float) -> np.ndarray:
    """Take Newton steps on ``1'w = beta`` over features in use; return the w of least gap."""
    best, least = w, np.inf
    w = w * (objective.beta / w.sum())
    for _ in range(_MOST_POLISHES):
        margins = w @ columns
        scores = columns @ objective.pull(margins)
        gap = objective.gap(margins, w, np.max(scores, initial=0.0))
        if gap < least:
            best, least = w, gap
        if relative(least, objective.value(margins, w)) <= tol or gap > 2 * least:
            break
        w = _equality_step(columns, objective.curvature(margins), scores, w)
        w = w * (objective.beta / w.sum())
    return best


def _equality_step(
    columns: np.ndarray, curvature: np.ndarray, scores: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """Return w after a Newton step of constant total, cut where a weight would turn negative."""
    free = np.flatnonzero((w > 0) | (scores > scores[w > 0].min()))
    while True:
        own = columns[free]
        system = np.ones((len(free) + 1, len(free) + 1))
        system[:-1, :-1] = (own * curvature) @ own.T
        system[-1, -1] = 0.0
        step = np.linalg.lstsq(system, np.append(scores[free], 0.0), rcond=1e-14)[0][:-1]
        pushed = (w[free] <= 0) & (step < 0)
        if not pushed.any():
            break
        free = free[~pushed]
    down = step < 0
    size = min(1.0, np.min(w[free][down] / -step[down], initial=1.0))
    moved = w.copy()
    moved[free] = np.maximum(w[free] + size * step, 0.0)
    return moved
