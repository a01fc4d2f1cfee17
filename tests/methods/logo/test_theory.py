import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from convexfs.errors import InputError
from convexfs.methods.logo.theory import risk_bound, sample_size


def root_of_eq_23(n, j, beta, delta, extra=0.0, factor=8.0):
    """The eps at which the right side of eq. 23 (or 27, 28) is delta, its ceiling bounded by +1."""

    def excess(eps):
        power = 256 * beta**2 / eps**2 + 1 + extra
        return (
            math.log(factor)
            + power * math.log(j + 1)
            - n * eps**2 / (512 * (2 * beta + 1) ** 2)
            - math.log(delta)
        )

    root: Any = brentq(excess, 1e-3, 1e9, xtol=1e-12, rtol=np.float64(1e-14))
    return root


sizes = {
    "n": st.integers(2, 10**6),
    "j": st.integers(1, 10**7),
    "beta": st.floats(0.01, 100),
    "delta": st.floats(1e-6, 0.5),
}


@given(**sizes)
def test_the_bound_covers_the_numeric_root(n, j, beta, delta):
    root = root_of_eq_23(n, j, beta, delta)
    tight = risk_bound(n, j, beta, delta, tight=True)
    stated = risk_bound(n, j, beta, delta)
    assert root <= tight * (1 + 1e-9)
    assert tight <= stated * (1 + 1e-9)


def test_for_large_weights_the_tight_bound_is_the_root():
    root = root_of_eq_23(1000, 500, 1e6, 0.05)
    assert risk_bound(1000, 500, 1e6, 0.05, tight=True) == pytest.approx(root, rel=1e-5)


@given(**sizes)
def test_narrow_kernels_follow_their_own_equations(n, j, beta, delta):
    bound = risk_bound(n, j, beta, delta, "narrow", tight=True)
    if n < j:
        root = root_of_eq_23(n, j, beta, delta, extra=3.0, factor=2.0)
    else:
        root = root_of_eq_23(n, j, beta, delta, factor=8 * (n * (n / 2 - 1) ** 2 + 1))
    assert root <= bound * (1 + 1e-9)


def test_the_printed_formula():
    """Eq. 30 with N = 100, J = 10, beta = 1, delta = 0.1, by hand."""
    inner = math.log(11) / 200 + ((math.log(11) + math.log(80)) / 100) ** 2
    assert risk_bound(100, 10, 1, 0.1) == pytest.approx(math.sqrt(512 * 9 * math.sqrt(inner)))


@pytest.mark.parametrize("kernel", ["wide", "narrow"])
@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("bound", [0.5, 5.0, 1e4])
def test_the_sample_size_is_the_least_that_suffices(kernel, tight, bound):
    n = sample_size(bound, 1000, 3.0, kernel=kernel, tight=tight)
    assert risk_bound(n, 1000, 3.0, kernel=kernel, tight=tight) <= bound
    assert n == 1 or risk_bound(n - 1, 1000, 3.0, kernel=kernel, tight=tight) > bound


def test_samples_grow_with_the_logarithm_of_the_features():
    hundred, ten_thousand = (sample_size(1.0, j, 1.0) for j in (100, 10_000))
    assert ten_thousand / hundred == pytest.approx(math.log(10_001) / math.log(101), rel=1e-3)


def test_nothing_is_promised_at_the_size_of_the_spiral():
    assert risk_bound(460, 10**6, 3.8) > 1


@pytest.mark.parametrize(
    "settings",
    [
        {"n_samples": 0},
        {"n_features": 0},
        {"total_weight": -1},
        {"delta": 0},
        {"delta": 1},
        {"kernel": "medium"},
    ],
)
def test_values_that_cannot_be_used_are_errors(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        risk_bound(**({"n_samples": 10, "n_features": 3, "total_weight": 1.0} | settings))


def test_a_bound_of_zero_needs_no_end_of_samples():
    with pytest.raises(InputError, match="bound must be a number above 0"):
        sample_size(0.0, 10, 1.0)
