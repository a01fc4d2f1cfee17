"""Exact notation, in text and LaTeX, of what people write."""

import cvxpy as cp
import numpy as np
import pytest

from convexfs import show, to_latex
from tests.inspection.zoo import ZOO, expression, stated

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
    "cp.exp(t) ** 2": ("(exp(t))^2", r"\left(e^{t}\right)^{2}"),
    "cp.sqrt(t) - 1e-7 * s": ("sqrt(t) - 1e-07 s", r"\sqrt{t} - 10^{-7} \, s"),
    "cp.norm(X, 'fro') + cp.norm(X, 'nuc')": (
        "normF(X) + normnuc(X)",
        r"\left\|X\right\|_{F} + \left\|X\right\|_{*}",
    ),
    "cp.sum(1 - x)": ("1'(1 - x)", r"\mathbf{1}^\top \left(\mathbf{1} - x\right)"),
    "x[0] + cp.sum(x[1:])": ("x[0] + 1'x[1:3]", r"x_{1} + \mathbf{1}^\top x_{2:3}"),
    "cp.lambda_max(X - 2 * np.eye(3))": (
        "lambda_max(X - 2 I)",
        r"\lambda_{\max}\left(X - 2 \, I\right)",
    ),
    "cp.sum(cp.multiply(x, y)) / 2": ("x'y / 2", r"\frac{x^\top y}{2}"),
    "cp.sum_largest(x, 2)": ("sum_largest(x, 2)", r"\text{sum\_largest}\left(x, 2\right)"),
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


def test_every_kind_of_constraint():
    lines = show(ZOO["constraints"]()).text.splitlines()
    assert [line[12:] for line in lines[1:15]] == [
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
    ]


def test_what_a_variable_may_be_is_stated():
    text = show(ZOO["attributes"]()).text
    for line in ("f in {0, 1}^4", "k in Z^2", "P in S_+^2", "d in R^2x2, diag",
                 "u in R^3, between -1 and 2", "x in R^2"):  # fmt: skip
        assert f" {line}\n" in text + "\n"


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
