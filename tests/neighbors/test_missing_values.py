"""Differences with holes and categories: by brute force, and as scikit-rebate has them."""

import numpy as np
import pytest

from convexfs.neighbors.missing_values import MixedSamples, NeighborLists, mixed_samples, of_classes
from convexfs.neighbors.queries import distances_to_known

N, J = 30, 7
CATEGORICAL = np.arange(J) >= 5
RNG = np.random.default_rng(4)
CODES = RNG.integers(0, 3, N)
WHOLE = np.hstack([3.0 * RNG.standard_normal((N, 5)) + 100.0, RNG.integers(0, 4, (N, 2))])
HOLED = np.where(RNG.random((N, J)) < 0.3, np.nan, WHOLE)
SIGNED = np.where(RNG.random((N, N)) < 0.4, RNG.standard_normal((N, N)), 0.0)
np.fill_diagonal(SIGNED, 0.0)
W = RNG.random(J)


def raw(x, categorical):
    apart = x[:, None] != x if categorical else np.abs(x[:, None] - x)
    return np.where(np.isnan(x[:, None] + x), np.nan, apart.astype(float))


def expected_by_hand(x, categorical, groups):
    """phi of one feature, sample by sample, unscaled: V drawn from a group, but not the sample."""
    apart, there = raw(x, categorical), ~np.isnan(x)

    def one(n, i):
        pool = [m for m in range(N) if there[m] and groups[m] == groups[i] and m != n]
        pool = pool or [m for m in range(N) if there[m] and m != n]
        return np.mean([apart[n, m] for m in pool])

    def both(n, i):
        mine = [m for m in range(N) if there[m] and groups[m] == groups[n]]
        return np.mean([one(m, i) for m in mine])

    phi = apart.copy()
    for n in range(N):
        for i in range(N):
            if not there[n] or not there[i]:
                phi[n, i] = one(n, i) if there[n] else one(i, n) if there[i] else both(n, i)
    return phi * (1.0 - np.eye(N))


def mean_difference(x, categorical):
    apart = raw(x, categorical) + np.where(np.eye(N), np.nan, 0.0)
    return np.nanmean(apart)


def by_hand(groups):
    phi = [expected_by_hand(HOLED[:, j], CATEGORICAL[j], groups) for j in range(J)]
    sizes = [mean_difference(HOLED[:, j], CATEGORICAL[j]) for j in range(J)]
    return np.stack(phi, axis=2) / sizes


@pytest.mark.parametrize("rule", ["hybrid", "class"])
def test_distances_are_those_of_what_may_be_expected(rule):
    samples = of_classes(mixed_samples(HOLED, CATEGORICAL, rule), CODES)
    phi = by_hand(CODES if rule == "class" else np.zeros(N, int))
    np.testing.assert_allclose(samples.distances(), phi.sum(axis=2), atol=1e-12)
    np.testing.assert_allclose(samples.distances(W), phi @ W, atol=1e-12)
    some = samples[:, [6, 1]]
    np.testing.assert_allclose(some.distances(), phi[:, :, [6, 1]].sum(axis=2), atol=1e-12)


def test_margins_by_class_are_sums_of_expected_differences():
    samples = of_classes(mixed_samples(HOLED, CATEGORICAL, "class"), CODES)
    z = np.einsum("ni,nij->nj", SIGNED, by_hand(CODES))
    np.testing.assert_allclose(samples.margins(SIGNED), z, atol=1e-12)
    np.testing.assert_allclose(samples.margin_sum(NeighborLists.of(SIGNED)), z.sum(0), atol=1e-11)
    p = RNG.random(N)
    np.testing.assert_allclose(samples.scores(SIGNED, p), p @ z, atol=1e-12)


def seen_by_hand(rule):
    """Of every sample and feature: how much is seen of its misses and hits, and their means."""
    for j in range(J):
        x = HOLED[:, j]
        size = mean_difference(x, CATEGORICAL[j])
        if rule == "observed":
            size = 1.0 if CATEGORICAL[j] else np.nanmax(x) - np.nanmin(x)
        apart = raw(x, CATEGORICAL[j]) / size
        for n in range(N):
            sides = []
            for sign in (1.0, -1.0):
                mass = np.maximum(sign * SIGNED[n], 0.0)
                seen = np.where(np.isnan(apart[n]), 0.0, mass)
                mean = np.nansum(seen * apart[n]) / seen.sum() if seen.any() else 0.0
                sides.append((seen.sum() / mass.sum(), mean * mass.sum()))
            yield n, j, *sides


