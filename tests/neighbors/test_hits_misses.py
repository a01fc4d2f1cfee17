"""Against brute force in numpy, which makes the N x N x J array the kernels avoid."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from convexfs.errors import InputError
from convexfs.neighbors import distances
from convexfs.neighbors.hits_misses import (
    NeighborOrder,
    SignedNeighbors,
    row_blocks,
    signed_neighbors,
)
from convexfs.neighbors.margins import margin_vector

SCIPY_NAMES: dict[str, Any] = {"manhattan": "cityblock", "sqeuclidean": "sqeuclidean"}


def sample(n=60, j=7, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, j)), rng.integers(classes, size=n)


def brute_force_margin(X, codes, n_neighbors, metric, miss):
    """z as the definition reads, one sample and one class at a time."""
    D = cdist(X, X, SCIPY_NAMES[metric])
    power = 2 if metric == "sqeuclidean" else 1
    z = np.zeros(X.shape[1])
    for n, own in enumerate(codes):
        D[n, n] = np.inf

        def mean_difference(members, n=n):
            nearest = members[np.argsort(D[n, members], kind="stable")][:n_neighbors]
            return (np.abs(X[n] - X[nearest]) ** power).mean(axis=0)

        hits = np.flatnonzero((codes == own) & (np.arange(len(X)) != n))
        if hits.size == 0:
            continue
        others = [c for c in np.unique(codes) if c != own]
        if miss == "nearest":
            z += mean_difference(np.flatnonzero(codes != own))
        else:
            sizes = np.array([np.sum(codes == c) if miss == "prior" else 1.0 for c in others])
            for share, c in zip(sizes / sizes.sum(), others, strict=True):
                z += share * mean_difference(np.flatnonzero(codes == c))
        z -= mean_difference(hits)
    return z


def as_matrix(neighbors: SignedNeighbors) -> np.ndarray:
    """Signed weights of all pairs."""
    signed = np.zeros((len(neighbors.index),) * 2)
    for n, group, m in zip(*np.nonzero(neighbors.coefficient), strict=True):
        signed[n, neighbors.index[n, group, m]] += neighbors.coefficient[n, group, m]
    return signed


@pytest.mark.parametrize("metric", ["manhattan", "sqeuclidean"])
@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
@pytest.mark.parametrize("n_neighbors", [1, 4, 25])
def test_margin_is_what_the_definition_says(metric, miss, n_neighbors):
    X, codes = sample()
    neighbors = signed_neighbors(X, codes, n_neighbors, metric, miss)
    expected = brute_force_margin(X, codes, n_neighbors, metric, miss)
    np.testing.assert_allclose(
        margin_vector(X, neighbors, metric), expected, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
def test_a_share_takes_the_nearest_of_each_class(miss):
    X, codes = sample()
    D = cdist(X, X, "cityblock")
    expected = np.zeros(X.shape[1])
    sizes = np.bincount(codes)
    for n, own in enumerate(codes):
        for c, size in enumerate(sizes):
            members = np.flatnonzero((codes == c) & (np.arange(len(X)) != n))
            number = max(int(0.25 * len(members) + 0.5), 1)
            nearest = members[np.argsort(D[n, members], kind="stable")][:number]
            others = len(X) - sizes[own]
            weight = 1 / 2 if miss == "uniform" else size / others
            sign = -1.0 if c == own else weight
            expected += sign * np.abs(X[n] - X[nearest]).mean(axis=0)
    z = margin_vector(X, signed_neighbors(X, codes, 0.25, miss=miss))
    np.testing.assert_allclose(z, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("metric", ["manhattan", "sqeuclidean"])
@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
@pytest.mark.parametrize("n_neighbors", [1, 4, 0.3])
def test_samples_sorted_once_have_the_same_neighbours_at_any_labels(metric, miss, n_neighbors):
    X, codes = sample()
    X = np.round(X, 1)  # many equally near
    order = NeighborOrder(X, metric)
    for labels in (codes, np.random.default_rng(1).permutation(codes)):
        once = order.signed(labels, n_neighbors, miss)
        every = signed_neighbors(X, labels, n_neighbors, metric, miss)
        np.testing.assert_array_equal(as_matrix(once), as_matrix(every))
        np.testing.assert_array_equal(
            margin_vector(X, once, metric), margin_vector(X, every, metric)
        )


@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
@pytest.mark.parametrize("radius", ["surf", "multisurf"])
def test_near_samples_are_those_within_the_radius(miss, radius):
    X, codes = sample(n=40)
    codes[:3] = [3, 4, 4]
    D = cdist(X, X, "cityblock")
    others = ~np.eye(40, dtype=bool)
    expected = np.zeros(D.shape)
    for n, own in enumerate(codes):
        far = D[n, others[n]]
        bound = D.mean() if radius == "surf" else far.mean() - far.std() / 2
        near = (D[n] < bound) & others[n]
        rivals = [c for c in np.unique(codes) if c != own]
        sizes = np.array([np.sum(codes == c) if miss == "prior" else 1.0 for c in rivals])
        groups = [(codes != own, 1.0)] if miss == "nearest" else [
            (codes == c, share) for c, share in zip(rivals, sizes / sizes.sum(), strict=True)
        ]  # fmt: skip
        for members, share in [(codes == own, -1.0), *groups] if own != 3 else []:
            expected[n, near & members] = share / max((near & members).sum(), 1)
    near = signed_neighbors(X, codes, radius, miss=miss)
    np.testing.assert_allclose(as_matrix(near), expected, rtol=1e-12)
    at_labels = NeighborOrder(X, radius=radius).signed(codes, radius, miss)
    np.testing.assert_array_equal(as_matrix(near), as_matrix(at_labels))


@pytest.mark.parametrize("miss", ["nearest", "prior"])
def test_hits_sum_to_minus_one_and_misses_to_one(miss):
    X, codes = sample()
    coefficient = signed_neighbors(X, codes, 3, miss=miss).coefficient
    np.testing.assert_allclose(np.where(coefficient < 0, coefficient, 0).sum((1, 2)), -1)
    np.testing.assert_allclose(np.where(coefficient > 0, coefficient, 0).sum((1, 2)), 1)


def test_a_class_of_one_contributes_nothing_but_can_be_a_miss():
    X = np.array([[0.0], [1.0], [2.0], [2.5], [9.0]])
    codes = np.array([0, 0, 1, 1, 2])
    neighbors = signed_neighbors(X, codes, 1)
    assert not neighbors.coefficient[4].any()
    far = signed_neighbors(X[[0, 1, 4, 2]], codes[[0, 1, 4, 2]], 1)
    assert far.index[1, 1, 0] == 3


def test_fewer_neighbours_in_a_class_than_asked_are_averaged():
    X, codes = np.array([[0.0], [1.0], [3.0], [10.0], [14.0]]), np.array([0, 0, 0, 1, 1])
    z = margin_vector(X, signed_neighbors(X, codes, 4))
    assert z == pytest.approx(brute_force_margin(X, codes, 4, "manhattan", "nearest"))


def test_of_equal_distances_the_lower_index_is_nearer():
    X = np.array([[0.0], [1.0], [-1.0], [1.0]])
    index = signed_neighbors(X, np.zeros(4, dtype=int), 2).index
    assert index[0, 0].tolist() == [1, 2]


@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
def test_a_class_without_samples_has_no_part(miss):
    X, codes = sample(classes=2)
    gap = np.where(codes == 1, 3, codes)
    with_gap, without = (signed_neighbors(X, c, 3, miss=miss) for c in (gap, codes))
    np.testing.assert_allclose(margin_vector(X, with_gap), margin_vector(X, without))


def test_distances_that_overflow_are_refused():
    X, codes = sample()
    with pytest.raises(InputError, match="distances overflow"):
        signed_neighbors(1e160 * X, codes, metric="sqeuclidean")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), cells=st.integers(1, 3000), panel=st.integers(1, 40))
def test_blocks_and_threads_change_nothing(seed, cells, panel):
    X, codes = sample(seed=seed)
    whole = signed_neighbors(X, codes, 3)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setattr(distances, "BLOCK_CELLS", cells)
        patch.setattr(distances, "_PANEL", panel)
        assert len(row_blocks(len(X))) > 1
        blocked = signed_neighbors(X, codes, 3, map=pool.map)
        z = margin_vector(X, blocked, map=pool.map)
    np.testing.assert_array_equal(blocked.index, whole.index)
    np.testing.assert_allclose(z, margin_vector(X, whole), rtol=1e-12, atol=1e-12)


def test_row_blocks_cover_every_row_once():
    for n in (1, 5, 1000, 100_000):
        rows = [row for start, stop in row_blocks(n) for row in range(start, stop)]
        assert rows == list(range(n))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1, not 0"),
        ({"n_neighbors": 1.5}, "n_neighbors must be an integer"),
        ({"n_neighbors": 60}, "more neighbours than the 60 rows have: use at most 59"),
        ({"metric": "euclid"}, "unknown metric 'euclid': did you mean sqeuclidean"),
        ({"miss": "nearst"}, "unknown miss rule 'nearst': did you mean nearest"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        signed_neighbors(*sample(), **options)
