"""Problems that together use nearly every atom, and values to evaluate them at."""

from collections.abc import Callable
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.transforms.partial_optimize import partial_optimize
from scipy import sparse

from convexfs.data import load
from convexfs.methods import FORMULATIONS

_RNG = np.random.default_rng(5)
A, b, c = _RNG.standard_normal((7, 3)), _RNG.standard_normal(7), _RNG.standard_normal(3)
S = np.diag([1.0, 2.0, 4.0]) + 0.1
H = np.array([[2.0, 1j, 0.0], [-1j, 3.0, 0.5], [0.0, 0.5, 1.0]])


def _leaves() -> dict[str, Any]:
    return {
        "x": cp.Variable(3, name="x"),
        "y": cp.Variable(3, name="y"),
        "t": cp.Variable(name="t"),
        "s": cp.Variable(name="s", nonneg=True),
        "X": cp.Variable((3, 3), name="X", symmetric=True),
        "M": cp.Variable((3, 2), name="M"),
        "col": cp.Variable((3, 1), name="col"),
        "T": cp.Variable((2, 3, 4), name="T"),
        "B": cp.Variable((2, 4, 5), name="B"),
        "one": cp.Variable((1, 1), name="one"),
        "k": cp.Variable(3, name="k", complex=True),
        "lam": cp.Parameter(name="lam", nonneg=True, value=0.7),
        "g": cp.Parameter(3, name="g", value=np.array([1.0, -2.0, 0.5])),
    }


