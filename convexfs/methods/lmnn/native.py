r"""LMNN without cvxpy: an interior-point method on the metric alone.

With :math:`a = x_i - x_j` and :math:`b = x_i - x_p` of a triplet, and
:math:`C = \sum a a^T` over the target pairs, the problem and its dual are

.. math::
    \min_{M \succeq 0} \langle C, M \rangle + c \sum_t [1 - b_t^T M b_t + a_t^T M a_t]_+,
    \qquad
    \max_{0 \le y \le c} 1^T y,\quad \sum_t y_t (b_t b_t^T - a_t a_t^T) \preceq C.

In coordinates in which C is the identity, any y between 0 and c becomes feasible if it is divided
by the largest eigenvalue of its sum, or by 1. Along directions in which no targets differ M costs
nothing: it is made so large there that triplets whose impostors differ along them have no loss.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular

from convexfs.methods.base.solve_step import native_solution
from convexfs.methods.lmnn.numbers import check_size, target_pairs
from convexfs.records import Solution

Numbers = Mapping[str, Any]
#: Requested duality gap, relative to 1 + objective; above ten times this, the status is inaccurate.
TOL = 1e-10
_MOST_STEPS = 300
#: Near the optimum, the method ends after this many steps that leave more than this fraction of the
#: gap.
_PATIENCE, _PROGRESS = 3, 0.7
#: Above this relative gap or infeasibility, slow progress is no reason to stop.
_NEAR = 3e-10
#: Length of a step as a fraction of the way to the boundary, if the predictor's step was short, and
#: if it was full.
_SHORT, _FULL = 0.9, 0.99
#: Eigenvalues below this fraction of C's largest, and parts of a squared difference below this
#: fraction, are rounding errors.
_FLAT = 1e-13


@dataclass(frozen=True)
class _Program:
    """LMNN's problem in coordinates in which C, the scatter of target pairs, is the identity.

    Attributes
    ----------
    near, far : arrays (T, r)
        Differences to target and impostor of the triplets that M cannot free of loss at no cost.
    axes, free : arrays (J, r), (J, J - r)
        From these coordinates to those of the samples; directions along which M costs nothing.
    bound : bool array
        Which of all triplets these are.
    """

    near: np.ndarray
    far: np.ndarray
    c: float
    axes: np.ndarray
    free: np.ndarray
    bound: np.ndarray


def lmnn(
    X: np.ndarray, targets: np.ndarray, triplets: np.ndarray, c: float = 1.0, tol: float = TOL
) -> Solution:
    """Solve LMNN's problem over these triplets to a relative gap of `tol`, or until it stalls."""
    start = time.perf_counter()
    program = _program(X, targets, triplets, c)
    check_size(len(program.near), program.near.shape[1])
    inner, multipliers, steps = _follow_central_path(program, tol)
    M = _whole_metric(program, inner, X, triplets)
    xi = np.maximum(_hinges(X, triplets, M), 0.0)
    y = np.zeros(len(triplets))
    y[program.bound] = multipliers
    value, bound = _value(X, targets, xi, M, c), _bound(program, multipliers)
    solved = value - bound <= 10 * tol * (1.0 + value)
    return native_solution(
        start, {"M": M, "xi": xi}, value, solved=solved, iterations=steps, tol=tol,
        dual={"margin": y, "slack": c - y},
    )  # fmt: skip


def lmnn_violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation: M not psd (relative), or xi below the hinge losses or 0."""
    M, xi = np.asarray(primal["M"]), np.asarray(primal["xi"])
    eigenvalues = np.linalg.eigvalsh(M)
    outside = -eigenvalues[0] / max(1.0, eigenvalues[-1])
    short = np.max(_hinges(values["X"], values["triplets"], M) - xi, initial=0.0)
    return max(float(outside), float(short), float(np.max(-xi, initial=0.0)), 0.0)


def lmnn_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the gap: objective at M minus the dual bound of ``margin`` (solved for if not given).

    Where there are none, those of a solution of this problem are taken.
    """
    y = primal.get("margin")
    if y is None:
        y = lmnn(**values, **hyper).dual["margin"]
    program = _program(**values, c=hyper["c"])
    M, X = np.asarray(primal["M"]), values["X"]
    xi = np.maximum(_hinges(X, values["triplets"], M), 0.0)
    value = _value(X, values["targets"], xi, M, program.c)
    apart = value - _bound(program, np.asarray(y)[program.bound])
    # If the optimum is 0, only rounding errors of the distances remain.
    rounding = np.finfo(float).eps * np.abs(M).max(initial=0.0) * float(np.sum(X * X))
    return 0.0 if abs(apart) <= rounding < _FLAT * program.c else apart


