import math

import pytest

from convexfs.errors import InputError
from convexfs.methods.llfs.theory import risk_bound, sample_size, vc_dimension


def test_the_ceiling_is_not_fooled_by_rounding():
    for parts in range(2, 200):
        assert vc_dimension(3, 1 / parts) == 3 * (parts - 1)
    assert vc_dimension(1, 0.3) == 3


def test_clusters_count_and_not_spheres():
    """100 samples in three clusters at gamma = .2; 100 spheres would say 1.43, which is nothing."""
    h = vc_dimension(n_clusters=3, gamma=0.2)
    assert h == 12
    assert risk_bound(0.0, 100, h) == pytest.approx(0.71, abs=0.005)
    assert risk_bound(0.0, 100, vc_dimension(100, 0.2)) == pytest.approx(1.43, abs=0.005)


def test_the_risk_bound_is_eq_15_and_falls_with_samples():
    h, xi, n = 10, 0.05, 100_000
    expected = 0.1 + math.sqrt((h * (math.log(2 * n / h) + 1) - math.log(xi / 4)) / n)
    assert risk_bound(0.1, n, h, xi) == pytest.approx(expected)
    bounds = [risk_bound(0.1, n, h) for n in (10**3, 10**4, 10**5)]
    assert bounds == sorted(bounds, reverse=True)


def test_the_risk_bound_never_falls_with_the_dimension():
    bounds = [risk_bound(0.0, 10, h) for h in (1, 5, 19, 20, 21, 54, 55, 1000, 10**9)]
    assert bounds == sorted(bounds)
    assert bounds[3] > 1
    assert bounds[3] == bounds[-1]


def test_the_sample_size_is_eq_18():
    expected = 64 / 0.01 * (2 * 7 * math.log(120) + math.log(80))
    assert sample_size(7, 0.1) == math.ceil(expected)


@pytest.mark.parametrize("gamma", [0.0, 1.0, -1.0, math.nan])
def test_gamma_outside_its_interval_is_refused(gamma):
    with pytest.raises(InputError, match="gamma"):
        vc_dimension(5, gamma)
