import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from convexfs import Logo, Relief, ReliefRegressor, load
from convexfs.errors import ConvexfsError, InputError
from convexfs.inference import selection_curve
from convexfs.inference import selection_curves as module
from convexfs.inference.cross_validation import ClassErrors, balanced_errors


@pytest.fixture(scope="module")
def data():
    return load("twonorm:n=80,noise=60,seed=1").scaled()


RELIEF = Relief(n_neighbors=0.25)


def test_a_signal_is_seen_and_its_size_is_found(data):
    curve = selection_curve(RELIEF, data.X, data.labels, random_state=0)
    assert curve.sizes[0] == 1
    assert curve.sizes[-1] == 80
    assert curve.pvalue == 0.001
    assert curve.chance == 0.5
    assert curve.honest_error < 0.2
    assert curve.predictions.shape == (80, len(curve.sizes))
    best = curve.errors.argmin()
    first = np.flatnonzero(curve.errors <= curve.errors[best] + curve.se[best])[0]
    assert curve.chosen == curve.sizes[first]


def test_errors_are_those_of_predictions_held_out(data):
    curve = selection_curve(
        RELIEF, data.X, data.y, classifier=LogisticRegression(), cv=StratifiedKFold(3),
        sizes=[2, 7], random_state=0,
    )  # fmt: skip
    wrong = np.empty((80, 2), dtype=bool)
    for train, test in StratifiedKFold(3).split(data.X, data.y):
        order = np.argsort(-RELIEF.fit(data.X[train], data.y[train]).margin_, kind="stable")
        for column, size in enumerate((2, 7)):
            at = order[:size]
            model = LogisticRegression().fit(data.X[train][:, at], data.y[train])
            wrong[test, column] = model.predict(data.X[test][:, at]) != data.y[test]
    shares = [wrong[data.y == c].mean(axis=0) for c in (0, 1)]
    np.testing.assert_allclose(curve.errors, np.mean(shares, axis=0))


@pytest.mark.slow
def test_the_honest_error_of_shuffled_labels_is_chance_though_the_least_is_below(data):
    rng = np.random.default_rng(0)
    honest, least, pvalues = [], [], []
    for number in range(12):
        curve = selection_curve(RELIEF, data.X, rng.permutation(data.y), random_state=number)
        honest.append(curve.honest_error)
        least.append(curve.errors.min())
        pvalues.append(curve.pvalue)
    error = np.std(honest) / np.sqrt(len(honest))
    assert abs(np.mean(honest) - 0.5) < 4 * error
    assert np.mean(least) < 0.47
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.34


def test_jobs_change_nothing_and_the_seed_does(data):
    one, two = (selection_curve(RELIEF, data.X, data.y, random_state=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.predictions, two.predictions)
    assert (one.honest_error, one.pvalue) == (two.honest_error, two.pvalue)
    other = selection_curve(RELIEF, data.X, data.y, random_state=4)
    assert (other.folds != one.folds).any()


def test_scaling_inside_the_folds_is_the_same_by_a_pipeline(data):
    X = data.X * np.arange(1, data.n_features + 1)
    inside = selection_curve(RELIEF, X, data.y, scale="zscore", random_state=0)
    piped = selection_curve(make_pipeline(StandardScaler(), RELIEF), X, data.y, random_state=0)
    np.testing.assert_array_equal(inside.predictions, piped.predictions)
    plain = selection_curve(RELIEF, X, data.y, random_state=0)
    assert (plain.predictions != piped.predictions).any()


def test_features_of_no_weight_are_never_used(data):
    curve = selection_curve(Logo(lam=5), data.X, data.y, cv=2, random_state=0)
    most = max(
        np.count_nonzero(
            Logo(lam=5).fit(data.X[curve.folds != f], data.y[curve.folds != f]).weights_
        )
        for f in (0, 1)
    )
    beyond = curve.sizes >= most
    assert beyond.sum() > 1
    assert np.ptp(curve.errors[beyond]) == 0


def test_groups_are_held_out_together(data):
    subject = np.repeat(np.arange(20), 4)
    y = np.arange(20)[subject] % 2
    curve = selection_curve(RELIEF, data.X, y, groups=subject, random_state=0)
    assert all(np.ptp(curve.folds[subject == s]) == 0 for s in range(20))


def test_balanced_errors_weigh_classes_alike():
    wrong = np.array([[1, 0], [0, 0], [0, 0], [1, 1]], dtype=bool)
    codes = np.array([0, 0, 0, 1])
    np.testing.assert_allclose(balanced_errors(wrong, codes), [2 / 3, 0.5])
    np.testing.assert_allclose(balanced_errors(wrong, codes, np.array([1.0, 0, 0, 1])), [1, 0.5])


def test_its_text_and_picture_say_what_to_expect(data):
    curve = selection_curve(RELIEF, data.X, data.y, random_state=0)
    low, high = curve.interval
    text = f"{curve.honest_error:.2f} [{low:.2f}, {high:.2f}] balanced, chance 0.50 (5 folds"
    assert text in str(curve)
    assert low <= curve.held_out_error == curve.honest_error <= high
    table = curve.confusion
    assert table is not None
    wrong = curve.predictions[:, list(curve.sizes).index(curve.chosen)] != data.y
    assert table.sum() - np.trace(table) == wrong.sum()
    np.testing.assert_array_equal(table.sum(axis=1), np.bincount(data.y))
    by_class = curve.lines(["ill", "well"])["errors by class"]
    assert by_class == f"wrong: ill {table[0, 1]}/{table[0].sum()}, well {table[1, 0]}/" + str(
        table[1].sum()
    )
    assert repr(curve) == str(curve)
    assert curve.plot().axes[0].get_title("left") == "whole curve: p = 0.001"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": [0]}, "sizes, of 80 features, must be an integer of at least 1"),
        ({"sizes": []}, "sizes must have numbers of features"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"scale": "log"}, "unknown scale 'log'"),
        ({"cv": [(np.arange(40), np.arange(40, 60))]}, "never holds some rows out"),
    ],
)
def test_what_cannot_be_asked_is_refused(data, settings, message):
    with pytest.raises(InputError, match=message):
        selection_curve(RELIEF, data.X, data.y, **settings)


