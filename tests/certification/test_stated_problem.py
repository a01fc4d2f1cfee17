"""The problem that is verified is the one the user stated, at its present parameters."""

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.affine.wraps import nonneg_wrap, psd_wrap
from cvxpy.constraints.finite_set import FiniteSet

from convexfs import Solution, certify, solve
from convexfs.certification.program.standard_form import StandardForm
from convexfs.errors import InputError
from convexfs.records import ConePoint

X, Y, W = (cp.Variable(name=name) for name in "xyw")
PAIR = cp.Variable(2, name="pair")


def minimum(cost, *rows):
    return cp.Problem(cp.Minimize(cost), list(rows))


# ---- parameters ----------------------------------------------------------------------------------

MATRIX = cp.Variable((2, 2), symmetric=True, name="M")
PARAMETERS = {
    "symmetric": (cp.Parameter((2, 2), symmetric=True), np.eye(2)),
    "PSD": (cp.Parameter((2, 2), PSD=True), np.eye(2)),
    "diag": (cp.Parameter((2, 2), diag=True), np.eye(2)),
    "hermitian": (cp.Parameter((2, 2), hermitian=True), np.array([[1, 1j], [-1j, 1]])),
    "complex": (cp.Parameter((2, 2), complex=True), np.array([[1, 1j], [0, 1]])),
    "imag": (cp.Parameter((2, 2), imag=True), 1j * np.eye(2)),
    "sparsity": (cp.Parameter((2, 2), sparsity=([0, 1], [0, 1])), np.eye(2)),
    "plain": (cp.Parameter((2, 2)), np.eye(2)),
}


@pytest.mark.filterwarnings("ignore:.*sparse CVXPY")
@pytest.mark.parametrize("kind", PARAMETERS)
def test_structured_parameters_have_their_present_values(kind):
    parameter, value = PARAMETERS[kind]
    parameter.value = value
    total: Any = cp.sum(parameter)
    if parameter.is_complex():
        total = cp.sum(cp.real(parameter)) + cp.sum(cp.imag(parameter[0]))
    problem = minimum(X, total <= X)
    least = float(value.sum()) if np.isrealobj(value) else float(total.value)
    assert certify(problem, primal={X: least}).ok
    parameter.value = 3 * value
    assert certify(problem, primal={X: 3 * least}).ok
    assert certify(problem, primal={X: least}).ok is False


def test_parameters_in_bounds_of_variables():
    least = cp.Parameter(value=1.0)
    x = cp.Variable(bounds=[least, 3], name="x")
    problem = minimum(x)
    assert certify(problem, primal={x: 1.0}).ok
    least.value = 2.0
    assert certify(problem, primal={x: 2.0}).ok
    assert certify(problem, primal={x: 1.0}).ok is False


# ---- domains of variables ------------------------------------------------------------------------

