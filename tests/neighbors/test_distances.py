"""Against numpy, feature by feature and pair by pair, in the order the kernels promise."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from convexfs.errors import InputError
from convexfs.neighbors import distances, hits_misses
from convexfs.neighbors.hits_misses import SignedNeighbors, all_pairs
from convexfs.neighbors.kernels import distance_sums, nearest, rough_sums
from convexfs.neighbors.margins import margin_vector

SEEDS = st.integers(0, 2**32 - 1)


def naive_distances(X: np.ndarray, squared: bool) -> np.ndarray:
    """Terms added one after the other, 128 features at a time."""
    total = np.zeros((len(X), len(X)))
    for start in range(0, X.shape[1], 128):
        part = np.zeros_like(total)
        for column in X.T[start : start + 128]:
            apart = np.subtract.outer(column, column)
            part += apart * apart if squared else np.abs(apart)
        total += part
    return total


@given(seed=SEEDS, n=st.integers(1, 300), j=st.integers(1, 300), squared=st.booleans())
def test_distances_add_their_terms_in_the_order_of_the_features(seed, n, j, squared):
    X = np.random.default_rng(seed).standard_normal((n, j))
    np.testing.assert_array_equal(distances.distances(X, squared), naive_distances(X, squared))


@pytest.mark.parametrize("shape", [(5, 1), (37, 3), (40, 300), (133, 1000)])
@pytest.mark.parametrize(("squared", "name"), [(False, "cityblock"), (True, "sqeuclidean")])
def test_distances_equal_scipys(shape, squared, name):
    X = np.random.default_rng(1).standard_normal(shape)
    expected = cdist(X, X, name)
    np.testing.assert_allclose(distances.distances(X, squared), expected, rtol=1e-12)
    some = distances.distances_of(X, 2, shape[0] - 1, squared)
    np.testing.assert_allclose(some, expected[2:-1], rtol=1e-12)


@given(seed=SEEDS, n=st.integers(2, 300), cells=st.integers(1, 20_000), squared=st.booleans())
def test_blocks_and_threads_change_no_distance(seed, n, cells, squared):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 150))
    whole, (start, stop) = distances.distances(X, squared), np.sort(rng.integers(n + 1, size=2))
    np.testing.assert_array_equal(
        distances.distances_of(X, start, stop, squared), whole[start:stop]
    )
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setattr(distances, "BLOCK_CELLS", cells)
        np.testing.assert_array_equal(distances.distances(X, squared, pool.map), whole)


@given(seed=SEEDS, squared=st.booleans())
def test_equal_samples_are_equally_far_from_any_other(seed, squared):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 97))[rng.integers(60, size=301)]
    found, first = distances.distances(X, squared), np.unique(X, axis=0, return_inverse=True)[1]
    for copies in (np.flatnonzero(first == value) for value in range(first.max() + 1)):
        assert (found[:, copies] == found[:, copies[:1]]).all()
    assert not found[first[:, None] == first].any()


@settings(max_examples=25, deadline=None)
@given(
    seed=SEEDS,
    panel=st.integers(1, 80),
    number=st.integers(1, 30),
    pooled=st.booleans(),
    few_values=st.booleans(),
)
def test_panels_find_the_nearest_of_sorted_distances(seed, panel, number, pooled, few_values):
    """With few values most distances are equal, and the lower index is the nearer."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(70, 4)).astype(float) if few_values else rng.random((70, 4))
    codes = rng.permutation(np.arange(70) % 3)
    D = naive_distances(X, squared=False)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setattr(distances, "_PANEL", panel)
        groups = 0 if pooled else 3
        found = distances.nearest_in_groups(X, codes, groups, number, map=pool.map)
    np.testing.assert_array_equal(found, nearest.nearest_in_groups(D, 0, codes, groups, number))
    for n, own in enumerate(codes):
        members = [codes == own, codes != own] if pooled else [codes == c for c in range(3)]
        for group, member in enumerate(members):
            others = np.flatnonzero(member & (np.arange(70) != n))
            expected = others[np.argsort(D[n, others], kind="stable")][:number]
            padding = [-1] * (number - len(expected))
            assert found[n, group].tolist() == expected.tolist() + padding


@given(seed=SEEDS, exponent=st.integers(-12, -4), offset=st.sampled_from([0.0, 1e6]))
def test_near_ties_are_decided_in_float64(seed, exponent, offset):
    """Distances differ by less than float32 can tell, and lists of the nearest overflow."""
    rng = np.random.default_rng(seed)
    X = rng.integers(2, size=(120, 6)) + 10.0**exponent * rng.random((120, 6)) + offset
    codes, D = rng.integers(2, size=120), naive_distances(X, squared=False)
    expected = nearest.nearest_in_groups(D, 0, codes, 2, 5)
    for most in (0.0, 1.0):  # all in float64, or float32 at first
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distances, "_FAILED", most)
            found = distances.nearest_in_groups(X, codes, 2, 5)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(2, 1), (5, 30), (37, 511), (41, 1030)])
