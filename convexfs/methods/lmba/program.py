r"""Lmba's linear program over all triplets, its loss, and the bound that shares prove.

.. math::
    F(u) = A^T u + c \sum_{t=(i,j,p)} [h_t(u)]_+,\qquad
    h_t(u) = \theta_i + r_t^T u,\qquad r_t = D_{ij} - D_{ip},\qquad u \in U

has some k N^2 hinges but only as many variables as features. U is the box ``0 <= u <= 1`` or the
simplex ``u >= 0, 1'u = total``. Every set of shares :math:`0 \le \pi \le 1` proves a bound: with
:math:`v = A + c \sum_t \pi_t r_t`,

.. math:: F(u) \ge c \sum_t \theta_i \pi_t + \min_{u \in U} v^T u,

so that a duality gap needs no statement of the solver.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from convexfs.neighbors.triplets import join_triplets, list_triplets, pair_distances, pair_sums

#: Entries of the block of differences that a curvature is summed over at a time.
_BLOCK = 2**22
#: Rows of triplets are stored if they have at most this many times the entries of a distance
#: matrix; with more, sums over pairs are quicker.
_FEW_ENTRIES = 2
#: Rounding error of the loss, as a fraction of the sum of its terms; smaller gaps count as 0.
_ROUNDING = 1e-13
#: Weights of a curvature below this fraction of the largest are left out.
_NO_WEIGHT = 1e-16


@dataclass(frozen=True)
class Program:
    """Lmba's linear program: samples, margins, triplets, slope A, penalty, region, constant.

    ``total`` is that of the simplex, None for the box.
    """

    X: np.ndarray
    theta: np.ndarray
    triplets: "Triplets"
    linear: np.ndarray
    c: float
    total: float | None
    constant: float = 0.0

    @property
    def upper(self) -> float:
        """Return a bound of every weight: that of the box; for the simplex one that never binds."""
        return 1.0 if self.total is None else 2.0 * self.total

    def equal_weights(self) -> np.ndarray:
        """Return equal weights inside the region."""
        n_features = self.X.shape[1]
        return np.full(n_features, 0.5 if self.total is None else self.total / n_features)

    def on(self, features: np.ndarray) -> "Program":
        """Return the program of these features only; all other weights are fixed at 0."""
        X = np.ascontiguousarray(self.X[:, features])
        return replace(self, X=X, linear=self.linear[features])

    def over(self, hinges: np.ndarray, share: np.ndarray) -> "Program":
        """Return the program over these hinges, with all others fixed at their shares."""
        fixed = share.copy()
        fixed[hinges] = 0.0
        linear = self.linear + self.share_sums(fixed)
        constant = self.constant + self.c * self._margins(fixed)
        return replace(self, triplets=self.triplets.only(hinges), linear=linear, constant=constant)

    def hinges(self, u: np.ndarray) -> np.ndarray:
        """Return the hinge h of every triplet."""
        return self.theta[self.triplets.sample] + self.changes(u)

    @cached_property
    def rows(self) -> np.ndarray | None:
        """Return r of every triplet, or None if sums over pairs are quicker."""
        t, X = self.triplets, self.X
        if len(t.goal) * X.shape[1] > _FEW_ENTRIES * t.n_samples**2:
            return None
        goals = (X[t.goals[:, 0]] - X[t.goals[:, 1]]) ** 2
        rows = goals[t.goal]
        rows -= (X[t.sample] - X[t.impostor]) ** 2
        return rows

    def changes(self, u: np.ndarray) -> np.ndarray:
        """Return ``r'u`` of every triplet; u may have either sign."""
        if self.rows is not None:
            return self.rows @ u
        t, d = self.triplets, pair_distances(self.X, u)
        return d[t.sample, t.target] - d[t.sample, t.impostor]

    def share_sums(self, share: np.ndarray) -> np.ndarray:
        """Return ``c sum_t share_t r_t``, per feature."""
        if self.rows is not None:
            return self.c * (share @ self.rows)
        return self.c * pair_sums(self.X, self.triplets.pair_weights(share))

    def value(self, u: np.ndarray) -> float:
        """Return the loss F(u)."""
        hinges = float(np.maximum(self.hinges(u), 0.0).sum())
        return self.constant + float(self.linear @ u) + self.c * hinges

    def bound(self, share: np.ndarray) -> float:
        """Return the lower bound on F that shares prove."""
        v = self.linear + self.share_sums(share)
        least = np.minimum(v, 0.0).sum() if self.total is None else self.total * v.min()
        return self.constant + self.c * self._margins(share) + float(least)

    def _margins(self, share: np.ndarray) -> float:
        """Return ``sum_t share_t theta_t``."""
        return float(share @ self.theta[self.triplets.sample])

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        r"""Return :math:`\sum_t w_t r_t r_t^T` for nonnegative weights of the triplets.

        With r = D_ij - D_ip it is the sum over target pairs, plus that over impostor pairs, minus
        the crossed terms: far fewer rows than triplets, if these are not stored.
        """
        if self.rows is not None:
            used = weights > _NO_WEIGHT * weights.max(initial=0.0)
            weighted = self.rows[used] * np.sqrt(weights[used])[:, None]
            return weighted.T @ weighted
        t, X = self.triplets, self.X
        H = _sum_over_pairs(X, t.impostor_weights(weights))
        goals = (X[t.goals[:, 0]] - X[t.goals[:, 1]]) ** 2
        per_goal = np.bincount(t.goal, weights, len(goals))
        H += goals.T @ (per_goal[:, None] * goals)
        crossed = goals.T @ self._impostor_sums(weights, per_goal)
        return H - crossed - crossed.T

    def _impostor_sums(self, weights: np.ndarray, per_goal: np.ndarray) -> np.ndarray:
        """Return ``sum_p w_ijp D_ip`` for every target pair (i, j)."""
        t, X = self.triplets, self.X
        W = np.zeros((len(t.goals), len(X)))
        W[t.goal, t.impostor] = weights
        own = X[t.goals[:, 0]]
        return per_goal[:, None] * own**2 - 2.0 * own * (W @ X) + W @ X**2

    def typical_hinge(self) -> float:
        """Return the mean squared distance of samples."""
        return float(np.mean(pair_distances(self.X, np.ones(self.X.shape[1]))))

    @cached_property
    def rounding(self) -> float:
        """Return the rounding error of the loss, a fraction of the sum of its terms."""
        hinges = self.c * len(self.triplets.goal) * self.typical_hinge()
        return _ROUNDING * (float(np.abs(self.linear).sum()) + hinges)


