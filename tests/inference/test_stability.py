import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import LLFS, Logo, Relief, ReliefRegressor, load
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.inference import StabilitySelector
from convexfs.inference.stability import complementary_pair, stability_index
from convexfs.methods.stability.fit import meinshausen_buhlmann
from convexfs.report.pictures import MOST_BARS
from tests.methods.stability.test_fit import unimodal_closed_form

RELIEF = Relief(n_neighbors=10, n_features_to_select=20)


@pytest.fixture(scope="module")
def twonorm():
    """400 samples; the first 20 of 100 features tell the classes apart."""
    return load("twonorm:noise=80,seed=1").scaled()


@pytest.fixture(scope="module")
def fitted(twonorm):
    return StabilitySelector(RELIEF, random_state=0).fit(twonorm.X, twonorm.y)


@pytest.fixture(scope="module")
def local():
    data = load("subclasses:noise=4,seed=1").scaled()
    model = StabilitySelector(LLFS(betas=5, max_features=3), n_pairs=2, random_state=0)
    return data, model.fit(data.X, data.y)


@parametrize_with_checks([StabilitySelector(Relief(n_features_to_select=1), n_pairs=4)])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_halves_have_the_holes_and_categories_of_the_samples():
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    X = pd.DataFrame(rng.standard_normal((80, 6)), columns=list("abcdef"))
    X["a"] += 2 * y
    X = X.mask(rng.random(X.shape) < 0.1)
    X["kind"] = pd.Categorical(np.where(y, "x", "z"))
    model = StabilitySelector(Relief(n_neighbors=5, n_features_to_select=2), n_pairs=5)
    found = model.set_params(random_state=0).fit(X, y)
    assert list(X.columns[found.selected_]) == ["a", "kind"]
    assert list(found.feature_names_in_) == list(X.columns)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="contains NaN at data row 3, column 'a'"):
        model.set_params(estimator=LLFS()).fit(X[["a", "b"]], y)


def test_sparse_samples_are_halved_as_they_are():
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    X = rng.standard_normal((80, 6)) * (rng.random((80, 6)) < 0.5)
    X[:, 2] = y
    few = Relief(n_neighbors=5, n_features_to_select=1)
    model = StabilitySelector(few, n_pairs=5, random_state=0)
    sparse = model.fit(csr_array(X), y).selections_
    np.testing.assert_array_equal(sparse, model.fit(X, y).selections_)


def test_numbers_are_halved_as_one_class():
    data = load("friedman:n=80,noise=5,seed=1").scaled()
    few = ReliefRegressor(n_features_to_select=2)
    model = StabilitySelector(few, n_pairs=5, random_state=0).fit(data.X, data.y)
    assert model.selections_.sum(axis=1).max() == 2
    assert model.probabilities_[:5].max() > model.probabilities_[5:].max()


def test_halves_are_disjoint_and_have_equally_many_of_each_class():
    codes = np.repeat([0, 1, 2], [10, 7, 4])
    rng = np.random.default_rng(0)
    pairs = [complementary_pair(codes, rng) for _ in range(200)]
    for first, second in pairs:
        assert not set(first) & set(second)
        np.testing.assert_array_equal(np.bincount(codes[first]), [5, 3, 2])
        np.testing.assert_array_equal(np.bincount(codes[second]), [5, 3, 2])
    drawn = np.bincount(np.concatenate([half for pair in pairs for half in pair]), minlength=21)
    np.testing.assert_array_equal(drawn[codes != 1], 200)
    assert 140 < drawn[codes == 1].min() < drawn[codes == 1].max() <= 200


@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_a_class_of_one_sample_has_no_halves():
    X, y = np.random.default_rng(0).standard_normal((9, 2)), np.r_[np.zeros(8), 1]
    with pytest.raises(InputError, match="class 2 has one sample"):
        StabilitySelector(Relief(n_features_to_select=1)).fit(X, y)


def test_signals_are_selected_and_the_bound_is_proven(fitted):
    assert set(fitted.selected_) <= set(range(20))
    assert len(fitted.selected_) > 12
    assert fitted.certificate_.ok
    assert fitted.n_selected_ == 20
    assert fitted.bound_ <= 1
    np.testing.assert_array_equal(fitted.get_support(indices=True), fitted.selected_)
    np.testing.assert_allclose(fitted.probabilities_, fitted.selections_.mean(axis=0))