def _program(X: np.ndarray, targets: np.ndarray, triplets: np.ndarray, c: float) -> _Program:
    i, j = target_pairs(targets).T
    eigenvalues, vectors = eigh((X[i] - X[j]).T @ (X[i] - X[j]))
    costly = eigenvalues > _FLAT * len(eigenvalues) * eigenvalues[-1]
    axes, free = vectors[:, costly] / np.sqrt(eigenvalues[costly]), vectors[:, ~costly]
    i, j, p = triplets.T
    far = X[i] - X[p]
    bound = _squares(far @ free) <= _FLAT * _squares(far)
    near, far = (X[i] - X[j])[bound] @ axes, far[bound] @ axes
    return _Program(near, far, float(c), axes, free, bound)


def _whole_metric(
    program: _Program, inner: np.ndarray, X: np.ndarray, triplets: np.ndarray
) -> np.ndarray:
    """Return M in the original coordinates, so large along free directions that no loss remains."""
    M = program.axes @ inner @ program.axes.T
    loss = _hinges(X, triplets, M)[~program.bound]
    i, _, p = triplets[~program.bound].T
    needed = np.max(loss / np.maximum(_squares((X[i] - X[p]) @ program.free), 1e-300), initial=0.0)
    # Use twice the necessary factor, so that rounding leaves no loss.
    return M + 2.0 * needed * program.free @ program.free.T


