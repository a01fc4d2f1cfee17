import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import Relief, load
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.inference import permutation_test, selection_curve
from convexfs.inference.selector_tests import run_shadow_test
from tests.methods.copies import copies_are_neighbors
from tests.typed import constraints, known


@pytest.mark.slow(cases=55)
@parametrize_with_checks(
    [Relief(), Relief(n_neighbors=3, miss="prior", solver="CLARABEL")],
    expected_failed_checks=copies_are_neighbors,
)
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wdbc():
    return load("wdbc").scaled()


def test_frames_keep_their_names(wdbc):
    frame = pd.DataFrame(wdbc.X, columns=list(wdbc.feature_names))
    selector = Relief(n_features_to_select=3).set_output(transform="pandas").fit(frame, wdbc.y)
    reduced = selector.transform(frame)
    assert list(reduced.columns) == list(selector.get_feature_names_out())
    assert reduced.shape == (569, 3)
    heaviest = frame.columns[np.argsort(-selector.weights_)[:3]]
    assert set(reduced.columns) == set(heaviest)


@pytest.fixture(scope="module")
def twonorm():
    return load("twonorm:n=120,noise=40,seed=2").scaled()


def test_by_default_features_significant_against_shadow_columns_are_selected(twonorm):
    selector = Relief().fit(twonorm.X, twonorm.y)
    test = known(selector.shadow_test_)
    np.testing.assert_array_equal(selector.get_support(), test.selected)
    assert selector.permutation_test_ is test
    assert (test.n_permutations, test.control, test.level) == (200, "fdr", 0.1)
    assert test.selected[:20].mean() > 0.8
    assert test.selected[20:].mean() < 0.2
    again = Relief(n_jobs=2).fit(twonorm.X, twonorm.y)
    np.testing.assert_array_equal(again.get_support(), test.selected)


def test_nothing_selected_is_an_answer(twonorm):
    shuffled = np.random.default_rng(1).permutation(twonorm.y)
    selector = Relief(n_neighbors=0.25).fit(twonorm.X, shuffled)
    with pytest.warns(ConvexfsWarning, match="nothing is selected: the smallest q-value is"):
        assert not known(selector.get_support()).any()
    with pytest.warns(UserWarning, match="No features were selected"):
        assert np.shape(selector.transform(twonorm.X)) == (120, 0)


def test_a_fit_stays_fast_and_the_test_is_run_once(twonorm, monkeypatch):
    from convexfs.inference import selector_tests

    calls = []
    run = selector_tests.run_shadow_test
    monkeypatch.setattr(
        selector_tests, "run_shadow_test", lambda *a, **k: calls.append(a) or run(*a, **k)
    )
    X = twonorm.X.copy()
    selector = Relief(n_neighbors=3).fit(X, twonorm.y)
    X[:] = 0.0  # which the fit must not notice
    assert not calls
    first = known(selector.get_support())
    copy = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(selector.get_support(), first)
    np.testing.assert_array_equal(copy.get_support(), first)
    assert len(calls) == 1
    assert first[:20].any()


def test_other_rules_are_asked_for_by_name(twonorm):
    X, y = twonorm.X, twonorm.y
    relative = Relief(n_neighbors=5, n_features_to_select="relative").fit(X, y)
    expected = relative.weights_ > 0.01 * relative.weights_.max()
    np.testing.assert_array_equal(relative.get_support(), expected)
    assert relative.shadow_test_ is None
    auto = Relief(n_neighbors=0.25, n_features_to_select="auto", random_state=0).fit(X, y)
    curve = selection_curve(auto, X, y, random_state=auto._samples().seed)
    heaviest = np.argsort(-auto.weights_, kind="stable")[: curve.chosen]
    np.testing.assert_array_equal(np.sort(heaviest), auto.get_support(indices=True))
    cut = Relief(n_neighbors=5, l1=0.3).fit(X, y)
    np.testing.assert_array_equal(cut.get_support(), cut.weights_ > 0)
    relative.set_params(n_features_to_select=None)
    with pytest.raises(InputError, match="changed after fit: fit again"):
        relative.get_support()