@pytest.mark.filterwarnings("ignore:nothing is selected")
@pytest.mark.parametrize("bound", ["unimodal", "meinshausen-buhlmann"])
@pytest.mark.parametrize("expected_false", [0.5, 1.0, 3.0])
def test_the_threshold_is_the_smallest_with_that_bound(twonorm, bound, expected_false):
    relief = Relief(n_features_to_select=8)
    model = StabilitySelector(
        relief, n_pairs=20, bound=bound, expected_false=expected_false, random_state=0
    ).fit(twonorm.X, twonorm.y)

    def printed(threshold):
        if bound == "unimodal":
            return unimodal_closed_form(8, 100, threshold, 20)
        return meinshausen_buhlmann(8, 100, threshold)

    grid = [halves / 40 for halves in range(21, 41)]
    least = next((tau for tau in grid if printed(tau) <= expected_false * (1 + 1e-9)), math.inf)
    assert model.threshold_ == least
    assert model.bound_ == pytest.approx(printed(min(least, 1.0)))
    np.testing.assert_array_equal(model.selected_, np.flatnonzero(model.probabilities_ >= least))
    assert (model.certificate_ is None) == (bound == "meinshausen-buhlmann")


def test_a_backend_gives_the_same_threshold(twonorm):
    native, backend = (
        StabilitySelector(
            RELIEF, n_pairs=8, expected_false=3.0, solver=name, random_state=0
        ).fit(twonorm.X, twonorm.y)
        for name in ("native", "HIGHS")
    )  # fmt: skip
    assert backend.solution_.solver == "HIGHS"
    assert backend.certificate_.ok
    assert backend.threshold_ == native.threshold_ < 1
    assert backend.bound_ == pytest.approx(native.bound_)


def test_the_same_seed_gives_the_same_answer_on_any_number_of_threads(twonorm, fitted):
    again = StabilitySelector(RELIEF, random_state=0, n_jobs=3).fit(twonorm.X, twonorm.y)
    np.testing.assert_array_equal(again.selections_, fitted.selections_)
    other = StabilitySelector(RELIEF, n_pairs=4, random_state=1, expected_false=9.0)
    assert (other.fit(twonorm.X, twonorm.y).selections_ != fitted.selections_[:8]).any()


def test_what_selects_too_much_can_prove_nothing(twonorm):
    X, y = twonorm.X[:, :30], twonorm.y
    everything = LogisticRegression()
    with pytest.warns(ConvexfsWarning, match="a half selects 30 of 30 .* select fewer"):
        model = StabilitySelector(everything, n_pairs=3, random_state=0).fit(X, y)
    assert (model.threshold_, len(model.selected_)) == (np.inf, 0)
    assert math.isnan(model.stability_.value)


def test_noise_is_not_selected_and_a_warning_says_how_near_it_came():
    X = np.random.default_rng(0).standard_normal((60, 100))
    relief = Relief(n_neighbors=5, n_features_to_select=5)
    with pytest.warns(ConvexfsWarning, match="no feature is in a share of .* most frequent"):
        model = StabilitySelector(relief, random_state=0).fit(X, np.arange(60) % 2)
    assert len(model.selected_) == 0
    assert abs(model.stability_.value) < 0.2


def test_selectors_pipelines_and_sparse_models_of_scikit_learn_will_do(twonorm):
    l1 = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=0.06)
    for estimator in (l1, make_pipeline(StandardScaler(), l1), SelectFromModel(l1, max_features=9)):
        model = StabilitySelector(estimator, n_pairs=10, expected_false=3.0, random_state=0)
        model.fit(twonorm.X, twonorm.y)
        assert set(model.selected_) <= set(range(20))
        assert len(model.selected_) >= 2


def test_a_constant_column_is_never_selected(twonorm):
    X = twonorm.X[:, :25].copy()
    X[:, 3] = 1.0
    model = StabilitySelector(Logo(lam=10), n_pairs=2, random_state=0, expected_false=9.0)
    with pytest.warns(ConvexfsWarning, match="constant"):
        model.fit(X, twonorm.y)
    assert model.probabilities_[3] == 0


