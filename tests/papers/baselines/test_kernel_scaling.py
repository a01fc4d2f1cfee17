import numpy as np
import pytest
from papers.baselines.checks import standardised
from papers.baselines.kernel_scaling import ams, radius_margin


def sample(seed=0, n=24):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 4))
    X[:, 1] += 2.0 * y
    return standardised(X), y == 1


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_the_gradient_is_that_of_the_bound(C):
    X, own = sample()
    scales = np.array([0.1, 0.6, 0.3, 0.05])
    value, slope = radius_margin(X, own, scales, C)
    # Both problems are solved to a tolerance, so shorter steps would measure that.
    steps = 1e-3 * np.eye(4)
    by_differences = [
        (radius_margin(X, own, scales + h, C)[0] - radius_margin(X, own, scales - h, C)[0]) / 2e-3
        for h in steps
    ]
    np.testing.assert_allclose(slope, by_differences, rtol=2e-2, atol=2e-4 * value)


def test_the_ball_holds_all_samples_and_the_margin_is_one():
    """R^2 of two samples is a quarter of their distance squared; |w|^2 is four over it."""
    X, own = np.array([[0.0], [1.0]]), np.array([False, True])
    distance = 2.0 * (1.0 + 1.0 / 3.0 - np.exp(-0.7))
    value, _ = radius_margin(X, own, np.array([0.7]), 3.0)
    assert value == pytest.approx((distance / 4) * (4 / distance), rel=1e-4)


def test_the_bound_at_the_scales_found_is_below_that_at_equal_ones():
    X, own = sample(3)
    start, end = (
        radius_margin(X, own, scales, 1.0)[0] for scales in (np.full(4, 0.25), ams(X, own))
    )
    assert end < start


def test_an_exclusive_or_is_seen_where_no_feature_tells_by_itself():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 6))
    scores = ams(X, X[:, 2] * X[:, 4] > 0)
    assert set(np.argsort(-scores)[:2]) == {2, 4}
