"""Second-order, exponential, power and semidefinite cones, at any scale."""

import numpy as np

from .known import (
    CURVED,
    EXPONENTIAL,
    INFEASIBLE,
    POWER,
    SECOND_ORDER,
    SEMIDEFINITE,
    UNBOUNDED,
    Known,
    integers,
    power,
    text,
)

#: Integer vectors whose length is an integer, the last entry here.
_PYTHAGOREAN = [
    (3, 4, 0, 5),
    (1, 2, 2, 3),
    (2, 3, 6, 7),
    (4, 4, 7, 9),
    (1, 4, 8, 9),
    (5, 12, 0, 13),
]
#: Orthogonal integer columns of one length.
_ORTHOGONAL = {
    2: np.array([[1.0, 1], [1, -1]]),
    3: np.array([[1.0, 2, 2], [2, 1, -2], [2, -2, 1]]),
    4: np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]),
}


def _rational_direction(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    *entries, length = _PYTHAGOREAN[int(rng.integers(len(_PYTHAGOREAN)))]
    signs = np.where(rng.random(3) < 0.5, -1.0, 1.0)
    return signs * rng.permutation(np.array(entries, dtype=float)), float(length)


def second_order(rng: np.random.Generator) -> Known:
    """min q'x,  norm2(Fx + g) <= h'x + d,  |x| <= r."""
    n = int(rng.integers(2, 5))
    F, h, x = integers(rng, -2, 2, (3, n)), integers(rng, -2, 2, n), integers(rng, -3, 3, n)
    inside, length = _rational_direction(rng)
    g, d = inside - F @ x, length - h @ x
    q = length * h - F.T @ inside
    r = 3.0 + np.abs(x).max()
    strict = any(
        h @ z + d > 0 and (F @ z + g) @ (F @ z + g) < (h @ z + d) ** 2
        for z in integers(rng, -int(r) + 1, int(r) - 1, (200, n))
    )
    s, c = power(rng), power(rng)
    program = (
        f"F, g, h, q = {text(F)}, {text(s * g)}, {text(h)}, {text(c * q)}\n"
        f"d, r = {text(s * d)}, {text(s * r)}\nx = cp.Variable({n}, name='x')\n"
        "cone = cp.norm(F @ x + g, 2) <= h @ x + d\n"
        "problem = cp.Problem(cp.Minimize(q @ x), [cone, x <= r, x >= -r])\n"
    )
    size = s * c * max(np.abs(q * x).max(), 1.0)
    return Known(
        program, SECOND_ORDER, optimum=s * c * float(q @ x), point={"x": s * x},
        size=size, unit=s, group=CURVED, strict=strict,
    )  # fmt: skip


def exponential(rng: np.random.Generator) -> Known:
    """min w'exp(Ax / s - g) - q'x / s,  |x| <= r; the exponents are 0 at the optimum."""
    m, n = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    A, x, w = integers(rng, -2, 2, (m, n)), integers(rng, -3, 3, n), integers(rng, 1, 4, m)
    q = A.T @ w
    s, c = power(rng), power(rng)
    program = (
        f"A, g, w, q = {text(A / s)}, {text(A @ x)}, {text(c * w)}, {text(c * q / s)}\n"
        f"r = {text(6 * s)}\nx = cp.Variable({n}, name='x')\n"
        "cost = w @ cp.exp(A @ x - g) - q @ x\n"
        "problem = cp.Problem(cp.Minimize(cost), [x <= r, x >= -r])\n"
    )
    size = c * max(w.max(), np.abs(q * x).max())
    return Known(
        program, EXPONENTIAL, optimum=c * float(w.sum() - q @ x), point={"x": s * x},
        size=size, unit=s, group=CURVED,
    )  # fmt: skip


def exponential_constraint(rng: np.random.Generator) -> Known:
    """max w'x,  w'exp(x / s - g) <= 1'w: the optimum is at x = s g."""
    n = int(rng.integers(1, 4))
    g, w = integers(rng, -3, 3, n), integers(rng, 1, 4, n)
    s, c = power(rng), power(rng)
    program = (
        f"g, w = {text(g)}, {text(w)}\nx = cp.Variable({n}, name='x')\n"
        f"rows = [w @ cp.exp({text(1 / s)} * x - g) <= {w.sum()!r}]\n"
        f"problem = cp.Problem(cp.Maximize({text(c)} * (w @ x)), rows)\n"
    )
    size = s * c * max(np.abs(w * g).max(), w.sum())
    return Known(
        program, EXPONENTIAL, optimum=s * c * float(w @ g), point={"x": s * g},
        size=size, unit=s, group=CURVED,
    )  # fmt: skip


def exponential_cone(rng: np.random.Generator) -> Known:
    """min z,  x >= 0,  y >= s,  y exp(x / y) <= z: the optimum is s, at scales to 1e-10."""
    s, c = power(rng), power(rng)
    program = (
        "x, y, z = (cp.Variable(name=name) for name in 'xyz')\n"
        f"rows = [cp.ExpCone(x, y, z), x >= 0, y >= {s!r}]\n"
        f"problem = cp.Problem(cp.Minimize({c!r} * z), rows)\n"
    )
    wrong = (
        {"x": 0.0, "y": s, "z": 0.9 * s},
        {"x": 0.0, "y": s, "z": 1.1 * s},
        {"x": s, "y": s, "z": 2 * s},
    )
    return Known(
        program, EXPONENTIAL, optimum=c * s, point={"x": 0.0, "y": s, "z": s},
        size=c * s, unit=s, wrong=wrong, group=CURVED,
    )  # fmt: skip


def power_cone(rng: np.random.Generator) -> Known:
    """max z,  z <= sqrt(x y),  b^2 x + a^2 y <= 2 a^2 b^2; or the power 1/4 with y <= 1."""
    s, c = power(rng), power(rng)
    if rng.random() < 0.5:
        a, b = integers(rng, 1, 4), integers(rng, 1, 4)
        alpha, at = 0.5, np.array([a * a, b * b, a * b])
        rows = f"{b * b!r} * x + {a * a!r} * y <= {text(2 * s * a * a * b * b)}"
    else:
        a = integers(rng, 1, 3)
        alpha, at = 0.25, np.array([a**4, 1.0, a])
        rows = f"x <= {text(s * a**4)}, y <= {s!r}"
    program = (
        "x, y, z = (cp.Variable(name=name) for name in 'xyz')\n"
        f"rows = [cp.PowCone3D(x, y, z, {alpha!r}), {rows}]\n"
        f"problem = cp.Problem(cp.Maximize({c!r} * z), rows)\n"
    )
    x, y, z = (s * at).tolist()
    wrong = ({"x": x, "y": y, "z": 1.05 * z}, {"x": x, "y": y, "z": 0.9 * z})
    return Known(
        program, POWER, optimum=c * z, point={"x": x, "y": y, "z": z},
        size=c * z, unit=s, wrong=wrong, group=CURVED,
    )  # fmt: skip


def _semidefinite(
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw A, b, C and X with both problems strictly feasible, all integers."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    Q, rank = _ORTHOGONAL[n], int(rng.integers(1, n))
    X = n * (Q[:, :rank] * integers(rng, 1, 2, rank)) @ Q[:, :rank].T
    S = (Q[:, rank:] * integers(rng, 1, 2, n - rank)) @ Q[:, rank:].T
    # X + t (average I - X) is definite and satisfies every row, for each is blind to D.
    D = X - np.trace(X) / n * np.eye(n)
    R = integers(rng, -2, 2, (m, n, n))
    R += R.transpose(0, 2, 1)
    along = np.einsum("kij,ij->k", R, D)
    A = [np.eye(n), *(R * np.sum(D * D) - along[:, None, None] * D)]
    # Divide by a common power of two, to keep the numbers small.
    A = [each / 2.0 ** np.floor(np.log2(max(np.abs(each).max(), 1.0)) / 2) for each in A]
    C = S + np.tensordot(integers(rng, -2, 2, m + 1), np.array(A), 1)
    b = np.array([np.sum(each * X) for each in A])
    return np.array(A), b, C, X


def semidefinite(rng: np.random.Generator) -> Known:
    """min tr(CX),  tr(A_i X) = b_i,  X positive semidefinite."""
    A, b, C, X = _semidefinite(rng)
    strict = rng.random() < 0.7
    if not strict:  # a border of zeros: no matrix with it is definite
        n = len(C)
        A, C, X = (np.pad(each, [(0, 0)] * (each.ndim - 2) + [(0, 1)] * 2) for each in (A, C, X))
        A, b = np.concatenate([A, np.zeros((1, n + 1, n + 1))]), np.append(b, 0.0)
        A[-1, n, n] = 1.0
        C[n, :n] = C[:n, n] = integers(rng, -2, 2, n)
    s, c, n = power(rng), power(rng), len(C)
    program = (
        f"A, b, C = {text(A)}, {text(s * b)}, {text(c * C)}\n"
        f"X = cp.Variable(({n}, {n}), name='X', symmetric=True)\n"
        "sums = [cp.trace(A[i] @ X) == b[i] for i in range(len(b))]\n"
        "problem = cp.Problem(cp.Minimize(cp.trace(C @ X)), [*sums, X >> 0])\n"
    )
    size = s * c * max(np.abs(C * X).max(), 1.0)
    return Known(
        program, SEMIDEFINITE, optimum=s * c * float(np.sum(C * X)), point={"X": s * X},
        size=size, unit=s, group=CURVED, strict=strict,
    )  # fmt: skip


def unsymmetric(rng: np.random.Generator) -> Known:
    """min tr(S),  S >= d on its diagonal, S semidefinite by attribute."""
    d = integers(rng, 1, 5)
    program = (
        "S = cp.Variable((2, 2), PSD=True, name='S')\n"
        f"problem = cp.Problem(cp.Minimize(cp.trace(S)), [cp.diag(S) >= {d!r}])\n"
    )
    far = integers(rng, 1, 9)
    wrong = ({"S": [[d, far], [-far, d]]}, {"S": [[d, 2 * d], [2 * d, d]]})
    return Known(
        program, SEMIDEFINITE, optimum=2 * d, point={"S": d * np.eye(2)},
        size=2 * d, wrong=wrong, group=CURVED,
    )  # fmt: skip


def duality_gap(rng: np.random.Generator) -> Known:
    """min x,  [[0, x, 0], [x, y, 0], [0, 0, x + a]] >= 0: the optimum is 0, the dual's is -a."""
    a, c, order = integers(rng, 1, 4), power(rng), rng.permutation(3).tolist()
    s = power(rng, -20, 20)
    program = (
        "x, y = cp.Variable(name='x'), cp.Variable(name='y')\n"
        f"M = cp.bmat([[0, x, 0], [x, y, 0], [0, 0, x + {text(s * a)}]])[{order}][:, {order}]\n"
        f"problem = cp.Problem(cp.Minimize({c!r} * x), [M >> 0])\n"
    )
    low = -s * a
    wrong = tuple({"x": low / 2, "y": s * 10.0**k} for k in (0, 6, 9, 12))
    return Known(
        program, SEMIDEFINITE, optimum=0.0, point={"x": 0.0, "y": s}, size=c * s * a, unit=s,
        wrong=wrong, group=CURVED, strict=False,
    )  # fmt: skip


def weakly_infeasible(rng: np.random.Generator) -> Known:
    """[[t, 1], [1, 0]] >= 0, or norm2(t, 1) <= t: nearly satisfied far away, never quite."""
    s = power(rng, -20, 20)
    zero = rng.random() < 0.5
    cost = "0 * t" if zero else "t"
    wrong = tuple({"t": s * 10.0**k} for k in (0, 4, 9))
    if rng.random() < 0.5:
        T = np.array([[1.0, integers(rng, -2, 2)], [0, 1]])
        program = (
            f"t, T = cp.Variable(name='t'), {text(T)}\n"
            f"M = T.T @ cp.bmat([[t, {s!r}], [{s!r}, 0]]) @ T\n"
            f"problem = cp.Problem(cp.Minimize({cost}), [M >> 0])\n"
        )
        return Known(
            program, SEMIDEFINITE, INFEASIBLE, unit=s, wrong=wrong, group=CURVED, strict=False
        )
    program = (
        f"t = cp.Variable(name='t')\nrow = cp.norm(cp.hstack([t, {s!r}])) <= t\n"
        f"problem = cp.Problem(cp.Minimize({cost}), [row])\n"
    )
    return Known(program, SECOND_ORDER, INFEASIBLE, unit=s, wrong=wrong, group=CURVED, strict=False)


def infeasible(rng: np.random.Generator) -> Known:
    """Rows of a curved cone, and a half-space beyond it."""
    s, c = power(rng), power(rng)
    kind = int(rng.integers(4))
    if kind == 0:
        (a, length), g, R = _rational_direction(rng), integers(rng, -3, 3, 3), integers(rng, 1, 3)
        beyond = a @ g + R * length + integers(rng, 1, 3)
        rows = f"[cp.norm(x - {text(s * g)}) <= {text(s * R)}, {text(a)} @ x >= {text(s * beyond)}]"
        solvers, shape = SECOND_ORDER, "3"
    elif kind == 1:  # the sum of the exponents is 0 at most
        n = int(rng.integers(1, 4))
        rows = f"[cp.sum(cp.exp({text(1 / s)} * x)) <= {n}, cp.sum(x) >= {text(s)}]"
        solvers, shape = EXPONENTIAL, str(n)
    elif kind == 2:
        a, b = integers(rng, 1, 4), integers(rng, 1, 4)
        rows = (
            f"[cp.PowCone3D(x[0], x[1], x[2], 0.5), x[0] <= {text(s * a * a)}, "
            f"x[1] <= {text(s * b * b)}, x[2] >= {text(s * (a * b + 1))}]"
        )
        solvers, shape = POWER, "3"
    else:
        n = int(rng.integers(2, 5))
        F = integers(rng, -2, 2, (n, int(rng.integers(1, n + 1))))
        rows = f"[x >> 0, cp.trace({text(F @ F.T)} @ x) <= {text(-s)}]"
        solvers, shape = SEMIDEFINITE, f"({n}, {n}), symmetric=True"
    program = (
        f"x = cp.Variable({shape}, name='x')\n"
        f"problem = cp.Problem(cp.Minimize({c!r} * cp.sum(x)), {rows})\n"
    )
    return Known(program, solvers, INFEASIBLE, unit=s, group=CURVED)


def unbounded(rng: np.random.Generator) -> Known:
    """max t,  norm2(Bx - g) <= t;  or max tr(BX),  tr(AX) <= 1,  A singular, X semidefinite."""
    s, c = power(rng), power(rng)
    if rng.random() < 0.5:
        m, n = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        program = (
            f"B, g = {text(integers(rng, -3, 3, (m, n)))}, {text(s * integers(rng, -3, 3, m))}\n"
            f"x, t = cp.Variable({n}, name='x'), cp.Variable(name='t')\n"
            f"problem = cp.Problem(cp.Maximize({c!r} * t), [cp.norm(B @ x - g) <= t])\n"
        )
        wrong = ({"x": np.zeros(n), "t": s * 2.0**20},)
        return Known(program, SECOND_ORDER, UNBOUNDED, unit=s, wrong=wrong, group=CURVED)
    n = int(rng.integers(2, 5))
    A, F = np.zeros((n, n)), integers(rng, -2, 2, (n, n))
    A[: n - 1, : n - 1] = np.eye(n - 1) * integers(rng, 1, 3)
    program = (
        f"A, B = {text(A)}, {text(c * (F @ F.T + np.eye(n)))}\n"
        f"X = cp.Variable(({n}, {n}), name='X', symmetric=True)\n"
        f"rows = [X >> 0, cp.trace(A @ X) <= {s!r}]\n"
        "problem = cp.Problem(cp.Maximize(cp.trace(B @ X)), rows)\n"
    )
    far = np.zeros((n, n))
    far[-1, -1] = s * 2.0**20
    return Known(program, SEMIDEFINITE, UNBOUNDED, unit=s, wrong=({"X": far},), group=CURVED)
