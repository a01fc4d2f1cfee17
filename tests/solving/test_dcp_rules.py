"""A problem that is not convex is told where and why."""

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.transforms.partial_optimize import partial_optimize

from convexfs import show
from convexfs.solving.dcp_rules import in_words
from tests.inspection.zoo import expression
from tests.typed import constraints

REASONS = {
    "cp.sqrt(t)": "sqrt(t) is concave, but what is minimised must be convex",
    "cp.sum(x) + 2 * cp.sum(cp.log(x))": (
        "log(x) is concave, but what is minimised must be convex"
    ),
    "t - 2 * cp.sum_squares(x)": (
        "norm2(x)^2 is convex and has a negative sign, but what is minimised must be convex"
    ),
    "x @ y": (
        "x'y is a product of two expressions that both contain variables: one of them must be "
        "constant"
    ),
    "t * s + cp.square(t)": (
        "t s is a product of two expressions that both contain variables: one of them must be "
        "constant"
    ),
    "t * t": (
        "t t is a product of two expressions that both contain variables: write square, or "
        "sum_squares"
    ),
    "1 / t": (
        "1 / t divides by an expression that contains variables: write inv_pos if the divisor is "
        "positive"
    ),
    "cp.sqrt(t) ** 2": (
        "in sqrt(t)^2 the function is convex and increasing, so its argument must be convex, "
        "but sqrt(t) is concave"
    ),
    "cp.log(cp.square(t) + 1)": (
        "in log(t^2 + 1) the function is concave and increasing, so its argument must be concave, "
        "but t^2 + 1 is convex"
    ),
    "cp.sum(cp.multiply(g, cp.square(x)))": (
        "g .* x.^2 multiplies x.^2, which is convex, by a factor whose sign is mixed or not "
        "known: declare the parameter nonneg or nonpos"
    ),
    "cp.ceil(t)": "ceil(t) is neither convex nor concave, but quasiconvex, which DQCP admits",
    "-partial_optimize(cp.Problem(cp.Minimize(cp.norm(x - y)), [x >= 1]), opt_vars=[x])": (
        "min over x(norm2(x - y), x >= 1) is convex and has a negative sign, but what is "
        "minimised must be convex"
    ),
    "cp.square(t) + cp.sqrt(t)": "t^2 is convex and sqrt(t) is concave, so their sum is neither",
    "t / (s + 1)": "t / (s + 1) divides by an expression that contains variables",
    "cp.exp(cp.sqrt(t))": (
        "in exp(sqrt(t)) the function is convex and increasing, so its argument must be convex, "
        "but sqrt(t) is concave"
    ),
    "cp.norm(cp.square(x) - 1)": (
        "in norm2(x.^2 - 1) the function is convex and not monotone, so its argument must be "
        "affine, but x.^2 - 1 is convex"
    ),
    "cp.quad_form(x, np.diag([1.0, -1.0, 2.0]))": (
        "x'C_1 x has a matrix C_1 that is neither positive nor negative semidefinite"
    ),
    "np.array([1, -1, 2]) @ cp.square(x)": (
        "c_1'x.^2 multiplies x.^2, which is convex, by a factor whose sign is mixed or not known"
    ),
}


@pytest.mark.parametrize("source", REASONS)
def test_the_first_offending_part_of_an_objective(source):
    seen = show(cp.Problem(cp.Minimize(expression(source))))
    assert seen.rules["DCP"] is False
    assert seen.reasons == [f"objective: {REASONS[source]}"]
    assert f"objective: {REASONS[source]}" in str(seen)


