import numpy as np
import pytest

from convexfs import Logo, load
from convexfs.errors import InputError
from convexfs.methods.base.row_permutations import permuted_labels
from convexfs.methods.logo.margins import entry_scores, locality_of, null_penalty
from tests.typed import known


def test_permuted_labels_let_one_feature_enter_on_average():
    scores = np.array([[5.0, 4.0, 1.0, 0.0], [3.0, 1.0, 0.5, 0.0], [2.0, 0.1, 0.0, 0.0]])
    lam = null_penalty(np.arange(3), lambda row: scores[row])
    assert lam == 2.0
    assert (scores > lam).sum(axis=1).mean() == 1


def test_the_penalty_of_few_features_is_a_tenth_of_the_highest():
    assert null_penalty(np.arange(3), lambda row: np.array([2.0 - row])) == 0.2
    assert null_penalty(np.arange(3), lambda row: np.zeros(4)) == 1.0


def test_logo_takes_the_penalty_by_default():
    data = load("twonorm:n=80,noise=60,seed=1").scaled()
    model = Logo().fit(data.X, data.y)
    lam = known(model.lam_)
    locality = locality_of(data.X, np.unique(data.y, return_inverse=True)[1], 2.0, map)
    labels = permuted_labels(locality.codes, 19, 0)
    entered = [(entry_scores(locality.at_labels(row)) > lam).sum() for row in labels]
    assert 1 - 1 / 19 <= np.mean(entered) <= 1 + 1 / 19
    again = Logo(lam=lam).fit(data.X, data.y)
    np.testing.assert_array_equal(again.weights_, model.weights_)
    assert "permuted labels   not tested" in model.summary()
    assert again.lam_ == lam
    assert Logo(beta=1.0).fit(data.X, data.y).lam_ is None
    assert Logo(n_jobs=2).fit(data.X, data.y).lam_ == lam
    assert Logo(random_state=5).fit(data.X, data.y).lam_ != lam


def test_replicates_raise_the_penalty():
    data = load("twonorm:n=40,noise=40,seed=1").scaled()
    X, y, subject = np.repeat(data.X, 3, axis=0), np.repeat(data.y, 3), np.repeat(np.arange(40), 3)
    apart = known(Logo().fit(X, y).lam_)
    assert known(Logo().fit(X, y, groups=subject).lam_) > 1.3 * apart


def test_logo_says_that_it_is_not_tested_and_keeps_what_has_weight():
    data = load("spiral:noise=20,n=60")
    model = Logo().fit(data.X, data.y)
    assert model.permutation_test_ is None
    np.testing.assert_array_equal(model.get_support(), model.weights_ > 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": "nul"}, "lam must be a number of at least 0, not 'nul'"),
        ({"lam": "null", "n_permutations": 0}, "n_permutations must be an integer"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    data = load("iris")
    with pytest.raises(InputError, match=message):
        Logo(**settings).fit(data.X, data.y)