#: Objectives as Python, so that a failing test names the expression.
EXPRESSIONS = (
    "lam * cp.sum(x) - c @ x",
    "0.0 * cp.sum(x) + t",
    "2 * x @ c - (t + 1)",
    "-(A @ x - b) @ (A @ x)",
    "cp.sum_squares(A @ x - b) / 7 + lam * cp.norm1(x)",
    "cp.norm(x, 3) ** 2 + cp.norm(x, 3)",
    "cp.norm(x, 'inf')",
    "cp.norm(X, 'fro') + cp.norm(X, 2) + cp.norm(X, 'nuc')",
    "cp.sum(cp.norm(M, 2, axis=1))",
    "cp.max(cp.norm(M, 1, axis=0))",
    "cp.quad_form(x, S)",
    "cp.quad_form(x - c, S)",
    "x @ X @ x",
    "cp.sum(cp.logistic(-(A @ x)))",
    "cp.sum(cp.exp(x)) + cp.log_sum_exp(x)",
    "cp.sum(cp.entr(x))",
    "cp.sum(cp.kl_div(x, y)) + cp.sum(cp.rel_entr(x, y))",
    "cp.sum(cp.huber(x, 0.5))",
    "cp.sum(cp.pos(x) - cp.neg(y))",
    "cp.sum(cp.maximum(x, y, 1)) - cp.min(cp.minimum(x, c))",
    "cp.sum_largest(x, 2) + cp.sum_smallest(x, 1)",
    "cp.lambda_max(X) - cp.lambda_min(X)",
    "cp.log_det(X)",
    "cp.tr_inv(X)",
    "cp.matrix_frac(x, X)",
    "cp.trace(X @ S) - cp.trace(X)",
    "cp.geo_mean(x) + cp.harmonic_mean(x)",
    "cp.sqrt(t) + cp.inv_pos(t) + t**3",
    "cp.power(t, 1.5)",
    "cp.sum(x**2) + cp.sum(cp.square(M))",
    "cp.quad_over_lin(x, t)",
    "cp.norm(x) ** 2",
    "cp.tv(x)",
    "cp.sum(cp.hstack([x, t, y]))",
    "cp.sum(cp.vstack([x, y]) @ c)",
    "cp.sum(cp.bmat([[X, col], [col.T, np.ones((1, 1))]]))",
    "cp.sum(cp.diag(x) @ X) + cp.sum(cp.diag(X))",
    "cp.sum(cp.kron(np.eye(2), X))",
    "cp.std(x) + cp.var(x)",
    "cp.sum(x[1:]) + x[0] - x[-1] + cp.sum(X[:, 1]) + X[0, 2] + cp.sum(x[[0, 2]])",
    "cp.sum(cp.vec(M, order='F')) + cp.sum(cp.reshape(M, (2, 3), order='C') @ c)",
    "cp.sum(cp.cumsum(x)) + cp.sum(cp.diff(x))",
    "cp.sum(cp.multiply(g, x)) + cp.sum(x / g)",
    "cp.sum(cp.multiply(c, cp.multiply(x, y)))",
    "(c @ x) * (t + 1) / 3",
    "1 / t + t / s",
    "cp.sum(x * 2 - 3) - 1e-7 * t + 1e9 * s",
    "cp.sum(sparse.csr_array(A) @ x)",
    "cp.sum(A.T @ (A @ x))",
    "cp.mixed_norm(M, 2, 1)",
    "cp.sum(cp.convolve(c, x))",
    "cp.sum(x[:, None] @ y[None, :])",
    "cp.ptp(x)",
    "cp.sum(cp.outer(x, c)) + cp.vdot(x, y)",
    "cp.sum(M, axis=0) @ np.ones(2)",
    "cp.prod(x)",
    "cp.cvar(x, 0.5)",
    "cp.sum(cp.sum(M, axis=1, keepdims=True).T)",
    "cp.perspective(cp.square(t), s)",
    "cp.sum(cp.xexp(x))",
    "cp.sum(col.T @ X @ col)",
    "cp.sum(x @ M) - cp.sum(M.T @ x)",
    "cp.dotsort(x, c)",
    "cp.sum(cp.upper_tri(X))",
    "cp.sum(cp.mean(M, axis=0)) + cp.sum(cp.log1p(x))",
    "cp.sum(cp.abs(x - 1)) + cp.abs(t)",
    "cp.sum(5 * np.ones(3) @ X)",
    "cp.sum(T @ B) + cp.sum(T[..., 1]) + cp.sum(cp.norm1(T, axis=1))",
    "cp.sum(cp.transpose(T, (1, 0, 2))) + cp.sum(cp.sum(T, axis=(0, 2)))",
    "cp.sum(X[np.eye(3, dtype=bool)]) + cp.sum(x[::-1][:2]) + cp.sum(x[3:])",
    "cp.sum(x[:, None] + y[None, :]) + cp.sum(x[:1] * y)",
    "cp.geo_mean(x, [1, 2, 1])",
    "cp.sum(cp.log_sum_exp(X, axis=1, keepdims=True)) + cp.sum(cp.cummax(X, axis=1))",
    "cp.power(cp.Constant(1e-7), 2) * t + (x / s) @ y + (t / s) ** 2",
    "cp.lambda_sum_largest(X, 2) + cp.pnorm(x, 0.5) + cp.sum(cp.log_normcdf(x))",
    "lam * cp.sum(cp.norm(M, 2, axis=1))",
    "cp.real(cp.quad_form(k, H)) + cp.real(2j * cp.sum(k) - (1 - 3j) * k[0])",
    "cp.sum(one * x) + cp.sum(x / one) + cp.sum(one + X)",
    "cp.sum(cp.huber(x, lam)) + cp.geo_mean(x, [1, 0, 2])",
    "cp.sum(x / (y / 2)) - cp.sum(-x / y) + cp.sum(x / 2 - y) / -3",
    "cp.sum(T + 1) + cp.sum(cp.multiply(cp.hstack([T, T]), np.arange(48.0).reshape(2, 6, 4)))",
    "cp.sum(cp.reshape(M, (2, 3), order='C') @ c) - cp.sum(cp.reshape(M, (2, 3), order='F') @ c)",
    "cp.quad_over_lin(t, s) + cp.norm(t) + cp.norm(col)",
    "cp.suppfunc(x, [cp.norm(x) <= 1, x >= 0])(y) + cp.transforms.indicator([x >= 0, t <= 9])",
    "partial_optimize(cp.Problem(cp.Minimize(cp.norm(x - y)), [x >= lam]), opt_vars=[x])",
)


def expression(source: str) -> Any:
    known = {"cp": cp, "np": np, "sparse": sparse, "partial_optimize": partial_optimize}
    return eval(source, known | {"A": A, "b": b, "c": c, "S": S, "H": H}, _leaves())


