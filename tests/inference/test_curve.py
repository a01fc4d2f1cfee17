import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from convexfs import Logo, Relief, load
from convexfs.errors import ConvexfsError, InputError
from convexfs.inference import curve as module
from convexfs.inference import selection_curve
from convexfs.inference.curve import balanced_errors


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
    text = f"{curve.honest_error:.2f} balanced (chance 0.50), {curve.chosen} features, by 5 folds"
    assert text in str(curve)
    assert repr(curve) == str(curve)
    assert curve.plot().axes[0].get_title("left") == "whole curve: p = 0.001"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": [0]}, "sizes, of 80 features, must be a whole number of at least 1"),
        ({"sizes": []}, "sizes must have numbers of features"),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
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
