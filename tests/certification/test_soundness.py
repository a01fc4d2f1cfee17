"""The proofs are tested as proofs: bounds against exact optima, whatever they are made from."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs import certify, solve
from convexfs.certification.auxiliary import Budget
from convexfs.certification.duals.dual_bound import lagrangian
from convexfs.certification.duals.dual_correction import with_cone_cuts
from convexfs.certification.exact.linear_program import LinearProgram
from convexfs.certification.optimality import OptimalityProof
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.elimination import without_defined_columns
from convexfs.certification.rigorous.implied_bounds import implied_box
from convexfs.certification.rigorous.rounding import (
    dot,
    is_surely_semidefinite,
    matrix_products,
    segment_sums,
)
from tests.fuzz import soundness


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


def test_rows_that_cancel_bound_the_column_that_is_left():
    x, t = cp.Variable(3, name="x"), cp.Variable(3, name="t")
    form = StandardForm.of(minimum(cp.sum(t), x - 2 * t <= 1, -x - 2 * t <= -3, x[0] - t[1] <= 0))
    box, at = implied_box(form), form.columns
    np.testing.assert_allclose(box.lower[at[t.id]], 0.5, rtol=1e-12)
    assert not np.isfinite(box.lower[at[x.id]]).any()
    assert not np.isfinite(box.upper).any()


@given(st.floats(1e5, 1e7), st.floats(0.1, 2.0))
def test_a_column_alone_in_its_row_loses_no_end_by_rounding(offset, radius):
    x, t = cp.Variable(2, name="x"), cp.Variable(name="t")
    form = StandardForm.of(minimum(x[0], cp.SOC(t, x + offset), t <= radius))
    box, at = implied_box(form), form.columns[x.id]
    for end, side in ((box.upper, 1), (box.lower, -1)):
        exact = Fraction(-offset) + side * Fraction(radius)
        beyond = [side * (Fraction(float(found)) - exact) for found in end[at]]
        assert min(beyond) >= 0
        assert max(beyond) <= 1e-7


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize("kind", soundness.CHECKS)
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_bounds_and_boxes_hold(kind, first):
    """No bound exceeds the optimum, no box loses a feasible point (more by tests.fuzz)."""
    finite = 0
    for seed in range(first, first + (20 if kind == "cone problem" else 50)):
        sound, bounds = soundness.CHECKS[kind](seed)
        assert sound, seed
        finite += bounds
    assert finite > 20


def check_accepted(seed):
    """Return whether an accepted program has an exactly feasible dual, or says "to rounding"."""
    _, problem, optimum = soundness.linear_program(seed)
    solution = solve(problem, "CLARABEL", tol=1e-8)
    certificate = certify(problem, solution, tol=1e-5)
    if not certificate.ok or certificate.to_rounding or certificate.claim != "optimal":
        return True
    program = LinearProgram(StandardForm.of(problem))
    exact = program.exact_optimum(program.solve())
    return exact.dual is not None and float(exact.dual) == pytest.approx(optimum, abs=1e-9)


def test_every_accepted_linear_program_has_an_exactly_feasible_dual():
    assert all(check_accepted(seed) for seed in range(40))


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


def test_rows_that_replace_curved_cones_hold_at_all_points_of_the_box():
    """Their errors of rounding, computed in rationals, are covered by their right-hand sides."""
    rng = np.random.default_rng(3)
    x, matrix = cp.Variable(4), rng.standard_normal((6, 4))
    rows = [cp.log_sum_exp(matrix @ x) <= 2, cp.norm(matrix @ x) <= 3, cp.abs(x) <= 7]
    form = StandardForm.of(cp.Problem(cp.Minimize(cp.sum(x)), rows))
    box, y = implied_box(form), form.into_dual(rng.standard_normal(form.b.size))
    cuts = with_cone_cuts(form, y, box)
    cones = np.unique(form.first_rows[form.curved & (y != 0)])
    assert cuts.b.size == form.b.size + cones.size
    errors = 0
    for cut, first in zip(range(form.b.size, cuts.b.size), cones, strict=True):
        coefficients, room = cuts.A[[cut]].toarray()[0], Fraction(cuts.b[cut])
        own = np.flatnonzero(form.first_rows == first)
        room -= sum(Fraction(y[row]) * Fraction(form.b[row]) for row in own)
        for column in range(form.q.size):
            entries = form.A[own][:, [column]].toarray()[:, 0]
            exact = sum(Fraction(y[row]) * Fraction(e) for row, e in zip(own, entries, strict=True))
            if exact != Fraction(coefficients[column]):
                room -= abs(exact - Fraction(coefficients[column])) * Fraction(
                    box.magnitude[column]
                )
                errors += 1
        assert room >= 0
    assert errors > 0


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("off", [0.0, 0.1])
def test_only_points_that_cost_less_than_the_claim_refute_it(curved, off):
    x = cp.Variable(2, name="x")
    cost = cp.sum_squares(x) if curved else cp.sum(x)
    form, claim = StandardForm.of(minimum(cost, x >= 1)), np.full(2, 1.0 + off)
    value = float(2 * claim[0] ** 2 if curved else 2 * claim[0])
    proof = OptimalityProof(form, claim, np.ones(2, dtype=bool), value, 1e-6, Budget())
    proof.run(())
    assert proof.proven == (off == 0)
    assert bool(proof.better) == (off > 0)
