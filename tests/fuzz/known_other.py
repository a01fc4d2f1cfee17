"""Integer variables, geometric and quasiconvex programs, solved by enumeration or by hand."""

import itertools
from fractions import Fraction

import numpy as np

from .known import INTEGER, MIXED_INTEGER, OTHER, Known, integers, power, text


def knapsack(rng: np.random.Generator) -> Known:
    """max q'x,  Ax <= b,  x boolean."""
    n, m = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    A, q = integers(rng, 1, 30, (m, n)), integers(rng, 1, 30, n)
    b = np.floor(A.sum(axis=1) * rng.uniform(0.3, 0.8))
    points = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    values = np.where((points @ A.T <= b).all(axis=1), points @ q, -1.0)
    best = values.max()
    others = np.flatnonzero((values >= 0) & (values < best))
    s, c = power(rng), power(rng)
    program = (
        f"A, b, q = {text(s * A)}, {text(s * b)}, {text(c * q)}\n"
        f"x = cp.Variable({n}, name='x', boolean=True)\n"
        "problem = cp.Problem(cp.Maximize(q @ x), [A @ x <= b])\n"
    )
    wrong = [{"x": points[k]} for k in rng.permutation(others)[:2]]
    wrong += [{"x": points[values.argmax()] * 0.5}] * bool(best > 0)
    return Known(
        program, MIXED_INTEGER, optimum=c * float(best), point={"x": points[values.argmax()]},
        size=c * float(q.max()), wrong=tuple(wrong), group=INTEGER,
    )  # fmt: skip


def mixed(rng: np.random.Generator) -> Known:
    """min q'x + r'y,  x + Gy >= b,  x >= 0,  y integer in 0 .. 3."""
    n, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    G, b = integers(rng, 1, 5, (n, k)), integers(rng, 1, 20, n)
    q, r = integers(rng, 1, 4, n), integers(rng, 1, 20, k)
    ys = np.array(list(itertools.product(range(4), repeat=k)), dtype=float)
    xs = np.maximum(b - ys @ G.T, 0.0)
    values = ys @ r + xs @ q
    s, c = power(rng), power(rng)
    program = (
        f"G, b, q, r = {text(s * G)}, {text(s * b)}, {text(c * q)}, {text(c * s * r)}\n"
        f"x, y = cp.Variable({n}, name='x'), cp.Variable({k}, name='y', integer=True)\n"
        "rows = [x + G @ y >= b, x >= 0, y >= 0, y <= 3]\n"
        "problem = cp.Problem(cp.Minimize(q @ x + r @ y), rows)\n"
    )
    at, best = int(values.argmin()), float(values.min())
    others = rng.permutation(np.flatnonzero(values > best))[:2]
    wrong = tuple({"x": s * xs[i], "y": ys[i]} for i in others)
    return Known(
        program, MIXED_INTEGER, optimum=s * c * best, point={"x": s * xs[at], "y": ys[at]},
        size=s * c * max(q.max(), r.max()), unit=s, wrong=wrong, group=INTEGER,
    )  # fmt: skip


def big_m(rng: np.random.Generator) -> Known:
    """min f'z + c'y,  1'y >= d,  0 <= y <= M z,  z boolean, M from 10 to 1e8."""
    k, M = int(rng.integers(1, 4)), 10.0 ** int(rng.integers(1, 9))
    f, cost, d = integers(rng, 50, 900, k), integers(rng, 0, 4, k), integers(rng, 1, 9)
    best = int(np.argmin(f + cost * d))  # one open column is enough, for M >= d
    values = f + cost * d
    c = power(rng)
    program = (
        f"f, g, M, d = {text(c * f)}, {text(c * cost)}, {M!r}, {d!r}\n"
        f"y, z = cp.Variable({k}, name='y'), cp.Variable({k}, name='z', boolean=True)\n"
        "rows = [cp.sum(y) >= d, y >= 0, y <= M * z]\n"
        "problem = cp.Problem(cp.Minimize(f @ z + g @ y), rows)\n"
    )
    unit = np.eye(k)[best]
    wrong = [{"y": d * unit, "z": d / M * unit}, {"y": d * unit, "z": np.zeros(k)}]
    if k > 1 and values.max() > values.min():
        other = np.eye(k)[int(values.argmax())]
        wrong.append({"y": d * other, "z": other})
    return Known(
        program, MIXED_INTEGER, optimum=c * float(values.min()), point={"y": d * unit, "z": unit},
        size=c * float(values.min()), wrong=tuple(wrong), group=INTEGER,
    )  # fmt: skip


def tampered_integers(rng: np.random.Generator) -> Known:
    """min |x - (N + 1/4)| with x integer, or min x,  x >= N + 1/4, N up to a million."""
    N = float(int(10.0 ** rng.uniform(0, 6)))
    if rng.random() < 0.5:
        program = (
            "x = cp.Variable(integer=True, name='x')\n"
            f"problem = cp.Problem(cp.Minimize(x), [x >= {N + 0.25!r}])\n"
        )
        wrong = ({"x": N + 0.25}, {"x": N + 0.9}, *([{"x": N + 2}] if N < 1000 else []))
        return Known(
            program, MIXED_INTEGER, optimum=N + 1, point={"x": N + 1}, size=N + 1,
            wrong=wrong, group=INTEGER,
        )  # fmt: skip
    program = (
        "x, w = cp.Variable(integer=True, name='x'), cp.Variable(name='w')\n"
        f"rows = [w >= x - {N + 0.25!r}, w >= {N + 0.25!r} - x, x >= 0]\n"
        "problem = cp.Problem(cp.Minimize(w), rows)\n"
    )
    wrong = ({"x": N + 0.25, "w": 0.0}, {"x": N + 1, "w": 0.75}, {"x": N, "w": 0.0})
    return Known(
        program, MIXED_INTEGER, optimum=0.25, point={"x": N, "w": 0.25}, size=0.25, unit=N,
        wrong=wrong, group=INTEGER,
    )  # fmt: skip


