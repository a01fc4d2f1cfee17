import numpy as np
import pytest

from convexfs.errors import ConvexfsWarning, InputError
from convexfs.neighbors.feature_blocks import weighted_distances
from convexfs.neighbors.hits_misses import nearest, nearest_at
from convexfs.neighbors.regression import (
    has_both,
    neighbor_influence,
    signed_shares,
    soft_shares,
    target_difference,
)
from convexfs.neighbors.soft import neighbor_probabilities, signed_probabilities

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6))
CODES = np.arange(40) % 3
D = weighted_distances(X, np.ones(6))


@pytest.mark.parametrize("sigma", [0.01, 2.0, np.inf])
def test_classes_are_the_case_of_differences_0_and_1(sigma):
    delta = (CODES[:, None] != CODES).astype(float)
    hit, miss = neighbor_probabilities(D, CODES, sigma)
    np.testing.assert_allclose(soft_shares(D, delta, sigma), (miss, hit), atol=1e-15)
    expected = signed_probabilities(D, CODES, sigma)
    np.testing.assert_allclose(signed_shares(D, delta, sigma), expected, atol=1e-15)


def test_a_class_of_one_has_no_margin_either():
    codes = CODES.copy()
    codes[7] = 9
    delta = (codes[:, None] != codes).astype(float)
    np.testing.assert_array_equal(np.flatnonzero(~has_both(delta)), [7])
    assert not signed_shares(D, delta, 2.0)[7].any()


def test_two_values_over_their_range_are_two_classes():
    y = (CODES == 0).astype(float)
    delta = target_difference(y, "range")
    np.testing.assert_array_equal(delta, y[:, None] != y)


def test_ranks_are_shares_of_nearer_samples_and_ties_count_half():
    delta = target_difference(np.array([0.0, 1.0, 3.0, 3.0, 10.0]))
    np.testing.assert_allclose(delta[0], [0.0, 0.0, 0.5, 0.5, 1.0])
    np.testing.assert_allclose(delta[2], [2 / 3, 1 / 3, 0.0, 0.0, 1.0])
    assert not delta.diagonal().any()


def test_ranks_do_not_ask_how_the_target_is_scaled():
    y = RNG.standard_normal(40)
    np.testing.assert_array_equal(target_difference(y), target_difference(3.0 * y + 2.0))
    rows = target_difference(y)
    assert rows.min() == 0
    assert rows.max() == 1


def test_shares_sum_to_one():
    shares = soft_shares(D, target_difference(X[:, 0]), 1.5)
    for share in shares:
        np.testing.assert_allclose(share.sum(axis=1), 1.0)
        assert not share.diagonal().any()


def test_neighbours_are_ranked_by_distance_and_count_by_rank():
    ranked = np.argsort(D + 1e9 * np.eye(40), axis=1)[:, :5]
    np.testing.assert_array_equal(nearest(X, 5), ranked)
    np.testing.assert_array_equal(nearest_at(D, 5), ranked)
    influence = neighbor_influence(40, 5, spread=2.0)
    np.testing.assert_allclose(influence, (e := np.exp(-((np.arange(1, 6) / 2.0) ** 2))) / e.sum())
    assert len(neighbor_influence(40, 0.25)) == 10
    with pytest.warns(ConvexfsWarning, match="only 39 other samples"):
        assert len(neighbor_influence(40, 70)) == 39
    with pytest.raises(InputError, match="spread must be a number above 0"):
        neighbor_influence(40, 5, spread=0.0)
