import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from convexfs.methods.relief.native import gap, relief, violation

margins = arrays.arrays(
    np.float64, st.integers(1, 8), elements=st.floats(-1e6, 1e6, allow_subnormal=False)
)


@given(z=margins, lam=st.floats(0, 1e3), seed=st.integers(0, 1000))
def test_no_feasible_point_is_better(z, lam, seed):
    solution = relief(z, lam)
    scale = 1 + np.abs(z).max() + lam
    assert violation({"z": z}, {"lam": lam}, solution.primal) <= 1e-12
    assert abs(gap({"z": z}, {"lam": lam}, solution.primal)) <= 1e-9 * scale
    points = np.abs(np.random.default_rng(seed).standard_normal((50, len(z))))
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1)
    assert (points @ (z - lam)).max() <= solution.objective + 1e-9 * scale


@given(z=margins, lam=st.floats(0, 1e3))
def test_features_at_or_below_the_threshold_get_no_weight(z, lam):
    w = relief(z, lam).primal["w"]
    assert not w[z <= lam].any()
    assert np.linalg.norm(w) == pytest.approx(1 if (z > lam).any() else 0)


def test_tiny_and_huge_margins_neither_underflow_nor_overflow():
    for scale in (1e-200, 1e200):
        w = relief(scale * np.array([3.0, 4.0])).primal["w"]
        np.testing.assert_allclose(w, [0.6, 0.8])


def test_a_longer_vector_is_infeasible_and_a_shorter_one_has_a_gap():
    z = np.array([3.0, 4.0])
    assert violation({"z": z}, {}, {"w": np.array([1.2, 1.6])}) == pytest.approx(1)
    assert violation({"z": z}, {}, {"w": np.array([-0.2, 0.0])}) == pytest.approx(0.2)
    assert gap({"z": z}, {}, {"w": np.array([0.3, 0.4])}) == pytest.approx(2.5)
