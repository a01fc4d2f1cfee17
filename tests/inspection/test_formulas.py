"""Exact notation, in text and LaTeX, of what people write."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import show, to_latex
from tests.inspection.zoo import ZOO, expression, stated
from tests.typed import known

EXPECTED = {
    "lam * cp.sum(x) - c @ x": ("lam 1'x - c_1'x", r"\lambda \mathbf{1}^\top x - c_{1}^\top x"),
    "0.0 * cp.sum(x) + t": ("t", "t"),
    "0.0 * cp.log(t) + t": ("0 log(t) + t", r"0 \, \log\left(t\right) + t"),
    "cp.sum_squares(A @ x - b) / 7": (
        "norm2(C_1 x - c_1)^2 / 7",
        r"\frac{\left\|C_{1} x - c_{1}\right\|_{2}^{2}}{7}",
    ),
    "cp.sum(cp.logistic(-(A @ x)))": (
        "1' log(1 + exp(-C_1 x))",
        r"\mathbf{1}^\top \log\left(1 + e^{-C_{1} x}\right)",
    ),
    "cp.trace(X @ S)": ("tr(X C_1)", r"\operatorname{tr}\left(X C_{1}\right)"),
    "cp.sum(cp.norm(M, 2, axis=1))": (
        "sum_i norm2(M[i, :])",
        r"\sum_i \left\|M_{i,:}\right\|_{2}",
    ),
    "lam * cp.sum(cp.norm(M, 2, axis=1)) + t": (
        "lam sum_i norm2(M[i, :]) + t",
        r"\lambda \sum_i \left\|M_{i,:}\right\|_{2} + t",
    ),
    "(t / s) ** 2": ("(t / s)^2", r"\left(\frac{t}{s}\right)^{2}"),
    "cp.sum(x[:1] * y)": ("x[0:1] 1'y", r"x_{1:1} \mathbf{1}^\top y"),
    "cp.sum(T[..., 1])": ("1'T[:, :, 1] 1", r"\mathbf{1}^\top T_{:,:,2} \mathbf{1}"),
    "x @ X @ y": ("x'X y", r"x^\top X y"),
    "(x - y) @ (x + y)": ("(x - y)'(x + y)", r"\left(x - y\right)^\top \left(x + y\right)"),
    "t - (s - 1) - (-s)": ("t - (s - 1) + s", r"t - \left(s - 1\right) + s"),
    "-2 * (t + s)": ("-2 (t + s)", r"-2 \, \left(t + s\right)"),
    "t - (-3) * s": ("t + 3 s", r"t + 3 \, s"),
    "(t + 1) ** 2 / (s + 1)": (
        "(t + 1)^2 / (s + 1)",
        r"\frac{\left(t + 1\right)^{2}}{s + 1}",
    ),
    "cp.exp(t) ** 2": ("exp(t)^2", r"\left(e^{t}\right)^{2}"),
    "cp.sqrt(t) - 1e-7 * s": ("sqrt(t) - 1e-07 s", r"\sqrt{t} - 10^{-7} \, s"),
    "cp.norm(X, 'fro') + cp.norm(X, 'nuc')": (
        "normF(X) + normnuc(X)",
        r"\left\|X\right\|_{F} + \left\|X\right\|_{*}",
    ),
    "cp.sum(1 - x)": ("1'(1 - x)", r"\mathbf{1}^\top \left(\mathbf{1} - x\right)"),
    "cp.sum(x[[0, 2]])": ("1'x[[0, 2]]", r"\mathbf{1}^\top x_{\{1,3\}}"),
    "x[0] + cp.sum(x[1:])": ("x[0] + 1'x[1:3]", r"x_{1} + \mathbf{1}^\top x_{2:3}"),
    "cp.lambda_max(X - 2 * np.eye(3))": (
        "lambda_max(X - 2 I)",
        r"\lambda_{\max}\left(X - 2 \, I\right)",
    ),
    "cp.sum(cp.multiply(x, y)) / 2": ("x'y / 2", r"\frac{x^\top y}{2}"),
    "cp.sum_largest(x, 2)": ("sum_largest(x, 2)", r"\text{sum\_largest}\left(x, 2\right)"),
    "cp.sum(-2 * x) - cp.sum(x / 3)": (
        "-2 1'x - 1'x / 3",
        r"-2 \, \mathbf{1}^\top x - \frac{\mathbf{1}^\top x}{3}",
    ),
    "(-t) / (-s) + t / -2": ("t / s - t / 2", r"\frac{t}{s} - \frac{t}{2}"),
    "cp.sum(x / (y / 2))": (
        "1'(x ./ (y / 2))",
        r"\mathbf{1}^\top \left(x \oslash \frac{y}{2}\right)",
    ),
    "cp.norm(x - cp.mean(x, keepdims=True))": (
        "norm2(x - 1'x / 3)",
        r"\left\|x - \frac{\mathbf{1}^\top x}{3} \, \mathbf{1}\right\|_{2}",
    ),
    "cp.real(cp.quad_form(k, H))": (
        "real(conj(k)'C_1 k)",
        r"\operatorname{Re}\left(\left(\operatorname{conj}\left(k\right)\right)^\top "
        r"C_{1} k\right)",
    ),
    "cp.sum(cp.huber(x, lam))": (
        "1' huber(x, lam)",
        r"\mathbf{1}^\top \operatorname{huber}\left(x, \lambda\right)",
    ),
    "cp.reshape(M, (2, 3), order='C')[0, 1]": (
        "reshape(M, 2x3, order=C)[0, 1]",
        r"\left(\operatorname{reshape}\left(M, 2 \times 3, \text{order=C}\right)\right)_{1,2}",
    ),
    "t + np.nan": ("t + nan", r"t + \text{nan}"),
    "cp.norm(t) + cp.quad_over_lin(t, s)": (
        "abs(t) + t^2 / s",
        r"\left|t\right| + \frac{t^{2}}{s}",
    ),
    "cp.sum(T + 1)": ("sum(T + 1)", r"\operatorname{sum}\left(T + \mathbf{1}\right)"),
    "cp.suppfunc(x, [cp.norm(x) <= 1])(y)": (
        "sup over x(x'y, norm2(x) <= 1)",
        r"\text{sup over x}\left(x^\top y, \left\|x\right\|_{2} \le 1\right)",
    ),
    "partial_optimize(cp.Problem(cp.Minimize(cp.norm(x - y)), [x >= 1]), opt_vars=[x])": (
        "min over x(norm2(x - y), x >= 1)",
        r"\text{min over x}\left(\left\|x - y\right\|_{2}, x \ge 1\right)",
    ),
    "cp.perspective(cp.square(t), s)": (
        "perspective(t^2, s)",
        r"\operatorname{perspective}\left(t^{2}, s\right)",
    ),
}


@pytest.mark.parametrize("source", EXPECTED)
def test_an_objective_in_text_and_latex(source):
    text, latex = EXPECTED[source]
    seen = show(cp.Problem(cp.Minimize(expression(source))))
    assert seen.text.splitlines()[0] == f"minimize    {text}"
    assert seen.latex.splitlines()[1].split(" & ")[1] == rf"\displaystyle {latex}"


def test_relief_as_text():
    problem, values = stated("relief")
    assert show(problem, values).text == (
        "maximize    w'z\n"
        "subject to  norm: norm2(w) <= 1\n"
        "            sign: w >= 0\n"
        "where       w in R^30\n"
        "            z in R^30, constant"
    )


def test_logo_as_latex():
    problem, values = stated("logo-penalised")
    assert to_latex(problem, values).splitlines() == [
        r"\begin{array}{lll}",
        r"\text{minimize} & \displaystyle \mathbf{1}^\top \log\left(1 + e^{-Z w}\right) "
        r"+ \mathbf{1}^\top w &  \\",
        r"\text{subject to} & \displaystyle w \ge 0 & \text{sign} \\",
        r"\text{where} & \displaystyle w \in \mathbb{R}^{30} &  \\",
        r" & \displaystyle Z \in \mathbb{R}^{80 \times 30} & \text{constant}",
        r"\end{array}",
    ]


def test_an_exponent_stands_above_an_index():
    written = show(
        cp.Problem(cp.Minimize(expression("cp.norm(x) ** 2 + x[0] ** 2 + t ** 2")))
    ).mathml
    assert written.count("<mn>2</mn></msubsup>") == 2
    assert "<msup><mi>t</mi><mn>2</mn></msup>" in written


def test_every_kind_of_constraint():
    lines = show(ZOO["constraints"]()).text.splitlines()
    assert [line[12:] for line in lines[1:17]] == [
        "norm: norm2(x) <= 1",
        "x >= 0",
        "x <= 1",
        "C_1 x == c_1",
        "X >> 0",
        "2 I - X >> 0",
        "norm2(x) <= t",
        "s exp(t / s) <= t + 1",
        "t^0.25 s^0.75 >= abs(t)",
        "x - c_2 >= 0",
        "c_2'x - 1 == 0",
        "(norm2(M[i, :]))_i <= x",
        "1'x <= lam",
        "s <= 2 t",
        "one <= x",
        "PowConeND(x, t, c_3)",
    ]


def test_what_a_variable_may_be_is_stated():
    text = show(ZOO["attributes"]()).text
    for line in ("f in {0, 1}^4", "k in Z^2", "P in S_+^2", "d in R^2x2, diag",
                 "u in R^3, between -1 and 2", "x in R^2", "h in C^2x2, hermitian",
                 "m in R^3, at most 1", "some in R^3, boolean in part",
                 "s in R^2x2, 1 of 4 entries not 0", "c_1 = (1, 2, 3), constant"):  # fmt: skip
        assert f" {line}\n" in text + "\n"
    assert "k[0] in {c_1[i]}" in text


def test_the_meanings_given_in_words_are_cvxpys():
    X, Y = cp.Constant(np.diag([1.0, 3.0])), cp.Constant(np.diag([2.0, 5.0]))
    x, A = cp.Constant([1.0, 2.0, 0.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    half: Any = 0.5  # typed as an integer
    given = (
        (cp.condition_number(X), 3),
        (cp.dist_ratio(x, [0, 0, 0], [1, 0, 0]), np.sqrt(5) / 2),
        (cp.dotsort(x, [3, -1, 1]), 0 * -1 + 1 * 1 + 2 * 3),
        (cp.eye_minus_inv(X / 4)[1, 1], 1 / (1 - 3 / 4)),
        (cp.gen_lambda_max(X, Y), 3 / 5),
        (cp.gmatmul(A, cp.Constant([2.0, 3.0]))[0], 2 * 3**2),
        (cp.lambda_sum_largest(X, 1), 3),
        (cp.length(x), 2),
        (cp.one_minus_pos(cp.Constant(0.25)), 0.75),
        (cp.pf_eigenvalue(X), 3),
        (cp.pnorm([4.0, 9.0], half), (2 + 3) ** 2),
        # cvxpy's value of this one takes X as a density matrix, of trace 1.
        (
            cp.quantum_rel_entr(cp.symmetric_wrap(X / 4), Y),
            np.log(1 / 8) / 4 + np.log(3 / 20) * 3 / 4,
        ),
        (cp.von_neumann_entr(X), -3 * np.log(3)),
        (cp.geo_mean(cp.Constant([2.0, 3.0]), [1, 2]), (2 * 3**2) ** (1 / 3)),
        (cp.log_det(X), np.log(3)),
        (cp.prod(cp.Constant([2.0, 3.0])), 6),
        (cp.cumsum(x), [1, 3, 3]),
        (cp.cumprod(cp.Constant([2.0, 3.0])), [2, 6]),
        (cp.cummax(x), [1, 2, 2]),
        (cp.convolve([1.0, 10.0], cp.Constant([2.0, 3.0])), [2, 23, 30]),
        (cp.kron(A, Y)[0, 2], 2 * 2),
        (cp.diag(x)[1, 1], 2),
        (cp.upper_tri(cp.Constant(np.arange(9.0).reshape(3, 3))), [1, 2, 5]),
    )
    for atom, value in given:
        np.testing.assert_allclose(known(atom.value), value, rtol=1e-6)


def test_equal_constants_share_a_name_and_a_transpose_is_one():
    x, A = cp.Variable(3, name="x"), np.arange(12.0).reshape(4, 3)
    problem = cp.Problem(cp.Minimize(cp.sum(A.T @ (A @ x))), [A @ x >= 1, -A @ x <= 2])
    lines = show(problem).text.splitlines()
    assert lines[0] == "minimize    1'C_1 C_1'x"
    assert lines[1] == "subject to  C_1'x >= 1"
    assert show(problem, {"A": A}).text.splitlines()[0] == "minimize    1'A'A x"


def test_unnamed_leaves_get_the_same_names_every_time():
    def build():
        return cp.Problem(
            cp.Minimize(cp.sum(cp.Variable(2)) + cp.Variable() * cp.Parameter(pos=True))
        )

    assert show(build()).text == show(build()).text
    assert show(build()).text.startswith("minimize    1'x + x_2 p\n")


def test_short_constants_are_listed_and_long_ones_counted():
    x = cp.Variable(5, name="x")
    short = show(cp.Problem(cp.Minimize(np.arange(5.0) @ x))).text
    assert "c_1 = (0, 1, 2, 3, 4), constant" in short
    y = cp.Variable(500, name="y")
    long = show(cp.Problem(cp.Minimize(np.arange(500.0) @ y))).text
    assert "c_1 in R^500, constant" in long
    many = cp.Problem(cp.Minimize(cp.sum(y[np.arange(0, 500, 3)])))
    assert "1'y[I_1]" in show(many).text
    assert "I_1 in Z^167, positions" in show(many).text
