"""A problem that is not convex is told where and why."""

import cvxpy as cp
import numpy as np
import pytest

from convexfs import show
from tests.inspection.zoo import expression

REASONS = {
    "cp.sqrt(t)": "sqrt(t) is concave, minimised",
    "cp.sum(x) + 2 * cp.sum(cp.log(x))": "log(x) is concave, minimised",
    "t - 2 * cp.sum_squares(x)": "norm2(x)^2 is convex, minimised with a negative sign",
    "x @ y": "x'y is a product of two expressions that both contain variables",
    "t * s + cp.square(t)": "t s is a product of two expressions that both contain variables",
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


def test_constraints_are_named():
    x, t = cp.Variable(3, name="x"), cp.Variable(name="t")
    rows = [
        (cp.norm(x) >= 1).set_label("outside"),
        cp.square(t) == 1,
        cp.sqrt(t) <= 1,
        cp.norm(x) <= 1,
    ]
    assert show(cp.Problem(cp.Maximize(t), rows)).reasons == [
        "constraint outside: norm2(x) is convex, on the larger side of <=",
        "constraint 1: t^2 is convex, in an equality",
        "constraint 2: sqrt(t) is concave, on the smaller side of <=",
    ]


def test_what_is_convex_but_not_parametrised_is_told_why():
    a, b = cp.Parameter(name="a", value=1.0), cp.Parameter(name="b", value=2.0)
    seen = show(cp.Problem(cp.Minimize(a * b * cp.Variable(name="t")), []))
    assert seen.rules == {"DCP": True, "DPP": False, "DQCP": True}
    assert seen.reasons == [
        "objective: a b is a product of two expressions that both contain variables or parameters"
    ]


def test_a_convex_problem_breaks_nothing():
    x = cp.Variable(3, name="x")
    seen = show(cp.Problem(cp.Minimize(cp.sum_squares(x)), [np.ones(3) @ x == 1]))
    assert seen.reasons == []
    assert seen.curvatures == {"objective": "convex", "0": "affine == constant"}