def test_a_fold_that_fails_is_an_error(data, monkeypatch):
    monkeypatch.setattr(module, "fitted_to", None)
    with pytest.raises(ConvexfsError, match="a fold failed"):
        selection_curve(RELIEF, data.X, data.y)


@pytest.fixture(scope="module")
def holed():
    """A table of which 'a' and 'kind' carry the classes, with gaps."""
    rng, y = np.random.default_rng(0), np.arange(90) % 2
    X = pd.DataFrame(rng.standard_normal((90, 6)), columns=list("abcdef"))
    X["a"] += 3 * y
    X = X.mask(rng.random(X.shape) < 0.15)
    X["kind"] = pd.Categorical(np.where(rng.random(90) < 0.9, y, 1 - y)).rename_categories(
        {0: "x", 1: "z"}
    )
    X.loc[3, "kind"] = None
    return X, y


def test_gaps_and_categories_go_through_the_folds(holed):
    X, y = holed
    curve = selection_curve(Relief(n_neighbors=5), X, y, scale="zscore", random_state=0)
    assert curve.honest_error < 0.2
    assert curve.pvalue == 0.001
    assert "medians of the training rows" in curve.lines()["held-out rows"]


def test_what_predicts_has_the_medians_of_the_training_rows(holed):
    X, y = holed[0].drop(columns="kind").to_numpy(), holed[1]
    model = Relief(n_neighbors=5)
    own = selection_curve(model, X, y, sizes=[2], cv=3, random_state=0)
    filling = make_pipeline(SimpleImputer(strategy="median"), KNeighborsClassifier(3))
    told = selection_curve(model, X, y, sizes=[2], cv=3, classifier=filling, random_state=0)
    np.testing.assert_array_equal(own.predictions, told.predictions)
    # One that takes missing values has them.
    trees = DecisionTreeClassifier(max_depth=2, random_state=0)
    having = selection_curve(model, X, y, sizes=[2], cv=3, classifier=trees, random_state=0)
    assert having.errors[0] < 0.3


def test_the_number_of_features_is_found_where_values_are_missing(holed):
    X, y = holed
    model = Relief(n_neighbors=5, n_features_to_select="auto", random_state=0).fit(X, y)
    assert {"a", "kind"} & set(model.get_feature_names_out())
    assert len(model.get_feature_names_out()) < 5


def test_sparse_rows_are_those_of_dense_ones(data):
    X = np.where(np.abs(data.X) > 1, data.X, 0.0)
    # Of few features many rows are equally near.
    dense, sparse = (
        selection_curve(RELIEF, Z, data.y, sizes=[30, 80], random_state=0)
        for Z in (X, csr_array(X))
    )
    np.testing.assert_array_equal(dense.predictions, sparse.predictions)


def test_errors_of_numbers_are_shares_of_the_variance():
    data = load("friedman:n=120,noise=10,seed=1").scaled()
    model = ReliefRegressor(n_features_to_select=5)
    curve = selection_curve(model, data.X, data.y, sizes=[4, 15], random_state=0)
    residuals = curve.predictions - data.y[:, None]
    np.testing.assert_allclose(curve.errors, (residuals**2).mean(axis=0) / data.y.var())
    assert curve.chance == 1.0
    assert curve.pvalue == 0.001
    assert curve.errors[0] < curve.errors[1] < 1.0
    assert f"{curve.honest_error:.2f} " in str(curve)
    assert "of the variance, chance 1.00" in str(curve)
    assert curve.confusion is None
    groups = np.arange(120) // 2
    y = np.repeat(data.y[::2], 2)
    grouped = selection_curve(model, data.X, y, sizes=[4], groups=groups, random_state=0)
    np.testing.assert_array_equal(grouped.folds[::2], grouped.folds[1::2])


def test_the_interval_of_no_errors_is_wilsons():
    low, high = ClassErrors().interval(0.0, np.repeat([0, 1], 50))
    assert low == 0.0
    assert high == pytest.approx(1.96**2 / (100 + 1.96**2))
    low, high = ClassErrors().interval(0.2, np.repeat([0, 1], [90, 10]))
    assert low < 0.2 < high
    assert high - low > 0.2, "the error of the small class is known least"
