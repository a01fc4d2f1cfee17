"""Random convex problems whose optimum is known by construction, at any scale.

A family draws an optimal point and multipliers first and then the data that make them optimal,
in numbers of order 1. The program it returns states the problem with right-hand sides in units
of ``s`` and costs in units of ``c``; its optimum is then ``s c`` times the one drawn.
To try another kind of problem, add a function to :data:`FAMILIES`.
"""

from collections.abc import Callable

import numpy as np

from . import known_extremes as extremes
from .known_basics import (
    EXPONENTIAL,
    INFEASIBLE,
    LINEAR,
    QUADRATIC,
    SECOND_ORDER,
    SEMIDEFINITE,
    UNBOUNDED,
    Known,
    as_text,
)


def _sizes(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(2, 6)), int(rng.integers(2, 6))


def _complementary(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Two nonnegative vectors of which one is 0 wherever the other is not."""
    first = rng.uniform(0.5, 2.0, count)
    chosen = rng.random(count) < 0.5
    return np.where(chosen, first, 0.0), np.where(chosen, 0.0, rng.uniform(0.5, 2.0, count))


def linear(rng: np.random.Generator) -> Known:
    """min q'x,  Ax >= b,  x >= 0; sometimes with one cost a million times the others."""
    m, n = _sizes(rng)
    A = rng.normal(size=(m, n))
    x, r = _complementary(rng, n)
    y, slack = _complementary(rng, m)
    if rng.random() < 0.3:
        r = r * np.where(np.arange(n) == r.argmax(), 10.0 ** rng.integers(3, 9), 1.0)
    b, q = A @ x - slack, A.T @ y + r
    program = (
        f"A, b = {as_text(A)}, s * {as_text(b)}\nq = c * {as_text(q)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [A @ x >= b, x >= 0])\n"
    )
    return Known(program, float(q @ x), LINEAR)


def boxed(rng: np.random.Generator) -> Known:
    """min q'x,  a'x <= b,  0 <= x <= u, whose columns are measured in different units."""
    n = int(rng.integers(2, 7))
    units = 10.0 ** rng.integers(-3, 4, n)
    x = np.where(rng.random(n) < 0.5, 1.0, 0.0)
    a = rng.uniform(0.5, 2.0, n)
    r = np.where(x > 0, -rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n))
    y = rng.uniform(0.5, 2.0)
    q = r - y * a
    program = (
        f"a, b, u = {as_text(a / units)}, s * {float(a @ x)!r}, s * {as_text(units)}\n"
        f"q = c * {as_text(q / units)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [a @ x <= b, x >= 0, x <= u])\n"
    )
    return Known(program, float(q @ x), LINEAR)


def quadratic(rng: np.random.Generator) -> Known:
    """min x'Px / 2 + q'x,  Ax >= b,  x >= 0."""
    m, n = _sizes(rng)
    A, F = rng.normal(size=(m, n)), rng.normal(size=(int(rng.integers(1, n + 1)), n))
    x, r = _complementary(rng, n)
    y, slack = _complementary(rng, m)
    P = F.T @ F
    b, q = A @ x - slack, A.T @ y + r - P @ x
    program = (
        f"A, b = {as_text(A)}, s * {as_text(b)}\n"
        f"F, q = (c / s) ** 0.5 * {as_text(F)}, c * {as_text(q)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "cost = cp.sum_squares(F @ x) / 2 + q @ x\n"
        "problem = cp.Problem(cp.Minimize(cost), [A @ x >= b, x >= 0])\n"
    )
    return Known(program, float(x @ P @ x / 2 + q @ x), QUADRATIC)


def second_order(rng: np.random.Generator) -> Known:
    """min q'x,  norm2(Fx + g) <= h'x + d,  -r <= x <= r."""
    m, n = _sizes(rng)
    F, g, h, x = rng.normal(size=(m, n)), rng.normal(size=m), rng.normal(size=n), rng.normal(size=n)
    inside = F @ x + g
    length = float(np.linalg.norm(inside))
    price = rng.uniform(0.5, 2.0)
    q = price * (h - F.T @ inside / length)
    program = (
        f"F, g, h = {as_text(F)}, s * {as_text(g)}, {as_text(h)}\n"
        f"d, r = s * {length - float(h @ x)!r}, s * {float(2 + abs(x).max())!r}\n"
        f"q = c * {as_text(q)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "cone = cp.norm(F @ x + g, 2) <= h @ x + d\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [cone, x <= r, x >= -r])\n"
    )
    return Known(program, float(q @ x), SECOND_ORDER)