@pytest.mark.filterwarnings("ignore::cvxpy.CvxpyDeprecationWarning")  # of NonPos
def test_constraints_are_named():
    x, t = cp.Variable(3, name="x"), cp.Variable(name="t")
    rows = [
        (cp.norm(x) >= 1).set_label("outside"),
        cp.square(t) == 1,
        cp.sqrt(t) <= 1,
        cp.norm(x) <= 1,
        cp.SOC(t, cp.square(x)),
        cp.NonNeg(cp.square(x)),
        cp.NonPos(cp.sqrt(x)),
        cp.Zero(cp.square(t)),
    ]
    assert show(cp.Problem(cp.Maximize(cp.square(t)), rows)).reasons == [
        "objective: t^2 is convex, but what is maximised must be concave",
        "constraint outside: norm2(x) is convex, but the larger side of an inequality must be "
        "concave",
        "constraint 1: t^2 is convex, but each side of an equality must be affine",
        "constraint 2: sqrt(t) is concave, but the smaller side of an inequality must be convex",
        "constraint 4: x.^2 is convex, but what lies in a cone must be affine",
        "constraint 5: x.^2 is convex, but what is at least 0 must be concave",
        "constraint 6: sqrt(x) is concave, but what is at most 0 must be convex",
        "constraint 7: t^2 is convex, but each side of an equality must be affine",
    ]


def test_what_is_convex_but_not_parametrised_is_told_why():
    a, b = cp.Parameter(name="a", pos=True), cp.Parameter(name="b", value=2.0)
    P = cp.Parameter((3, 3), name="P", PSD=True)
    x, t = cp.Variable(3, name="x"), cp.Variable(name="t")
    rows = [t >= 1 / a, cp.quad_form(x, P) <= 1]
    seen = show(cp.Problem(cp.Minimize(a * b * t), constraints(*rows)))
    assert seen.rules == {"DCP": True, "DPP": False, "DQCP": True, "DGP": False}
    assert seen.reasons == [
        "objective: a b is a product of two expressions that both contain variables or "
        "parameters: make the product of the parameters a separate parameter",
        "constraint 0: 1 / a divides by an expression that contains variables or parameters: "
        "make the inverse a separate parameter",
        "constraint 1: x'P x has a matrix P that contains parameters: make a root R of it, R'R, "
        "the parameter and write sum_squares(R @ x)",
    ]


def test_a_convex_problem_breaks_nothing():
    x = cp.Variable(3, name="x")
    seen = show(cp.Problem(cp.Minimize(cp.sum_squares(x)), [np.ones(3) @ x == 1]))
    assert seen.reasons == []
    assert seen.curvatures == {"objective": "convex", "0": "affine == constant"}


def test_expressions_are_told_in_a_line_without_arrays():
    x, y = cp.Variable(3, name="x"), cp.Variable(3, name="y")
    inner = cp.Problem(cp.Minimize(cp.norm(x - np.arange(3.0) - y)), [x >= 1])
    told = {
        "Pnorm(array(40, 3) @ x + array(40,), 2)": cp.norm(np.ones((40, 3)) @ x + np.ones(40)),
        "perspective(s, x)": cp.perspective(cp.norm(x), cp.Variable(nonneg=True, name="s")),
        "SuppFuncAtom(y)": cp.suppfunc(x, [cp.norm(x) <= 1])(y),
    }
    for words, atom in told.items():
        assert in_words(atom) == words
    assert in_words(partial_optimize(inner, opt_vars=[x])).startswith("PartialProblem(minimize ")
    assert "\n" not in in_words(partial_optimize(inner, opt_vars=[x]))
    assert len(in_words(sum(cp.abs(x[k % 3]) for k in range(99)))) < 210


def test_the_log_log_rules_are_asked_of_positive_variables_only():
    x, y, t = (
        cp.Variable(name="x", pos=True),
        cp.Variable(name="y", pos=True),
        cp.Variable(name="t"),
    )
    reasons = show(cp.Problem(cp.Maximize(x * y), [x - y <= 1, x * y >= -1])).reasons
    assert [reason for reason in reasons if reason.startswith("as a geometric program")] == [
        "as a geometric program, constraint 0: -y has a minus sign",
        "as a geometric program, constraint 1: -1 is not positive",
    ]
    assert len(show(cp.Problem(cp.Minimize(x * t))).reasons) == 1
    assert show(cp.Problem(cp.Minimize(x * y + x / y))).reasons == []
