import numpy as np

from convexfs.neighbors.triplets import (
    join_triplets,
    list_triplets,
    pair_distances,
    pair_sums,
    target_neighbors,
    target_sum,
)

RNG = np.random.default_rng(0)
X, y = RNG.standard_normal((12, 3)), np.array([0] * 5 + [1] * 4 + [2] * 2 + [3])
D = ((X[:, None] - X) ** 2).sum(axis=2)


def test_targets_are_the_nearest_hits_as_many_as_there_are():
    found = target_neighbors(X, y, 3)
    for i in range(12):
        hits = [j for j in np.argsort(D[i]) if y[j] == y[i] and j != i][:3]
        assert list(found.index[i]) == hits + [-1] * (3 - len(hits))
        misses = D[i][y != y[i]].min()
        np.testing.assert_allclose(found.theta[i], abs(misses - D[i, hits[0]]) if hits else 0.0)


def test_distances_and_sums_over_pairs_are_the_loops():
    u, C = RNG.standard_normal(3), RNG.standard_normal((12, 12))
    squares = (X[:, None] - X) ** 2
    np.testing.assert_allclose(pair_distances(X, u), squares @ u, atol=1e-12)
    np.testing.assert_allclose(pair_sums(X, C), np.einsum("ip,ipf->f", C, squares), atol=1e-10)
    targets = target_neighbors(X, y, 3).index
    expected = sum(squares[i, j] for i in range(12) for j in targets[i] if j >= 0)
    np.testing.assert_allclose(target_sum(X, targets), expected)


def test_joined_rows_are_all_the_triplets():
    targets = target_neighbors(X, y, 3).index
    near, far = list_triplets(y, targets)
    near_row, far_row = join_triplets(near, far)
    np.testing.assert_array_equal(near[near_row, 0], far[far_row, 0])
    found = {(i, j, p) for (i, j), p in zip(near[near_row], far[far_row, 1], strict=True)}
    expected = {
        (i, j, p)
        for i in range(12)
        for j in targets[i]
        if j >= 0
        for p in range(12)
        if y[p] != y[i]
    }
    assert len(near_row) == len(found)
    assert found == expected