def test_a_summary_says_what_was_tested_and_what_the_certificate_covers(twonorm):
    tested = Relief(n_neighbors=0.25).fit(twonorm.X, twonorm.y).summary()
    assert "shadow columns    p = 0.005 for any signal (200 permutations)" in tested
    untested = Relief(n_features_to_select=3).fit(twonorm.X, twonorm.y).summary()
    assert "permuted labels   not tested" in untested
    assert "selected          3 of 60; not tested" in untested
    for summary in (tested, untested):
        assert summary.endswith("the problem is solved; this proves nothing about the features")


def test_a_changed_problem_is_judged_by_its_weights(twonorm):
    def squared(z):
        import cvxpy as cp

        w = cp.Variable(len(z), name="w")
        return cp.Problem(cp.Maximize(w @ z), constraints(cp.norm(w) <= 1, w >= 0, cp.sum(w) <= 3))

    model = Relief(formulation=squared, n_neighbors=5)
    assert model._operations(twonorm.X) is None
    assert model._statistic_at_labels(twonorm.X, 0) is None
    model.fit(twonorm.X, twonorm.y)
    np.testing.assert_array_equal(model._evidence(), model.weights_)


def test_a_share_of_each_class_takes_the_bias_from_unequal_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 60)), (np.arange(100) < 15).astype(int)
    fixed, share = (
        permutation_test(
            Relief(n_neighbors=k), X, y, n_permutations=99, random_state=0, gate=1, level=0.999
        )
        for k in (10, 0.25)
    )
    bias = [np.median(r.null.mean(axis=0) / r.null.std(axis=0)) for r in (fixed, share)]
    assert abs(bias[0]) > 0.8
    assert abs(bias[1]) < 0.3


def test_weights_are_the_importances_and_carry_a_certificate(wdbc):
    selector = Relief().fit(wdbc.X, wdbc.y)
    np.testing.assert_array_equal(selector.weights_, selector.feature_importances_)
    assert selector.certificate_.ok
    assert selector.margin_.shape == (30,)