def test_the_index_of_sets_of_one_size_is_the_mean_of_kunchevas():
    rng = np.random.default_rng(0)
    k, J = 5, 20
    sets = np.array([np.isin(np.arange(J), rng.permutation(9)[:k]) for _ in range(12)])
    common = [(a & b).sum() for a, b in itertools.combinations(sets, 2)]
    kuncheva = np.mean([(r - k * k / J) / (k - k * k / J) for r in common])
    assert stability_index(sets).value == pytest.approx(kuncheva)


def test_the_interval_of_the_index_covers_it():
    rng = np.random.default_rng(1)
    chance = np.linspace(0.05, 0.9, 30)
    truth = stability_index(rng.random((50_000, 30)) < chance).value
    found = [stability_index(rng.random((40, 30)) < chance) for _ in range(200)]
    covered = np.mean([each.low <= truth <= each.high for each in found])
    assert 0.88 < covered <= 1.0
    assert stability_index(np.tile([True, False], (5, 3))).value == 1.0
    assert math.isnan(stability_index(np.zeros((5, 3), bool)).value)


def test_regions_select_their_own_features(local):
    data, model = local
    assert model.local_probabilities_.shape == data.X.shape
    table = model.region_probabilities(data.groups)
    # The two clusters of the first class differ from the second in a feature each.
    assert table.iloc[0, 0] > 0.7 > 0.3 > table.iloc[0, 1]
    assert table.iloc[1, 1] > 0.7 > 0.3 > table.iloc[1, 0]
    assert table.iloc[:, 2:].to_numpy().max() < 0.6
    assert list(table.columns[:2]) == ["feature 1", "feature 2"]


def test_probabilities_of_a_sample_are_over_the_halves_that_hold_it(local):
    data, model = local
    rng = np.random.default_rng(model._seed())
    halves = [half for _ in range(2) for half in complementary_pair(data.y, rng)]
    drawn = np.bincount(np.concatenate(halves), minlength=data.n_samples)
    counts = model.local_probabilities_ * drawn[:, None]
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)


def test_regions_need_an_estimator_that_has_them(fitted, local):
    with pytest.raises(InputError, match="Relief selects the same features for all samples"):
        fitted.region_probabilities(np.zeros(400))
    with pytest.raises(InputError, match=r"each of the \d+ samples fitted, not have shape \(3,\)"):
        local[1].region_probabilities([1, 2, 3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_pairs": 0}, "n_pairs must be an integer of at least 1"),
        ({"expected_false": 0}, "expected_false must be a number above 0"),
        ({"bound": "unimodel"}, "did you mean unimodal"),
        ({"estimator": "relief"}, "estimator must be one that fits"),
        ({"estimator": KNeighborsClassifier()}, "KNeighborsClassifier has none of weights_"),
    ],
)
def test_what_cannot_be_is_one_clear_sentence(twonorm, settings, message):
    with pytest.raises(InputError, match=message):
        StabilitySelector(**{"estimator": RELIEF, **settings}).fit(twonorm.X, twonorm.y)


def test_its_words_and_pictures_say_what_was_shown(twonorm, fitted, local):
    words = fitted.summary()
    assert "of 100 halves or more" in words
    assert "unimodal bound, 20 selected a half" in words
    assert "says nothing about the features" in words
    assert "Relief(" in repr(fitted)
    assert fitted.plot().axes[0].get_xlabel() == "share of halves that select it"
    few = StabilitySelector(
        Relief(n_features_to_select=6), n_pairs=3, expected_false=9.0, random_state=0
    )
    frame = pd.DataFrame(twonorm.X[:, :30], columns=[f"gene{j}" for j in range(30)])
    bars = few.fit(frame, twonorm.y).plot().axes[0]
    assert bars.get_xlabel() == "share of halves that select it"
    data, model = local
    shown = model.plot(data.groups).axes[0]
    chosen = (np.nan_to_num(model.local_probabilities_).sum(axis=0) > 0).sum()
    assert shown.images[0].get_array().shape == (len(data.X), min(chosen, MOST_BARS))
    assert shown.get_xticklabels()[0].get_text().startswith("feature ")
    assert "halves that hold it" in shown.get_title(loc="left")
