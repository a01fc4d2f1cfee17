import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs.methods.llfs.native.kernels import Point, exp, solve_linear, utilities
from convexfs.methods.llfs.utility import mean_utility


@given(st.floats(-700, 0))
def test_exp_is_the_exponential(x):
    assert exp(x) == pytest.approx(np.exp(x), rel=1e-15, abs=0)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1e4))
def test_utilities_have_the_stated_values_and_derivatives(seed, s):
    rng = np.random.default_rng(seed)
    D = np.abs(rng.standard_normal((3, 8)))
    z, f = D.sum(axis=0), np.ones(3)
    slope, bend, scratch = np.empty(8), np.empty(8), np.empty(8)
    point = Point(D, 3, s, 0.05, np.ones(3))
    u1, u2 = utilities(point, z, slope, bend)
    assert u1 == pytest.approx(mean_utility(D[:, :3].T, f, s, 0.05), abs=1e-14)
    assert u2 == pytest.approx(mean_utility(D[:, 3:].T, f, s, 0.05), abs=1e-14)
    step = 1e-6 / s
    ahead, behind = np.empty(8), np.empty(8)
    for j, own in ((0, True), (7, False)):
        moved = z + step * (np.arange(8) == j)
        values = utilities(point, moved, ahead, scratch)
        back = utilities(point, z - step * (np.arange(8) == j), behind, scratch)
        side = 0 if own else 1
        assert (values[side] - back[side]) / (2 * step) == pytest.approx(slope[j], abs=1e-8 * s)
        assert (behind[j] - ahead[j]) / (2 * step) == pytest.approx(bend[j], abs=1e-8 * s * s)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_solve_linear_agrees_with_lapack(seed, n):
    rng = np.random.default_rng(seed)
    K, x = rng.standard_normal((n, n)) + 3 * np.eye(n), rng.standard_normal(n)
    expected = np.linalg.solve(K, x)
    assert solve_linear(K.copy(), x, n)
    assert x == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert not solve_linear(np.zeros((n, n)), x, n)