def test_threads_change_nothing(wdbc):
    one, two = (Relief(n_neighbors=5, n_jobs=n).fit(wdbc.X, wdbc.y) for n in (1, 2))
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_online_draws_follow_random_state(wdbc):
    fits = [Relief(online=True, random_state=s).fit(wdbc.X, wdbc.y).weights_ for s in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 0


def test_it_selects_inside_a_pipeline():
    data = load("twonorm:n=200,noise=200,seed=0")
    knn = KNeighborsClassifier(5)
    plain = make_pipeline(StandardScaler(), knn)
    selecting = make_pipeline(
        StandardScaler(), Relief(n_neighbors=10, n_features_to_select=20), clone(knn)
    )
    scores = [cross_val_score(model, data.X, data.y, cv=5).mean() for model in (plain, selecting)]
    assert scores[1] > scores[0] + 0.05


def test_a_changed_problem_can_be_fitted(wdbc):
    import cvxpy as cp

    def capped(z):
        w = cp.Variable(len(z), name="w")
        return cp.Problem(cp.Maximize(w @ z), [cp.norm(w) <= 1, w >= 0, w <= 0.2])

    selector = Relief(formulation=capped).fit(wdbc.X, wdbc.y)
    assert selector.weights_.max() == pytest.approx(0.2, abs=1e-4)
    assert selector.certificate_.ok


def test_a_problem_file_can_be_fitted(wdbc):
    file = Path(__file__).parents[3] / "problems" / "relief_capped.py"
    for path in (file, str(file)):
        assert Relief(formulation=path).fit(wdbc.X, wdbc.y).weights_.max() < 0.2 + 1e-4


X = np.random.default_rng(0).standard_normal((12, 3))
Y = np.arange(12) % 2


def spoiled(value):
    bad = X.copy()
    bad[4, 1] = value
    return bad


@pytest.mark.parametrize(
    ("data", "labels", "settings", "message"),
    [
        (spoiled(np.nan), Y, {"missing": "error"}, "contains NaN at data row 5, column 2"),
        (spoiled(np.inf), Y, {}, "contains infinity at data row 5, column 2"),
        (
            pd.DataFrame(spoiled(np.nan), columns=["a", "b", "c"]),
            Y,
            {"missing": "error"},
            "contains NaN at data row 5, column 'b'",
        ),
        (X, np.zeros(12), {}, "only one class, '0.0'"),
        (X, X[:, 0], {}, "Unknown label type"),
        (X, Y, {"n_neighbors": 12}, "more neighbours than the 12 rows have"),
        (X, Y, {"n_features_to_select": 9}, "of 3 features, must be an integer of at"),
        (X, Y, {"n_features_to_select": 0}, "of at least 1 and at most 3, not 0"),
        (X, Y, {"n_features_to_select": 1.5}, "must be an integer"),
        (X, Y, {"n_features_to_select": "best"}, "unknown n_features_to_select 'best'"),
        (X, Y, {"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for all cores, not 0"),
        (X, Y, {"n_jobs": "two"}, "n_jobs must be an integer"),
        (X, Y, {"random_state": "abc"}, "random_state: 'abc' cannot be used"),
        (X, Y, {"random_state": -4}, "random_state: "),
        (X, Y, {"solver_options": 3}, "solver_options must be a dict of options, not int"),
        (X, Y, {"verbose": "x"}, "verbose must be a number"),
        (X, Y, {"online": "maybe"}, "online must be True or False, not 'maybe'"),
        (X, Y, {"online": np.ones(2)}, "online must be True or False"),
        (X, Y, {"l1": np.ones(3)}, "l1, a share of the largest margin, must be a number"),
        ([[1.0], [2.0, 3.0]], Y[:2], {}, "rows of unequal length; give as many values in each"),
        (X, Y, {"solver": "OSQP"}, "OSQP cannot take SOC"),
        (X, Y, {"solver": "CLARABLE"}, "did you mean CLARABEL"),
        (X, Y, {"formulation": 3}, "must be a build function or a problem file, not int"),
    ],
)
def test_bad_input_gets_one_clear_sentence(data, labels, settings, message):
    with pytest.raises(ValueError, match=message):
        Relief(**settings).fit(data, labels)


def test_a_class_of_one_sample_is_warned_of_and_left_out():
    labels = Y.copy()
    labels[3] = 7
    with pytest.warns(ConvexfsWarning, match="class '7' of one sample only"):
        selector = Relief().fit(X, labels)
    assert np.isfinite(selector.weights_).all()


def test_when_no_class_has_two_samples_there_is_nothing_to_compare():
    with pytest.raises(InputError, match="no class has two samples"), pytest.warns(ConvexfsWarning):
        Relief().fit(X, np.arange(12))


def test_constant_columns_are_kept_with_weight_0_and_a_warning():
    with pytest.warns(ConvexfsWarning, match="constant column '4'"):
        selector = Relief().fit(np.column_stack([X, np.ones(12)]), Y)
    assert selector.weights_[3] == 0
    assert len(selector.weights_) == 4


def test_a_fraction_of_the_features_is_selected(twonorm):
    for share, number in ((0.1, 6), (0.001, 1), (0.999, 59)):
        selector = Relief(n_features_to_select=share).fit(twonorm.X, twonorm.y)
        assert known(selector.get_support()).sum() == number
    with pytest.raises(InputError, match="n_features_to_select, a fraction, must be"):
        Relief(n_features_to_select=-0.5).fit(twonorm.X, twonorm.y)


def test_groups_and_blocks_of_a_fit_reach_its_test(twonorm):
    X, y = np.repeat(twonorm.X[::3], 3, axis=0), np.repeat(twonorm.y[::3], 3)
    X = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    groups, blocks = np.repeat(np.arange(40), 3), np.repeat(np.arange(40) % 2, 3)
    grouped = Relief().fit(X, y, groups=groups, blocks=blocks)
    test = known(grouped.shadow_test_)
    held = grouped._samples()
    expected = run_shadow_test(Relief(), X, y, 200, held.seed, groups=groups, blocks=blocks)
    np.testing.assert_array_equal(test.pvalues, expected.pvalues)
    with pytest.warns(ConvexfsWarning, match="of the rows are copies of others"):
        free = known(Relief().fit(X, y).shadow_test_)
    assert (free.pvalues != test.pvalues).any()
    with pytest.raises(InputError, match="groups must have one entry for each of the 120 rows"):
        Relief().fit(X, y, groups=groups[:5])
    weighed = Relief().fit(X, y, sample_weight=(groups > 1) * 1.0, groups=groups)
    assert len(weighed._samples().groups) == 114


def test_columns_of_very_different_scale_are_warned_about(twonorm):
    X = twonorm.X * np.where(np.arange(60) == 3, 1e4, 1.0)
    with pytest.warns(ConvexfsWarning, match=r"differ in scale by a factor of .* \(column 4"):
        Relief(n_features_to_select=3).fit(X, twonorm.y)