def test_rough_distances_err_by_less_than_their_bound(shape):
    X = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    some, exact = X[: shape[0] // 2], cdist(X, X, "cityblock")
    roundings = distance_sums.ROUGH_FEATURES + shape[1] / distance_sums.ROUGH_FEATURES + 2
    for rows, same in ((X, True), (some, False)):
        found, across = distances._rough_between(rows, X, same)
        true = exact[: len(rows)]
        assert (np.abs(found - true) <= 2.0**-24 * roundings * true).all()
        np.testing.assert_array_equal(across, found.T)


@given(
    seed=SEEDS,
    shape=st.sampled_from([(2, 1), (5, 30), (37, 511), (41, 530), (23, 1030)]),
    exponent=st.integers(-30, 30),
    outlier=st.sampled_from([1.0, 1e6]),
)
def test_sums_of_least_values_err_by_less_than_their_bound(seed, shape, exponent, outlier):
    X = 10.0**exponent * np.random.default_rng(seed).standard_normal(shape)
    X[shape[0] // 2] *= outlier
    X[-1] = X[0]
    rough, exact = distances._RoughRows.of(X), cdist(X, X, "cityblock")
    # Larger values are searched in float64 alone.
    assume(rough.sizes.max() < distances._ROUGH_LARGEST)
    slack, relative = rough.bounds()
    whole, part = slice(0, shape[0]), slice(shape[0] // 3, shape[0])
    for own, others in ((whole, whole), (part, whole), (part, part), (slice(0, 1), part)):
        found, across = rough.between(own, others)
        true = exact[own, others]
        assert (np.abs(found - true) <= slack[own][:, None] + relative * true).all()
        assert (np.abs(across - true.T) <= slack[others][:, None] + relative * true.T).all()
        np.testing.assert_array_equal(across, found.T)


@given(seed=SEEDS, number=st.integers(1, 40), few_values=st.booleans())
def test_vectors_of_neighbours_are_those_of_sorted_distances(seed, number, few_values):
    """Lists of one vector or more are filled in two panels; equal distances keep their order."""
    rng = np.random.default_rng(seed)
    D = rng.integers(9, size=(50, 70)) if few_values else rng.random((50, 70))
    D, codes, start = D.astype(np.float32), rng.integers(3, size=70), 11
    shape = (50, 3, number + -number % rough_sums.LANES)
    best, index = np.full(shape, np.inf, np.float32), np.full(shape, -1, np.int32)
    for first, last in ((0, 37), (37, 70)):
        part = np.ascontiguousarray(D[:, first:last])
        rough_sums.take_nearer(part, start, first, codes, False, best, index)
    expected = nearest.nearest_in_groups(D.astype(float), start, codes, 3, shape[2])
    np.testing.assert_array_equal(index, expected)
    near = np.take_along_axis(D, np.maximum(expected, 0).reshape(50, -1), axis=1)
    near[expected.reshape(50, -1) < 0] = np.inf
    np.testing.assert_array_equal(best.reshape(50, -1), near)


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1.0, 1e30, 1e40])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_neighbours_at_any_scale_are_those_of_float64(scale, offset):
    """Float32 underflows, overflows, or cannot tell the values apart."""
    rng = np.random.default_rng(5)
    X = scale * (rng.standard_normal((90, 40)) + offset)
    X[::9] *= 1e4
    X[4], X[40:43] = X[3], X[43]
    codes = rng.integers(2, size=90)
    for groups in (0, 2):
        found = distances.nearest_in_groups(X, codes, groups, 7)
        expected = nearest.nearest_in_groups(distances.distances(X), 0, codes, groups, 7)
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, j=st.integers(1, 1100), number=st.integers(1, 9), squared=st.booleans())
def test_differences_of_merged_pairs_are_added_one_after_the_other(seed, j, number, squared):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, j))
    index = rng.integers(150, size=(150, 2, number))
    coefficient = rng.integers(-4, 5, size=index.shape) / 4
    coefficient[index == np.arange(150)[:, None, None]] = 0.0
    index[coefficient == 0.0] = -1
    signed = np.zeros((150, 150))
    for row, group, m in zip(*np.nonzero(coefficient), strict=True):
        signed[row, index[row, group, m]] += coefficient[row, group, m]
    merged, expected = signed + signed.T, np.zeros(j)
    for panel in (slice(0, 128), slice(128, 150)):
        for row in range(150):
            for i in range(max(row + 1, panel.start), panel.stop):
                apart, c = X[row] - X[i], merged[row, i]
                expected += c * apart * apart if squared else c * np.abs(apart)
    metric = "sqeuclidean" if squared else "manhattan"
    for neighbors in (SignedNeighbors(index, coefficient), all_pairs(signed)):
        np.testing.assert_array_equal(margin_vector(X, neighbors, metric), expected)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hits_misses, "row_blocks", lambda n: [(0, 60), (60, n)])
            parts = margin_vector(X, neighbors, metric)
        np.testing.assert_allclose(parts, expected, atol=1e-9)


@pytest.mark.parametrize("place", [0, 40])
def test_distances_too_large_for_a_number_are_refused_wherever_they_are(place, monkeypatch):
    monkeypatch.setattr(distances, "_PANEL", 16)
    X = np.zeros((41, 2))
    X[place] = 1e308
    with pytest.raises(InputError, match="distances overflow"):
        distances.nearest_in_groups(X, np.zeros(41, dtype=int), 1, 2)
    with pytest.raises(InputError, match="distances overflow"):
        distances.distances(X)
