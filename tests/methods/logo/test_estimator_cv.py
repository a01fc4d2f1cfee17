import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import Logo, LogoCV, load
from convexfs.errors import InputError

SIGMAS, LAMS = [0.5, 2.0], [0.5, 1.0, 5.0]


@parametrize_with_checks([LogoCV(sigmas=[2.0], lams=[1.0, 5.0], cv=2)])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return load("spiral:noise=60,n=60")


@pytest.fixture(scope="module")
def searched(data):
    return LogoCV(sigmas=SIGMAS, lams=LAMS, cv=4).fit(data.X, data.y)


def _product_of_two():
    """Samples for which Logo has many fixed points: the start decides which one is reached."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 40))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.6 * rng.normal(size=80)
    return X, (score > 0).astype(int)


@pytest.mark.filterwarnings("ignore:all weights are 0:convexfs.errors.ConvexfsWarning")
@pytest.mark.parametrize("many_fixed_points", [False, True])
def test_scores_are_those_of_a_naive_search(data, searched, many_fixed_points):
    X, y = data.X, data.y
    if many_fixed_points:
        X, y = _product_of_two()
        searched = LogoCV(sigmas=SIGMAS, lams=LAMS, cv=4).fit(X, y)
    grid = {"sigma": SIGMAS, "lam": LAMS}
    naive = GridSearchCV(Logo(), grid, cv=4).fit(X, y).cv_results_
    order = {(p["sigma"], p["lam"]): i for i, p in enumerate(naive["params"])}
    index = [order[p["sigma"], p["lam"]] for p in searched.cv_results_["params"]]
    folds = [f"split{fold}_test_score" for fold in range(4)]
    for name in (*folds, "mean_test_score", "std_test_score"):
        np.testing.assert_allclose(searched.cv_results_[name], naive[name][index], atol=1e-12)
    assert set(naive) <= set(searched.cv_results_)


def test_the_best_pair_is_fitted_on_all_samples(data, searched):
    row = searched.best_index_
    results = searched.cv_results_
    assert results["mean_test_score"][row] == results["mean_test_score"].max()
    assert results["rank_test_score"][row] == 1
    assert searched.best_params_ == {"sigma": searched.sigma_, "lam": searched.lam_}
    again = Logo(**searched.best_params_).fit(data.X, data.y)
    np.testing.assert_array_equal(searched.weights_, again.weights_)
    np.testing.assert_array_equal(searched.predict(data.X), again.predict(data.X))
    assert searched.certificate_.ok
    assert searched.best_estimator_.history_ == again.history_
    assert searched.get_support(indices=True).tolist() == [0, 1]


def test_of_equal_scores_the_sparsest_is_taken():
    data = load("twonorm:n=60,seed=1").scaled()
    model = LogoCV(sigmas=[np.inf], lams=[1e-3, 1.1e-3, 1.2e-3], cv=2).fit(data.X, data.y)
    assert len(set(model.cv_results_["mean_test_score"])) == 1
    assert model.lam_ == 1.2e-3


def test_workers_change_nothing(data, searched):
    two = LogoCV(sigmas=SIGMAS, lams=LAMS, cv=4, n_jobs=2).fit(data.X, data.y)
    np.testing.assert_array_equal(two.weights_, searched.weights_)
    np.testing.assert_array_equal(
        two.cv_results_["mean_test_score"], searched.cv_results_["mean_test_score"]
    )


def test_any_splitter_will_do(data):
    model = LogoCV(sigmas=[2.0], lams=[1.0], cv=KFold(3, shuffle=True, random_state=0)).fit(
        data.X, data.y
    )
    assert "split2_test_score" in model.cv_results_
    assert "split3_test_score" not in model.cv_results_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sigmas": []}, "sigmas must be a list of numbers to try"),
        ({"lams": 1.0}, "lams must be a list"),
        ({"sigmas": [2.0, 0.0]}, "sigma must be a number above 0"),
        ({"lams": [-1.0]}, "lam must be a number of at least 0"),
    ],
)
def test_values_that_cannot_be_used_are_named(settings, message, data):
    with pytest.raises(InputError, match=message):
        LogoCV(**settings).fit(data.X, data.y)
