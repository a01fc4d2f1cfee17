"""The six DIMACS errors, beside numbers worked out by hand."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs.records import ConePoint
from convexfs.solving.dimacs import dimacs_errors, measured_errors
from convexfs.solving.solve import solve


def compiled(problem: cp.Problem, solver: str = "CLARABEL"):
    return problem.get_problem_data(solver)[0]["param_prob"]


def test_errors_of_a_linear_program_by_hand():
    """min x + y, x + y == 2, x >= 0, y >= 0 at x = 2.1, y = -.2 with multipliers 1, (0, .3)."""
    x = cp.Variable(2, name="x")
    rows: list[Any] = [cp.sum(x) == 2, x >= 0]
    program = compiled(cp.Problem(cp.Minimize(cp.sum(x)), rows))
    point = ConePoint(np.array([2.1, -0.2]), np.array([1.0, 0.0, 0.3]))
    found = dimacs_errors(program, point)
    # Primal 1.9, dual 2 with the sign of the equation that fits; max |b| = 2, max |q| = 1.
    gap, size = 0.1, 1 + 1.9 + 2.0
    assert found == pytest.approx(
        [0.1 / 3, 0.2 / 3, 0.3 / 2, 0.0, gap / size, abs(-0.1 - 0.06) / size], abs=1e-12
    )


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "CVXOPT", "SDPA"])
def test_errors_of_a_semidefinite_program_are_small_whichever_triangle_a_solver_has(solver):
    C = np.random.default_rng(1).normal(size=(5, 5))
    X = cp.Variable((5, 5), PSD=True, name="X")
    rows: list[Any] = [cp.trace(X) == 1, X[0, 1] >= 0.1]
    problem = cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), rows)
    with measured_errors() as measured:
        solution = solve(problem, solver, tol=1e-6)
    assert solution.status == "optimal"
    assert measured.errors is not None
    assert len(measured.errors) == 6
    assert max(measured.errors) < 1e-5


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "ECOS", "QOCO", "CVXOPT"])
def test_errors_of_several_second_order_cones_in_one_constraint_are_small(solver):
    draw = np.random.default_rng(0)
    X, t = cp.Variable((3, 5), name="X"), cp.Variable(5, name="t")
    cost = cp.sum(t) + cp.sum(cp.multiply(0.3 * draw.normal(size=(3, 5)), X))
    rows: list[Any] = [cp.SOC(t, X), t <= 2, 0.5 * draw.normal(size=(3, 5)) <= X]
    with measured_errors() as measured:
        assert solve(cp.Problem(cp.Minimize(cost), rows), solver).status == "optimal"
    assert measured.errors is not None
    assert max(measured.errors) < 1e-5


def test_bounds_that_a_solver_takes_as_such_have_reduced_costs():
    x = cp.Variable(3, name="x", nonneg=True)
    rows: list[Any] = [cp.sum(x) == 1]
    problem = cp.Problem(cp.Minimize(np.array([1.0, 2.0, 3.0]) @ x), rows)
    with measured_errors() as measured:
        solve(problem, "HIGHS")
    assert measured.errors == pytest.approx([0.0] * 6, abs=1e-9)


def test_there_are_none_for_exponential_cones_integers_and_points_without_multipliers():
    x = cp.Variable(2, name="x")
    exponential = cp.Problem(cp.Minimize(cp.log_sum_exp(x)), [x >= 1])
    z = cp.Variable(2, name="z", integer=True)
    integer = cp.Problem(cp.Minimize(cp.sum(z)), [z >= 0.5])
    plain = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    for problem, solver in ((exponential, "CLARABEL"), (integer, "HIGHS"), (plain, "SCIP")):
        with measured_errors() as measured:
            assert solve(problem, solver).status == "optimal"
        assert measured.errors is None
