"""The proofs are tested as proofs: bounds against exact optima, whatever they are made from."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs import certify, solve
from convexfs.certification.dual_bound import lagrangian, natural_multipliers
from convexfs.certification.dual_correction import Goal, corrected_bound
from convexfs.certification.exact.linear_program import LinearProgram
from convexfs.certification.rigorous.elimination import without_defined_columns
from convexfs.certification.rigorous.implied_bounds import implied_box
from convexfs.certification.rigorous.rounding import (
    dot,
    is_surely_semidefinite,
    matrix_products,
    segment_sums,
)
from convexfs.certification.standard_form import StandardForm


def minimum(cost, *rows):
    return cp.Problem(cp.Minimize(cost), list(rows))


@given(st.integers(0, 2**32 - 1))
def test_sums_are_within_their_error_and_zeros_are_exact(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=12) * 10.0 ** rng.integers(-15, 15, 12)
    indptr = np.array([0, 0, 5, 12])
    sums, errors = segment_sums(values, indptr)
    for k in range(3):
        exact = sum(map(Fraction, values[indptr[k] : indptr[k + 1]].tolist()), Fraction(0))
        assert abs(exact - Fraction(sums[k])) <= Fraction(errors[k])
    total, error = dot(values, np.concatenate([values[:6], -values[:6]]))
    assert np.isfinite(total)
    exact = sum(
        Fraction(a) * Fraction(b)
        for a, b in zip(values, np.concatenate([values[:6], -values[:6]]), strict=True)
    )
    assert abs(exact - Fraction(total)) <= Fraction(error)
    cancelling = np.concatenate([values, -values[::-1]])
    assert segment_sums(cancelling, np.array([0, 24]))[0][0] == 0.0


def linear_program(seed):
    """A small integer program with its optimal vertex, columns in very different units."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    m = int(rng.integers(n, 2 * n + 3))
    A, point = rng.integers(-3, 4, (m, n)).astype(float), rng.integers(-3, 4, n).astype(float)
    slack = rng.integers(0, 3, m).astype(float)
    multipliers = np.where(slack == 0, rng.integers(0, 3, m), 0).astype(float)
    units = 2.0 ** rng.integers(-20, 21, n)
    x = cp.Variable(n, name="x")
    rows = [(A * units) @ x + (slack - A @ point) >= 0]
    problem = minimum((A.T @ multipliers * units) @ x, *rows)
    return rng, problem, float(A.T @ multipliers @ point)


def check_linear_bounds(seed):
    """Return whether bounds of noisy and random multipliers are at most the exact optimum."""
    rng, problem, optimum = linear_program(seed)
    form = StandardForm.of(problem)
    found = LinearProgram(form).solve()
    box = implied_box(form)
    noise = 10.0 ** rng.uniform(-16, -1)
    noisy = found.y * (1 + noise * rng.normal(size=found.y.size))
    z = found.z * (1 + noise * rng.normal(size=found.z.size))
    random = rng.uniform(0, 1, found.y.size) * rng.integers(0, 2, found.y.size)
    goal = Goal(form, box, np.inf, 1e-8 * (abs(optimum) or 1.0), natural_multipliers(form, z, 1.0))
    bounds = [corrected_bound(goal, y, z)[0] for y in (noisy, random, found.y)]
    return all(each.rounding > 0 or each.value <= optimum for each in bounds), bounds


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_no_bound_of_a_linear_program_exceeds_its_exact_optimum(first):
    finite = 0
    for seed in range(first, first + 50):
        sound, bounds = check_linear_bounds(seed)
        assert sound, seed
        finite += sum(np.isfinite(each.value) for each in bounds)
    assert finite > 30


def check_accepted(seed):
    """Return whether an accepted program has an exactly feasible dual, or says "to rounding"."""
    _, problem, optimum = linear_program(seed)
    solution = solve(problem, "CLARABEL", tol=1e-8)
    certificate = certify(problem, solution, tol=1e-5)
    if not certificate.ok or certificate.to_rounding or certificate.claim != "optimal":
        return True
    program = LinearProgram(StandardForm.of(problem))
    exact = program.exact_optimum(program.solve())
    return exact.dual is not None and float(exact.dual) == pytest.approx(optimum, abs=1e-9)


def test_every_accepted_linear_program_has_an_exactly_feasible_dual():
    assert all(check_accepted(seed) for seed in range(40))


def cone_problem(seed):
    """A problem over one kind of cone with its optimum by construction, columns in other units."""
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(2, 5)), 10.0 ** rng.integers(-5, 6)
    x = cp.Variable(n, name="x")
    c = rng.normal(size=n)
    kind = int(rng.integers(0, 4))
    if kind == 0:
        problem = minimum(c @ x, cp.norm(x) <= unit)
        return problem, -unit * np.linalg.norm(c), rng
    if kind == 1:
        A = rng.normal(size=(n, n))
        A = A @ A.T + np.eye(n)
        X = cp.Variable((n, n), symmetric=True, name="X")
        problem = minimum(cp.trace(A @ X), X >> 0, cp.trace(X) == unit)
        return problem, unit * np.linalg.eigvalsh(A)[0], rng
    if kind == 2:
        total = cp.Variable(name="t")
        problem = minimum(total, cp.log_sum_exp(x + c) <= total, cp.sum(x) == 0)
        return problem, np.log(n) + c.mean(), rng
    problem = minimum(cp.sum_squares(x - unit * c) / unit, cp.sum(x) == 0)
    return problem, unit * n * c.mean() ** 2, rng