def _hinges(X: np.ndarray, triplets: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return ``1 + d_M(x_i, x_j) - d_M(x_i, x_p)`` of every triplet."""
    i, j, p = triplets.T
    near, far = X[i] - X[j], X[i] - X[p]
    return 1.0 + ((near @ M) * near).sum(axis=1) - ((far @ M) * far).sum(axis=1)


def _value(X: np.ndarray, targets: np.ndarray, xi: np.ndarray, M: np.ndarray, c: float) -> float:
    i, j = target_pairs(targets).T
    near = X[i] - X[j]
    return float(np.sum((near @ M) * near) + c * np.sum(xi))


def _bound(program: _Program, y: np.ndarray) -> float:
    """Return the dual objective of the multipliers y, after scaling them to be feasible."""
    y = np.clip(y, 0.0, program.c)
    if not len(y):
        return 0.0
    total = (program.far.T * y) @ program.far - (program.near.T * y) @ program.near
    return float(y.sum() / max(1.0, np.linalg.eigvalsh(total)[-1]))


def _squares(rows: np.ndarray) -> np.ndarray:
    return (rows * rows).sum(axis=1)


class _Symmetric:
    """Converter of symmetric matrices to vectors with the same inner product, and back."""

    def __init__(self, size: int):
        self.size = size
        self.row, self.column = np.triu_indices(size)
        self.scale = np.where(self.row == self.column, 1.0, np.sqrt(2.0))

    def vector(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[self.row, self.column] * self.scale

    def matrix(self, vector: np.ndarray) -> np.ndarray:
        upper = np.zeros((self.size, self.size))
        upper[self.row, self.column] = vector / self.scale
        return upper + np.triu(upper, 1).T

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Return ``vector(d d')`` for each row d."""
        return rows[:, self.row] * rows[:, self.column] * self.scale

    def congruence(self, P: np.ndarray) -> np.ndarray:
        """Return the matrix that maps ``vector(V)`` to ``vector(P V P)`` for symmetric P."""
        left, right = P[self.row], P[self.column]
        total = left[:, self.row] * right[:, self.column]
        total += left[:, self.column] * right[:, self.row]
        total *= 0.5 * self.scale
        total *= self.scale[:, None]
        return total


@dataclass(frozen=True)
class _Point:
    """A primal-dual point: metric, losses and slacks; multipliers y and S.

    Also the direction from one point to the next.
    """

    M: np.ndarray
    xi: np.ndarray
    slack: np.ndarray
    y: np.ndarray
    S: np.ndarray

    def moved(self, by: "_Point", primal: float, dual: float) -> "_Point":
        return _Point(
            self.M + primal * by.M,
            self.xi + primal * by.xi,
            self.slack + primal * by.slack,
            self.y + dual * by.y,
            self.S + dual * by.S,
        )

    def gap(self, c: float) -> float:
        return float(np.sum(self.M * self.S) + self.slack @ self.y + self.xi @ (c - self.y))


def _follow_central_path(program: _Program, tol: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return metric, multipliers and number of steps of a Nesterov-Todd predictor-corrector method.

    The linear systems have a row per pair of coordinates, however many triplets there are.
    """
    n_triplets, size = program.near.shape
    if not n_triplets:
        return np.zeros((size, size)), np.zeros(0), 0
    space = _Symmetric(size)
    rows = space.squares(program.far) - space.squares(program.near)
    identity = np.eye(size)
    # Scale the first metric so that differences to targets and impostors have length about 1.
    first = identity * (2.0 / np.mean(_squares(program.near) + _squares(program.far)))
    hinges = 1.0 - rows @ space.vector(first)
    # Start with multipliers c / 2: infeasible, but with complementarity products of one size.
    y = np.full(n_triplets, 0.5 * program.c)
    wide = max(1.0, float(np.abs(np.linalg.eigvalsh(identity - space.matrix(y @ rows))).max()))
    xi = np.maximum(hinges, 0.0) + first[0, 0] * wide / y
    point = _Point(first, xi, xi - hinges, y, wide * identity)
    n_terms, step, gaps = size + 2 * n_triplets, 0, []
    while step < _MOST_STEPS:
        gap = point.gap(program.c)
        gaps.append(gap)
        share = gap / (1.0 + float(np.trace(point.M) + program.c * point.xi.sum()))
        off = identity - point.S - space.matrix(point.y @ rows)
        stalled = step >= _PATIENCE and gap > _PROGRESS * gaps[-1 - _PATIENCE]
        near = share <= _NEAR and np.abs(off).max() <= _NEAR
        if near and (share <= tol or stalled):
            break
        try:
            system = _System(space, rows, program.c, point, off)
        except LinAlgError:
            break
        predicted = system.direction(0.0)
        reach = [min(1.0, size) for size in system.reach(predicted)]
        left = point.moved(predicted, *reach).gap(program.c) / gap
        corrected = system.direction(left**3 * gap / n_terms, predicted)
        cautious = _SHORT + (_FULL - _SHORT) * min(reach)
        primal, dual = (min(1.0, cautious * size) for size in system.reach(corrected))
        point = point.moved(corrected, primal, dual)
        step += 1
    return point.M, point.y, step


class _System:
    """The linear system of one interior-point step, factored once for predictor and corrector."""

    def __init__(
        self, space: _Symmetric, rows: np.ndarray, c: float, point: _Point, off: np.ndarray
    ):
        self._space, self._rows, self._at, self._off = space, rows, point, off
        self._rest = c - point.y
        self._primal_root = cholesky(point.M, lower=True)
        self._dual_root = cholesky(point.S, lower=True)
        left, self._middle, right = np.linalg.svd(self._dual_root.T @ self._primal_root)
        # The scaling matrix G satisfies G'SG = G^-1 M G^-T = diag(middle).
        root = np.sqrt(self._middle)
        self._G, self._inverse = (self._primal_root @ right.T) / root, (left / root).T
        self._inverse = self._inverse @ self._dual_root.T
        self._weight = point.xi / self._rest + point.slack / point.y
        scaled = rows / np.sqrt(self._weight)[:, None]
        normal = space.congruence(self._inverse.T @ self._inverse)
        normal += scaled.T @ scaled
        self._factor = cho_factor(normal, lower=True, overwrite_a=True, check_finite=False)

    def direction(self, target: float, predicted: _Point | None = None) -> _Point:
        """Return the direction to complementarity `target`, corrected if `predicted` is given."""
        at, space, rest = self._at, self._space, self._rest
        products = np.diag(target - self._middle**2)
        slack, xi = target - at.y * at.slack, target - rest * at.xi
        if predicted is not None:
            one = self._inverse @ predicted.M @ self._inverse.T
            two = self._G.T @ predicted.S @ self._G
            products = products - 0.5 * (one @ two + two @ one)
            slack, xi = slack - predicted.y * predicted.slack, xi + predicted.y * predicted.xi
        scaled = 2.0 * products / np.add.outer(self._middle, self._middle)
        margins = 1.0 - self._rows @ space.vector(at.M) - at.xi + at.slack
        margins = margins - xi / rest + slack / at.y
        right = space.vector(self._inverse.T @ scaled @ self._inverse - self._off)
        right = right + (margins / self._weight) @ self._rows
        move = cho_solve(self._factor, right, check_finite=False)
        y = (margins - self._rows @ move) / self._weight
        return _Point(
            space.matrix(move),
            (xi + at.xi * y) / rest,
            (slack - at.slack * y) / at.y,
            y,
            self._off - space.matrix(y @ self._rows),
        )

    def reach(self, by: _Point) -> tuple[float, float]:
        """Return the longest primal and dual steps along a direction that stay inside the cones."""
        at = self._at
        primal = [_reach(at.xi, by.xi), _reach(at.slack, by.slack)]
        dual = [_reach(at.y, by.y), _reach(self._rest, -by.y)]
        M, S = _reach_inside(self._primal_root, by.M), _reach_inside(self._dual_root, by.S)
        return min(M, *primal), min(S, *dual)


def _reach(values: np.ndarray, by: np.ndarray) -> float:
    down = by < 0
    return float(np.min(values[down] / -by[down], initial=np.inf))


def _reach_inside(root: np.ndarray, by: np.ndarray) -> float:
    """Return how far along `by` a matrix with this Cholesky root stays positive definite."""
    half = solve_triangular(root, by, lower=True)
    least = np.linalg.eigvalsh(solve_triangular(root, half.T, lower=True))[0]
    return np.inf if least >= 0 else float(-1.0 / least)
