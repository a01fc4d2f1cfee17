import warnings

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from convexfs import Logo, Relief
from convexfs.errors import ConvexfsError, InputError
from convexfs.inference import selector_tests
from convexfs.inference.selector_tests import (
    affordable,
    feature_evidence,
    fit_evidence,
    run_permutation_test,
    with_seed,
)
from tests.typed import known

RNG = np.random.default_rng(0)
Y = np.arange(30) % 2
X = RNG.standard_normal((30, 4))
X[:, 0] += 2 * Y


def gap_of_means(X, y):
    return np.abs(X[y == 0].mean(axis=0) - X[y == 1].mean(axis=0))


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), SelectKBest(k=1), make_pipeline(StandardScaler(), Relief()), Logo()],
    ids=lambda model: type(model).__name__,
)
def test_evidence_is_found_under_the_names_that_estimators_have(estimator):
    evidence, _ = fit_evidence(estimator, X, Y)
    assert evidence.shape == (4,)
    assert evidence.argmax() == 0


def test_only_logo_has_a_number_for_the_whole():
    assert fit_evidence(Relief(), X, Y)[1] is None
    model = Logo().fit(X, Y)
    assert fit_evidence(Logo(), X, Y)[1] == -known(model.solution_.objective)


def test_an_estimator_without_evidence_is_refused():
    with pytest.raises(InputError, match="StandardScaler says nothing of single features"):
        feature_evidence(StandardScaler().fit(X))


def test_refitted_and_fast_statistics_agree():
    fast = run_permutation_test(Relief(n_neighbors=3), X, Y, 19, 5)
    scores = run_permutation_test(lambda X, y: Relief(n_neighbors=3).fit(X, y).margin_, X, Y, 19, 5)
    np.testing.assert_array_equal(fast.null, scores.null)
    np.testing.assert_array_equal(fast.statistic, scores.statistic)


def test_the_number_of_jobs_changes_nothing():
    for source in (Relief(n_neighbors=0.25), gap_of_means):
        one, two = (run_permutation_test(source, X, Y, 19, 5, n_jobs=n) for n in (1, 2))
        np.testing.assert_array_equal(one.null, two.null)


def test_progress_is_told_and_failures_are_errors():
    told = []
    run_permutation_test(gap_of_means, X, Y, 3, 0, tell=told.append)
    assert told[-1] == "4 of 4 fits"

    def spoiled(X, y):
        raise RuntimeError("no such luck")

    with pytest.raises(ConvexfsError, match=r"fit to permuted data failed.*no such luck"):
        run_permutation_test(spoiled, X, Y, 3, 0)


def test_warnings_of_permuted_fits_are_not_told():
    def warns(X, y):
        warnings.warn("strange labels", UserWarning, stacklevel=1)
        return gap_of_means(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_permutation_test(warns, X, Y, 3, 0)


def test_random_estimators_without_a_seed_get_one():
    made = with_seed(make_pipeline(StandardScaler(), Relief()), 7)
    assert made[-1].random_state == 7
    assert with_seed(Relief(random_state=3), 7).random_state == 3
    assert with_seed(gap_of_means, 7) is gap_of_means


def test_permutations_are_fewer_where_they_cost_more(monkeypatch):
    assert affordable(Relief(), X) == 200
    assert affordable(Logo(), X) == affordable(gap_of_means, X) == 39
    monkeypatch.setattr(selector_tests, "_BUDGET", 2 * X.size * 100)
    assert affordable(Relief(n_neighbors=1), X) == 100
    assert affordable(Relief(n_neighbors=10), X) == 39
