"""Every claim has its proof: integer, geometric, quasi-convex, unbounded; whatever brings it."""

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import assert_optimal, certify, solve
from convexfs.certification.unboundedness import RAY
from convexfs.errors import InputError
from tests.solvers import installed
from tests.solving import problems
from tests.typed import known


def maximum(gain, *rows):
    return cp.Problem(cp.Maximize(gain), list(rows))


def minimum(cost, *rows):
    return cp.Problem(cp.Minimize(cost), list(rows))


# ---- ways to ask -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", problems.CONVEX)
def test_what_any_solve_left_is_certified(name):
    problem = problems.CONVEX[name]()
    with pytest.raises(InputError, match="there is no solution to verify: solve the problem first"):
        certify(problem)
    problem.solve(solver="CLARABEL")
    certificate = certify(problem)
    assert certificate.ok, certificate.explained()
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    assert sign * known(certificate.bound) <= sign * known(certificate.objective) + 1e-5
    variable = problem.variables()[0]
    variable.value = known(variable.value) + 0.01 * np.ones(variable.shape)
    assert certify(problem).ok is False


@pytest.mark.parametrize("name", problems.CONVEX)
def test_a_bare_point_is_judged_by_name_or_variable(name):
    problem, solution = problems.CONVEX[name](), solve(problems.CONVEX[name](), tol=1e-8)
    assert certify(problem, primal=solution.primal).ok
    (variable,) = problem.variables()
    assert certify(problem, primal={variable: solution.primal[variable.name()]}).ok
    moved = {key: value + 0.01 for key, value in solution.primal.items()}
    assert certify(problem, primal=moved).ok is False


def test_points_that_do_not_fit_say_so():
    problem = problems.second_order()
    solution = solve(problem)
    for primal, said in (
        ({"v": np.ones(8)}, "the problem has no variable v: its variables are w"),
        ({"w": np.ones(7)}, "'w' has another size"),
        ({}, "no value for variable 'w'"),
    ):
        with pytest.raises(InputError, match=said):
            certify(problem, primal=primal)
    with pytest.raises(InputError, match="a solution or a primal point, not both"):
        certify(problem, solution, primal=solution.primal)
    no_problem: Any = 3
    with pytest.raises(InputError, match=r"takes a cvxpy.Problem, not int"):
        certify(no_problem)
    p = cp.Parameter(name="p")
    with pytest.raises(InputError, match="give parameter p the value that was solved"):
        certify(minimum(cp.Variable() * p))


def test_a_test_suite_can_assert_an_optimum():
    problem = problems.logistic()
    problem.solve(solver="CLARABEL")
    assert_optimal(problem)
    problem.variables()[0].value = np.ones(8)
    with pytest.raises(AssertionError, match="not proven optimal\noptimal: refuted"):
        assert_optimal(problem)
    x = cp.Variable()
    problem = minimum(x, x >= 1, x <= 0)
    problem.solve()
    with pytest.raises(AssertionError, match="infeasible: proven"):
        assert_optimal(problem)


def test_the_worst_row_and_column_are_named():
    x = cp.Variable(3, name="x")
    problem = minimum(cp.sum(x), (x >= [1, 2, 3]).set_label("floor"), x <= 9)
    certificate = certify(problem, primal={"x": [1, 1.5, 3]})
    assert certificate.where[0] == "constraint floor[1]"
    assert certificate.reason.startswith("constraint floor[1] is violated by")
    assert "constraint floor[1]" in certificate.explained()
    endless = minimum(cp.quad_over_lin(1.0, x[0]) + cp.sum_squares(x[1:]))
    certificate = certify(endless, primal={"x": [1e4, 0, 0]})
    assert certificate.ok is not True


def test_a_better_point_is_told():
    x = cp.Variable(name="x")
    certificate = certify(minimum(x, x >= 1), primal={"x": 2})
    assert certificate.better == pytest.approx(1.0)
    assert certificate.reason == "a verified feasible point has objective 1"


def test_parameters_are_judged_at_their_present_values():
    x, p = cp.Variable(name="x"), cp.Parameter(value=1.0, name="p")
    problem = minimum(x, x >= p)
    problem.solve(solver="CLARABEL")
    assert certify(problem).ok
    for value in (0.5, 2.0):
        p.value = value
        assert certify(problem).ok is False


# ---- power cones -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", installed("CLARABEL", "SCS"))
def test_power_cones_are_proven(solver):
    x = cp.Variable(3, name="x")
    bound = cp.PowCone3D(x[0], x[1], x[2], 0.3)
    problem = minimum(x[0] + x[1], bound, x[2] >= 1)
    solution = solve(problem, solver)
    assert certify(problem, solution).ok
    assert certify(problem, primal={"x": 1.01 * solution.primal["x"]}).ok is False
    y = cp.Variable(3, name="y", nonneg=True)
    problem = maximum(cp.geo_mean(y, [0.2, 0.3, 0.5], approx=False), cp.sum(y) <= 1)
    assert certify(problem, solve(problem, solver)).ok


# ---- integers ----------------------------------------------------------------------------------


def knapsack(size, seed=3):
    rng = np.random.default_rng(seed)
    x = cp.Variable(size, boolean=True, name="x")
    return maximum(rng.integers(5, 40, size) @ x, rng.integers(5, 40, (3, size)) @ x <= 8 * size)


