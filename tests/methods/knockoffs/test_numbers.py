import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

from convexfs.errors import InputError
from convexfs.methods.knockoffs.numbers import correlations, shrunken


@pytest.mark.parametrize("shape", [(50, 8), (12, 30), (400, 5)])
def test_shrinkage_is_ledoits_and_wolfs(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    X[:, 1] += X[:, 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    expected, _ = ledoit_wolf(X, assume_centered=True)
    np.testing.assert_allclose(shrunken(X), expected, rtol=1e-10, atol=1e-12)


def test_a_known_covariance_is_taken_as_it_is():
    known = np.array([[4.0, 1.0], [1.0, 9.0]])
    Sigma, spread = correlations(np.zeros((5, 2)), known)
    np.testing.assert_allclose(spread, [2, 3])
    np.testing.assert_allclose(Sigma, [[1, 1 / 6], [1 / 6, 1]])


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ("ledoit", "unknown covariance 'ledoit': did you mean ledoit-wolf"),
        (np.eye(3), r"shape \(3, 3\): it must be 'ledoit-wolf' or a matrix of 2 x 2"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "no covariance matrix"),
        (np.array([[1.0, 0.0], [0.0, -1.0]]), "no covariance matrix"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "no covariance matrix"),
        (np.ones((2, 2)), "some feature is determined by others"),
    ],
)
def test_what_is_no_covariance_is_one_clear_sentence(covariance, message):
    X = np.random.default_rng(0).standard_normal((9, 2))
    with pytest.raises(InputError, match=message):
        correlations(X, covariance)


def test_a_constant_column_has_no_correlations():
    with pytest.raises(InputError, match="column 2 is constant"):
        correlations(np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]), "ledoit-wolf")
