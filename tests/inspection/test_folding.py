"""What differs only in its constants is told once; long lines are broken."""

from dataclasses import replace
from types import SimpleNamespace

import cvxpy as cp
import numpy as np

from convexfs import show, to_latex
from tests.inspection.numpy_code import numpy_code
from tests.inspection.test_numpy_code import assert_same_numbers
from tests.inspection.zoo import stated
from tests.typed import constraints

RNG = np.random.default_rng(3)


def tangents(count, **labels):
    x, t = cp.Variable(8, name="x"), cp.Variable(name="t")
    rows = [t >= RNG.standard_normal(8) @ x + float(k) for k in range(1, count + 1)]
    for k, row in enumerate(rows):
        row.set_label(labels["label"].format(k)) if labels else None
    return cp.Problem(cp.Minimize(t), [*rows, x >= 0])


def test_a_family_of_constraints_is_one_line():
    seen = show(tangents(7, label="tangent {}"))
    assert seen.text.splitlines() == [
        "minimize    t",
        "subject to  tangent 0 .. tangent 6: c_k'x + b_k <= t, k = 1..7",
        "            x >= 0",
        "where       t in R",
        "            x in R^8",
        "            c_k in R^8, constants, k = 1..7",
        "            b_k in R, constants, k = 1..7",
    ]
    assert r"c_{k}^\top x + b_{k} \le t, k = \text{1..7} & \text{tangent 0 .. tangent 6}" in (
        seen.latex
    )
    assert "tangent 0 .. tangent 6 (7 of inequality, 1 row each, affine <= affine)" in str(seen)
    words = " ".join(str(seen).split())
    assert "tangent 0 .. tangent 6: multiplier of c_k'x + b_k <= t, k = 1..7, one" in words
    assert list(seen.duals)[:2] == ["tangent 0", "tangent 1"]
    assert seen.text == seen.text


def test_code_and_comparison_have_every_member():
    problem = tangents(7)
    assert_same_numbers(problem)
    code = numpy_code(show(problem).formula, problem.constraints)
    assert len(code.residuals({"x": np.zeros(8), "t": 0.0})) == 8


def test_a_few_are_told_one_by_one():
    assert "c_1'x + 1 <= t\n" in show(tangents(3)).text


def test_short_families_of_numbers_are_listed():
    t, s = cp.Variable(name="t"), cp.Variable(name="s")
    rows = [t >= k * s + 1 for k in (2.0, 3.0, 5.0, 7.0)]
    text = show(cp.Problem(cp.Minimize(t), constraints(*rows))).text
    assert "subject to  a_k s + 1 <= t, k = 1..4\n" in text
    assert "a_k = (2, 3, 5, 7), constants, k = 1..4" in text


def test_members_may_differ_in_the_signs_of_their_numbers():
    t, s = cp.Variable(name="t"), cp.Variable(name="s")
    rows = [t >= a * s + b for a, b in ((2, 1), (-3, 2), (5, -1), (-7, -2))]
    text = show(cp.Problem(cp.Minimize(t), constraints(*rows))).text
    assert "subject to  a_k s + b_k <= t, k = 1..4\n" in text
    assert "a_k = (2, -3, 5, -7), constants, k = 1..4" in text
    assert "b_k = (1, 2, -1, -2), constants, k = 1..4" in text


def test_terms_over_groups_are_a_sum():
    w = cp.Variable(30, name="w")
    groups = sum(cp.norm(w[k : k + 21 : 10]) for k in range(10))
    lists = sum(cp.norm(w[[k, k + 10, k + 20]]) for k in range(10))
    assert "norm2(w[0:21:10]) + norm2(w[1:22:10])" in show(cp.Problem(cp.Minimize(groups))).text
    seen = show(cp.Problem(cp.Minimize(2 * lists + cp.sum(w))))
    assert seen.text.splitlines()[0] == "minimize    2 sum_k norm2(w[I_k]) + 1'w"
    assert "I_k in Z^3, positions, k = 1..10" in seen.text
    assert r"2 \, \sum_k \left\|w_{I_{k}}\right\|_{2} + \mathbf{1}^\top w" in seen.latex