def test_observed_margins_are_means_over_what_is_seen():
    z = np.zeros((N, J))
    for n, j, (_, far), (_, near) in seen_by_hand("observed"):
        z[n, j] = far - near
    samples = mixed_samples(HOLED, CATEGORICAL, "observed")
    np.testing.assert_allclose(samples.margins(SIGNED), z, atol=1e-12)


def test_hybrid_margins_are_means_that_count_as_much_as_is_seen():
    z = np.zeros((N, J))
    for n, j, (misses, far), (hits, near) in seen_by_hand("hybrid"):
        # The harmonic mean of the shares seen, as the variance of a difference of two means.
        counts = 2.0 / (1.0 / misses + 1.0 / hits) if misses and hits else 0.0
        z[n, j] = counts * (far - near)
    assert (z == 0).any()
    samples = mixed_samples(HOLED, CATEGORICAL, "hybrid")
    np.testing.assert_allclose(samples.margins(SIGNED), z, atol=1e-12)


def test_observed_distances_are_means_over_the_features_both_have():
    samples = mixed_samples(HOLED, CATEGORICAL, "observed")
    size = np.where(CATEGORICAL, 1.0, np.nanmax(HOLED, axis=0) - np.nanmin(HOLED, axis=0))
    apart = np.stack([raw(HOLED[:, j], CATEGORICAL[j]) for j in range(J)], axis=2) / size
    common = ~np.isnan(apart).all(axis=2)
    np.testing.assert_allclose(
        samples.distances()[common], J * np.nanmean(apart[common], axis=1), atol=1e-12
    )


def test_two_samples_without_a_common_feature_are_as_far_as_the_farthest():
    X = np.array([[0.0, np.nan], [np.nan, 1.0], [1.0, 0.0], [0.5, 1.0]])
    d = mixed_samples(X, np.zeros(2, bool), "observed").distances()
    assert d[0, 1] == d.max() == 2.0


def test_numbers_keep_their_scale_unless_there_are_categories():
    numbers = mixed_samples(HOLED[:, :5], np.zeros(5, bool), "hybrid")
    seen = ~np.isnan(HOLED[:, 0])
    np.testing.assert_allclose(numbers.spread[0], np.ptp(HOLED[seen, 0]), rtol=1e-14)
    mixed = mixed_samples(HOLED, CATEGORICAL, "hybrid")
    np.testing.assert_allclose(mixed.expected.both[0, 0], 1.0, rtol=1e-12)


def test_an_empty_and_a_constant_feature_make_no_difference():
    X = HOLED.copy()
    X[:, 1], X[:, 6] = np.nan, np.where(np.isnan(X[:, 6]), np.nan, 2.0)
    for rule in ("hybrid", "class", "observed"):
        samples = of_classes(mixed_samples(X, CATEGORICAL, rule), CODES)
        assert not samples.spread[[1, 6]].any()
        assert not samples.margins(SIGNED)[:, [1, 6]].any()
        assert np.isfinite(samples.distances()).all()


def test_new_samples_are_as_far_as_if_they_were_known():
    samples = mixed_samples(HOLED, CATEGORICAL, "hybrid")
    again = distances_to_known(HOLED, samples, W)
    whole = samples.distances(W)
    # A known sample is no value of its own: only where nothing is expected are they equal.
    holed = np.isnan(HOLED).any(axis=1, keepdims=True)
    both = ~(holed | holed.T)
    assert both.any()
    np.testing.assert_allclose(again[both], whole[both], atol=1e-12)
    assert np.abs(again - whole)[~np.eye(N, dtype=bool)].max() < 0.1 * whole.max()


def test_an_unknown_category_differs_from_all():
    samples = mixed_samples(WHOLE, CATEGORICAL, "observed")
    new = WHOLE[:1].copy()
    new[0, 6] = -1.0
    unit = np.eye(J)[6]
    np.testing.assert_array_equal(distances_to_known(new, samples, unit), np.ones((1, N)))


def test_taking_features_of_samples_is_taking_those_of_the_table():
    samples = mixed_samples(HOLED, CATEGORICAL, "hybrid")
    assert isinstance(samples[:, [2]], MixedSamples)
    assert samples[:, [2, 3]].shape == (N, 2)
    np.testing.assert_array_equal(
        samples[:, [2]].margins(SIGNED)[:, 0], samples.margins(SIGNED)[:, 2]
    )