@dataclass(frozen=True)
class Triplets:
    """All triplets (i, j, p), one entry each, and the target pairs (i, j) that they belong to.

    ``goals`` are the target pairs, (T, 2); ``goal`` is the row of each triplet in it.
    """

    n_samples: int
    goals: np.ndarray
    goal: np.ndarray
    impostor: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, targets: np.ndarray) -> "Triplets":
        """Return the triplets of samples of these classes with these target neighbours."""
        goals, impostors = list_triplets(codes, targets)
        goal, row = join_triplets(goals, impostors)
        return cls(len(codes), goals, goal, impostors[row, 1])

    @cached_property
    def sample(self) -> np.ndarray:
        return self.goals[self.goal, 0]

    @cached_property
    def target(self) -> np.ndarray:
        return self.goals[self.goal, 1]

    def only(self, entries: np.ndarray) -> "Triplets":
        """Return these triplets alone."""
        return replace(self, goal=self.goal[entries], impostor=self.impostor[entries])

    def impostor_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the sums of the weights by sample and impostor, (N, N)."""
        n = self.n_samples
        return np.bincount(self.sample * n + self.impostor, weights, n * n).reshape(n, n)

    def pair_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return C (N, N) with ``sum_t w_t r_t = sum_ip C_ip D_ip``."""
        n = self.n_samples
        per_goal = np.bincount(self.goal, weights, len(self.goals))
        flat = self.goals[:, 0] * n + self.goals[:, 1]
        to_targets = np.bincount(flat, per_goal, n * n).reshape(n, n)
        return to_targets - self.impostor_weights(weights)


def _sum_over_pairs(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return ``sum_ip W_ip D_ip D_ip'``, in blocks of pairs; W is not negative."""
    both = np.triu(W + W.T)
    i, p = np.nonzero(both > _NO_WEIGHT * both.max(initial=0.0))
    roots = np.sqrt(both[i, p])[:, None]
    H = np.zeros((X.shape[1], X.shape[1]))
    size = max(_BLOCK // X.shape[1], 1)
    for first in range(0, len(i), size):
        part = slice(first, first + size)
        rows = roots[part] * (X[i[part]] - X[p[part]]) ** 2
        H += rows.T @ rows
    return H
