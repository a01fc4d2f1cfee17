"""Prices at which features would take weight."""

import numpy as np
import pytest

from convexfs.data import load
from convexfs.methods.logo.estimator import Logo
from convexfs.methods.logo.margins import Locality, entry_prices, lam_max
from convexfs.methods.logo_regression.fit import SoftLocality
from convexfs.neighbors.sample_weight import SampleWeights


def test_at_a_fixed_point_the_price_is_lam_where_weight_is_and_at_most_that_elsewhere():
    data = load("twonorm:n=60,noise=40,seed=1")
    model = Logo(sigma=2.0, lam=2.0).fit(data.X, data.y)
    prices = entry_prices(Locality(data.X, data.y, 2.0), model.weights_)
    held = model.weights_ > 0
    assert 0 < held.sum() < len(held)
    assert prices[held] == pytest.approx(2.0, rel=1e-3)
    assert prices[~held].max() <= 2.0 + 1e-6


def test_without_weights_the_largest_price_is_lam_max():
    data = load("twonorm:n=40,noise=10,seed=2")
    locality = Locality(data.X, data.y, 2.0)
    prices = entry_prices(locality, np.zeros(data.n_features))
    assert prices.max() == pytest.approx(lam_max(locality))


CLASSES = np.random.default_rng(1).integers(0, 3, 40)
NUMBERS = np.random.default_rng(2).standard_normal(40)
LOCALITIES = {
    "classes": lambda X: Locality(X, CLASSES, 1.3),
    "a class of one": lambda X: Locality(X, np.where(np.arange(40) == 7, 3, CLASSES), 1.3),
    "sample weights": lambda X: Locality(
        X, CLASSES, 1.3, weights=SampleWeights(np.arange(40) % 4 + 1.0)
    ),
    "numbers": lambda X: SoftLocality(X, NUMBERS, 1.3),
}


@pytest.mark.parametrize("name", LOCALITIES)
def test_margins_are_the_slope_of_soft_margins(name):
    X = np.random.default_rng(0).standard_normal((40, 5))
    locality, w = LOCALITIES[name](X), np.array([0.3, 1.0, 0.1, 0.5, 0.7])

    def soft_margins(w):
        distances = locality.distances(X, w)
        return locality.soft_margins(distances, locality.signed_at(distances))

    step = 1e-6 * np.eye(5)
    slopes = [(soft_margins(w + d) - soft_margins(w - d)) / 2e-6 for d in step]
    margins = locality.margins(X, locality.signed(X, w))
    np.testing.assert_allclose(np.transpose(slopes), margins, atol=1e-8)


def test_soft_margins_of_a_small_width_are_those_of_the_nearest():
    X = np.random.default_rng(0).standard_normal((40, 5))
    locality, w = Locality(X, CLASSES, 1e-3), np.ones(5)
    distances = locality.distances(X, w)
    far = np.where(np.eye(40), np.inf, distances)
    same = np.equal.outer(CLASSES, CLASSES)
    nearest = [np.where(kind, far, np.inf).min(axis=1) for kind in (~same, same)]
    soft = locality.soft_margins(distances, locality.signed_at(distances))
    np.testing.assert_allclose(soft, nearest[0] - nearest[1], atol=0.01)
