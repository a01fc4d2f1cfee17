"""Distances counted in bits are those of the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from convexfs.neighbors import bitpacked
from convexfs.neighbors.feature_blocks import all_distances


@given(
    st.integers(2, 9), st.integers(1, 300), st.integers(1, 2),
    st.sampled_from([np.int8, np.uint8, np.bool_]), st.integers(0, 99),
)  # fmt: skip
def test_every_distance_is_exact(n, j, most, dtype, seed):
    X = np.random.default_rng(seed).integers(0, most + 1, (n, j)).astype(dtype)
    expected = cdist(X.astype(float), X.astype(float), "cityblock")
    words = bitpacked.packed(X)
    assert words is not None
    upper = np.zeros((n, n))
    bitpacked.add_distances(words, upper)
    np.testing.assert_array_equal(upper + upper.T, expected)
    np.testing.assert_array_equal(bitpacked.distances(words, 1, n), expected[1:])
    np.testing.assert_array_equal(all_distances(X), expected)


@pytest.mark.parametrize(
    "columns",
    [
        np.array([[0, 3]], np.int8), np.array([[-1, 2]], np.int8), np.array([[0.0, 1.0]]),
        np.array([[0, 1]], np.int32), np.empty((3, 0), np.int8),
    ],
)  # fmt: skip
def test_what_are_no_bits(columns):
    assert bitpacked.packed(columns) is None


def test_bits_take_the_room_they_need():
    X = np.ones((3, 640), np.int8)
    words = bitpacked.packed(X)
    assert words is not None
    assert words.nbytes == 3 * 640 / 8
    X[0, 0] = 2
    words = bitpacked.packed(X)
    assert words is not None
    assert words.nbytes == 3 * 640 / 4


def test_a_matrix_may_be_bits_in_part():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (11, 5000)).astype(np.int8)
    X[:, 2000:] = rng.integers(-100, 100, (11, 3000))
    expected = cdist(X.astype(float), X.astype(float), "cityblock")
    np.testing.assert_allclose(all_distances(X), expected, rtol=1e-6)
