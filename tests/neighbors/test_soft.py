import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from convexfs.neighbors.soft import (
    expected_distances,
    has_hit,
    neighbor_probabilities,
    signed_probabilities,
)

CODES = np.array([0, 0, 0, 1, 1, 2])


@pytest.fixture
def distances():
    X = np.random.default_rng(0).standard_normal((6, 3))
    return cdist(X, X, "cityblock")


def test_probabilities_are_the_kernel_over_hits_and_over_misses(distances):
    hit, miss = neighbor_probabilities(distances, CODES, 0.7)
    kernel = np.exp(-distances[0] / 0.7)
    np.testing.assert_allclose(hit[0, 1:3], kernel[1:3] / kernel[1:3].sum())
    np.testing.assert_allclose(miss[0, 3:], kernel[3:] / kernel[3:].sum())
    assert hit[0, 0] == 0
    assert not hit[0, 3:].any()
    assert not miss[0, :3].any()


def test_a_class_of_one_has_no_hit_and_no_margin(distances):
    hit, miss = neighbor_probabilities(distances, CODES, 1.0)
    assert not hit[5].any()
    assert miss[5].sum() == pytest.approx(1.0)
    signed = signed_probabilities(distances, CODES, 1.0)
    assert not signed[5].any()
    assert (signed[:5, 5] > 0).all()
    np.testing.assert_array_equal(has_hit(CODES), [True] * 5 + [False])


def test_an_infinite_width_makes_all_neighbours_equal(distances):
    hit, miss = neighbor_probabilities(distances, CODES, np.inf)
    np.testing.assert_allclose(hit[0], [0, 0.5, 0.5, 0, 0, 0])
    np.testing.assert_allclose(miss[0], [0, 0, 0, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("sigma", [1e-3, 1e-300])
def test_a_narrow_kernel_finds_the_nearest(distances, sigma):
    hit, miss = neighbor_probabilities(distances, CODES, sigma)
    assert hit[0].argmax() == 1 + distances[0, 1:3].argmin()
    assert hit[0].max() == pytest.approx(1.0)
    assert miss[0].argmax() == 3 + distances[0, 3:].argmin()


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.floats(1e-6, 1e12),
    sigma=st.floats(1e-9, 1e9),
)
def test_nothing_underflows(seed, size, sigma):
    rng = np.random.default_rng(seed)
    X = size * rng.standard_normal((12, 2))
    codes = np.repeat([0, 1, 2], 4)
    hit, miss = neighbor_probabilities(cdist(X, X, "cityblock"), codes, sigma)
    np.testing.assert_allclose(hit.sum(axis=1), 1.0)
    np.testing.assert_allclose(miss.sum(axis=1), 1.0)


def test_expected_distances_lie_between_the_nearest_and_the_mean():
    rng = np.random.default_rng(1)
    distances = rng.random((4, 9))
    codes = np.repeat([0, 1, 2], 3)
    expected = expected_distances(distances, codes, 0.2)
    grouped = distances.reshape(4, 3, 3)
    assert (expected >= grouped.min(axis=2)).all()
    assert (expected < grouped.mean(axis=2)).all()
    np.testing.assert_allclose(expected_distances(distances, codes, np.inf), grouped.mean(axis=2))
    np.testing.assert_allclose(expected_distances(distances, codes, 1e-9), grouped.min(axis=2))
