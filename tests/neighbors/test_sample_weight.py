"""Weights of samples: equal rows whose copies are not neighbours of each other."""

import numpy as np
import pytest

from convexfs.neighbors.hits_misses import sample_distances, signed_neighbors
from convexfs.neighbors.sample_weight import counted_neighbors

N = 18
RNG = np.random.default_rng(6)
X = RNG.standard_normal((N, 4))
CODES = np.arange(N) % 3
ROWS = RNG.integers(1, 4, N).astype(float)


def dense(neighbors):
    signed = np.zeros((N, N))
    n, group, place = np.nonzero(neighbors.coefficient)
    np.add.at(signed, (n, neighbors.index[n, group, place]), neighbors.coefficient[n, group, place])
    return signed


@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
@pytest.mark.parametrize("n_neighbors", [1, 4, 0.3, "surf", "multisurf"])
def test_weights_of_1_are_no_weights(n_neighbors, miss):
    plain = dense(signed_neighbors(X, CODES, n_neighbors, miss=miss))
    counted = counted_neighbors(sample_distances(X), CODES, np.ones(N), n_neighbors, miss)
    np.testing.assert_allclose(counted, plain, atol=1e-15)


def nearest_by_hand(distances, codes, origin, number, miss):
    """The rule as it is printed, over rows written out, copies of one's own left out."""
    n, signed = len(codes), np.zeros(distances.shape)
    for row in range(n):
        others = [i for i in np.argsort(distances[row], kind="stable") if origin[i] != origin[row]]
        groups = {c: [i for i in others if codes[i] == c] for c in set(codes)}
        hits, misses = groups.pop(codes[row]), groups
        if miss == "nearest":
            misses = {0: [i for i in others if codes[i] != codes[row]]}
        sizes = {c: sum(codes == c) if miss == "prior" else 1 for c in misses}
        for i in hits[:number]:
            signed[row, i] -= 1 / number
        for c, group in misses.items():
            for i in group[:number]:
                signed[row, i] += sizes[c] / sum(sizes.values()) / number
    return signed


@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
def test_weights_are_rows_written_so_often(miss):
    origin = np.repeat(np.arange(N), ROWS.astype(int))
    written = nearest_by_hand(sample_distances(X[origin]), CODES[origin], origin, 4, miss)
    # Rows of a sample are equal; as neighbours, they are added up.
    first = np.searchsorted(origin, np.arange(N))
    merged = np.add.reduceat(written[first], first, axis=1)
    counted = counted_neighbors(sample_distances(X), CODES, ROWS, 4, miss)
    np.testing.assert_allclose(counted, merged, atol=1e-14)


def test_a_share_is_one_of_the_weight_of_a_class():
    counted = counted_neighbors(sample_distances(X), CODES, ROWS, 0.5, "prior")
    for n in range(N):
        others = ROWS[(CODES[n] == CODES) & (np.arange(N) != n)]
        hits = -np.minimum(counted[n], 0.0)
        # All but the last of the hits count with all their rows.
        assert np.isclose(hits.sum(), 1.0)
        assert (hits > 0).sum() <= np.floor(0.5 * others.sum() + 0.5)


def test_a_class_of_one_sample_has_no_margin_whatever_its_weight():
    codes, rows = CODES.copy(), ROWS.copy()
    codes[0], rows[0] = 3, 5.0
    counted = counted_neighbors(sample_distances(X), codes, rows, 2, "nearest")
    assert not counted[0].any()
