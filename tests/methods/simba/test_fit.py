import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexfs import load
from convexfs.errors import InputError
from convexfs.methods.simba.fit import Settings, simba


def as_printed(X, y, order, utility):
    """One start by the formulas, in plain numpy."""
    w = np.ones(X.shape[1])
    for n in order:
        d = np.sqrt(((X - X[n]) ** 2) @ w**2)
        d[n] = np.inf
        hit = np.where(y == y[n], d, np.inf).argmin()
        miss = np.where(y != y[n], d, np.inf).argmin()
        theta = 0.5 * (d[miss] - d[hit])
        u = 1 / (1 + np.exp(-theta))
        slope = 1.0 if utility == "linear" else u * (1 - u)
        far, near = (X[n] - X[miss]) ** 2, (X[n] - X[hit]) ** 2
        w = w + 0.5 * slope * (far / d[miss] - near / d[hit]) * w
    return w**2 / (w**2).max()


@pytest.mark.parametrize("utility", ["linear", "sigmoid"])
def test_a_start_is_the_printed_ascent(utility):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 4)), np.arange(30) % 3
    order = np.random.default_rng(5).permutation(30)
    result = simba(X, y, Settings(utility=utility, n_starts=1), seed=5)
    np.testing.assert_allclose(result.weights, as_printed(X, y, order, utility), rtol=1e-9)


def test_the_best_start_is_returned():
    data = load("six_gaussians:seed=1").scaled()
    result = simba(data.X, data.y, Settings(n_starts=6), seed=3)
    assert len(set(result.evaluations)) > 1
    assert result.solution.objective == result.evaluations.max()
    assert result.certificate.ok is None
    assert str(result.certificate).startswith("undecided")


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_what_must_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 2
    columns = rng.permutation(4)
    weights = simba(X, y, seed=seed).weights
    np.testing.assert_allclose(simba(X[:, columns], y, seed=seed).weights, weights[columns])
    np.testing.assert_allclose(simba(X + 3, 1 - y, seed=seed).weights, weights)


def test_a_copy_of_a_sample_has_no_gradient_and_is_skipped():
    X = np.vstack([np.eye(4), np.eye(4)])
    weights = simba(X, np.array([0, 0, 1, 1, 0, 0, 1, 1]), seed=0).weights
    np.testing.assert_array_equal(weights, 1.0)


@pytest.mark.parametrize("utility", ["linear", "sigmoid"])
def test_it_ranks_the_bits_first_wherever_they_stand(utility):
    for seed in range(4):
        data = load(f"sign_bits:seed={seed}").scaled()
        order = np.random.default_rng(seed).permutation(data.n_features)
        weights = simba(
            data.X[:, order], data.y, Settings(utility=utility, n_epochs=3), seed=seed
        ).weights
        assert set(order[np.argsort(-weights)[:2]]) == {0, 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"utility": "log"}, "unknown utility 'log'"),
        ({"n_starts": 0}, "n_starts must be an integer of at least 1"),
        ({"n_epochs": 0.5}, "n_epochs must be an integer of at least 1"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        simba(np.eye(4), np.array([0, 0, 1, 1]), Settings(**options))


def test_without_any_hit_there_is_nothing_to_do():
    with pytest.raises(InputError, match="no class has two samples"):
        simba(np.eye(3), np.arange(3))
