"""Verdicts do not depend on the units that rows, columns, costs and right-hand sides are in."""

import cvxpy as cp
import numpy as np
import pytest

from convexfs import certify
from convexfs.certification.program.scaling import unit_of_objective, units_at
from convexfs.certification.program.standard_form import StandardForm

RNG = np.random.default_rng(5)


def vertex():
    """A linear program with its optimum and multipliers: min q'x, Ax <= b."""
    n, m = 5, 8
    A, x = RNG.normal(size=(m, n)), RNG.normal(size=n)
    slack, y = np.ones(m), RNG.uniform(0.5, 2, m)
    slack[:n], y[n:] = 0.0, 0.0
    return A, A @ x + slack, -A.T @ y, x


@pytest.mark.parametrize("off", [0.0, 1e-8, 1e-6, 1e-4, 1e-2])
def test_the_same_answer_in_other_units_has_the_same_numbers(off):
    A, b, q, x = vertex()
    answer = x + off * RNG.normal(size=x.size)
    seen = []
    for k in range(5):
        units = [2.0 ** (RNG.integers(-20, 20, size) * (k > 0)) for size in A.shape]
        row, column = units
        cost, side = (2.0 ** RNG.integers(-25, 25, 2)) if k else (1.0, 1.0)
        z = cp.Variable(x.size, name="z")
        rows = [(row[:, None] * A * column) @ z <= row * b * side]
        problem = cp.Problem(cp.Minimize((cost * q * column) @ z), rows)
        seen.append(certify(problem, primal={"z": answer * side / column}))
    first = seen[0]
    assert first.ok is (off <= 1e-6)
    for other in seen[1:]:
        assert other.ok is first.ok
        assert other.primal_residual == pytest.approx(first.primal_residual, rel=1e-3, abs=1e-13)
        assert (other.gap or 0.0) == pytest.approx(first.gap or 0.0, rel=0.02, abs=1e-6)


X, Y, T = cp.Variable(name="x"), cp.Variable(name="y"), cp.Variable(name="t")
V = cp.Variable(2, name="v")
MATRIX = np.array([[1.0, 2.0], [3.0, 1.0]])


def minimum(cost, *rows):
    return cp.Problem(cp.Minimize(cost), list(rows))


