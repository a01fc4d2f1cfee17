from types import SimpleNamespace

import numpy as np
import pytest

from convexfs import Logo, load
from convexfs.errors import InputError
from convexfs.methods.base.row_permutations import permuted_labels
from convexfs.methods.logo.null_penalty import null_price
from tests.typed import known

CODES = np.arange(10) % 2


def made(n_weights, objective):
    weights = np.zeros(20)
    weights[:n_weights] = 1.0
    return SimpleNamespace(weights=weights, solution=SimpleNamespace(objective=objective))


def test_the_price_is_lowered_until_permuted_labels_select_more_than_one():
    def fit(lam, codes):
        true = (codes == CODES).all()
        return made(int(4 - lam), 1.0 if true else 2.0)

    price = null_price(CODES, 9, 0, lambda codes: 4.0, fit)
    assert price.lam == pytest.approx(4.0 * 0.9**6)
    assert list(price.counts.values()) == [0, 0, 0, 1, 1, 1, 1, 2]
    assert price.pvalue == 0.1


def test_objectives_as_small_at_permuted_labels_count():
    labels = permuted_labels(CODES, 9, 0)

    def fit(lam, codes):
        better = any((codes == row).all() for row in labels[:3])
        return made(0 if lam > 2 else 9, 1.0 if better else 2.0)

    assert null_price(CODES, 9, 0, lambda codes: 2.5, fit).pvalue == 1.0
    assert null_price(labels[0], 9, 1, lambda codes: 2.5, fit).pvalue == 0.1


def test_a_price_that_never_selects_ends_the_search():
    price = null_price(CODES, 3, 0, lambda codes: 1.0, lambda lam, codes: made(0, 1.0))
    assert 0.1 < price.lam < 0.13


def test_logo_takes_the_price_and_says_what_it_rests_on():
    data = load("twonorm:n=80,noise=60,seed=1").scaled()
    model = Logo(lam="null", n_permutations=19, random_state=0).fit(data.X, data.y)
    assert model.objective_pvalue_ == 0.05
    price, counts = known(model.lam_), known(model.null_counts_)
    assert counts[price] <= 1
    assert min(counts) == pytest.approx(0.9 * price)
    assert counts[min(counts)] > 1
    again = Logo(lam=price).fit(data.X, data.y)
    np.testing.assert_array_equal(again.weights_, model.weights_)
    assert again.objective_pvalue_ is None
    assert "p = 0.05 of the objective (19 permutations); single features" in model.summary()
    assert "permuted labels   not tested" in again.summary()
    assert again.lam_ == model.lam_
    assert Logo(beta=1.0).fit(data.X, data.y).lam_ is None
    threads = Logo(lam="null", n_permutations=19, random_state=0, n_jobs=2)
    assert threads.fit(data.X, data.y).null_counts_ == model.null_counts_


def test_logo_says_that_it_is_not_tested_and_keeps_what_has_weight():
    data = load("spiral:noise=20,n=60")
    model = Logo().fit(data.X, data.y)
    assert model.permutation_test_ is None
    np.testing.assert_array_equal(model.get_support(), model.weights_ > 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": "nul"}, "lam must be a number of at least 0, not 'nul'"),
        ({"lam": "null", "n_permutations": 0}, "n_permutations must be a whole number"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    data = load("iris")
    with pytest.raises(InputError, match=message):
        Logo(**settings).fit(data.X, data.y)
