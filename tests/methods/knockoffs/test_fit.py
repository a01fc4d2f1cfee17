import cvxpy as cp
import numpy as np
import pytest

from convexfs.errors import InputError
from convexfs.methods.base.formulation import Solving
from convexfs.methods.knockoffs.fit import Settings, inside, knockoffs

KNOWN = np.array([[1.0, 0.6, 0.2, 0.0], [0.6, 1.0, 0.6, 0.2], [0.2, 0.6, 1.0, 0.6],
                  [0.0, 0.2, 0.6, 1.0]]) * np.outer([1, 2, 3, 4], [1, 2, 3, 4])  # fmt: skip


def samples(n):
    rng = np.random.default_rng(0)
    return 5 + rng.standard_normal((n, 4)) @ np.linalg.cholesky(KNOWN).T


@pytest.mark.parametrize("s", ["me", "mvr", "sdp", "equi"])
def test_copies_have_the_covariance_of_the_features_and_s_less_with_their_own(s):
    X = samples(50_000)
    made = knockoffs(X, np.zeros(len(X), int), Settings(covariance=KNOWN, s=s))
    assert made.certificate.ok
    copies = made.copies(X, np.random.default_rng(1))
    scale = np.tile(made.spread, 2)
    found = np.cov(np.hstack([X, copies]).T) / np.outer(scale, scale)
    apart = made.correlation - np.diag(made.s)
    expected = np.block([[made.correlation, apart], [apart, made.correlation]])
    np.testing.assert_allclose(found, expected, atol=0.03)
    np.testing.assert_allclose(copies.mean(axis=0), X.mean(axis=0), atol=0.1)


def test_copies_of_the_same_seed_are_the_same():
    X = samples(100)
    made = knockoffs(X, np.zeros(100, int))
    first, second = (made.copies(X, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_an_answer_a_bit_outside_is_shortened_until_copies_exist():
    correlation = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    s = inside(np.array([1.001, 1.0, -1e-9]), correlation)
    assert (s >= 0).all()
    assert np.linalg.eigvalsh(2 * correlation - np.diag(s))[0] >= -1e-12
    np.testing.assert_array_equal(inside(np.full(3, 0.3), correlation), np.full(3, 0.3))


def test_a_changed_problem_is_solved_in_place_of_the_printed_one():
    def build(Sigma):
        s = cp.Variable(len(Sigma), name="s")
        psd = 2 * Sigma - cp.diag(s) >> 0
        return cp.Problem(cp.Maximize(cp.sum(s)), [s >= 0, s <= 0.1, psd])

    X = samples(60)
    made = knockoffs(X, np.zeros(60, int), Settings(s="sdp"), Solving(build=build))
    np.testing.assert_allclose(made.s, 0.1, atol=1e-4)


def test_an_unknown_problem_gets_the_nearest_name():
    with pytest.raises(InputError, match="unknown s 'sdpp': did you mean sdp"):
        knockoffs(samples(30), np.zeros(30, int), Settings(s="sdpp"))
