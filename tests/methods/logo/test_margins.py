"""Prices at which features would take weight."""

import numpy as np
import pytest

from convexfs.data import load
from convexfs.methods.logo.estimator import Logo
from convexfs.methods.logo.margins import Locality, entry_prices, lam_max


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
