import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexfs.methods.llfs.backend.line_search import (
    best_share,
    mean_and_slopes,
    mean_of,
    share_to_level,
)
from convexfs.methods.llfs.utility import utility, utility_slope

seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_means_and_slopes_are_those_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    z, s, lam = rng.random(9) * 3, rng.random() * 4, 0.01
    slope, bend = np.empty(9), np.empty(9)
    assert mean_and_slopes(z, s, lam, slope, bend) == pytest.approx(utility(z, s, lam).mean())
    assert mean_of(z, s, lam) == pytest.approx(utility(z, s, lam).mean())
    np.testing.assert_allclose(slope, utility_slope(z, s, lam) / 9)
    step = 1e-6
    numeric = -(utility_slope(z + step, s, lam) - utility_slope(z - step, s, lam)) / (2 * step) / 9
    np.testing.assert_allclose(bend, numeric, atol=1e-8)


@given(seed=seeds)
@settings(deadline=None, max_examples=50)
def test_a_line_is_followed_just_to_the_level(seed):
    rng = np.random.default_rng(seed)
    z, goal, s, lam = rng.random(8), 1 + 2 * rng.random(8), 2.0, 0.01
    lowest, highest = mean_of(z, s, lam), mean_of(goal, s, lam)
    eps = lowest + rng.uniform(0.01, 1) * (highest - lowest)
    t = share_to_level(z, goal - z, eps, s, lam)
    assert mean_of(z + t * (goal - z), s, lam) >= eps * (1 - 1e-12)
    assert mean_of(z + (t - 1e-6) * (goal - z), s, lam) < eps
    assert share_to_level(z, goal - z, 1.1 * highest, s, lam) == 1


@given(seed=seeds)
@settings(deadline=None, max_examples=50)
def test_the_best_share_of_a_line_is_no_worse_than_any_other(seed):
    rng = np.random.default_rng(seed)
    z, dz, s, lam = rng.random(8) * 2, rng.standard_normal(8), 2.0, 0.01
    dz = np.maximum(dz, -z)
    t = best_share(z, dz, s, lam)
    assert 0 <= t <= 1
    others = [mean_of(z + u * dz, s, lam) for u in np.linspace(0, 1, 101)]
    assert mean_of(z + t * dz, s, lam) >= max(others) - 1e-12