#: A problem, a right answer and a wrong one.
HIDDEN = {
    "one large cost": (
        minimum(1e9 * T - X, X >= 0, T >= 0, X <= 100 + T),
        {"x": 100.0, "t": 0.0},
        {"x": 0.015, "t": 0.0},
    ),
    "tiny right-hand sides": (
        minimum(-3 * V[0] - 2 * V[1], MATRIX @ V <= [4e-8, 6e-8], V >= 0),
        {"v": [1.6e-8, 1.2e-8]},
        {"v": [4e-8, 0.0]},
    ),
    "a large constant": (
        minimum(cp.abs(X - 3) + 1e9, X <= 100),
        {"x": 3.0},
        {"x": 50.0},
    ),
    "a row without data": (
        minimum(-X, X <= 1e-4 * Y, Y <= 1, X <= 1),
        {"x": 1e-4, "y": 1.0},
        {"x": 0.98e-4, "y": 1.0},
    ),
    "a rounding error in a row": (
        minimum(cp.norm(cp.hstack([1e-6 * V[0], V[1]])), V[0] + 6e-17 * V[1] == 1),
        {"v": [1.0, 0.0]},
        {"v": [1.0, 1.0]},
    ),
    "a small bound": (minimum(X, X >= 3e-6), {"x": 3e-6}, {"x": 0.0}),
    "free variables far away": (
        minimum(V[0] - V[1] + T, V[0] == V[1], T >= 0),
        {"v": [1.0, 1.0], "t": 0.0},
        {"v": [1e9, 1e9], "t": 100.0},
    ),
    "a steep curve": (
        minimum(0.5e16 * cp.square(X) - 1e8 * X, X <= 1),
        {"x": 1e-8},
        {"x": 1.1e-8},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_no_scale_hides_an_error(name):
    problem, right, wrong = HIDDEN[name]
    assert certify(problem, primal=right).ok, certify(problem, primal=right).explained()
    assert certify(problem, primal=wrong).ok is False


def test_units_come_from_data_and_reach_rows_without_any():
    form = StandardForm.of(minimum(-X, X <= 1e-3 * Y, Y <= 1e6))
    units = units_at(form, np.zeros(form.q.size))
    assert sorted(units.columns) == pytest.approx([1e3, 1e6])
    assert sorted(units.rows) == pytest.approx([1e3, 1e6])


def test_lenient_units_take_tiny_data_for_rounding_errors():
    form = StandardForm.of(minimum(X + Y, X <= 1, Y >= 1e-17))
    strict, lenient = (units_at(form, np.zeros(2), lenient=lenient) for lenient in (False, True))
    assert sorted(strict.columns) == pytest.approx([1e-17, 1.0])
    assert sorted(lenient.columns) == pytest.approx([1.0, 1.0])


def test_neither_a_penalty_nor_a_rounding_error_sets_the_unit_of_the_objective():
    assert unit_of_objective(StandardForm.of(minimum(1e9 * T - X, X <= 1, T >= -1))) == 1.0
    M = cp.Variable((2, 2), name="M", symmetric=True)
    cost = cp.trace(np.array([[1.0, 0.0], [0.0, 1e-25]]) @ M)
    form = StandardForm.of(minimum(cost, M >> 0, cp.trace(M) >= 1))
    assert unit_of_objective(form) == pytest.approx(1.0)


X, Y = (cp.Variable(name=name) for name in "xy")
HUGE = {
    "a bound": (cp.Minimize(X + Y), [X >= 1, Y >= 0, Y <= 1e15], (1, 0), [(1, 1), (50, 0)]),
    "of 0": (cp.Minimize(X + Y), [X >= 0, X <= 1, Y >= 0, Y <= 1e15], (0, 0), [(0.5, 0), (0, 1)]),
    "tiny entries": (
        cp.Minimize(X + Y), [X >= 1e-3, Y >= 0, 1e-17 * Y <= 9], (1e-3, 0), [(1, 0), (1000, 0)],
    ),
    "through a row": (
        cp.Maximize(X), [X <= Y, Y <= 1, 1e-17 * X <= 9], (1, 1), [(0, 0), (0.5, 1), (-100, 1)],
    ),
    "through a cone": (
        cp.Minimize(X + Y), [cp.norm(cp.hstack([X, Y])) <= 1, 1e-17 * (X + Y) <= 9],
        (-np.sqrt(0.5), -np.sqrt(0.5)), [(0, 0), (1, 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HUGE)
def test_huge_units_of_some_columns_excuse_no_gap(kind):
    goal, rows, right, wrong = HUGE[kind]
    problem = cp.Problem(goal, rows)
    assert certify(problem, primal=dict(zip((X, Y), right, strict=True))).ok
    for point in wrong:
        assert certify(problem, primal=dict(zip((X, Y), point, strict=True))).ok is not True


@pytest.mark.parametrize("curvature", [1e-6, 1.0, 1e9])
def test_curvature_tells_the_unit_of_a_problem_without_right_hand_sides(curvature):
    matrix = np.array([[1.0, 2.0], [-1.0, 1.0]])
    cost = curvature * cp.sum_squares(matrix @ V) + cp.sum(V)
    problem = minimum(cost, MATRIX @ V >= 0, V >= 0)
    unit = 0.1 / curvature
    for share, ok in ((1e-10, True), (0.1, False)):
        assert certify(problem, primal={"v": np.array([-share * unit, 0.0])}).ok is ok


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_ratio_of_0_is_proven_in_units_of_its_data(size):
    x = cp.Variable(nonneg=True, name="x")
    problem = minimum(x / (x + size), x >= 0, x <= 2 * size)
    for share, right in ((-1e-12, True), (1e-12, True), (1e-3, False)):
        assert (certify(problem, primal={"x": share * size}).ok is True) == right
