"""Small problems of every class, with known shapes and a feasible optimum."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np

from tests.typed import constraints

_RNG = np.random.default_rng(0)
A, b = _RNG.standard_normal((20, 8)), _RNG.standard_normal(20)
C, z = _RNG.standard_normal((2, 8)), _RNG.standard_normal(8)
S = (lambda M: M + M.T)(_RNG.standard_normal((5, 5)))


def linear() -> cp.Problem:
    x = cp.Variable(8, name="x")
    return cp.Problem(cp.Minimize(cp.norm1(A @ x - b)), [C[0] @ x == 1, x >= -1])


def linear_with_bounds() -> cp.Problem:
    y = cp.Variable(8, name="y", nonneg=True)
    return cp.Problem(cp.Maximize(z @ y), constraints(cp.sum(y) <= 2, y[0] == 0.3))


def quadratic() -> cp.Problem:
    x = cp.Variable(8, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b) + 3), [C @ x == 1, x >= -1])


def second_order() -> cp.Problem:
    w = cp.Variable(8, name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w, 2) <= 1, w >= 0])


def many_second_order() -> cp.Problem:
    x = cp.Variable(8, name="x")
    columns = cp.reshape(A @ x - b, (4, 5), order="F")
    return cp.Problem(cp.Minimize(cp.sum(cp.norm(columns, axis=0))), [C[0] @ x == 1])


def logistic() -> cp.Problem:
    x = cp.Variable(8, name="x")
    return cp.Problem(cp.Minimize(cp.sum(cp.logistic(-A @ x)) + 0.5 * cp.sum(x)), [x >= 0])


def entropy() -> cp.Problem:
    y = cp.Variable(8, name="y", nonneg=True)
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(y))), constraints(C[0] @ y == 0.1, cp.sum(y) <= 2))


def semidefinite() -> cp.Problem:
    P = cp.Variable((5, 5), name="P", PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(P @ S)), constraints(cp.trace(P) == 1))


def semidefinite_in_a_ball() -> cp.Problem:
    W = cp.Variable((5, 5), name="W", symmetric=True)
    return cp.Problem(cp.Maximize(cp.trace(W @ S)), [cp.norm(W, "fro") <= 1, W >> 0])


def quadratic_in_a_ball() -> cp.Problem:
    x = cp.Variable(8, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b)), [cp.norm(x) <= 0.3])


def integer() -> cp.Problem:
    f = cp.Variable(8, name="f", boolean=True)
    return cp.Problem(cp.Maximize(z @ f), constraints(cp.sum(f) <= 2))


CONVEX: dict[str, Callable[[], cp.Problem]] = {
    function.__name__: function
    for function in (
        linear, linear_with_bounds, quadratic, second_order, many_second_order, logistic,
        entropy, semidefinite, semidefinite_in_a_ball, quadratic_in_a_ball,
    )
}  # fmt: skip
#: Exact optima where a closed form exists.
KNOWN = {
    "linear_with_bounds": 0.3 * z[0] + 1.7 * z.max(),
    "second_order": np.linalg.norm(np.maximum(z, 0)),
    "semidefinite": np.linalg.eigvalsh(S)[0],
    "semidefinite_in_a_ball": np.linalg.norm(np.maximum(np.linalg.eigvalsh(S), 0)),
}
