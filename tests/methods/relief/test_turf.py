"""Back-selection (TuRF) against the algorithm written out in numpy."""

import numpy as np
import pytest

from convexfs import Relief
from convexfs.errors import InputError


def scores(X, y, k):
    """RELIEF-F's margins of two classes, sample by sample."""
    z = np.zeros(X.shape[1])
    for n in range(len(X)):
        apart = np.abs(X - X[n])
        order = [i for i in np.argsort(apart.sum(axis=1), kind="stable") if i != n]
        hits = [i for i in order if y[i] == y[n]][:k]
        misses = [i for i in order if y[i] != y[n]][:k]
        z += apart[misses].mean(axis=0) - apart[hits].mean(axis=0)
    return z


def turf(X, y, k, keep, dropped):
    """Moore and White (2007): drop the worst share, score the others anew, again and again."""
    left, sizes = np.arange(X.shape[1]), [X.shape[1]]
    z = scores(X, y, k)
    while len(left) > keep:
        number = max(keep, len(left) - int(dropped * len(left)))
        left = np.sort(left[np.argsort(-z, kind="stable")[:number]])
        z = scores(X[:, left], y, k)
        sizes.append(number)
    return left, z, tuple(sizes)


def interaction(seed):
    """Classes by the signs of two features, which noise in all distances hides."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 48))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)


@pytest.mark.parametrize(("keep", "dropped"), [(3, 0.5), (10, 0.25), (2, 0.9), (48, 0.5)])
def test_rounds_features_and_margins_are_those_of_the_algorithm(keep, dropped):
    X, y = interaction(0)
    left, z, sizes = turf(X, y, 5, keep, dropped)
    model = Relief(n_neighbors=5, keep=keep, dropped=dropped).fit(X, y)
    assert model.rounds_ == sizes
    np.testing.assert_allclose(model.margin_, z, atol=1e-11)
    expected = np.zeros(X.shape[1])
    expected[left] = np.maximum(z, 0.0) / np.linalg.norm(np.maximum(z, 0.0))
    np.testing.assert_allclose(model.weights_, expected, atol=1e-12)
    np.testing.assert_array_equal(model.get_support(), expected > 0)
    assert model.certificate_.ok


def test_it_finds_what_neighbours_in_all_features_hide():
    """Both features lead more often than without it."""
    led = {None: 0, 4: 0}
    for seed in range(8):
        X, y = interaction(seed)
        for keep in led:
            weights = Relief(n_neighbors=10, keep=keep, dropped=0.2).fit(X, y).weights_
            led[keep] += set(np.argsort(-weights)[:2].tolist()) == {0, 1}
    assert led[4] > led[None]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": 0}, "keep, of 48 features"),
        ({"keep": 49}, "keep, of 48 features"),
        ({"keep": 3, "dropped": 1.0}, "dropped"),
        ({"keep": 3, "dropped": 0.0}, "dropped"),
    ],
)
def test_what_cannot_be_asked(options, words):
    X, y = interaction(0)
    with pytest.raises(InputError, match=words):
        Relief(**options).fit(X, y)