def check_cone_bounds(seed):
    """Return whether bounds of noisy and random multipliers are at most the known optimum."""
    problem, optimum, rng = cone_problem(seed)
    form = StandardForm.of(problem)
    cone = solve(problem, "CLARABEL", tol=1e-9).cone
    assert cone is not None
    assert cone.y is not None
    z = cone.x * (1 + 10.0 ** rng.uniform(-14, -1) * rng.normal(size=cone.x.size))
    given = next(form.multipliers(cone.y))
    given = np.where(form.equalities, -given, given)
    noisy = given * (1 + 10.0 ** rng.uniform(-14, -1) * rng.normal(size=given.size))
    natural = natural_multipliers(form, z, abs(optimum) or 1.0)
    goal = Goal(form, implied_box(form), np.inf, 1e-8 * (abs(optimum) or 1.0), natural)
    limit = optimum - form.d + 1e-12 * max(abs(optimum), float(np.abs(form.q * z).max()))
    bounds = [corrected_bound(goal, y, z)[0] for y in (noisy, given, rng.normal(size=given.size))]
    return all(each.rounding > 0 or each.value <= limit for each in bounds)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_bound_of_a_cone_problem_exceeds_its_optimum(first):
    assert all(check_cone_bounds(seed) for seed in range(first, first + 20))


@given(st.integers(0, 2**32 - 1))
def test_implied_bounds_never_lose_a_feasible_point(seed):
    rng = np.random.default_rng(seed)
    n, m = 4, 6
    point = rng.normal(size=n) * 10.0 ** rng.integers(-6, 7, n)
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    x, t = cp.Variable(n, name="x"), cp.Variable(name="t")
    side = A @ point + rng.integers(0, 2, m)
    rows = [A @ x <= side, cp.norm(x[:2]) <= t, t <= np.linalg.norm(point[:2]) + rng.random()]
    bound = np.abs(point).max()
    rows += [x[2] <= point[2] + rng.random(), x[2:] >= -bound, cp.exp(x[3] / bound) <= t + np.e]
    form = StandardForm.of(cp.Problem(cp.Minimize(cp.sum(x)), rows))
    box = implied_box(form)
    assert not box.empty
    x.value, t.value = point, np.linalg.norm(point[:2])
    columns = form.columns[x.id]
    slack = 1e-12 * np.abs(point).max()
    assert np.all(box.lower[columns] <= point + slack)
    assert np.all(box.upper[columns] >= point - slack)


def test_the_bound_without_multipliers_is_that_of_the_box():
    x = cp.Variable(2, name="x")
    form = StandardForm.of(cp.Problem(cp.Minimize(3 * x[0] - x[1]), [x >= 1, x <= 2]))
    nothing = np.zeros(form.b.size)
    found = lagrangian(form, nothing, np.zeros(2), implied_box(form))
    assert found.value == pytest.approx(1.0)
    assert found.value <= 1.0


def test_substituted_columns_leave_the_same_program():
    rng = np.random.default_rng(0)
    x, t = cp.Variable(3, name="x"), cp.Variable(4, name="t")
    A = rng.normal(size=(4, 3))
    rows = [t == A @ x - 1.0, cp.norm(t) <= 2, cp.exp(t[0]) <= 3]
    form = StandardForm.of(cp.Problem(cp.Minimize(cp.sum(x)), rows))
    reduced = without_defined_columns(form)
    assert reduced.form.q.size < form.q.size
    z = rng.normal(size=reduced.form.q.size)
    full = reduced.expanded(z)
    rows_left = matrix_products(form.A, full, form.b)[0][reduced.rows]
    np.testing.assert_allclose(rows_left, reduced.form.A @ z + reduced.form.b, atol=1e-12)
    assert form.q @ full == pytest.approx(reduced.form.q @ z)


@given(st.integers(0, 2**32 - 1))
def test_no_matrix_with_a_negative_eigenvalue_is_called_semidefinite(seed):
    rng = np.random.default_rng(seed)
    side = int(rng.integers(2, 7))
    basis = np.linalg.qr(rng.normal(size=(side, side)))[0]
    values = rng.uniform(0.1, 1.0, side)
    values[0] = -(10.0 ** rng.uniform(-13, 0))
    matrix = (basis * values) @ basis.T
    assert not is_surely_semidefinite((matrix + matrix.T) / 2)
    values[0] = 0.1
    matrix = (basis * values) @ basis.T
    assert is_surely_semidefinite((matrix + matrix.T) / 2)