LISTED = cp.Variable(2, integer=[(0,)], nonneg=True, name="listed")
BOUNDED = cp.Variable(2, integer=[(0,)], bounds=[0, 3], name="bounded")
PSD = cp.Variable((2, 2), PSD=True, bounds=[0, 1], name="psd")
SYMMETRIC = cp.Variable((2, 2), symmetric=True, nonneg=True, name="symmetric")
BOOLEAN = cp.Variable(2, boolean=[(0,)], name="boolean")
DIAGONAL = cp.Variable((2, 2), diag=True, name="diagonal")
DOMAINS = {
    "integer list": (minimum(LISTED[0], LISTED[0] >= 0.5), LISTED, [1, 3], [[1, -5], [1.4, 1]]),
    "integer list, bounds": (
        minimum(BOUNDED[0], BOUNDED[0] >= 0.5), BOUNDED, [1, 2.5], [[1, 7], [1, -1]],
    ),
    "boolean list": (
        minimum(-cp.sum(BOOLEAN), BOOLEAN[1] <= 0.5), BOOLEAN, [1, 0.5],
        [[2, 0.5], [0.9999, 0.5], [0, 0.5]],
    ),
    "semidefinite, bounds": (
        minimum(PSD[0, 0], PSD[0, 0] >= 0.5), PSD, np.eye(2) / 2,
        [[[0.5, -0.3], [-0.3, 0.5]], [[0.5, 0], [0, 3]], [[0.5, 0.2], [0, 0.5]]],
    ),
    "symmetric, nonneg": (
        minimum(SYMMETRIC[0, 0], SYMMETRIC[0, 0] >= 0.5), SYMMETRIC, np.eye(2) / 2,
        [[[0.5, -0.3], [-0.3, 0.5]], [[0.5, 0.3], [0.1, 0.5]]],
    ),
    "diagonal": (
        minimum(cp.trace(DIAGONAL), cp.diag(DIAGONAL) >= 1), DIAGONAL, np.eye(2),
        [[[1, 0.5], [0, 1]]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DOMAINS)
def test_all_attributes_of_a_variable_count(kind):
    problem, variable, right, wrong = DOMAINS[kind]
    assert certify(problem, primal={variable: np.array(right, dtype=float)}).ok
    for point in wrong:
        assert certify(problem, primal={variable: np.array(point, dtype=float)}).ok is False


def test_rounded_integers_must_have_the_objective_of_the_point():
    n = cp.Variable(integer=True, name="n")
    problem = minimum(1e5 * n, n >= 0.5)
    assert certify(problem, primal={n: 1.0}).ok
    assert certify(problem, primal={n: 1.000015}).ok is False


def test_values_that_cvxpy_would_change_are_refused():
    with pytest.raises(InputError, match="is complex"):
        certify(minimum(X, X >= 1), primal={X: 1 + 5j})
    sparse = cp.Variable((2, 2), sparsity=([0, 1], [0, 1]), name="sparse")
    with pytest.raises(InputError, match="sparsity pattern"):
        certify(minimum(cp.sum(sparse), sparse[0, 0] >= 1), primal={sparse: np.ones((2, 2))})


def test_complex_variables_are_verified():
    z = cp.Variable(complex=True, name="z")
    distance = minimum(cp.abs(z - (3 + 4j)), cp.abs(z) <= 1)
    assert certify(distance, primal={z: 0.6 + 0.8j}).ok
    assert not certify(distance, primal={z: 0.6 - 0.8j}).ok
    assert certify(distance, primal={z: 0.61 + 0.8j}).ok is False
    H = cp.Variable((2, 2), hermitian=True, name="H")
    trace = minimum(cp.real(cp.trace(H)), np.eye(2) << H)
    assert certify(trace, primal={H: np.eye(2) + 0j}).ok
    assert certify(trace, primal={H: np.array([[1, 0.5j], [-0.5j, 1]])}).ok is False
    assert certify(trace, primal={H: np.array([[1, 0.5j], [0.5j, 1]])}).ok is False


def test_integers_that_cvxpy_adds_leave_it_undecided():
    values = FiniteSet(X, [1, 2.5, 4])
    assert certify(minimum(cp.abs(X - 2.6), values), primal={X: 2.5}).ok is None


# ---- what is assumed of data ---------------------------------------------------------------------

INDEFINITE = np.diag([1.0, -1.0])
ASSUMED = {
    "a constraint": minimum(
        -PAIR[1], cp.quad_form(PAIR, INDEFINITE, assume_PSD=True) <= 1, cp.abs(PAIR) <= 5
    ),
    "no point": minimum(PAIR[0], cp.quad_form(PAIR, INDEFINITE, assume_PSD=True) <= -1),
    "a small eigenvalue": minimum(
        PAIR[0], cp.quad_form(PAIR, np.diag([1.0, -5e-11])) <= 1, PAIR[1] == 1e6
    ),
    "a wrapped matrix": minimum(
        cp.quad_form(PAIR, psd_wrap(cp.Constant(INDEFINITE))), cp.abs(PAIR) <= 1
    ),
    "a wrapped number": minimum(
        nonneg_wrap(cp.Constant(-1.0)) * cp.square(PAIR[0]), cp.abs(PAIR) <= 1
    ),
}


@pytest.mark.parametrize("kind", ASSUMED)
def test_what_is_assumed_of_data_is_verified(kind):
    for certificate in (
        certify(ASSUMED[kind], primal={PAIR: [0.0, 1.0]}),
        certify(ASSUMED[kind], Solution("infeasible", "CLARABEL")),
    ):
        assert certificate.ok is not True


def test_forms_of_complex_and_of_negative_matrices_are_convex():
    z = cp.Variable(2, complex=True, name="z")
    form = cp.quad_form(z, np.array([[2, 1j], [-1j, 2]]))
    assert certify(minimum(form, cp.real(z[0]) >= 1), primal={z: np.array([1, 0.5j])}).ok
    lowered = cp.Problem(cp.Maximize(cp.quad_form(PAIR, -np.eye(2))), [PAIR >= 1])
    assert certify(lowered, primal={PAIR: [1.0, 1.0]}).ok


# ---- problems without variables ------------------------------------------------------------------


def test_a_constant_objective_is_compared_with_the_reported_one():
    problem = cp.Problem(cp.Minimize(5))
    assert certify(problem, Solution("optimal", "CLARABEL", objective=5.0)).ok
    for reported in (7.0, np.nan, None):
        claimed = Solution("optimal", "CLARABEL", objective=reported)
        assert certify(problem, claimed).ok is False
    for status in ("infeasible", "unbounded"):
        assert certify(problem, Solution(status, "CLARABEL")).ok is False


def test_constants_may_be_rounded():
    total = cp.Problem(cp.Minimize(0), [cp.Constant(0.1) + cp.Constant(0.2) <= cp.Constant(0.3)])
    assert certify(total, Solution("optimal", "CLARABEL", objective=0.0)).ok


# ---- bounds and distances ------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e16, 1e20])
def test_multipliers_that_cancel_excuse_no_reduced_cost(size):
    problem = minimum(-Y, X + Y - W == 0, X + Y - W == 0, X >= 0, X <= 1)
    form = StandardForm.of(problem)
    point = {"x": 0.0, "y": 5.0, "w": 5.0}
    z = np.array([point[name] for name in sorted(point, key=lambda name: form.names[name][0])])
    claimed = Solution(
        "optimal", "CLARABEL", objective=-5.0,
        primal={name: np.array(value) for name, value in point.items()},
        cone=ConePoint(z, np.array([size, -size, 0.0, 0.0])),
    )  # fmt: skip
    assert certify(problem, claimed).ok is not True
    assert certify(problem, replace(claimed, cone=None)).ok is not True


def test_a_gain_by_broken_last_bits_is_not_proven():
    """The rows hold to 1e-10 of their terms, and that is worth 1, the whole objective."""
    problem = minimum(-Y, X + W >= 1, X - W >= 1, 2 * X + 1e-10 * Y <= 2, Y >= 0, Y <= 1e6)
    assert certify(problem, primal={X: 1, W: 0, Y: 0}).ok
    for gain in (1, 10, 100, 1e6):
        assert certify(problem, primal={X: 1, W: 0, Y: gain}).ok is not True


def test_points_far_away_hide_no_violation():
    problem = minimum(0, X - Y == 1)
    assert certify(problem, primal={X: 1, Y: 0}).ok
    certificate = certify(problem, primal={X: 1e9, Y: 1e9 - 1001})
    assert certificate.ok is None
    assert "far away" in certificate.reason


def test_values_that_underflow_are_not_feasible():
    problem = cp.Problem(cp.Maximize(X), [cp.exp(X) <= Y, Y <= 0])
    for x in (-746, -1e6):
        assert certify(problem, primal={X: x, Y: 0}).ok is not True


@pytest.mark.parametrize("share", [1e-10, 1e-6])
def test_determinants_in_any_unit(share):
    problem = minimum(-cp.log_det(MATRIX), cp.trace(MATRIX) <= 2 * share)
    certificate = certify(problem, primal={MATRIX: share * np.eye(2)}, search=False)
    assert certificate.ok is not False
    assert "compiled another" not in certificate.reason


def test_objectives_that_cannot_be_evaluated_are_refused():
    problem = minimum(cp.matrix_frac(np.ones(2), MATRIX), cp.trace(MATRIX) <= 2)
    with pytest.raises(InputError, match="cannot be evaluated"):
        certify(problem, primal={MATRIX: np.ones((2, 2))})


def test_problems_that_cvxpy_cannot_reduce_are_undecided():
    assert certify(minimum(X, cp.exp(X) >= 0, X >= 1), primal={X: 1.0}).ok is None


# ---- rows and constants that hide what is wrong --------------------------------------------------


def test_a_false_row_without_variables_leaves_nothing_unbounded():
    A = np.array([[0.0, 0.0], [2.0, -2.0]])
    problem = minimum(3 * PAIR[0] + 2 * PAIR[1], np.array([-0.002, 0.004]) >= A @ PAIR)
    assert certify(problem, Solution("unbounded", "CLARABEL")).ok is False
    assert certify(problem, Solution("infeasible", "CLARABEL")).ok is True


@pytest.mark.parametrize("big", [1e6, 2.0**35])
def test_a_constant_of_the_objective_hides_no_gap(big):
    problem = minimum(big * X + Y, X == 1, Y >= 2, Y <= 6)
    assert certify(problem, primal={X: 1.0, Y: 4.0}).ok is False
    assert certify(problem, primal={X: 1.0, Y: 2.0}).ok is True


@pytest.mark.parametrize("share", [1.0, 3e-5])
def test_a_huge_bound_excuses_no_violation(share):
    problem = minimum(3 * X + Y, X >= 3, Y >= 0, share * (X + Y) <= 4e12)
    assert certify(problem, primal={X: 2.997, Y: 0.0}).ok is not True
    assert certify(problem, primal={X: 3.0, Y: 3.0}).ok is not True
    assert certify(problem, primal={X: 3.0, Y: 0.0}).ok is True


def test_a_far_unit_of_one_column_excuses_no_violation():
    A = np.array([[3.8e-06, 1.0, 3.0, -3.8e-06], [-1.1e-05, 2.0, -3.0, 3.8e-06]])
    x = cp.Variable(4, name="x")
    problem = minimum(
        np.array([-1.5e-10, 4.6e-5, -4.6e-5, 7.3e-11]) @ x, A @ x >= [-2e6, -6e6], x >= 0
    )
    assert certify(problem, primal={x: np.array([0.0, 0.0, 2e6, -20971.0])}).ok is not True


def test_bounds_of_a_fixed_column_do_not_prevent_a_proof():
    problem = minimum(cp.sum(cp.exp(PAIR)) + X, PAIR >= 0, X >= 0, X == 0, PAIR[1] >= 1)
    problem.solve(solver="CLARABEL")
    assert certify(problem).ok is True


def test_a_point_too_far_to_compare_is_not_blamed_on_the_compiler():
    z = cp.Variable(name="z")
    problem = cp.Problem(cp.Maximize(cp.log(z)), [z >= 1])
    certificate = certify(problem, solve(problem, "CLARABEL"))
    assert certificate.ok is not True
    assert "compiled another" not in certificate.reason
