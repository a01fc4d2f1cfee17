"""What must not matter, or must matter in a known way, for RELIEF.

Distances are sums over features, and a permutation changes their rounding; so
data are drawn from a continuous distribution, where ties have no part.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs import Relief

seeds = st.integers(0, 2**32 - 1)
SETTINGS = [{}, {"n_neighbors": 3, "miss": "prior"}, {"metric": "sqeuclidean", "miss": "uniform"}]
everywhere = pytest.mark.parametrize("settings", SETTINGS, ids=str)


def sample(seed, n=40, j=6, classes=3):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), n // classes + 1)[:n]
    return rng.standard_normal((n, j)) + 2 * y[:, None] * (np.arange(j) < 2), y, rng


def weights(X, y, settings):
    return Relief(**settings).fit(X, y).weights_


@everywhere
@given(seed=seeds)
def test_permuted_features_permute_the_weights(settings, seed):
    X, y, rng = sample(seed)
    order = rng.permutation(X.shape[1])
    np.testing.assert_allclose(
        weights(X[:, order], y, settings), weights(X, y, settings)[order], atol=1e-9
    )


@everywhere
@given(seed=seeds)
def test_the_order_of_samples_does_not_matter(settings, seed):
    X, y, rng = sample(seed)
    order = rng.permutation(len(X))
    np.testing.assert_allclose(
        weights(X[order], y[order], settings), weights(X, y, settings), atol=1e-9
    )


@everywhere
@given(seed=seeds)
def test_class_names_do_not_matter(settings, seed):
    X, y, rng = sample(seed)
    renamed = np.array(["z", "a", "m"])[rng.permutation(3)][y]
    np.testing.assert_allclose(weights(X, renamed, settings), weights(X, y, settings), atol=1e-9)


@everywhere
@given(seed=seeds, scale=st.floats(1e-3, 1e3), shift=st.floats(-10, 10))
def test_one_scale_and_shift_for_all_features_leaves_the_weights(settings, seed, scale, shift):
    X, y, _ = sample(seed)
    np.testing.assert_allclose(
        weights(scale * X + shift, y, settings), weights(X, y, settings), atol=1e-7
    )


@everywhere
@given(seed=seeds)
def test_a_constant_feature_weighs_nothing_and_changes_nothing(settings, seed):
    X, y, _ = sample(seed)
    with pytest.warns(UserWarning, match="constant column"):
        wider = weights(np.column_stack([X, np.full(len(X), 3.0)]), y, settings)
    assert wider[-1] == 0
    np.testing.assert_allclose(wider[:-1], weights(X, y, settings), atol=1e-9)


@given(seed=seeds)
def test_when_every_sample_is_doubled_only_misses_are_left(seed):
    """The nearest hit is then the copy, at distance 0; the misses count twice."""
    X, y, _ = sample(seed, classes=2)
    model = Relief(n_neighbors=1).fit(np.vstack([X, X]), np.hstack([y, y]))
    D = np.abs(X[:, None] - X).sum(axis=2)
    D[np.equal.outer(y, y)] = np.inf
    misses = np.abs(X - X[D.argmin(axis=1)]).sum(axis=0)
    np.testing.assert_allclose(model.margin_, 2 * misses, rtol=1e-9)
