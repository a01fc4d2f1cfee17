"""What must not matter to Logo, or must matter in a known way.

Fixed points are compared at a small tolerance; where a change of the data also
changes the path from w = 1, the old answer, changed accordingly, is the start.
"""

from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from convexfs.methods.base.formulation import Solving
from convexfs.methods.logo.fit import fit_logo
from convexfs.methods.logo.settings import LogoRequest, Settings

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=15, deadline=None)
SETTINGS: dict[str, Any] = {"tol": 1e-7, "max_iter": 500}
CLOSE: dict[str, Any] = {"atol": 1e-4}


def sample(seed, n=36, j=8, classes=3):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), n // classes)
    return rng.standard_normal((n, j)) + 1.5 * y[:, None] * (np.arange(j) < 2), y, rng


def weights(X, y, start=None, **more):
    result = fit_logo(X, y, LogoRequest(Settings(**(SETTINGS | more)), Solving()), start=start)
    assume(result.converged)
    assert result.certificate.ok
    return result.weights


@few
@given(seed=seeds)
def test_permuted_features_permute_the_weights(seed):
    X, y, rng = sample(seed)
    order = rng.permutation(X.shape[1])
    np.testing.assert_allclose(weights(X[:, order], y), weights(X, y)[order], **CLOSE)


@few
@given(seed=seeds)
def test_the_order_of_samples_does_not_matter(seed):
    X, y, rng = sample(seed)
    order = rng.permutation(len(X))
    np.testing.assert_allclose(weights(X[order], y[order]), weights(X, y), **CLOSE)


@few
@given(seed=seeds)
def test_class_names_do_not_matter(seed):
    X, y, rng = sample(seed)
    np.testing.assert_allclose(weights(X, rng.permutation(3)[y]), weights(X, y), **CLOSE)


@few
@given(seed=seeds, offset=st.floats(-1e3, 1e3))
def test_a_shift_does_not_matter(seed, offset):
    X, y, _ = sample(seed)
    np.testing.assert_allclose(weights(X + offset, y), weights(X, y), **CLOSE)


@few
@given(seed=seeds)
def test_a_constant_feature_weighs_nothing_and_changes_nothing(seed):
    X, y, _ = sample(seed)
    wider = weights(np.column_stack([X, np.full(len(X), 3.0)]), y)
    assert wider[-1] == 0
    np.testing.assert_allclose(wider[:-1], weights(X, y), **CLOSE)


@few
@given(seed=seeds, factor=st.floats(0.1, 10))
def test_scale_identity(seed, factor):
    """Logo(c X, sigma, lam) = Logo(X, sigma, lam / c) / c."""
    X, y, _ = sample(seed)
    small = weights(X, y, lam=1.0 / factor)
    scaled = weights(factor * X, y, lam=1.0, start=small / factor)
    np.testing.assert_allclose(factor * scaled, small, **CLOSE)


@few
@given(seed=seeds, share=st.floats(0, 1))
def test_a_duplicated_feature_shares_its_weight(seed, share):
    X, y, _ = sample(seed)
    alone = weights(X, y)
    start = np.append(alone, (1 - share) * alone[0])
    start[0] *= share
    double = weights(np.column_stack([X, X[:, 0]]), y, start=start)
    merged = double[:-1].copy()
    merged[0] += double[-1]
    np.testing.assert_allclose(merged, alone, **CLOSE)


@few
@given(seed=seeds)
def test_two_samples_of_each_are_their_own_hits(seed):
    """Doubled samples have a hit at distance 0: margins can only be positive."""
    X, y, _ = sample(seed, classes=2)
    request = LogoRequest(Settings(sigma=1e-3, max_iter=5), Solving())
    narrow = fit_logo(np.vstack([X, X]), np.hstack([y, y]), request)
    assert narrow.history[0]["objective"] < len(X) * 2 * np.log(2)
    assert np.isfinite(narrow.weights).all()
