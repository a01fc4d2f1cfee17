"""Differences of classes and correlations, of dense, sparse and incomplete samples alike."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import convexfs
from convexfs.selection.effect_sizes import class_differences, target_correlations


@pytest.fixture
def data():
    return convexfs.load("iris")


def with_holes(data):
    X = data.X.copy()
    X[::7, 1] = np.nan
    return replace(data, X=X), ~np.isnan(X[:, 1])


def test_missing_values_are_left_out(data):
    holed, seen = with_holes(data)
    names, apart, _ = class_differences(holed)
    left, expected, _ = class_differences(holed.subset(seen))
    assert names[1] == left[1]
    assert apart[1] == pytest.approx(expected[1])
    others = [0, 2, 3]
    np.testing.assert_allclose(apart[others], class_differences(data)[1][others])


def test_sparse_samples_have_the_same_differences(data):
    sparse = replace(data, X=csr_array(data.X))
    names, apart, _ = class_differences(sparse)
    expected_names, expected, _ = class_differences(data)
    assert list(names) == list(expected_names)
    np.testing.assert_allclose(apart, expected, rtol=1e-9)


def test_categories_have_no_direction(data):
    names, apart, _ = class_differences(replace(data, categories={2: ("a", "b")}))
    assert names[2] is None
    assert np.isnan(apart[2])
    assert np.isfinite(apart[[0, 1, 3]]).all()


def test_a_class_without_values_has_no_difference(data):
    X = data.X.copy()
    X[data.y == 1, 0] = np.nan
    names, apart, _ = class_differences(replace(data, X=X))
    assert names[0] is None
    assert np.isnan(apart[0])


def test_correlations_leave_missing_values_out(data):
    holed, seen = with_holes(data)
    y = data.X[:, 0]
    found = target_correlations(replace(holed, y=y, class_names=()))
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(np.corrcoef(data.X[seen, 1], y[seen])[0, 1])
    dense = target_correlations(replace(data, y=y, class_names=()))
    sparse = target_correlations(replace(data, X=csr_array(data.X), y=y, class_names=()))
    np.testing.assert_allclose(sparse, dense, rtol=1e-9)
