"""Attacks on certificates: wrong solutions that were accepted, and right ones that were not.

Each problem is given with points whose verdict is known. No wrong one may be proven, no right one
refuted; most are decided.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from convexfs import Solution, certify, solve
from tests.solvers import installed


def minimum(cost, *rows):
    return cp.Problem(cp.Minimize(cost), list(rows))


def maximum(gain, *rows):
    return cp.Problem(cp.Maximize(gain), list(rows))


X, Y, W, H, K = (cp.Variable(name=name) for name in "xywhk")
N = cp.Variable(name="n", integer=True)
Z = cp.Variable(name="z", boolean=True)
S = cp.Variable((2, 2), name="S", PSD=True)
V = cp.Variable(pos=True, name="v")
T = cp.Variable(name="t")
NOISE = 0.1 + 0.2 - 0.3

#: Problem, a right point (or None) and wrong ones.
POINTS = {
    "tiny right-hand side": (
        minimum(Y - X, Y >= 1, X - W <= 1e-12, W <= 10, X >= 0, W >= 0),
        {Y: 1, X: 10, W: 10}, [{Y: 1, X: 0, W: 0}],
    ),
    "noise for 0": (
        minimum(Y - X, Y >= 1, X == W + NOISE, W <= 10, W >= 0), None, [{Y: 1, X: NOISE, W: 0}],
    ),
    "tiny side, quadratic": (
        minimum(Y - X + cp.square(Y), Y >= 1, X - W <= 1e-12, W <= 1, X >= 0, W >= 0),
        None, [{Y: 1, X: 0, W: 0}],
    ),
    "far column": (
        minimum(Y - 1e-8 * X, Y >= 1, X - W <= 1, W <= 1e9, X >= 0, W >= 0),
        {Y: 1, X: 1e9 + 1, W: 1e9}, [{Y: 1, X: 0, W: 0}, {Y: 1, X: 5e8, W: 1e9}],
    ),
    "far integer column": (
        minimum(Y - 1e-12 * N, Y >= 1, N - W <= 1, W <= 1e13, N >= 0, W >= 0),
        None, [{Y: 1, N: 0, W: 0}],
    ),
    "integers relative to themselves": (
        minimum(N, N >= 100000.5), {N: 100001}, [{N: 100000.5}, {N: 100005}],
    ),
    "integers and a distance": (
        minimum(W, W >= N - 57272.25, W >= 57272.25 - N, N >= 0),
        {N: 57272, W: 0.25}, [{N: 57272, W: 0}, {N: 57273, W: 0.75}],
    ),
    "unsymmetric matrix": (
        minimum(cp.trace(S), cp.diag(S) >= 1),
        {S: np.eye(2)}, [{S: np.array([[1.0, 5.0], [-5.0, 1.0]])}],
    ),
    "offset in a fixed variable": (
        minimum(1e9 * H + K, H == 1, K >= 0, K <= 1e4), {H: 1, K: 0}, [{H: 1, K: 5000}],
    ),
    "not convex": (
        minimum(cp.quad_form(cp.hstack([X, Y]), np.diag([1.0, -5e-11]), assume_PSD=True), X >= 1),
        None, [{X: 1, Y: 0}],
    ),
    "weakly infeasible": (
        minimum(0, cp.bmat([[T, 1], [1, 0]]) >> 0), None, [{T: 1e4}, {T: 1e8}],
    ),
    "duality gap": (
        minimum(X, cp.bmat([[0, X, 0], [X, Y, 0], [0, 0, X + 1]]) >> 0),
        {X: 0, Y: 0}, [{X: -0.5, Y: 1e9}, {X: -0.03, Y: 1e6}],
    ),
    "ratio near 0": (
        minimum(X / V, X >= -1e-6, X <= 1e-6, V >= 1, V <= 2), {X: -1e-6, V: 1}, [{X: 0, V: 1}],
    ),
    "far ratio": (
        minimum((Y + 20 - 1e-8 * X) / V, V == 1, Y >= 1, X - W <= 1, W <= 1e9, X >= 0, W >= 0),
        None, [{Y: 1, X: 0, W: 0, V: 1}],
    ),
    "integral objective": (maximum(cp.floor(V), V >= 1.5, V <= 3.2), {V: 3.1}, [{V: 2.5}]),
    "nearly unbounded": (
        minimum(-X, X <= Y, Y <= (1 - 1e-10) * X + 1), {X: 1e10, Y: 1e10}, [{X: 1e3, Y: 1e3}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_no_wrong_point_is_proven_and_the_right_one_is(name):
    problem, right, wrong = POINTS[name]
    for point in wrong:
        certificate = certify(problem, primal=point)
        assert certificate.ok is not True, certificate.explained()
        assert str(certificate).startswith(("refuted: ", "undecided: "))
    certificate = certify(problem, primal=right) if right is not None else None
    assert certificate is None or certificate.ok, certificate and certificate.explained()


@pytest.mark.parametrize("big", [10.0, 1e2, 1e4, 1e6, 1e8])
def test_big_m_is_decided_by_rounded_integers(big):
    problem = minimum(1000 * Z, Y >= 1, big * Z >= Y)
    assert certify(problem, primal={Y: 1, Z: 1}).ok
    assert certify(problem, primal={Y: 1, Z: 1 / big}).ok is False
    turned = maximum(Y - 1000 * Z, Y <= 1, Y >= 0, big * Z >= Y)
    assert certify(turned, primal={Y: 0, Z: 0}).ok
    assert certify(turned, primal={Y: 1, Z: 1 / big}).ok is False


@pytest.mark.parametrize("solver", installed("HIGHS", "GLPK_MI", "SCIP"))
def test_a_fixed_charge_is_proven_only_where_it_is_right(solver):
    y, z = cp.Variable(2, name="y"), cp.Variable(2, boolean=True, name="z")
    cost = np.array([100.0, 200.0]) @ z + 0.5 * cp.sum(y)
    problem = minimum(cost, cp.sum(y) >= 0.5, y >= 0, y <= 1e6 * z)
    solution = solve(problem, solver)
    right = solution.objective == pytest.approx(100.25, rel=1e-4)
    assert certify(problem, solution).ok is right


@pytest.mark.parametrize("scale", [1e-12, 1e-8, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e8])
def test_cones_are_evaluated_in_units_of_their_own_entries(scale):
    exponential = minimum(Y, cp.ExpCone(scale * np.ones(()), cp.Constant(scale), Y))
    assert certify(exponential, primal={Y: scale * np.e}).ok
    assert certify(exponential, primal={Y: 0.9 * scale * np.e}).ok is False
    power = minimum(X, scale <= X, cp.PowCone3D(cp.Constant(scale), cp.Constant(4 * scale), Y, 0.5))
    assert certify(power, primal={X: scale, Y: 1.9 * scale}).ok
    assert certify(power, primal={X: scale, Y: 2.2 * scale}).ok is False


def test_a_bounded_problem_is_not_unbounded():
    problem = POINTS["nearly unbounded"][0]
    assert certify(problem, Solution("unbounded", "HIGHS")).ok is False


def test_infeasibility_by_a_zero_diagonal_and_by_constants_is_proven():
    weak = POINTS["weakly infeasible"][0]
    assert certify(weak, Solution("infeasible", "SCS")).ok
    assert certify(minimum(0, cp.Constant(1) <= 0), Solution("infeasible", "SCS")).ok
    assert certify(minimum(0, cp.Constant(1) <= 0), Solution("optimal", "SCS")).ok is False


def test_two_variables_of_one_name_are_verified():
    x, y = cp.Variable(name="v"), cp.Variable(name="v")
    problem = minimum(x + y, x >= 1, y >= 2)
    assert certify(problem, primal={x: 1.0, y: 2.0}).ok
    assert certify(problem, primal={x: 1.0, y: 3.0}).ok is False


def test_a_bound_of_an_integral_objective_is_rounded():
    rng = np.random.default_rng(3)
    x = cp.Variable(25, boolean=True, name="x")
    profits, weights = rng.integers(10, 100, 25), rng.integers(5, 60, (3, 25))
    problem = maximum(profits @ x, weights @ x <= weights.sum(axis=1) // 2)
    certificate = certify(problem, solve(problem, "HIGHS"))
    assert certificate.ok, certificate.explained()


def spoilt():
    """Absolute values of data times a product, whose bounds cvxpy derives wrongly."""
    A, signs = np.array([[1.0, -1.0], [-1.0, -2.0], [2.0, 1.0]]), np.array([1.0, -1.0, 1.0])
    w = cp.Variable(2, name="w")
    cost = cp.sum(cp.abs(cp.multiply(signs, A @ w) - 1))
    return minimum(cost, cp.norm_inf(w) <= 5)


@pytest.mark.parametrize("solver", installed("HIGHS", "SCIPY", "DAQP", "SCIP"))
def test_a_solution_of_another_problem_is_refuted(solver):
    """cvxpy hands these solvers another problem; convexfs.solve does not."""
    problem = spoilt()
    problem.solve(solver=solver)
    assert problem.value == pytest.approx(3.0)
    assert certify(problem).ok is False
    solution = solve(spoilt(), solver)
    assert solution.objective == pytest.approx(1.0, abs=1e-5)
    assert certify(spoilt(), solution).ok


def test_a_compiler_that_changes_the_problem_is_noticed(monkeypatch):
    """If the fixed chain ever compiles other costs, no verdict rests on it."""
    from convexfs.certification.program.cone_program import ConeProgram

    problem, verified = spoilt(), ConeProgram.verified
    solution = solve(problem, "CLARABEL")

    def changed(stated):
        program = verified(stated)
        return replace(program, q=2 * program.q)

    monkeypatch.setattr(ConeProgram, "verified", changed)
    certificate = certify(problem, solution)
    assert certificate.ok is None
    assert "compiled another problem" in certificate.reason


def test_a_budget_of_time_leaves_the_verdict_undecided(monkeypatch):
    monkeypatch.setattr("convexfs.certification.certify.LEAST_SECONDS", 0.0)
    problem = spoilt()
    certificate = certify(problem, Solution("infeasible", "HIGHS"))
    assert certificate.ok is None
    assert str(certificate).startswith("undecided: stopped")


def test_a_constant_objective_is_reported_exactly():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(0 * x), [x >= 1e-6])
    point = {"x": np.array(1.0)}
    right, wrong = (Solution("optimal", "HIGHS", primal=point, objective=v) for v in (0.0, 1e-8))
    assert certify(problem, right).ok
    assert certify(problem, wrong).ok is False


def test_multipliers_that_overflow_end_no_search():
    X = cp.Variable((4, 4), symmetric=True, name="X")
    ones = np.outer([1.0, 0, 0, 1.0], [1.0, 0, 0, 1.0])
    rows = [X >> 0, cp.trace(ones @ X) <= -5.960464477539063e-08]
    problem = cp.Problem(cp.Minimize(2.0**-33 * cp.sum(X)), rows)
    assert certify(problem, Solution("infeasible", "CLARABEL")).ok is not False


def test_a_ratio_near_0_has_the_unit_of_its_data():
    """Changing all entries by their units leaves this ratio as it is, so that it has no unit."""
    a, e, x = np.array([-2.0, 3.0, 1.0]), np.array([0.0, 3.0, 2.0]), cp.Variable(3, nonneg=True)
    ratio = (a @ x + 2.0**21) / (e @ x + 2.0**20)
    problem = cp.Problem(cp.Minimize(ratio), [x >= 0, x <= 2.0**20])
    assert certify(problem, primal={x: np.array([1048575.9990234375, 0.0, 0.0])}).ok is not False


@pytest.mark.parametrize(
    ("top", "slope", "bottom", "limit"),
    [(4.0, 1.0, 2.0, 2.0), (2.0**-15, 2.0, 2.0**-14, 2.0**-15)],
)
def test_a_denominator_near_0_gives_no_unit(top, slope, bottom, limit):
    """A variable that changes by its unit may make the ratio huge."""
    x = cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Minimize((top - x) / (slope * x + bottom)), [x >= 0, x <= limit])
    assert certify(problem, primal={x: 0.9 * limit}).ok is False


def test_terms_that_cancel_hide_no_gap():
    """A square written out has terms of 1e6 and an optimum of 2."""
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    square = cp.Problem(cp.Minimize(cp.square(x) - 2000 * x + 1e6 + 2), [x >= 0])
    assert certify(square, primal={x: 1000.0}).ok
    assert certify(square, primal={x: 1000.05}).ok is not True
    difference = cp.Problem(cp.Minimize(x - y), [x - y >= 1, x <= 1e10, y >= -1e10])
    assert certify(difference, primal={x: 1e9 + 1001, y: 1e9}).ok is not True
