"""Problems that ``bench_explain.py`` explains: planted conflicts, bad scales, not convex ones."""

from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

import convexfs

KINDS = ("LP", "SOC", "EXP", "POW", "SDP", "MIX")


def planted_conflict(seed):
    """Return the kind, a problem whose labels ``planted_1`` ... conflict, and those labels."""
    rng = np.random.default_rng(1000 + seed)
    kind, n = KINDS[seed % 6], int(rng.integers(4, 16))
    x, x0 = cp.Variable(n, name="x"), rng.normal(size=n)
    constraints = []
    for number in range(int(rng.integers(3, 9))):  # others hold at x0 with room
        A = rng.normal(size=(int(rng.integers(1, 12)), n))
        room = rng.uniform(0.5, 3, size=len(A))
        constraints.append((A @ x <= A @ x0 + room).set_label(f"linear_{number}"))
    constraints.append((cp.norm(x - x0) <= 5.0 + n).set_label("ball"))
    most = float(np.exp(x0).sum() * 3 + 5)
    exponentials: Any = cp.sum(cp.exp(x)) <= most
    constraints.append(exponentials.set_label("exponentials"))
    conflict = _CONFLICTS[kind](x, x0, rng)
    labels = [f"planted_{number}" for number in range(1, len(conflict) + 1)]
    constraints += [each.set_label(label) for each, label in zip(conflict, labels, strict=True)]
    order = rng.permutation(len(constraints))
    return kind, cp.Problem(cp.Minimize(cp.sum(x)), [constraints[k] for k in order]), labels


def _linear(x, x0, rng):
    a = rng.normal(size=x.size)
    return [a @ x <= float(a @ x0), a @ x >= float(a @ x0) + rng.uniform(0.01, 1)]


def _second_order(x, x0, rng):
    centre, a = rng.normal(size=x.size), rng.normal(size=x.size)
    a /= np.linalg.norm(a)
    return [cp.norm(x - centre) <= 1, a @ x >= float(a @ centre) + 1 + 10 ** rng.uniform(-4, 0)]


def _exponential(x, x0, rng):
    least = float(-x.size * np.log(x.size) + 10 ** rng.uniform(-4, 0))
    return [cp.log_sum_exp(x) <= 0, cp.sum(x) >= least]


def _power(x, x0, rng):
    least = float(3 * (1 / 3) ** (2 / 3) + 10 ** rng.uniform(-3, 0))
    return [cp.sum(cp.power(cp.abs(x[:3]), 1.5)) <= 1, x[0] + x[1] + x[2] >= least]


def _semidefinite(x, x0, rng):
    side = int(rng.integers(3, 7))
    X = cp.Variable((side, side), symmetric=True, name="X")
    B, v = rng.normal(size=(side, side)), rng.normal(size=side)
    B = B @ B.T
    most = float(v @ np.linalg.solve(B, v)) * (1 + 10 ** rng.uniform(-3, 0))
    return [X >> 0, cp.trace(B @ X) <= 1, cp.sum(cp.multiply(np.outer(v, v), X)) >= most]


def _mixed(x, x0, rng):
    y = cp.Variable(name="y", nonneg=True)
    return [cp.log(y) >= cp.norm(x - x0) + 1, y <= 2.0]


_CONFLICTS = {
    "LP": _linear, "SOC": _second_order, "EXP": _exponential, "POW": _power,
    "SDP": _semidefinite, "MIX": _mixed,
}  # fmt: skip


def badly_scaled(folder):
    """Yield names and problems: generated with bad units, and public ones known for theirs."""
    for seed in range(20):
        yield f"{_MAKERS[seed % 5].__name__[1:]}_{seed}", _MAKERS[seed % 5](seed)
    for name in ("pilot4", "perold", "capri", "etamacro", "forplan", "scagr7"):
        yield name, convexfs.read_problem(Path(folder, "netlib", f"{name}.mps.gz"))
    for name in ("control1", "control2", "hinf1", "hinf12"):
        yield name, convexfs.read_problem(Path(folder, "sdplib", f"{name}.dat-s.gz"))


def _portfolio(seed):
    """Money in cents: amounts of 1e9, variances of 1e-14."""
    rng = np.random.default_rng(seed)
    n, unit = 20, 10.0 ** rng.uniform(7, 10)
    B, returns = rng.normal(size=(n, n)), rng.uniform(0.01, 0.1, n)
    cents = cp.Variable(n, name="cents")
    risk = cp.quad_form(cents, B @ B.T / n, assume_PSD=True) * unit**-1.6
    return cp.Problem(
        cp.Minimize(risk), [cp.sum(cents) == unit, cents >= 0, returns @ cents >= 0.06 * unit]
    )


