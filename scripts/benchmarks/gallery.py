"""Problems of the kinds that cvxpy's example gallery shows, small, on data of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np


@dataclass(frozen=True)
class Example:
    """A problem, and the words of ``problem.solve`` that it needs."""

    problem: cp.Problem
    asks: tuple[str, ...] = ()


def _draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def minimum(cost: Any, *rows: Any, asks: tuple[str, ...] = ()) -> Example:
    return Example(cp.Problem(cp.Minimize(cost), list(rows)), asks)


def maximum(gain: Any, *rows: Any, asks: tuple[str, ...] = ()) -> Example:
    return Example(cp.Problem(cp.Maximize(gain), list(rows)), asks)


# ---- linear ------------------------------------------------------------------------------------


def least_absolute() -> Example:
    A, b, x = _draw(1).normal(size=(30, 6)), _draw(2).normal(size=30), cp.Variable(6)
    return minimum(cp.norm1(A @ x - b))


def chebyshev_fit() -> Example:
    A, b, x = _draw(1).normal(size=(30, 6)), _draw(2).normal(size=30), cp.Variable(6)
    return minimum(cp.norm_inf(A @ x - b))


def diet() -> Example:
    food = cp.Variable(6, nonneg=True)
    return minimum(_draw(3).uniform(1, 5, 6) @ food, _draw(4).uniform(0, 3, (3, 6)) @ food >= 5)


def transport() -> Example:
    flow = cp.Variable((4, 6), nonneg=True)
    cost = cp.sum(cp.multiply(_draw(5).uniform(1, 9, (4, 6)), flow))
    return minimum(cost, cp.sum(flow, axis=1) <= 20, cp.sum(flow, axis=0) == 10)


def basis_pursuit() -> Example:
    A, x = _draw(6).normal(size=(12, 30)), cp.Variable(30)
    return minimum(cp.norm1(x), A @ x == A[:, 0] - A[:, 3])


def largest_ball() -> Example:
    A, centre, r = _draw(7).normal(size=(10, 3)), cp.Variable(3), cp.Variable()
    box = [centre <= 2, centre >= -2]
    return maximum(r, A @ centre + r * np.linalg.norm(A, axis=1) <= 1, *box)


def quantile_regression() -> Example:
    A, b, x = _draw(8).normal(size=(40, 4)), _draw(9).normal(size=40), cp.Variable(4)
    off = A @ x - b
    return minimum(cp.sum(0.9 * cp.pos(off) + 0.1 * cp.pos(-off)))


def matrix_game() -> Example:
    A, mix, value = _draw(10).normal(size=(4, 5)), cp.Variable(4, nonneg=True), cp.Variable()
    return maximum(value, A.T @ mix >= value, cp.sum(mix) == 1)


def flow() -> Example:
    ends = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    x = cp.Variable(7)
    kept = [
        sum(x[k] for k, (_, to) in enumerate(ends) if to == node)
        == sum(x[k] for k, (start, _) in enumerate(ends) if start == node)
        for node in (1, 2, 3)
    ]
    out = sum(x[k] for k, (start, _) in enumerate(ends) if start == 0)
    return maximum(out, x >= 0, x <= _draw(11).uniform(1, 5, 7), *kept)


# ---- quadratic ---------------------------------------------------------------------------------


def least_squares() -> Example:
    A, b, x = _draw(12).normal(size=(30, 8)), _draw(13).normal(size=30), cp.Variable(8)
    return minimum(cp.sum_squares(A @ x - b))


def ridge() -> Example:
    A, b, x = _draw(12).normal(size=(30, 8)), _draw(13).normal(size=30), cp.Variable(8)
    return minimum(cp.sum_squares(A @ x - b) + 0.5 * cp.sum_squares(x))


def lasso() -> Example:
    A, b, x = _draw(14).normal(size=(30, 12)), _draw(15).normal(size=30), cp.Variable(12)
    return minimum(cp.sum_squares(A @ x - b) + 3 * cp.norm1(x))


def elastic_net() -> Example:
    A, b, x = _draw(14).normal(size=(30, 12)), _draw(15).normal(size=30), cp.Variable(12)
    return minimum(cp.sum_squares(A @ x - b) + 2 * cp.norm1(x) + cp.sum_squares(x))


def huber() -> Example:
    A, b, x = _draw(16).normal(size=(30, 5)), 5 * _draw(17).normal(size=30), cp.Variable(5)
    return minimum(cp.sum(cp.huber(A @ x - b, 1)))


def portfolio() -> Example:
    F, w = _draw(18).normal(size=(12, 4)), cp.Variable(12, nonneg=True)
    gain = _draw(19).uniform(0, 1, 12) @ w - cp.sum_squares(F.T @ w) - 0.2 * cp.sum_squares(w)
    return maximum(gain, cp.sum(w) == 1)


def support_vectors() -> Example:
    X, w, c = _draw(20).normal(size=(40, 3)), cp.Variable(3), cp.Variable()
    y = np.sign(X[:, 0] + 0.3)
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, X @ w - c)))
    return minimum(hinge + 0.5 * cp.sum_squares(w))


def control() -> Example:
    A, B = np.array([[1.0, 0.2], [0.0, 1.0]]), np.array([[0.0], [0.2]])
    x, u = cp.Variable((2, 16)), cp.Variable((1, 15))
    moves = [x[:, k + 1] == A @ x[:, k] + B @ u[:, k] for k in range(15)]
    rows = [x[:, 0] == [1, 0], x[:, 15] == 0, cp.abs(u) <= 5]
    return minimum(cp.sum_squares(x) + cp.sum_squares(u), *moves, *rows)


def smoothing() -> Example:
    noisy, x = np.cumsum(_draw(21).normal(size=40)), cp.Variable(40)
    return minimum(cp.sum_squares(x - noisy) + 5 * cp.sum_squares(cp.diff(x, 2)))


def isotonic() -> Example:
    noisy, x = np.arange(20) / 5 + _draw(22).normal(size=20), cp.Variable(20)
    return minimum(cp.sum_squares(x - noisy), cp.diff(x) >= 0)


# ---- second-order cones ------------------------------------------------------------------------


def total_variation() -> Example:
    noisy, x = np.repeat([0.0, 2.0, 1.0], 12) + 0.3 * _draw(23).normal(size=36), cp.Variable(36)
    return minimum(cp.norm(x - noisy) + 0.5 * cp.tv(x))


def group_lasso() -> Example:
    A, b, x = _draw(24).normal(size=(30, 12)), _draw(25).normal(size=30), cp.Variable(12)
    groups = cp.sum(cp.norm(cp.reshape(x, (3, 4), order="F"), axis=0))
    return minimum(cp.sum_squares(A @ x - b) + 2 * groups)


def robust_linear() -> Example:
    x, P = cp.Variable(3), _draw(26).normal(size=(4, 3, 3)) / 5
    a = _draw(27).uniform(0.5, 1.5, (4, 3))
    rows = [a[i] @ x + cp.norm(P[i].T @ x) <= 1 for i in range(4)]
    return maximum(cp.sum(x), *rows, x >= -3)


def facility() -> Example:
    points, place = _draw(28).normal(size=(9, 2)), cp.Variable(2)
    return minimum(cp.sum(cp.norm(points - np.ones((9, 1)) @ cp.reshape(place, (1, 2), order="F"),
                                  axis=1)))  # fmt: skip


def smallest_circle() -> Example:
    points, centre, r = _draw(29).normal(size=(12, 2)), cp.Variable(2), cp.Variable()
    return minimum(r, *[cp.norm(point - centre) <= r for point in points])


def sharpe() -> Example:
    F, w = _draw(30).normal(size=(8, 8)), cp.Variable(8, nonneg=True)
    return minimum(cp.norm(F @ w), _draw(31).uniform(0.1, 1, 8) @ w == 1)


def antenna() -> Example:
    angles, w = np.linspace(0.3, np.pi - 0.3, 20), cp.Variable(8, complex=True)
    far = np.exp(1j * np.outer(np.cos(angles), np.arange(8)) * np.pi)
    ahead = np.exp(1j * np.cos(np.pi / 2) * np.arange(8) * np.pi)
    return minimum(cp.max(cp.abs(far[[0, 1, 2, 3, 16, 17, 18, 19]] @ w)), ahead @ w == 1)


# ---- exponential and power cones ---------------------------------------------------------------


def logistic() -> Example:
    X, w = _draw(32).normal(size=(40, 4)), cp.Variable(4)
    y = np.sign(X[:, 0] + 0.5 * _draw(33).normal(size=40))
    return minimum(cp.sum(cp.logistic(-cp.multiply(y, X @ w))) + 0.5 * cp.norm1(w))


def entropy() -> Example:
    x = cp.Variable(10)
    return maximum(cp.sum(cp.entr(x)), cp.sum(x) == 1, _draw(34).normal(size=(2, 10)) @ x == 0.1)


def divergence() -> Example:
    p, x = _draw(35).uniform(0.1, 1, 8), cp.Variable(8, nonneg=True)
    return minimum(cp.sum(cp.kl_div(x, p)), cp.sum(x) == 1, x[0] >= 0.3)


def water_filling() -> Example:
    x, noise = cp.Variable(8, nonneg=True), _draw(36).uniform(0.2, 2, 8)
    return maximum(cp.sum(cp.log(noise + x)), cp.sum(x) == 2)


def growth() -> Example:
    returns, bets = _draw(37).uniform(0.5, 1.6, (12, 5)), cp.Variable(5, nonneg=True)
    return maximum(cp.sum(cp.log(returns @ bets)), cp.sum(bets) == 1)


def poisson() -> Example:
    X, w = _draw(38).normal(size=(30, 3)), cp.Variable(3)
    counts = _draw(39).poisson(2, 30)
    return minimum(cp.sum(cp.exp(X @ w)) - counts @ (X @ w))


def soft_maximum() -> Example:
    A, x = _draw(40).normal(size=(15, 4)), cp.Variable(4)
    return minimum(cp.log_sum_exp(A @ x) + 0.1 * cp.sum_squares(x))


def utility() -> Example:
    x = cp.Variable(6, nonneg=True)
    return maximum(cp.sum(cp.power(x, 0.3, approx=False)), _draw(41).uniform(1, 2, 6) @ x <= 3)


def geometric_mean() -> Example:
    x = cp.Variable(5)
    return maximum(cp.geo_mean(x), _draw(42).uniform(0, 1, (4, 5)) @ x <= 1, x >= 0)


def least_power() -> Example:
    A, b, x = _draw(43).normal(size=(20, 4)), _draw(44).normal(size=20), cp.Variable(4)
    return minimum(cp.pnorm(A @ x - b, 3))


# ---- semidefinite ------------------------------------------------------------------------------


def largest_eigenvalue() -> Example:
    A = _draw(45).normal(size=(4, 5, 5))
    A, x = A + A.transpose(0, 2, 1), cp.Variable(3)
    return minimum(cp.lambda_max(A[0] + sum(x[k] * A[k + 1] for k in range(3))))


def cut() -> Example:
    W, X = _draw(46).uniform(0, 1, (7, 7)), cp.Variable((7, 7), PSD=True)
    W = W + W.T
    return maximum(0.25 * cp.sum(cp.multiply(W, 1 - X)), cp.diag(X) == 1)


def nearest_correlation() -> Example:
    G, X = _draw(47).uniform(-1, 1, (5, 5)), cp.Variable((5, 5), symmetric=True)
    return minimum(cp.norm((G + G.T) / 2 - X, "fro"), X >> 0, cp.diag(X) == 1)


def sparse_inverse_covariance() -> Example:
    Y, S = _draw(48).normal(size=(30, 5)), cp.Variable((5, 5), PSD=True)
    return minimum(cp.trace(Y.T @ Y / 30 @ S) - cp.log_det(S) + 0.1 * cp.sum(cp.abs(S)))


def experiment_design() -> Example:
    V, weights = _draw(49).normal(size=(12, 4)), cp.Variable(12, nonneg=True)
    return minimum(-cp.log_det(V.T @ cp.diag(weights) @ V), cp.sum(weights) == 1)


def completion() -> Example:
    M, X = np.outer(_draw(50).normal(size=6), _draw(51).normal(size=5)), cp.Variable((6, 5))
    seen = _draw(52).random((6, 5)) < 0.7
    return minimum(cp.normNuc(X), cp.multiply(seen, X - M) == 0)


def robust_components() -> Example:
    M = np.outer(_draw(53).normal(size=6), _draw(54).normal(size=6))
    M[1, 2], M[4, 0] = 5.0, -4.0
    low, rest = cp.Variable((6, 6)), cp.Variable((6, 6))
    return minimum(cp.normNuc(low) + 0.4 * cp.sum(cp.abs(rest)), low + rest == M)


def lyapunov() -> Example:
    A, P = np.array([[-1.0, 2.0], [0.0, -3.0]]), cp.Variable((2, 2), symmetric=True)
    return minimum(cp.trace(P), A.T @ P + P @ A << -np.eye(2), P >> np.eye(2))


def quantum_state() -> Example:
    H = _draw(55).normal(size=(3, 3)) + 1j * _draw(56).normal(size=(3, 3))
    rho = cp.Variable((3, 3), hermitian=True)
    return minimum(cp.real(cp.trace((H + H.conj().T) @ rho)), rho >> 0, cp.trace(rho) == 1)


# ---- whole numbers -----------------------------------------------------------------------------


def knapsack() -> Example:
    x = cp.Variable(10, boolean=True)
    gain = _draw(57).integers(5, 40, 10) @ x
    return maximum(gain, _draw(58).integers(5, 40, 10) @ x <= 90)


def assignment() -> Example:
    X = cp.Variable((5, 5), boolean=True)
    cost = cp.sum(cp.multiply(_draw(59).integers(1, 20, (5, 5)), X))
    return minimum(cost, cp.sum(X, axis=0) == 1, cp.sum(X, axis=1) == 1)


def covering() -> Example:
    x, A = cp.Variable(9, boolean=True), _draw(60).random((12, 9)) < 0.35
    A[:, 8] |= ~A.any(axis=1)
    return minimum(cp.sum(x), A.astype(float) @ x >= 1)


def fixed_charge() -> Example:
    x, opened = cp.Variable(5, nonneg=True), cp.Variable(5, boolean=True)
    cost = _draw(61).uniform(1, 3, 5) @ x + 4 * cp.sum(opened)
    return minimum(cost, cp.sum(x) >= 7, x <= 3 * opened)


def few_features() -> Example:
    A, b, x = _draw(62).normal(size=(20, 6)), _draw(63).normal(size=20), cp.Variable(6)
    chosen = cp.Variable(6, boolean=True)
    return minimum(cp.norm1(A @ x - b), cp.abs(x) <= 2 * chosen, cp.sum(chosen) <= 3)


# ---- geometric and quasi-convex ----------------------------------------------------------------


def box_of_most_volume() -> Example:
    h, w, d = (cp.Variable(pos=True) for _ in range(3))
    rows = [2 * (h * w + h * d) <= 10, w * d <= 5, h / w >= 0.5, h / w <= 2, d / w >= 0.5]
    return maximum(h * w * d, *rows, asks=("gp",))


def power_control() -> Example:
    G, p = _draw(64).uniform(0.05, 0.2, (4, 4)) + np.eye(4), cp.Variable(4, pos=True)
    noise = [0.1 + sum(float(G[i, j]) * p[j] for j in range(4) if j != i) for i in range(4)]
    rows = [noise[i] / (float(G[i, i]) * p[i]) <= 0.8 for i in range(4)]
    return minimum(cp.sum(p), *rows, p <= 5, asks=("gp",))


def perron() -> Example:
    X = cp.Variable((3, 3), pos=True)
    rows = [X[0, 0] == 1.0, X[0, 2] == 1.9, X[1, 1] == 0.8, X[2, 0] == 3.2, X[2, 1] == 5.9]
    return minimum(cp.pf_eigenvalue(X), *rows, X[0, 1] * X[1, 0] * X[1, 2] * X[2, 2] == 1,
                   asks=("gp",))  # fmt: skip


def concave_fraction() -> Example:
    x = cp.Variable()
    return maximum(cp.sqrt(x) / cp.exp(x), asks=("qcp",))


def sharpest_ratio() -> Example:
    x = cp.Variable(2, nonneg=True)
    return minimum((x[0] + 1) / cp.sqrt(x[1] + 0.5), x[1] <= 3, x[0] >= 1, asks=("qcp",))


# ---- no optimum --------------------------------------------------------------------------------


def no_diet() -> Example:
    food = cp.Variable(3, nonneg=True)
    return minimum(cp.sum(food), cp.sum(food) <= 1, food[0] >= 2)


def no_matrix() -> Example:
    X = cp.Variable((3, 3), PSD=True)
    return minimum(cp.trace(X), X[0, 0] == 1, X[1, 1] == 1, X[0, 1] == 2)


def no_bottom() -> Example:
    x = cp.Variable(3)
    return minimum(cp.sum(x) + cp.norm(x[:2]), x[:2] >= 0)


EXAMPLES: dict[str, Callable[[], Example]] = {
    function.__name__: function
    for function in (
        least_absolute, chebyshev_fit, diet, transport, basis_pursuit, largest_ball,
        quantile_regression, matrix_game, flow, least_squares, ridge,
        lasso, elastic_net, huber, portfolio, support_vectors, control, smoothing, isotonic,
        total_variation, group_lasso, robust_linear, facility, smallest_circle, sharpe, antenna,
        logistic, entropy, divergence, water_filling, growth, poisson, soft_maximum, utility,
        geometric_mean, least_power, largest_eigenvalue, cut, nearest_correlation,
        sparse_inverse_covariance, experiment_design, completion, robust_components, lyapunov,
        quantum_state, knapsack, assignment, covering, fixed_charge, few_features,
        box_of_most_volume, power_control, perron, concave_fraction, sharpest_ratio, no_diet,
        no_matrix, no_bottom,
    )
}  # fmt: skip
