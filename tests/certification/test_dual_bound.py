"""Positive semidefinite matrices are distinguished from others in any units of their rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexfs.certification.duals import dual_bound


@pytest.mark.parametrize("share", [np.inf, 0.0], ids=["sparse factors", "dense factors"])
def test_semidefinite_matrices_are_told_apart(monkeypatch, share):
    monkeypatch.setattr(dual_bound, "SPARSE", (share, share))

    def is_semidefinite(matrix: np.ndarray) -> bool:
        return dual_bound.has_no_negative_eigenvalue(sp.csr_array(matrix))

    rng = np.random.default_rng(1)
    for _ in range(300):
        size, rank = map(int, rng.integers(2, 9, 2))
        units = 10.0 ** rng.integers(-6, 7, size)
        B = units[:, None] * rng.standard_normal((size, rank))
        assert is_semidefinite(B @ B.T)
        v = rng.standard_normal(size)
        inside = np.eye(size) - (1 + 1e-6) * np.outer(v, v) / (v @ v)
        assert not is_semidefinite(units[:, None] * inside * units)
    assert is_semidefinite(np.zeros((2, 2)))
    assert not is_semidefinite(np.array([[0.0, 1], [1, 5]]))
    assert not is_semidefinite(np.diag([1.0, -5e-11]))
