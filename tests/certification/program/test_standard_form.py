"""Properties of standard forms, and points that hide their violations far away."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from convexfs.certification.exact.farkas import _cancelling
from convexfs.certification.feasible_points import hidden_by_distance
from convexfs.certification.program.standard_form import StandardForm


def test_constant_rows_are_those_without_a_variable():
    x = cp.Variable(3, name="x")
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    form = StandardForm.of(cp.Problem(cp.Minimize(cp.sum(x)), [rows @ x >= [1.0, -2.0, 3.0]]))
    assert form.constant.tolist() == [not form.A[[k]].nnz for k in range(form.b.size)]
    assert form.constant.sum() == 1


@pytest.mark.parametrize("far", [False, True])
def test_a_violation_is_hidden_only_by_terms_far_larger_than_the_data(far):
    """|x - y| <= 1 is missed by 1/2, which is nothing beside terms of 1e12."""
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    ball = cp.norm(cp.hstack([x - y, x - y])) <= 1.0
    form = StandardForm.of(cp.Problem(cp.Minimize(0), [ball, *([] if far else [x == 1e12])]))
    z = np.zeros(form.q.size)
    z[form.columns[x.id]], z[form.columns[y.id]] = 1e12, 1e12 - 1.5
    assert (hidden_by_distance(form, z, 1e-6) > 0) == far


def test_multipliers_cancel_exactly_where_they_nearly_do():
    matrix = sp.csr_array(np.array([[3.0, 0.0], [-1.0, 1.0], [0.0, -0.1]]))
    y = _cancelling(matrix, np.array([1.0, 3.0 + 1e-12, 30.0]))
    assert y is not None
    exact = [Fraction(int(each.p), int(each.q)) for each in y]
    assert 3 * exact[0] == exact[1] == Fraction(0.1) * exact[2]
    assert [float(each) for each in y] == pytest.approx([1.0, 3.0, 30.0], rel=1e-9)
