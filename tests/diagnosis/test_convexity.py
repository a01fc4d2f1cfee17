"""Which part breaks cvxpy's rules, and rewrites that are accepted and equal."""

import cvxpy as cp
import numpy as np
import pytest

import convexfs
from convexfs.diagnosis.rewrites import are_equal, rewritten
from tests.typed import known

x, y = cp.Variable(3, name="x"), cp.Variable(name="y")
u, s, t = cp.Variable(3, name="u", pos=True), cp.Variable(pos=True), cp.Variable(pos=True)
P = np.array([[2.0, 0.5, 0], [0.5, 1, 0], [0, 0, 3]])
REWRITTEN = {
    "root of a quadratic form": cp.sqrt(cp.quad_form(x, P)),
    "root of squares": cp.sqrt(cp.sum_squares(x - 2)),
    "root of 1 + y^2": cp.sqrt(1 + cp.square(y)),
    "root of a square": cp.sqrt(y**2),
    "inverse": 1 / y,
    "inverses": cp.sum(2 / u),
    "inverse root": 1 / cp.sqrt(s),
    "inverse square": 1 / s**2,
    "inverse product": 1 / (s * t),
    "log of exponentials": cp.log(cp.sum(cp.exp(x))),
    "log of two exponentials": cp.log(cp.exp(y) + cp.exp(s)),
    "soft plus": cp.sum(cp.log(1 + cp.exp(x))),
    "log of an inverse sigmoid": -cp.log(1 / (1 + cp.exp(y))),
    "log of a sigmoid": -cp.log(cp.exp(y) / (1 + cp.exp(y))),
    "log of a product": -cp.log(s * t),
    "log of a power": -cp.log(s**2),
    "log of an exponential": cp.log(cp.exp(y)),
    "inner product": x @ x,
    "entrywise product": cp.sum(cp.multiply(x, x)),
    "absolute values": cp.abs(y) * cp.abs(y),
    "entropy": cp.sum(cp.multiply(u, cp.log(u))),
    "relative entropy": s * cp.log(s / t),
    "squares over a variable": cp.sum_squares(x) / t,
    "product of exponentials": cp.exp(y) * cp.exp(s),
    "quotient of exponentials": cp.exp(y) / cp.exp(s),
    "power of an exponential": cp.sqrt(cp.exp(y)),
    "product of roots": -(cp.sqrt(s) * cp.sqrt(t)),
    "root of a product": -cp.sqrt(s * t),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_rewrite_is_accepted_and_has_the_same_values(name):
    problem = cp.Problem(cp.Minimize(REWRITTEN[name]))
    assert not problem.is_dcp()
    new, found = known(rewritten(problem))
    assert new.is_dcp()
    assert found
    assert are_equal(REWRITTEN[name], new.objective.expr)


@pytest.mark.parametrize(
    "expression",
    [x[0] * y, cp.log(s / t), cp.quad_form(x, np.diag([1.0, -1, 2])), cp.sqrt(x[0] * y + 1)],
)
def test_what_is_not_convex_is_not_rewritten(expression):
    assert rewritten(cp.Problem(cp.Minimize(expression))) is None


def test_expressions_that_differ_are_not_equal():
    assert not are_equal(cp.sqrt(cp.sum_squares(x)), cp.norm1(x))
    assert not are_equal(y, cp.abs(y))


@pytest.mark.parametrize(
    ("stated", "part", "advice"),
    [
        (cp.norm(x) >= 1, "norm2(x)", "linearise"),
        (cp.max(x) == y, "max(x)", "write <="),
        (cp.quad_form(x, np.diag([1.0, -1, 2])) <= 1, "x'C_1 x", "eigenvalue -1"),
        (x[0] * y <= 1, "x[0] y", "boolean"),
    ],
)
def test_the_part_is_named_and_advice_is_given(stated, part, advice):
    found = convexfs.explain(cp.Problem(cp.Minimize(cp.sum(x)), [stated]))
    assert found.status == "not convex"
    assert part in found.data["reasons"][0]
    assert any(advice in words for words in found.data["advice"])


def test_a_rewrite_is_preferred_to_bisection():
    found = convexfs.explain(cp.Problem(cp.Minimize(cp.sqrt(cp.sum_squares(x)))))
    assert found.data["accepted_after_rewrites"]
    assert "qcp" not in found.text
