"""RELIEF from some of the samples."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from convexfs import Relief
from convexfs.errors import InputError
from tests.data.columns import Slices, genotypes, two_classes
from tests.typed import known


@pytest.mark.parametrize("make", [two_classes, genotypes])
def test_fewer_samples_find_the_same_features(make):
    X, y = make(n=600, j=200)
    all_of_them = Relief(n_neighbors=10, n_features_to_select=5)
    some = Relief(n_neighbors=10, n_features_to_select=5, n_anchors=150, random_state=0)
    z = all_of_them.fit(X, y).margin_
    low, high = known(some.fit(X, y).margin_interval_)
    assert ((low <= z) & (z <= high)).mean() >= 0.95
    np.testing.assert_array_equal(some.get_support(), all_of_them.get_support())
    assert some.certificate_.ok
    assert all_of_them.margin_interval_ is None


def test_the_draw_follows_the_seed_and_columns_may_lie_elsewhere():
    X, y = two_classes(n=100, j=1500)
    one, other = (
        Relief(n_anchors=30, random_state=3, n_features_to_select=5).fit(own, y)
        for own in (X, Slices(X))
    )
    np.testing.assert_allclose(one.weights_, other.weights_, atol=1e-12)


def test_permuted_labels_are_asked_by_fits():
    X, y = genotypes(n=120, j=30)
    assert known(Relief(n_anchors=60, n_neighbors=5, random_state=0).fit(X, y).get_support()).any()


@pytest.mark.parametrize(
    "options",
    [
        {"online": True}, {"metric": "sqeuclidean"}, {"n_anchors": 1}, {"n_anchors": 41},
        {"keep": 3}, {"n_neighbors": "surf"},
    ],
)  # fmt: skip
def test_what_anchors_do_not_go_with(options: dict[str, Any]):
    X, y = two_classes(j=20)
    asked: dict[str, Any] = {"n_anchors": 10, **options}
    with pytest.raises(InputError, match="n_anchors"):
        Relief(**asked).fit(X, y)


@pytest.mark.parametrize("make", [csr_array, lambda X: np.where(X > 1.5, np.nan, X)])
def test_anchors_take_arrays_without_gaps(make):
    X, y = two_classes(j=20)
    with pytest.raises(InputError, match="n_anchors takes numbers in an array"):
        Relief(n_anchors=10).fit(make(X), y)
