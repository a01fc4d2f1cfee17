import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs.methods.lfe.native import gap, lfe, lfe_trace, violation
from tests.typed import known


def symmetric(seed, size):
    A = np.random.default_rng(seed).standard_normal((size, size))
    return A + A.T


@given(seed=st.integers(0, 10**6), size=st.integers(1, 6), lam=st.floats(0, 3))
def test_no_feasible_matrix_is_better(seed, size, lam):
    Sigma = symmetric(seed, size)
    solution = lfe_trace(Sigma, lam)
    values, hyper = {"Sigma": Sigma}, {"lam": lam}
    assert violation(values, hyper, solution.primal) <= 1e-12
    assert abs(gap(values, hyper, solution.primal)) <= 1e-10
    rng = np.random.default_rng(seed + 1)
    for _ in range(20):
        B = rng.standard_normal((size, rng.integers(1, size + 1)))
        W = B @ B.T / np.linalg.norm(B @ B.T)
        assert np.sum(W * (Sigma - lam * np.eye(size))) <= known(solution.objective) + 1e-10


@given(seed=st.integers(0, 10**6))
def test_turned_features_turn_the_metric(seed):
    Sigma = symmetric(seed, 5)
    Q = np.linalg.qr(symmetric(seed + 1, 5))[0]
    np.testing.assert_allclose(
        lfe(Q @ Sigma @ Q.T).primal["W"], Q @ lfe(Sigma).primal["W"] @ Q.T, atol=1e-9
    )


def test_the_parts_of_the_answer_are_named():
    Sigma = np.diag([3.0, -1.0, 4.0])
    solution = lfe(Sigma)
    np.testing.assert_allclose(solution.primal["W"], np.diag([0.6, 0.0, 0.8]), atol=1e-15)
    assert solution.dual["norm"] == pytest.approx(5)
    np.testing.assert_allclose(solution.dual["psd"], np.diag([0.0, 1.0, 0.0]), atol=1e-15)
    assert solution.objective == pytest.approx(5)


def test_points_outside_are_told_by_how_far():
    far = {"W": np.diag([2.0, 0.0])}
    indefinite = {"W": np.diag([0.5, -0.25])}
    skewed = {"W": np.array([[0.5, 0.3], [0.0, 0.5]])}
    assert violation({}, {}, far) == pytest.approx(1)
    assert violation({}, {}, indefinite) == pytest.approx(0.25)
    assert violation({}, {}, skewed) == pytest.approx(0.3)