def entropy(rng: np.random.Generator) -> Known:
    """min sum x log(x / p) - x + p,  Ax = b."""
    n = int(rng.integers(3, 7))
    m = int(rng.integers(1, n))
    A, p = rng.normal(size=(m, n)), rng.uniform(0.5, 2.0, n)
    x = p * np.exp(A.T @ rng.normal(size=m) * 0.5)
    value = float((x * np.log(x / p) - x + p).sum())
    program = (
        f"A, b, p = {as_text(A)}, s * {as_text(A @ x)}, s * {as_text(p)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(c * cp.sum(cp.kl_div(x, p))), [A @ x == b])\n"
    )
    return Known(program, value, EXPONENTIAL)


def semidefinite(rng: np.random.Generator) -> Known:
    """min tr(CX),  tr(A_i X) = b_i,  X positive semidefinite."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    rank = int(rng.integers(1, n))
    X = (Q[:, :rank] * rng.uniform(0.5, 2.0, rank)) @ Q[:, :rank].T
    S = (Q[:, rank:] * rng.uniform(0.5, 2.0, n - rank)) @ Q[:, rank:].T
    A = rng.normal(size=(m, n, n))
    A += A.transpose(0, 2, 1)
    A[0] = np.eye(n)  # its trace is fixed, so that it cannot run away
    C = np.tensordot(rng.normal(size=m), A, 1) + S
    b = np.einsum("kij,ij->k", A, X)
    program = (
        f"A, b, C = {as_text(A)}, s * {as_text(b)}, c * {as_text(C)}\n"
        f"X = cp.Variable(({n}, {n}), name='X', PSD=False, symmetric=True)\n"
        "sums = [cp.trace(A[i] @ X) == b[i] for i in range(len(b))]\n"
        "problem = cp.Problem(cp.Minimize(cp.trace(C @ X)), [*sums, X >> 0])\n"
    )
    return Known(program, float(np.trace(C @ X)), SEMIDEFINITE)


def contradictory(rng: np.random.Generator) -> Known:
    """Rows of Ax <= b of which a nonnegative sum says 0 <= -1."""
    m, n = 1 + _sizes(rng)[0], _sizes(rng)[1]
    A, y = rng.normal(size=(m, n)), rng.uniform(0.5, 2.0, m)
    A[-1] = -(y[:-1] @ A[:-1]) / y[-1]
    b = rng.normal(size=m)
    b[-1] = (-1.0 - y[:-1] @ b[:-1]) / y[-1]
    program = (
        f"A, b, q = {as_text(A)}, s * {as_text(b)}, c * {as_text(rng.normal(size=n))}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [A @ x <= b])\n"
    )
    return Known(program, float("nan"), LINEAR, INFEASIBLE)


def endless(rng: np.random.Generator) -> Known:
    """min q'x,  Ax >= b,  x >= 0 with a ray along which the cost falls."""
    m, n = _sizes(rng)
    A, ray = rng.normal(size=(m, n)), rng.uniform(0.5, 2.0, n)
    A *= np.sign(A @ ray)[:, None]
    q = rng.normal(size=n)
    q -= ray * (q @ ray + 1.0) / (ray @ ray)
    program = (
        f"A, b, q = {as_text(A)}, s * {as_text(rng.normal(size=m))}, c * {as_text(q)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [A @ x >= b, x >= 0])\n"
    )
    return Known(program, float("nan"), LINEAR, UNBOUNDED)


FAMILIES: dict[str, Callable[[np.random.Generator], Known]] = {
    "LP": linear,
    "LP in a box": boxed,
    "QP": quadratic,
    "SOCP": second_order,
    "EXP": entropy,
    "SDP": semidefinite,
    "POW": extremes.power,
    "MILP": extremes.knapsack,
    "MILP mixed": extremes.mixed_integer,
    "mixed costs": extremes.spread_costs,
    "penalty": extremes.penalty,
    "optimum 0": extremes.zero,
    "LP infeasible": contradictory,
    "SOCP infeasible": extremes.infeasible_second_order,
    "EXP infeasible": extremes.infeasible_exponential,
    "SDP infeasible": extremes.infeasible_semidefinite,
    "POW infeasible": extremes.infeasible_power,
    "LP unbounded": endless,
    "SOCP unbounded": extremes.unbounded_second_order,
    "SDP unbounded": extremes.unbounded_semidefinite,
}