def test_equal_terms_and_variables_that_differ_are_no_family():
    variables = [cp.Variable(name=f"v{k}") for k in range(5)]
    problem = cp.Problem(cp.Minimize(sum(variables)), [v >= 1 for v in variables])
    assert show(problem).text.count(">= 1") == 5
    same = cp.Problem(cp.Minimize(sum(cp.abs(variables[0]) for _ in range(5))))
    assert show(same).text.count("abs(v0)") == 5


def test_an_index_is_no_name_in_use():
    problem = tangents(5)
    k = cp.Variable(name="k")
    assert (
        "c_j'x + b_j <= t, j = 1..5"
        in show(cp.Problem(problem.objective, [*problem.constraints, k >= 0])).text
    )


def test_long_lines_are_broken_at_their_signs():
    names = [f"a_rather_long_name_{k}" for k in range(9)]
    total = sum(cp.square(cp.Variable(name=name)) for name in names)
    problem = cp.Problem(cp.Minimize(total), [total <= cp.Variable(name="t")])
    lines = show(problem).text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith(" " * 16 + "+ a_rather_long_name_3^2")
    assert "                <= t" in lines
    latex = to_latex(problem)
    assert latex.startswith("\\begin{aligned}\n\\text{minimize} \\quad & \\displaystyle ")
    assert r"\displaystyle \quad {} + " in latex
    assert to_latex(problem, optidef=True).count(r"\breakObjective{+ ") == 2


def test_optidef():
    problem, values = stated("relief")
    assert to_latex(problem, values, optidef=True).splitlines() == [
        r"\begin{maxi*}{w}{w^\top z}{}{}",
        r"\addConstraint{\left\|w\right\|_{2} \le 1}{}{\quad \text{norm}}",
        r"\addConstraint{w \ge 0}{}{\quad \text{sign}}",
        r"\end{maxi*}",
        r"where $w \in \mathbb{R}^{30}$, $z \in \mathbb{R}^{30}$ (constant).",
    ]


def test_a_negative_is_no_new_constant():
    w, Z = cp.Variable(3, name="w"), np.array([[1.0, 0.0, 2.0], [3.0, 4.0, 5.0]])
    problem = cp.Problem(cp.Minimize(cp.sum(cp.exp(-Z @ w))), [-Z.T @ np.ones(2) <= w, Z @ w >= 1])
    text = show(problem, {"Z": Z}).text
    assert "minimize    1' exp(-Z w)\n" in text
    assert "C_1" not in text
    assert_same_numbers(problem, names={"Z": Z})


def at(formula, node, families, member, values):
    """Value of a family's formula for one member."""
    declared = dict(formula.symbols.declared)
    for each in families:
        declared[each.name] = replace(each, stands_for=np.asarray(each.stands_for[member]), count=0)
    symbols = SimpleNamespace(declared=declared)
    return numpy_code(replace(formula, objective=node, clauses=(), symbols=symbols)).objective(
        values
    )


def test_what_is_told_once_is_true_of_every_member():
    x, t = cp.Variable(6, name="x"), cp.Variable(name="t")
    rows = [
        t >= float(b) + RNG.standard_normal(6) @ x - a * x[k] + cp.norm(RNG.random((5, 6)) @ x)
        for k, (a, b) in enumerate(RNG.standard_normal((5, 2)))
    ]
    seen = show(cp.Problem(cp.Minimize(t), constraints(*rows)))
    values = {"x": RNG.standard_normal(6), "t": 0.7}
    ((node, run),) = seen.page.folded.clauses
    families = [each for each in seen.page.folded.symbols if each.count]
    assert len(run) == 5
    assert len(families) == 5
    for member, clause in enumerate(run):
        for told, own in zip(node.parts, clause.statement.parts, strict=True):
            np.testing.assert_allclose(
                at(seen.formula, told, families, member, values),
                at(seen.formula, own, (), member, values),
            )
