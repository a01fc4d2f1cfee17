"""Features as a fitted model weighs them."""

import numpy as np
import pytest
from papers.baselines.models import rfe_rbf

from convexfs.data import load
from convexfs.errors import InputError


def test_rfe_may_keep_one_gamma_for_all_rounds():
    data = load("twonorm:n=60,noise=5,seed=3")
    usual = rfe_rbf(data.X, data.y)
    kept = rfe_rbf(data.X, data.y, gamma=1.0 / 25)
    # The first round, with all features, is the same: 2 of 25 leave.
    assert set(np.argsort(usual)[:2]) == set(np.argsort(kept)[:2])
    assert not np.array_equal(usual, kept)


def test_a_gamma_of_few_columns_tells_nothing_among_many():
    """A kernel that fits the original columns is the identity beside a thousand of noise."""
    data = load("twonorm:n=80,noise=1000,seed=3")
    kept = np.argsort(-rfe_rbf(data.X, data.y, gamma=1.0 / 5))[:20]
    usual = np.argsort(-rfe_rbf(data.X, data.y))[:20]
    assert (kept < 20).sum() < 5 < (usual < 20).sum()


def test_a_gamma_must_be_positive():
    with pytest.raises(InputError, match="gamma"):
        rfe_rbf([[0.0], [1.0]], [0, 1], gamma=0.0)
