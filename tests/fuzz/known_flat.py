"""Linear programs, and problems with atoms that become one; quadratic programs."""

import numpy as np

from .known import (
    CURVED,
    FLAT,
    INFEASIBLE,
    LINEAR,
    OTHER,
    QUADRATIC,
    SECOND_ORDER,
    UNBOUNDED,
    Known,
    complementary,
    integers,
    power,
    text,
)


def _sizes(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(2, 6)), int(rng.integers(2, 6))


def linear(rng: np.random.Generator) -> Known:
    """min q'x,  Ax >= b,  x >= 0, each column in units of its own."""
    m, n = _sizes(rng)
    A, (x, r), (y, slack) = (
        integers(rng, -3, 3, (m, n)),
        complementary(rng, n),
        complementary(rng, m),
    )
    b, q = A @ x - slack, A.T @ y + r
    s, c = power(rng), power(rng)
    if not b.any():
        s = 1.0  # the problem is the same at any scale, and shows none
    units = np.array([power(rng, -20, 20) for _ in range(n)]) if rng.random() < 0.5 else np.ones(n)
    program = (
        f"A, b, q = {text(A / units)}, {text(s * b)}, {text(c * q / units)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [A @ x >= b, x >= 0])\n"
    )
    size = s * c * max(np.abs(q * x).max(), 1.0)
    point = {"x": s * x * units}
    return Known(program, LINEAR, optimum=s * c * float(q @ x), point=point, size=size, unit=s)


def far_column(rng: np.random.Generator) -> Known:
    """min a y - 2^-p x,  y >= d,  x <= w + r,  w <= 2^p b: x and w are far away, r may be tiny."""
    p = int(rng.integers(10, 34))
    a, d, b = integers(rng, 1, 4), integers(rng, 1, 4), integers(rng, 2, 9)
    r = [1.0, 2.0**-40, 2.0**-54, 0.0][int(rng.integers(4))]
    row = "x - w <= r" if rng.random() < 0.6 else "x == w + r"
    curved = rng.random() < 0.2
    square = " + cp.square(y)" if curved else ""
    c = power(rng)
    program = (
        f"r, top = {r!r}, {2.0**p * b!r}\n"
        "y, x, w = (cp.Variable(name=name) for name in 'yxw')\n"
        f"cost = {c!r} * ({a!r} * y - {2.0**-p!r} * x{square})\n"
        f"problem = cp.Problem(cp.Minimize(cost), [y >= {d!r}, {row}, w <= top, x >= 0, w >= 0])\n"
    )
    optimum = c * (a * d - b - r * 2.0**-p + (d * d if curved else 0.0))
    at = {"y": d, "x": 2.0**p * b + r, "w": 2.0**p * b}
    wrong = (
        {"y": d, "x": r, "w": 0.0},
        {"y": d, "x": 2.0 ** (p - 1) * b + r, "w": 2.0 ** (p - 1) * b},
    )
    return Known(
        program, QUADRATIC if curved else LINEAR,
        optimum=optimum, point=at, size=c * max(a * d, b), wrong=wrong,
    )  # fmt: skip