def integer_quadratic(rng: np.random.Generator) -> Known:
    """min |Fy - g|^2 + q'y,  y integer in 0 .. 3."""
    k, m = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    F, g, q = integers(rng, -2, 2, (m, k)), integers(rng, -5, 5, m), integers(rng, -3, 3, k)
    ys = np.array(list(itertools.product(range(4), repeat=k)), dtype=float)
    values = ((ys @ F.T - g) ** 2).sum(axis=1) + ys @ q
    c = power(rng)
    program = (
        f"F, g, q = {text(F)}, {text(g)}, {text(q)}\n"
        f"y = cp.Variable({k}, name='y', integer=True)\n"
        f"cost = {c!r} * (cp.sum_squares(F @ y - g) + q @ y)\n"
        "problem = cp.Problem(cp.Minimize(cost), [y >= 0, y <= 3])\n"
    )
    at, best = int(values.argmin()), float(values.min())
    others = rng.permutation(np.flatnonzero(values > best))[:2]
    wrong = (*({"y": ys[i]} for i in others), {"y": ys[at] + 0.5})
    size = c * max(abs(best), float(((ys[at] @ F.T - g) ** 2).sum()), 1.0)
    return Known(
        program,
        ("SCIP",),
        optimum=c * best,
        point={"y": ys[at]},
        size=size,
        wrong=wrong,
        group=OTHER,
    )


def geometric(rng: np.random.Generator) -> Known:
    """min of a posynomial whose terms balance at a point of powers of two."""
    n = int(rng.integers(1, 4))
    exponents = integers(rng, -2, 2, (n, n))
    weights = integers(rng, 1, 3, n)
    # The last term makes the weighted sum of all exponents 0, which is stationarity.
    exponents = np.vstack([exponents, -(weights @ exponents)])
    weights = np.append(weights, 1.0)
    x = 2.0 ** rng.integers(-4, 5, n)
    monomials = np.prod(x**exponents, axis=1)
    terms = [
        f"{text(w / at)} * " + " * ".join(f"x[{j}] ** {int(e)}" for j, e in enumerate(row))
        for w, at, row in zip(weights, monomials, exponents, strict=True)
    ]
    program = (
        f"x = cp.Variable({n}, pos=True, name='x')\n"
        f"rows = [x <= {text(x * 64)}, x >= {text(x / 64)}]\n"
        f"problem = cp.Problem(cp.Minimize({' + '.join(terms)}), rows)\n"
    )
    best = float(weights.sum())
    wrong = tuple(
        {"x": each}
        for each in (2.0 * x, x / 2)
        if _posynomial(weights, exponents, each / x) > 1.01 * best
    )
    return Known(program, (), optimum=best, point={"x": x}, size=best, wrong=wrong, group=OTHER)


def _posynomial(weights: np.ndarray, exponents: np.ndarray, x: np.ndarray) -> float:
    return float(weights @ np.prod(x**exponents, axis=1))


def fractional(rng: np.random.Generator) -> Known:
    """min (a'x + b) / (e'x + d) over a box, quasiconvex; the best corner is the optimum."""
    n, s = int(rng.integers(1, 4)), power(rng, -20, 20)
    a, e, d, b = (
        integers(rng, -4, 4, n),
        integers(rng, 0, 3, n),
        integers(rng, 1, 4),
        integers(rng, -4, 4),
    )
    corners = [np.array(each, dtype=float) for each in itertools.product((0.0, 2.0), repeat=n)]
    ratios = [Fraction(int(a @ x + b), int(e @ x + d)) for x in corners]
    best = min(ratios)
    program = (
        f"a, e, x = {text(a)}, {text(e)}, cp.Variable({n}, nonneg=True, name='x')\n"
        f"ratio = (a @ x + {text(s * b)}) / (e @ x + {text(s * d)})\n"
        f"problem = cp.Problem(cp.Minimize(ratio), [x >= 0, x <= {text(2 * s)}])\n"
    )
    # A corner that costs as much is right too; one is wrong if it costs clearly more.
    size = max(abs(float(best)), max(abs(float(each)) for each in ratios), 0.25)
    wrong = [
        s * x
        for x, each in zip(corners, ratios, strict=True)
        if each - best > Fraction(1, 100) * Fraction(size)
    ]
    return Known(
        program, (), optimum=float(best), point={"x": s * corners[ratios.index(best)]}, size=size,
        unit=s, wrong=tuple({"x": x} for x in wrong[:3]), group=OTHER,
    )  # fmt: skip


def stairs(rng: np.random.Generator) -> Known:
    """max floor(x) or min ceil(x) on an interval that holds an integer."""
    low = integers(rng, -5, 5) + 0.25
    high = low + integers(rng, 1, 4)
    largest = rng.random() < 0.5
    best = np.floor(high) if largest else np.ceil(low)
    sense = "cp.Maximize(cp.floor(x))" if largest else "cp.Minimize(cp.ceil(x))"
    program = (
        f"x = cp.Variable(name='x')\nproblem = cp.Problem({sense}, [x >= {low!r}, x <= {high!r}])\n"
    )
    right, wrong = (high, low) if largest else (low, high)
    return Known(
        program, (), optimum=float(best), point={"x": right}, size=max(abs(float(best)), 1.0),
        wrong=({"x": wrong},), group=OTHER,
    )  # fmt: skip
