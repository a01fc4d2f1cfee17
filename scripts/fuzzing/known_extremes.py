"""Random problems that certificates find hard: curved cones, whole numbers, costs far apart,
optima of zero, and claims that there is no optimum; made as those of :mod:`known_problems`.
"""

import itertools

import numpy as np

from .known_basics import (
    EXPONENTIAL,
    INFEASIBLE,
    LINEAR,
    SECOND_ORDER,
    SEMIDEFINITE,
    UNBOUNDED,
    Known,
    as_text,
)

POWER = ("CLARABEL", "SCS")
INTEGER = ("HIGHS", "SCIPY", "GLPK_MI", "SCIP")
NAN = float("nan")


def power(rng: np.random.Generator) -> Known:
    """max sum of weighted powers of x,  a'x <= b."""
    n = int(rng.integers(2, 5))
    p, a, x = rng.uniform(0.15, 0.85), rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
    price = rng.uniform(0.5, 2.0)
    w = price * a / (p * x ** (p - 1.0))
    program = (
        f"a, b, w = {as_text(a)}, s * {float(a @ x)!r}, c * s ** {1.0 - p!r} * {as_text(w)}\n"
        f"x = cp.Variable({n}, name='x', nonneg=True)\n"
        f"gain = w @ cp.power(x, {p!r}, approx=False)\n"
        "problem = cp.Problem(cp.Maximize(gain), [a @ x <= b])\n"
    )
    return Known(program, float(w @ x**p), POWER)


def knapsack(rng: np.random.Generator) -> Known:
    """max q'x,  Ax <= b, x boolean; the optimum is found by trying all."""
    n, m = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    A, q = rng.integers(1, 30, (m, n)).astype(float), rng.integers(1, 30, n).astype(float)
    b = np.floor(A.sum(axis=1) * rng.uniform(0.3, 0.8))
    points = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    best = float((points @ q)[(points @ A.T <= b).all(axis=1)].max())
    program = (
        f"A, b, q = s * {as_text(A)}, s * {as_text(b)}, c * s * {as_text(q)}\n"
        f"x = cp.Variable({n}, name='x', boolean=True)\n"
        "problem = cp.Problem(cp.Maximize(q @ x), [A @ x <= b])\n"
    )
    return Known(program, best, INTEGER)


def mixed_integer(rng: np.random.Generator) -> Known:
    """min q'x + r'y,  x + Gy >= b,  0 <= x, y whole in 0 .. 3; found by trying all y."""
    n, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    G, b = rng.uniform(0.1, 2.0, (n, k)), rng.uniform(1.0, 5.0, n)
    q, r = rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 4.0, k)
    whole = np.array(list(itertools.product(range(4), repeat=k)), dtype=float)
    best = float((whole @ r + np.maximum(b - whole @ G.T, 0.0) @ q).min())
    program = (
        f"G, b = s * {as_text(G)}, s * {as_text(b)}\n"
        f"q, r = c * {as_text(q)}, c * s * {as_text(r)}\n"
        f"x, y = cp.Variable({n}, name='x'), cp.Variable({k}, name='y', integer=True)\n"
        "rows = [x + G @ y >= b, x >= 0, y >= 0, y <= 3]\n"
        "problem = cp.Problem(cp.Minimize(q @ x + r @ y), rows)\n"
    )
    return Known(program, best, INTEGER)


def spread_costs(rng: np.random.Generator) -> Known:
    """min q'x,  Ax <= b at a vertex whose multipliers lie ten decades apart."""
    n = int(rng.integers(2, 7))
    m = n + int(rng.integers(0, 4))
    A, x = rng.normal(size=(m, n)), rng.normal(size=n)
    slack, y = rng.uniform(0.5, 2.0, m), 10.0 ** rng.uniform(-5, 5, m)
    slack[:n], y[n:] = 0.0, 0.0
    q, b = -A.T @ y, A @ x + slack
    program = (
        f"A, b, q = {as_text(A)}, s * {as_text(b)}, c * {as_text(q)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [A @ x <= b])\n"
    )
    return Known(program, float(q @ x), LINEAR)


def penalty(rng: np.random.Generator) -> Known:
    """min M sum(t) - q'x,  Ax <= b + t,  x, t >= 0, with M up to 1e10; t = 0 at the optimum."""
    n = int(rng.integers(2, 5))
    x, r = np.zeros(n), rng.uniform(0.5, 2.0, n)
    basic = rng.random(n) < 0.6
    basic[0] = True
    x[basic], r[basic] = rng.uniform(0.5, 2.0, basic.sum()), 0.0
    A, y = rng.uniform(0.1, 2.0, (3, n)), rng.uniform(0.1, 2.0, 3)
    q, M = A.T @ y - r, 10.0 ** rng.uniform(3, 10)
    program = (
        f"A, b = {as_text(A)}, s * {as_text(A @ x)}\n"
        f"q, M = c * {as_text(q)}, c * {M!r}\n"
        f"x, t = cp.Variable({n}, name='x'), cp.Variable(3, name='t')\n"
        "rows = [x >= 0, t >= 0, A @ x <= b + t]\n"
        "problem = cp.Problem(cp.Minimize(M * cp.sum(t) - q @ x), rows)\n"
    )
    return Known(program, float(-q @ x), LINEAR)


