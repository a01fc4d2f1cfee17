import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from convexfs.errors import InputError
from convexfs.neighbors import feature_blocks as feature_passes
from convexfs.neighbors.feature_blocks import (
    ArrayBlock,
    FileBlock,
    all_distances,
    exact_scores,
    feature_blocks,
    feature_scores,
    margin_columns,
    pair_products,
    score_pairs,
    take_columns,
    weighted_distances,
)


def samples(n=21, j=300, dtype: Any = np.float64, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, j)) * 20
    return X.astype(dtype)


def signed_and_pull(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, n)), rng.random(n)


def brute_scores(X, signed, p):
    X = np.asarray(X, dtype=np.float64)
    return np.einsum("n,ni,nij->j", p, signed, np.abs(X[:, None] - X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64, np.uint8])
@pytest.mark.parametrize("n", [2, 8, 21])
def test_distances_agree_with_scipy(dtype, n):
    X = samples(n, dtype=dtype)
    expected = cdist(X.astype(float), X.astype(float), "cityblock")
    np.testing.assert_allclose(all_distances(X), expected, rtol=1e-5)


def test_columns_may_lie_in_any_order():
    X = samples()
    np.testing.assert_array_equal(all_distances(np.asfortranarray(X)), all_distances(X))


def test_an_offset_costs_no_precision():
    X = samples(j=50)
    np.testing.assert_allclose(all_distances(X + 1e6), all_distances(X), rtol=1e-6)


def test_weighted_distances_agree_with_scipy():
    X, w = samples(j=40), np.random.default_rng(1).random(40)
    np.testing.assert_allclose(weighted_distances(X, w), cdist(X * w, X * w, "cityblock"))
    assert not weighted_distances(X[:, :0], w[:0]).any()


@pytest.mark.parametrize("n", [3, 8, 21])
def test_margin_columns_are_the_sum_over_neighbours(n):
    X, (signed, _) = samples(n, 150), signed_and_pull(n)
    expected = np.einsum("ni,nij->nj", signed, np.abs(X[:, None] - X))
    np.testing.assert_allclose(margin_columns(X, signed), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    budget=st.sampled_from([0.0, 0.1, 10.0, 1e9]),
    offset=st.sampled_from([0.0, 1e4]),
)
def test_the_error_of_a_score_stays_within_its_bound(seed, budget, offset):
    X = samples(14, 60, seed=seed) + offset
    signed, p = signed_and_pull(14, seed)
    scores, bound = feature_scores(X, score_pairs(signed, p, budget))
    exact = brute_scores(X, signed, p)
    assert (np.abs(scores - exact) <= bound + 1e-9).all()
    rounding = 1e-4 * np.abs(X - X.mean(axis=0)).sum(axis=0) * np.abs(signed).max()
    assert budget > 0 or (bound <= rounding).all()


def test_light_pairs_are_dropped_up_to_their_mass():
    signed, p = signed_and_pull(20)
    everything, most = score_pairs(signed, p), score_pairs(signed, p, 5.0)
    assert 0 < len(most.weight) < len(everything.weight)
    lost = np.abs(everything.weight).sum() - np.abs(most.weight).sum()
    assert lost <= 5.0
    assert np.abs(most.weight).min() >= 5.0 / len(everything.weight) * 0.1


def test_exact_scores_are_exact():
    X, (signed, p) = samples(15, 2500), signed_and_pull(15)
    index = np.arange(0, 2500, 2)
    found = exact_scores(X, index, score_pairs(signed, p))
    np.testing.assert_allclose(found, brute_scores(X[:, index], signed, p), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n", "j"), [(60, 30), (5, 3)])
def test_pair_products_are_those_of_all_pairs(n, j):
    X, (signed, p) = samples(n, j), signed_and_pull(n)
    apart = np.abs(X[:, None] - X)
    expected = np.einsum("n,ni,nij,nik->jk", p, signed, apart, apart, optimize=True)
    found = pair_products(X, score_pairs(signed, p))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * n**2 * 400)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_who_carries_a_pass_does_not_matter(pool):
    X, (signed, p) = samples(12, 5000, np.float32), signed_and_pull(12)
    pairs = score_pairs(signed, p, 1.0)
    with pool(2) as workers:
        np.testing.assert_array_equal(all_distances(X, workers.map), all_distances(X))
        for here, there in zip(
            feature_scores(X, pairs), feature_scores(X, pairs, workers.map), strict=True
        ):
            np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("part", [np.s_[:], np.s_[2:, 100:4700], np.s_[::2, ::3]])
def test_blocks_of_a_file_travel_by_name(tmp_path, order, part):
    X = samples(9, 5000, np.int8)
    on_disk = np.memmap(tmp_path / "X.bin", np.int8, "w+", 64, X.shape, order)
    on_disk[:] = X
    on_disk.flush()
    view = np.asarray(on_disk[part])
    blocks = feature_blocks(view)
    assert len(blocks) > 1
    assert all(isinstance(block, FileBlock) for block in blocks)
    assert len(pickle.dumps(blocks[0])) < 1000
    read = np.hstack([pickle.loads(pickle.dumps(block)).open() for block in blocks])
    np.testing.assert_array_equal(read, X[part])
    np.testing.assert_array_equal(all_distances(view), all_distances(X[part]))


def test_what_cannot_be_found_in_the_file_again_is_sent_as_it_is(tmp_path):
    on_disk = np.memmap(tmp_path / "X.bin", np.float32, "w+", 0, (4, 6))
    assert isinstance(feature_blocks(on_disk[:, ::-1])[0], ArrayBlock)
    assert isinstance(feature_blocks(np.asarray(on_disk) + 1)[0], ArrayBlock)


def test_nothing_is_copied_but_what_is_read_at_a_time(monkeypatch):
    X = samples(6, 9000, np.float32)
    seen = []
    centred = feature_passes.centred
    monkeypatch.setattr(
        feature_passes,
        "centred",
        lambda columns, dtype: seen.append(columns) or centred(columns, dtype),
    )
    all_distances(X)
    assert all(np.shares_memory(columns, X) and columns.shape[1] <= 1024 for columns in seen)
    assert sum(columns.shape[1] for columns in seen) == 9000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_beyond_float32_are_an_error(dtype):
    X = samples(6, 10, dtype)
    X[0, 3], X[1, 3] = np.finfo(np.float32).max, -np.finfo(np.float32).max
    with pytest.raises(InputError, match="more than float32 can add up"):
        all_distances(X)
    signed, p = signed_and_pull(6)
    with pytest.raises(InputError, match="scale the features first"):
        feature_scores(X, score_pairs(signed, p))


def test_taken_columns_lose_their_mean():
    X = samples(8, 30, np.int8)
    taken = take_columns(X, np.array([3, 7]))
    np.testing.assert_allclose(taken, X[:, [3, 7]] - X[:, [3, 7]].mean(axis=0))
    assert taken.flags.c_contiguous
