r"""What Logo's two convex problems are worth at a point, and what bounds them from below.

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

from dataclasses import dataclass, field

import numpy as np
from scipy.special import entr, expit


@dataclass(frozen=True)
class Loss:
    """The sum over samples that both problems have.

    Attributes
    ----------
    counts : array (N,), optional
        How much the term of each sample counts; 1 by default.
    """

    counts: np.ndarray | None = field(default=None, compare=False, kw_only=True)

    def loss(self, margins: np.ndarray) -> float:
        return logistic_loss(margins, self.counts)

    def entropy(self, shrink: float, margins: np.ndarray) -> float:
        """Return the dual objective of the dual variables times `shrink`."""
        return entropy(shrink * pull(margins), self.counts)

    def pull(self, margins: np.ndarray) -> np.ndarray:
        """How strongly each sample asks for a larger margin."""
        return pull(margins) if self.counts is None else self.counts * pull(margins)

    def curvature(self, margins: np.ndarray) -> np.ndarray:
        """Second derivative of the loss by each margin."""
        p = pull(margins)
        curved = p * (1.0 - p)
        return curved if self.counts is None else self.counts * curved


@dataclass(frozen=True)
class Penalised(Loss):
    """``sum_n log(1 + exp(-z_n'w)) + lam 1'w, w >= 0`` (eq. 7; eq. 6 with lam = 0)."""

    lam: float

    def value(self, margins: np.ndarray, w: np.ndarray) -> float:
        return self.loss(margins) + self.lam * float(w.sum())

    def gap(self, margins: np.ndarray, w: np.ndarray, largest_score: float) -> float:
        shrink = 1.0 if largest_score <= self.lam else self.lam / largest_score
        if self.lam == 0 and w.any():
            shrink = 0.0  # the scores of its features are 0, and rounding decides their sign
        return self.value(margins, w) - self.entropy(shrink, margins)

    def level(self, scores: np.ndarray) -> float:
        """Return the score no feature may exceed at the optimum."""
        return self.lam

    def violation(self, w: np.ndarray) -> float:
        return float(np.max(-w, initial=0.0))


@dataclass(frozen=True)
class Constrained(Loss):
    """``sum_n log(1 + exp(-z_n'w)), 1'w <= beta, w >= 0`` (eq. 8)."""

    beta: float

    def value(self, margins: np.ndarray, w: np.ndarray) -> float:
        return self.loss(margins)

    def gap(self, margins: np.ndarray, w: np.ndarray, largest_score: float) -> float:
        bound = self.entropy(1.0, margins) - self.beta * max(largest_score, 0.0)
        return self.value(margins, w) - bound

    def level(self, scores: np.ndarray) -> float:
        """Return the largest score in play: the multiplier of ``1'w <= beta``."""
        return float(np.max(scores, initial=0.0))

    def violation(self, w: np.ndarray) -> float:
        return float(max(w.sum() / self.beta - 1.0, np.max(-w, initial=0.0), 0.0))


Objective = Penalised | Constrained


def logistic_loss(margins: np.ndarray, counts: np.ndarray | None = None) -> float:
    """``sum_n log(1 + exp(-m_n))``, without overflow; each term as often as it counts."""
    terms = np.logaddexp(0.0, -margins)
    return float(terms.sum() if counts is None else counts @ terms)


def pull(margins: np.ndarray) -> np.ndarray:
    """``p_n = 1 / (1 + exp(m_n))``: how strongly each sample asks for a larger margin."""
    return expit(-margins)


def entropy(p: np.ndarray, counts: np.ndarray | None = None) -> float:
    """``sum_n H(p_n)``, each term as often as it counts."""
    terms = entr(p) + entr(1.0 - p)
    return float(terms.sum() if counts is None else counts @ terms)


def relative(gap: float, value: float) -> float:
    """Return a gap measured by one plus the size of the objective."""
    return gap / (1.0 + abs(value))