def zero(rng: np.random.Generator) -> Known:
    """min of a norm or hinge of Ax - Az,  x <= z + 1: nothing is left over."""
    n = int(rng.integers(2, 5))
    A, z = rng.normal(size=(n + 2, n)), rng.normal(size=n)
    form = ("cp.norm(E)", "cp.norm1(E)", "cp.sum(cp.pos(E)) + cp.sum(cp.pos(-E))")[rng.integers(3)]
    program = (
        f"A, z = {as_text(A)}, s * {as_text(z)}\n"
        f"x = cp.Variable({n}, name='x')\nE = A @ x - A @ z\n"
        f"problem = cp.Problem(cp.Minimize(c * ({form})), [x <= z + s])\n"
    )
    solvers = SECOND_ORDER if form == "cp.norm(E)" else LINEAR
    return Known(program, 0.0, solvers, unit=max(1.0, float(np.abs(z).max())))


def _infeasible(program: str, solvers: tuple[str, ...]) -> Known:
    return Known(program, NAN, solvers, INFEASIBLE)


def infeasible_second_order(rng: np.random.Generator) -> Known:
    """norm2(Fx - g) <= r,  and a half-space beyond that ball."""
    n = int(rng.integers(2, 5))
    F, g, a = rng.normal(size=(n, n)) + 2 * np.eye(n), rng.normal(size=n), rng.normal(size=n)
    centre = np.linalg.solve(F, g)
    farthest = float(a @ centre + np.linalg.norm(np.linalg.solve(F.T, a)))
    return _infeasible(
        f"F, g, a = {as_text(F)}, s * {as_text(g)}, {as_text(a)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        f"rows = [cp.norm(F @ x - g) <= s, a @ x >= s * {farthest + rng.uniform(0.1, 1.0)!r}]\n"
        f"problem = cp.Problem(cp.Minimize(c * cp.sum(x)), rows)\n",
        SECOND_ORDER,
    )


def infeasible_exponential(rng: np.random.Generator) -> Known:
    """sum exp(x / s) <= n,  and a half-space beyond."""
    n = int(rng.integers(2, 5))
    a = rng.uniform(0.2, 2.0, n)
    a /= a.sum()
    # The largest of a'x is the entropy of a, plus log n.
    farthest = float(np.log(n) + (a * np.log(a)).sum())
    return _infeasible(
        f"a = {as_text(a)}\nx = cp.Variable({n}, name='x')\n"
        f"rows = [cp.sum(cp.exp(x / s)) <= {n}, a @ x >= s * {farthest + rng.uniform(0.1, 1)!r}]\n"
        "problem = cp.Problem(cp.Minimize(c * cp.sum(x)), rows)\n",
        EXPONENTIAL,
    )


def infeasible_semidefinite(rng: np.random.Generator) -> Known:
    """tr(BX) <= -1 with B and X positive semidefinite, and other rows."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    F = rng.normal(size=(n, int(rng.integers(1, n + 1))))
    B, A = F @ F.T, rng.normal(size=(m, n, n))
    A += A.transpose(0, 2, 1)
    return _infeasible(
        f"A, B, C = {as_text(A)}, {as_text(B)}, c * np.eye({n})\n"
        f"b = s * {as_text(rng.normal(size=m))}\n"
        f"X = cp.Variable(({n}, {n}), name='X', symmetric=True)\n"
        "rows = [X >> 0, cp.trace(B @ X) <= -s]\n"
        "rows += [cp.trace(A[i] @ X) == b[i] for i in range(len(b))]\n"
        "problem = cp.Problem(cp.Minimize(cp.trace(C @ X)), rows)\n",
        SEMIDEFINITE,
    )


def infeasible_power(rng: np.random.Generator) -> Known:
    """x^p y^(1-p) >= |z| with x and y bounded, z beyond what they allow."""
    p = float(rng.uniform(0.15, 0.85))
    top = rng.uniform(0.5, 2.0, 2)
    most = float(top[0] ** p * top[1] ** (1 - p))
    return _infeasible(
        f"u = s * {as_text(top)}\nx = cp.Variable(3, name='x')\n"
        f"cone = cp.PowCone3D(x[0], x[1], x[2], {p!r})\n"
        f"rows = [cone, x[:2] <= u, x[2] >= s * {most * rng.uniform(1.1, 2.0)!r}]\n"
        "problem = cp.Problem(cp.Minimize(c * cp.sum(x)), rows)\n",
        POWER,
    )


def unbounded_second_order(rng: np.random.Generator) -> Known:
    """max t,  norm2(Bx - g) <= t."""
    m, n = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    program = (
        f"B, g = {as_text(rng.normal(size=(m, n)))}, s * {as_text(rng.normal(size=m))}\n"
        f"x, t = cp.Variable({n}, name='x'), cp.Variable(name='t')\n"
        "problem = cp.Problem(cp.Maximize(c * t), [cp.norm(B @ x - g) <= t])\n"
    )
    return Known(program, NAN, SECOND_ORDER, UNBOUNDED)


def unbounded_semidefinite(rng: np.random.Generator) -> Known:
    """max tr(BX),  tr(AX) <= 1,  X positive semidefinite, A singular in a direction of B."""
    n = int(rng.integers(2, 5))
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q[:, 1:] * rng.uniform(0.5, 2.0, n - 1)) @ Q[:, 1:].T
    B = (Q * rng.uniform(0.5, 2.0, n)) @ Q.T
    # A's null direction in binary, so that it is one exactly: a block apart.
    A = np.block([[A[:-1, :-1], np.zeros((n - 1, 1))], [np.zeros((1, n - 1)), np.zeros((1, 1))]])
    program = (
        f"A, B = {as_text(A)}, c * {as_text(B)}\n"
        f"X = cp.Variable(({n}, {n}), name='X', symmetric=True)\n"
        "rows = [X >> 0, cp.trace(A @ X) <= s]\n"
        "problem = cp.Problem(cp.Maximize(cp.trace(B @ X)), rows)\n"
    )
    return Known(program, NAN, SEMIDEFINITE, UNBOUNDED)