def test_a_worse_choice_is_refused_and_the_best_is_proven():
    problem = knapsack(8)
    solution = solve(problem, "HIGHS")
    assert certify(problem, solution).ok
    fewer = solution.primal["x"].copy()
    fewer[np.argmax(fewer)] = 0.0
    assert certify(problem, primal={"x": fewer}).ok is False
    halves = 0.5 * solution.primal["x"]
    refused = certify(problem, primal={"x": halves})
    assert refused.ok is False
    assert "an integer variable is off by" in refused.reason


def test_beyond_its_nodes_a_choice_is_left_open_with_the_gap():
    problem = knapsack(25)
    certificate = certify(problem, solve(problem, "HIGHS"), nodes=3)
    assert certificate.ok is None
    assert 1e-5 < known(certificate.gap) < 1
    assert "not proven optimal" in str(certificate)


def test_whole_and_continuous_variables_with_curves_are_bounded_too():
    x, n = cp.Variable(name="x"), cp.Variable(integer=True, name="n")
    problem = minimum(cp.abs(x - 0.3) + 2 * cp.abs(n - 1.6), x + n >= 2)
    certificate = certify(problem, primal={"x": 0.3, "n": 2.0})
    assert certificate.ok, certificate.explained()
    assert certify(problem, primal={"x": 1.0, "n": 1.0}).ok is False


def test_no_whole_number_is_a_proof_of_infeasibility_only_if_none_is_far_away():
    n, k = cp.Variable(integer=True, name="n"), cp.Variable(integer=True, name="k")
    none = minimum(n, 2 * n == 1)
    assert certify(none, replace(solve(knapsack(3)), status="infeasible", primal={})).ok
    far = minimum(n, 1001 * n - 1003 * k == 1)  # n = 501, k = 500
    assert not certify(far, replace(solve(knapsack(3)), status="infeasible", primal={})).ok


# ---- no optimum --------------------------------------------------------------------------------


def unbounded():
    x, t = cp.Variable(2, name="x"), cp.Variable(name="t")
    X = cp.Variable((2, 2), PSD=True, name="X")
    return {
        "linear": minimum(x[0] - x[1], x >= 0),
        "quadratic": minimum(cp.square(x[0]) - x[1], x[1] >= x[0]),
        "second order": maximum(t, cp.norm(x - 1) <= t),
        "semidefinite": maximum(cp.trace(X), X[0, 1] == 0),
        "exponential": maximum(t, cp.exp(x[0]) <= 1 + x[1], t <= x[1]),
    }


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("name", unbounded())
def test_a_ray_from_a_feasible_point_proves_that_there_is_no_optimum(name, scale):
    problem = unbounded()[name]
    problem = cp.Problem(problem.objective * scale, problem.constraints)
    said = replace(solve(problem, "CLARABEL"), status="unbounded", primal={})
    certificate = certify(problem, said)
    assert certificate.ok, certificate.explained()
    assert certificate.basis == RAY
    assert certificate.claim == "unbounded"


@pytest.mark.parametrize(
    "rows", [lambda x, y: [x - y >= 1, 1e-9 * x <= y, x >= 0], lambda x, y: [y >= 0, x <= 1]]
)
def test_a_problem_with_an_optimum_is_never_said_to_have_none(rows):
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    problem = minimum(y, *rows(x, y))
    said = replace(solve(problem, "HIGHS"), status="unbounded", primal={})
    assert certify(problem, said).ok is False


def test_a_ray_without_a_feasible_point_is_no_proof():
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    problem = minimum(x, y >= 1, y <= 0)
    problem.solve(solver="CLARABEL")
    said = replace(solve(problem, "CLARABEL"), status="unbounded")
    assert str(certify(problem, said)) == "refuted: no point is feasible"


# ---- geometric and quasi-convex ----------------------------------------------------------------


def test_a_geometric_problem_is_proven_through_its_logarithms():
    x, y, z = (cp.Variable(pos=True, name=name) for name in "xyz")
    rows = [4 * x * y * z + 2 * x * z <= 10, x <= 2 * y, y <= 2 * x, z >= 1]
    problem = maximum(x * y * z, *rows)
    problem.solve(gp=True, solver="CLARABEL")
    certificate = certify(problem)
    assert certificate.ok, certificate.explained()
    assert certificate.objective == pytest.approx(2, rel=1e-5)
    assert certificate.bound == pytest.approx(2, rel=1e-5)
    x.value = 0.99 * known(x.value)
    assert certify(problem).ok is False
    none = minimum(x, x >= 2, x * y <= 1, y >= 1)
    none.solve(gp=True, solver="CLARABEL")
    assert none.status == "infeasible"
    assert certify(none).ok


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_quasiconvex_problem_is_proven_by_levels_that_are_empty(scale):
    x = cp.Variable(name="x")
    problem = maximum(scale * cp.sqrt(x) / cp.exp(x), x >= 0.1)
    certificate = certify(problem, primal={"x": 0.5})
    assert certificate.ok, certificate.explained()
    assert certificate.bound == pytest.approx(scale * np.sqrt(0.5) / np.exp(0.5), rel=1e-4)
    assert certify(problem, primal={"x": 0.55}).ok is False
    steps = minimum(cp.ceil(x), x >= 1.5)
    assert certify(steps, primal={"x": 1.7}).ok
    assert certify(steps, primal={"x": 2.5}).ok is False


def test_what_is_convex_by_no_rule_is_an_error():
    x = cp.Variable(name="x")
    with pytest.raises(InputError, match="not convex by cvxpy's rules"):
        certify(minimum(-(x**2) * x), primal={"x": 1.0})