def _ball(seed):
    """Lengths from 1e-6 to 1e8 in one norm."""
    rng = np.random.default_rng(seed)
    x, s = cp.Variable(12, name="x"), 10.0 ** rng.uniform(-6, 8, 12)
    near = cp.norm(cp.multiply(1 / s, x)) <= 1
    return cp.Problem(cp.Minimize(-(1 / s) @ x), [near, cp.norm(x[:4]) <= float(s[:4].max())])


def _place(seed):
    """A place near others, whose coordinates are nanometres: 1e8 to 1e10."""
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.uniform(8, 10)
    others = unit * rng.normal(size=(6, 2))
    at = cp.Variable(2, name="at")
    far = sum(cp.norm(at - other) for other in others)
    return cp.Problem(cp.Minimize(far), [at[0] + at[1] >= unit])


def _utility(seed):
    """A consumer with a budget of 1e7 to 1e10, and prices from 1e-3 to 1e3."""
    rng = np.random.default_rng(seed)
    n, unit = 8, 10.0 ** rng.uniform(7, 10)
    prices = 10.0 ** rng.uniform(-3, 3, n)
    amount = cp.Variable(n, name="amount")
    return cp.Problem(cp.Maximize(cp.sum(cp.log(amount))), [prices @ amount <= unit])


def _budget(seed):
    """A linear program whose rows are in cents, tons and parts per million."""
    rng = np.random.default_rng(seed)
    n, m = 15, 12
    s, f = 10.0 ** rng.uniform(-7, 5, n), 10.0 ** rng.uniform(-6, 6, m)
    A = rng.uniform(0.5, 2, (m, n)) / s * f[:, None]
    x = cp.Variable(n, name="amount")
    cost = cp.norm(cp.multiply(1 / s, x)) + (1 / s) @ x
    return cp.Problem(cp.Minimize(cost), [A @ x >= f * rng.uniform(1, 5, m) * n, x >= 0])


_MAKERS = (_portfolio, _ball, _place, _utility, _budget)


def non_convex():
    """Yield names, problems that cvxpy rejects, and text of the part that is to be named."""
    rng = np.random.default_rng(0)
    x, y = cp.Variable(3, name="x"), cp.Variable(name="y")
    u, s, t = (cp.Variable(3, name="u", pos=True), cp.Variable(name="s", pos=True),
               cp.Variable(name="t", pos=True))  # fmt: skip
    B = rng.normal(size=(3, 3))
    P, N, q = B @ B.T, np.diag([1.0, -1, 2]), rng.normal(size=3)
    least, most = cp.Minimize, cp.Maximize
    objectives = {
        "root of a quadratic form": (least(cp.sqrt(cp.quad_form(x, P))), "sqrt("),
        "inverse": (least(1 / y + y), "1 / y"),
        "sum of inverses": (least(cp.sum(1 / u)), "u"),
        "log of a sum of exponentials": (least(cp.log(cp.sum(cp.exp(x)))), "log("),
        "inner product": (least(x @ x), "x'x"),
        "sum of products": (least(cp.sum(cp.multiply(x, x))), "x"),
        "root of squares": (least(cp.sqrt(cp.sum_squares(x - q))), "sqrt("),
        "root of 1 + y^2": (least(cp.sqrt(1 + cp.square(y))), "sqrt("),
        "entropy": (least(cp.sum(cp.multiply(u, cp.log(u)))), "log(u)"),
        "log of a sigmoid": (least(-cp.sum(cp.log(cp.exp(x) / (1 + cp.exp(x))))), "exp(x)"),
        "soft plus": (least(cp.sum(cp.log(1 + cp.exp(x)))), "log("),
        "squares over t": (least(cp.sum_squares(x) / t), "/ t"),
        "geometric mean": (most(cp.sqrt(s * t)), "s t"),
        "product of exponentials": (least(cp.exp(y) * cp.exp(s)), "exp(y) exp(s)"),
        "product of variables": (least(x[0] * y), "x[0] y"),
        "indefinite form": (least(cp.quad_form(x, N)), "neither positive nor negative"),
        "maximised norm": (most(cp.norm(x)), "norm2(x)"),
    }
    for name, (objective, part) in objectives.items():
        yield name, cp.Problem(objective, [cp.norm(x) <= 9, cp.abs(y) <= 9]), part
    statements = {
        "norm from below": (cp.norm(x) >= 1, "norm2(x)"),
        "equality with a maximum": (cp.max(x) == y, "max(x)"),
        "square above": (cp.square(y) >= cp.sum(x), "y^2"),
    }
    for name, (statement, part) in statements.items():
        yield name, cp.Problem(cp.Minimize(cp.sum(x) + y), [statement]), part
