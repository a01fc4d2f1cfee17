"""Clarabel and corrections aren't begun where they would take longer than the budget."""

import cvxpy as cp
import numpy as np
import pytest

from convexfs.certification.auxiliary import Budget, Scaling, least_seconds, solved_again
from convexfs.certification.duals.correction_system import Goal
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import implied_box


def semidefinite(side: int) -> cp.Problem:
    """The largest eigenvalue of a drawn matrix, as a semidefinite program."""
    half = np.random.default_rng(0).normal(size=(side, side))
    t = cp.Variable()
    return cp.Problem(cp.Minimize(t), [t * np.eye(side) - half - half.T >> 0])


def test_the_estimate_grows_with_the_cube_of_the_rows_of_cones():
    small, large = (least_seconds(StandardForm.of(semidefinite(side))) for side in (10, 20))
    assert large / small == pytest.approx((210 / 55) ** 3)
    assert least_seconds(StandardForm.of(cp.Problem(cp.Minimize(0), [cp.Variable() >= 1]))) == 0


def test_rows_without_entries_are_not_counted():
    x = cp.Variable(30)
    dense, sparse = semidefinite(30), cp.Problem(cp.Minimize(cp.sum(x)), [cp.diag(x) >> 0])
    assert least_seconds(StandardForm.of(sparse)) < 0.01 * least_seconds(StandardForm.of(dense))


def test_a_form_too_large_for_the_seconds_is_not_solved():
    form = StandardForm.of(semidefinite(12))
    scaling = Scaling.equilibrated(form)
    assert solved_again(form, scaling) is not None
    assert solved_again(form, scaling, 0.5 * least_seconds(form)) is None


def test_corrections_need_time_for_their_congruences():
    form = StandardForm.of(semidefinite(12))
    parts = form, implied_box(form), 0.0, 1.0, np.ones(form.b.size)
    assert Goal(*parts).has_time_for(6000)
    assert not Goal(*parts, time=Budget.of(1e-6)).has_time_for(6000)
