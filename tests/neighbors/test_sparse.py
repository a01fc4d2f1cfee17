"""Sums over nonzeros against the same sums over dense samples."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from convexfs.data.sparse import standard_deviation
from convexfs.methods.irelief.numbers import soft_margin
from convexfs.neighbors import feature_blocks as passes
from convexfs.neighbors import hits_misses, margins
from convexfs.neighbors.samples import as_samples
from convexfs.neighbors.soft import signed_probabilities
from convexfs.neighbors.sparse import SparseSamples


def drawn(seed, density, signs=True) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n, j = int(rng.integers(8, 60)), int(rng.integers(3, 400))
    values = rng.standard_normal((n, j)) if signs else rng.poisson(3.0, (n, j)) + 1.0
    dense = np.where(rng.random((n, j)) < density, values, 0.0)
    codes = np.arange(n) % 2
    return dense, SparseSamples(sparse.csr_array(dense)), codes, rng


cases = given(st.integers(0, 10**6), st.sampled_from([0.02, 0.1, 0.5]), st.booleans())


@cases
@settings(max_examples=25, deadline=None)
def test_distances_and_relief_margins(seed, density, signs):
    dense, thin, codes, _ = drawn(seed, density, signs)
    for metric, power in (("manhattan", 1), ("sqeuclidean", 2)):
        expected = (np.abs(dense[:, None] - dense) ** power).sum(axis=2)
        found = thin.row_distances(0, len(dense), power == 2)
        np.testing.assert_allclose(found, expected, atol=1e-12 * max(expected.max(), 1))
        near = hits_misses.signed_neighbors(dense, codes, 3, metric)
        z = margins.margin_vector(dense, near, metric)
        found = margins.margin_vector(thin, near, metric)
        np.testing.assert_allclose(found, z, atol=1e-12 * max(np.abs(z).max(), 1))


@cases
@settings(max_examples=25, deadline=None)
def test_passes_over_all_features(seed, density, signs):
    dense, thin, codes, rng = drawn(seed, density, signs)
    expected = np.abs(dense[:, None] - dense).sum(axis=2)
    size = max(expected.max(), 1.0)
    exact = 1e-12 if thin.is_thin else 1e-5  # dense tiles are of float32
    np.testing.assert_allclose(passes.all_distances(thin), expected, atol=exact * size)
    signed, p = signed_probabilities(expected, codes, 2.0), rng.random(len(dense))
    true = passes.exact_scores(dense, np.arange(dense.shape[1]), passes.score_pairs(signed, p))
    for budget in (0.0, 0.3 * p.sum(), 1.5 * p.sum()):
        pairs = passes.score_pairs(signed, p, budget)
        scores, errors = passes.feature_scores(thin, pairs)
        assert (np.abs(scores - true) <= errors * 1.0001 + 1e-12 * size).all()
    found = passes.exact_scores(thin, np.arange(dense.shape[1]), pairs)
    np.testing.assert_allclose(
        found, passes.exact_scores(dense, np.arange(dense.shape[1]), pairs), atol=1e-12 * size
    )


@cases
@settings(max_examples=15, deadline=None)
def test_soft_margins(seed, density, signs):
    dense, thin, codes, rng = drawn(seed, density, signs)
    w = rng.random(dense.shape[1])
    expected = soft_margin(dense, codes, w, 2.0)
    found = soft_margin(thin, codes, w, 2.0)
    np.testing.assert_allclose(found, expected, atol=1e-12 * max(np.abs(expected).max(), 1))


def test_the_matrix_is_put_in_order_and_not_changed():
    rows, columns = [0, 0, 2, 2, 1, 0], [3, 1, 3, 3, 0, 0]
    data = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    given_ = sparse.coo_array((data, (rows, columns)), shape=(3, 4))
    unsorted = sparse.csc_array(
        (np.array([5.0, 0.0, 2.0, 3.0, 4.0, 1.0]), [1, 0, 0, 2, 2, 0], [0, 2, 3, 3, 6]), (3, 4)
    )
    before = unsorted.indices.copy()
    for matrix in (given_, unsorted):
        samples = SparseSamples(matrix)
        np.testing.assert_array_equal(samples[:, :], given_.toarray())
        assert samples.size == 4
        assert samples.by_columns.has_canonical_format
        assert samples.by_rows.has_canonical_format
    np.testing.assert_array_equal(unsorted.indices, before)


def test_tiles_lie_by_rows():
    _, thin, _, _ = drawn(1, 0.1)
    assert thin[:, np.array([2, 0])].flags.c_contiguous
    assert passes.take_columns(thin, np.array([2, 0])).flags.c_contiguous


def test_copies_are_at_distance_0():
    dense = np.random.default_rng(0).standard_normal((4, 300))
    dense[3] = dense[1]
    assert SparseSamples(sparse.csr_array(dense)).row_distances(1, 2, False)[0, 3] == 0


def test_constant_columns_have_no_margin():
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((40, 5)) < 0.3, rng.standard_normal((40, 5)), 0.0)
    dense[:, 2] = 0.1
    samples: Any = SparseSamples(sparse.csr_array(dense))
    codes = np.arange(40) % 2
    near = hits_misses.signed_neighbors(samples, codes, 3)
    z = margins.margin_vector(samples, near)
    assert abs(z[2]) <= margins.cancelled_sums(samples)[2]


def test_columns_times_and_deviations():
    dense, thin, _, rng = drawn(5, 0.2)
    dense[:, 0] = 0.1
    thin = SparseSamples(sparse.csr_array(dense))
    w = rng.random(dense.shape[1])
    np.testing.assert_allclose(thin.times(w)[:, :], dense * w)
    np.testing.assert_array_equal(thin.columns(np.array([2, 1]))[:, :], dense[:, [2, 1]])
    deviation = standard_deviation(thin.by_rows)
    np.testing.assert_allclose(deviation[1:], dense.std(axis=0)[1:], atol=1e-14)
    assert deviation[0] == 0
    np.testing.assert_array_equal(thin.largest(), np.abs(dense).max(axis=0))


def test_dense_samples_stay_what_they_are():
    X = np.ones((2, 2))
    assert as_samples(X) is X
    assert isinstance(as_samples(sparse.csr_matrix(X)), SparseSamples)


@pytest.mark.parametrize("n_columns", [1, 3, 2000])
def test_blocks_cover_all_columns_once(n_columns):
    dense = np.random.default_rng(0).random((9, n_columns)) * (np.arange(n_columns) % 3 == 0)
    blocks = SparseSamples(sparse.csr_array(dense)).blocks()
    joined = np.hstack([block.columns.toarray() for block in blocks])
    np.testing.assert_array_equal(joined, dense)
    assert len(blocks) <= 9
