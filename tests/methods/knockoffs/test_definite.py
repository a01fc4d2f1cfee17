import numpy as np

from convexfs.methods.knockoffs.fit import root_of
from convexfs.methods.knockoffs.native import factor_of, inverse_of
from tests.typed import known


def test_the_factor_gives_the_matrix_and_its_inverse():
    root = np.random.default_rng(0).standard_normal((7, 9))
    matrix = root @ root.T
    factor = known(factor_of(matrix))
    np.testing.assert_allclose(factor @ factor.T, matrix, rtol=1e-12)
    np.testing.assert_allclose(inverse_of(factor), np.linalg.inv(matrix), rtol=1e-9)


def test_a_matrix_that_is_not_definite_has_no_factor():
    assert factor_of(np.diag([1.0, 0.0])) is None
    assert factor_of(np.diag([1.0, -1e-9])) is None


def test_on_the_border_of_the_cone_there_is_still_a_root():
    for least in (0.0, -1e-16):
        matrix = np.diag([1.0, 2.0, least])
        assert factor_of(matrix) is None
        root = root_of(matrix)
        np.testing.assert_allclose(root @ root.T, matrix, atol=1e-15)