def _constrained() -> cp.Problem:
    v = _leaves()
    x, t, s, X = v["x"], v["t"], v["s"], v["X"]
    rows = [
        (cp.norm(x, 2) <= 1).set_label("norm"), x >= 0, x <= 1, A @ x == b, X >> 0,
        X << 2 * np.eye(3),
        cp.SOC(t, x), cp.ExpCone(t, s, t + 1), cp.PowCone3D(t, s, t, 0.25), cp.NonNeg(x - c),
        cp.Zero(c @ x - 1), cp.SOC(x, v["M"], axis=1), cp.sum(x) <= v["lam"], 2 * t >= s,
        v["one"] <= x, cp.PowConeND(x, t, np.array([0.2, 0.3, 0.5])),
    ]  # fmt: skip
    return cp.Problem(cp.Minimize(t), rows)


def _attributes() -> cp.Problem:
    f, k = cp.Variable(4, name="f", boolean=True), cp.Variable(2, name="k", integer=True)
    P, d = cp.Variable((2, 2), name="P", PSD=True), cp.Variable((2, 2), name="d", diag=True)
    u = cp.Variable(3, name="u", bounds=[-1, 2])
    h, m = cp.Variable((2, 2), name="h", hermitian=True), cp.Variable(3, name="m", bounds=[None, 1])
    some = cp.Variable(3, name="some", boolean=[(0,), (2,)])
    s = cp.Variable((2, 2), name="s", sparsity=(np.array([0]), np.array([1])))
    total = cp.sum(f) + cp.sum(k) + cp.trace(P) + cp.trace(d) + cp.sum(u) + cp.sum(cp.Variable(2))
    total += cp.real(cp.trace(h)) + cp.sum(m) + cp.sum(some) + cp.sum(s)
    return cp.Problem(cp.Maximize(total), [f <= 1, cp.FiniteSet(k[0], [1, 2, 3])])


def _names() -> cp.Problem:
    """Names that mean something to LaTeX, XML or Python."""
    names = (
        "a_b%",
        "lambda",
        "x<y>&",
        "Sigma_max",
        "$\\frac{",
        "import",
        "w w",
        "α",
        "1st",
        "np",
        "",
    )
    total: Any = sum(cp.Variable(name=name) for name in names)
    return cp.Problem(cp.Minimize(total), [(total >= np.inf).set_label("λ_1 <&> 50%")])


def _of(source: str) -> Callable[[], cp.Problem]:
    return lambda: cp.Problem(cp.Minimize(expression(source)))


ZOO: dict[str, Callable[[], cp.Problem]] = {source: _of(source) for source in EXPRESSIONS}
ZOO |= {"constraints": _constrained, "attributes": _attributes, "names": _names}


@cache
def stated(name: str) -> tuple[cp.Problem, dict[str, Any]]:
    """A formulation on eighty rows of data, and the values it was built from."""
    row = FORMULATIONS[name]
    data = load("wdbc").scaled()
    values, hyper = row.numbers(data.X[:80], data.y[:80])
    return row.build(**values, **hyper), values


def place(problem: cp.Problem, seed: int) -> dict[str, Any]:
    """Give every variable a random value in the domain of every atom here."""
    rng = np.random.default_rng(seed)
    values = {}
    for variable in problem.variables():
        value: Any = rng.uniform(0.2, 1.5, variable.shape)
        if variable.name() == "s" and variable.shape:
            value /= 100  # of 2 Sigma - diag(s), a small s is inside
        if variable.attributes["symmetric"] or variable.attributes["PSD"]:
            value = value @ value.T + np.eye(len(value))
        elif variable.attributes["diag"]:
            value = np.diag(np.diag(value))
        elif variable.attributes["complex"]:
            value = value + 1j * rng.uniform(-1.0, 1.0, variable.shape)
        elif variable.attributes["sparsity"]:
            variable.value_sparse = sparse.coo_array(([0.5], variable.sparse_idx), variable.shape)
            continue
        variable.save_value(sparse.dia_array(value) if variable.attributes["diag"] else value)
        values[variable.id] = value
    return values