def huge_bound(rng: np.random.Generator) -> Known:
    """min a x + y,  x >= d,  0 <= y,  y or a tiny share of it has a huge bound that is far away."""
    p, share = int(rng.integers(20, 60)), 2.0 ** -int(rng.integers(0, 60))
    a, d = integers(rng, 1, 4), integers(rng, 1, 4)
    norm = rng.random() < 0.3
    row = "cp.norm(cp.hstack([x, y])) <= top" if norm else f"{share!r} * (x + y) <= top"
    c = power(rng)
    program = (
        f"x, y, top = cp.Variable(name='x'), cp.Variable(name='y'), {2.0**p!r}\n"
        f"cost = {c!r} * ({a!r} * x + y)\n"
        f"problem = cp.Problem(cp.Minimize(cost), [x >= {d!r}, y >= 0, {row}])\n"
    )
    wrong = ({"x": d, "y": d}, {"x": 2 * d, "y": 0.0}, {"x": d, "y": 2.0 ** (p // 2)})
    return Known(
        program, SECOND_ORDER if norm else LINEAR, group=CURVED if norm else FLAT,
        optimum=c * a * d, point={"x": d, "y": 0.0}, size=c * a * d, wrong=wrong,
    )  # fmt: skip


def tiny_right_hand_side(rng: np.random.Generator) -> Known:
    """min y - x,  y >= 1,  x - w <= tiny,  w <= b: nothing may be measured in units of tiny."""
    tiny, b = 2.0 ** -int(rng.integers(20, 60)), integers(rng, 1, 50)
    row = "x - w <= tiny" if rng.random() < 0.6 else "x == w + tiny"
    program = (
        f"tiny = {tiny!r}\ny, x, w = (cp.Variable(name=name) for name in 'yxw')\n"
        f"rows = [y >= 1, {row}, w <= {b!r}, x >= 0, w >= 0]\n"
        "problem = cp.Problem(cp.Minimize(y - x), rows)\n"
    )
    wrong = ({"y": 1.0, "x": tiny, "w": 0.0}, {"y": 1.0, "x": b / 2, "w": b / 2})
    return Known(
        program, LINEAR, optimum=1.0 - (b + tiny),
        point={"y": 1.0, "x": b + tiny, "w": b}, size=max(1.0, b), wrong=wrong,
    )  # fmt: skip


def offset_variable(rng: np.random.Generator) -> Known:
    """min big h + k,  h == 1,  0 <= k <= top: the offset must not hide the gap in k."""
    big, top = 2.0 ** int(rng.integers(20, 36)), 2.0 ** int(rng.integers(2, 14))
    low = integers(rng, 1, 3)
    program = (
        "h, k = cp.Variable(name='h'), cp.Variable(name='k')\n"
        f"rows = [h == 1, k >= {low!r}, k <= {low + top!r}]\n"
        f"problem = cp.Problem(cp.Minimize({big!r} * h + k), rows)\n"
    )
    wrong = ({"h": 1.0, "k": low + top}, {"h": 1.0, "k": low + top / 2})
    # An error in h, however small, changes the objective most: only given points are judged.
    return Known(
        program, (), optimum=big + low, point={"h": 1.0, "k": low}, size=low, wrong=wrong,
        movable=False,
    )  # fmt: skip


def almost_unbounded(rng: np.random.Generator) -> Known:
    """min -x,  x <= y,  y <= (1 - 2^-p) x + b: bounded, very far away."""
    p, b = int(rng.integers(5, 36)), integers(rng, 1, 4)
    program = (
        "x, y = cp.Variable(name='x'), cp.Variable(name='y')\n"
        f"problem = cp.Problem(cp.Minimize(-x), [x <= y, y <= {1 - 2.0**-p!r} * x + {b!r}])\n"
    )
    far = 2.0**p * b
    return Known(
        program, LINEAR, optimum=-far, point={"x": far, "y": far}, size=far, unit=b,
        wrong=({"x": far / 2, "y": far / 2}, {"x": 0.0, "y": b}),
    )  # fmt: skip


#: Atoms of the residual E, by what their subgradients are like.
_ATOMS = {
    "cp.norm1(E)": "sum", "cp.sum(cp.abs(E))": "sum", "cp.sum(cp.maximum(E, -E))": "sum",
    "cp.sum(cp.pos(E)) + cp.sum(cp.pos(-E))": "sum", "cp.sum(cp.pos(E))": "half",
    "cp.sum(cp.maximum(E, 0))": "half", "cp.norm_inf(E)": "largest",
    "cp.max(cp.abs(E))": "largest", "cp.max(E)": "weights",
    "cp.sum_largest(cp.abs(E), 1)": "largest",
}  # fmt: skip


def products(rng: np.random.Generator) -> Known:
    """min W atom(D A x - g) - q'x,  |x| <= 9: data multiply A x inside the atom."""
    m, n = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    A, x = integers(rng, -3, 3, (m, n)), integers(rng, -4, 4, n)
    D = np.where(rng.random(m) < 0.5, -1.0, 1.0) * integers(rng, 1, 3, m)
    atom = list(_ATOMS)[int(rng.integers(len(_ATOMS)))]
    W, slopes, residual, value = _subgradient(rng, _ATOMS[atom], m)
    q = A.T @ (D * slopes)
    g = D * (A @ x) - residual
    s, c = power(rng, -10, 10), power(rng)
    product = ["cp.multiply(D, A @ x)", "cp.diag(D) @ (A @ x)", "cp.multiply(A @ x, D)"][
        int(rng.integers(3))
    ]
    box = ["cp.norm_inf(x) <= r", "cp.abs(x) <= r", "cp.max(cp.abs(x)) <= r"][int(rng.integers(3))]
    program = (
        f"A, D, g, q = {text(A)}, {text(D)}, {text(s * g)}, {text(c * q)}\n"
        f"r = {text(9 * s)}\nx = cp.Variable({n}, name='x')\nE = {product} - g\n"
        f"problem = cp.Problem(cp.Minimize({text(c * W)} * ({atom}) - q @ x), [{box}])\n"
    )
    optimum = s * c * (W * value - float(q @ x))
    size = s * c * max(np.abs(q * x).max(), W, 1.0)
    return Known(program, LINEAR, optimum=optimum, point={"x": s * x}, size=size, unit=s)


def _subgradient(
    rng: np.random.Generator, kind: str, m: int
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Return W, W times a subgradient of the atom, its residual, and the value of the atom."""
    W = 4.0
    residual = np.where(rng.random(m) < 0.5, integers(rng, -3, 3, m), 0.0)
    if kind == "sum":
        inside = integers(rng, -4, 4, m)
        return (
            W,
            np.where(residual == 0, inside, W * np.sign(residual)),
            residual,
            np.abs(residual).sum(),
        )
    if kind == "half":
        inside = integers(rng, 0, 4, m)
        slopes = np.where(residual == 0, inside, W * (residual > 0))
        return W, slopes, residual, np.maximum(residual, 0).sum()
    top = integers(rng, 1, 4)
    at_top = rng.random(m) < 0.6
    at_top[0] = True
    shares = np.where(at_top, integers(rng, 1, 3, m), 0.0)
    signs = np.where(rng.random(m) < 0.5, -1.0, 1.0) if kind == "largest" else np.ones(m)
    below = integers(rng, -3, 3, m)
    residual = np.where(at_top, signs * top, np.clip(below, -top, top))
    return float(shares.sum()), shares * signs, residual, top


def quadratic(rng: np.random.Generator) -> Known:
    """min |Fx|^2 / 2 + q'x,  Ax >= b,  x >= 0."""
    m, n = _sizes(rng)
    A, F = integers(rng, -3, 3, (m, n)), integers(rng, -2, 2, (int(rng.integers(1, n + 1)), n))
    (x, r), (y, slack) = complementary(rng, n), complementary(rng, m)
    P = F.T @ F
    b, q = A @ x - slack, A.T @ y + r - P @ x
    s, c = power(rng), power(rng)
    program = (
        f"A, b, F, q = {text(A)}, {text(s * b)}, {text(F)}, {text(c * q)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        f"cost = {text(c / s / 2)} * cp.sum_squares(F @ x) + q @ x\n"
        "problem = cp.Problem(cp.Minimize(cost), [A @ x >= b, x >= 0])\n"
    )
    optimum = s * c * float(x @ P @ x / 2 + q @ x)
    size = s * c * max(np.abs(q * x).max(), x @ P @ x / 2, 1.0)
    return Known(program, QUADRATIC, optimum=optimum, point={"x": s * x}, size=size, unit=s)


def not_semidefinite(rng: np.random.Generator) -> Known:
    """A quadratic form that is called semidefinite and is not, by a little."""
    p = int(rng.integers(20, 45))
    program = (
        "x = cp.Variable(2, name='x')\n"
        f"form = cp.quad_form(x, np.diag([1.0, {-(2.0**-p)!r}]), assume_PSD=True)\n"
        "problem = cp.Problem(cp.Minimize(form), [x[0] >= 1])\n"
    )
    return Known(program, (), UNBOUNDED, wrong=({"x": [1.0, 0.0]}, {"x": [1.0, 1.0]}), group=OTHER)


def contradictory(rng: np.random.Generator) -> Known:
    """Rows of Ax <= b of which a nonnegative sum says 0 <= -1."""
    m, n = _sizes(rng)
    A, y, b = integers(rng, -3, 3, (m, n)), integers(rng, 1, 3, m), integers(rng, -3, 3, m)
    s, c = power(rng), power(rng)
    A, b = np.vstack([A, -(y @ A)]), np.append(b, -1.0 - y @ b)
    program = (
        f"A, b, q = {text(A)}, {text(s * b)}, {text(c * integers(rng, -3, 3, n))}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [A @ x <= b])\n"
    )
    return Known(program, LINEAR, INFEASIBLE, wrong=({"x": np.zeros(n)},))


def endless(rng: np.random.Generator) -> Known:
    """min q'x,  Ax >= b,  x >= 0 with a ray along which the cost falls."""
    m, n = _sizes(rng)
    A, ray, q = integers(rng, -3, 3, (m, n)), integers(rng, 1, 3, n), integers(rng, -3, 3, n)
    A *= np.where(A @ ray < 0, -1.0, 1.0)[:, None]
    A[A @ ray == 0, 0] += 1.0
    q[0] -= max(0.0, np.ceil((q @ ray + 1) / ray[0]))
    s, c = power(rng), power(rng)
    program = (
        f"A, b, q = {text(A)}, {text(s * integers(rng, -3, 3, m))}, {text(c * q)}\n"
        f"x = cp.Variable({n}, name='x')\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [A @ x >= b, x >= 0])\n"
    )
    far = s * 2.0**20 * ray
    return Known(program, LINEAR, UNBOUNDED, wrong=({"x": far},))
