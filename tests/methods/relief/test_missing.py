"""RELIEF of samples with missing values and categories; the scores of scikit-rebate."""

import numpy as np
import pandas as pd
import pytest

from convexfs import Relief
from convexfs.errors import InputError
from convexfs.inference import permutation_test
from convexfs.neighbors.missing_values import mixed_samples, of_classes
from tests.neighbors import scikit_rebate as rebate
from tests.neighbors.scikit_rebate import CATEGORICAL, CATEGORIES, HOLED, NUMBERS, WHOLE, Y
from tests.typed import known

NEIGHBORS = [rebate.RELIEFF, rebate.SURF, rebate.MULTISURF]


def scores(X, neighbors, categorical=None):
    """RELIEF's margins as scikit-rebate writes them: means over the samples."""
    model = Relief(n_neighbors=neighbors, missing="observed", categorical_features=categorical)
    return model.fit(X, Y).margin_ / len(Y)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_numbers_score_as_in_scikit_rebate(neighbors):
    found = scores(WHOLE[:, NUMBERS], neighbors)
    np.testing.assert_allclose(found, rebate.OF_NUMBERS[neighbors], atol=1e-10)


@pytest.mark.parametrize("neighbors", [rebate.RELIEFF, rebate.MULTISURF])
def test_numbers_with_holes_score_as_in_scikit_rebate(neighbors):
    found = scores(HOLED[:, NUMBERS], neighbors)
    np.testing.assert_allclose(found, rebate.OF_HOLED_NUMBERS[neighbors], atol=1e-10)


@pytest.mark.parametrize("neighbors", [rebate.SURF, rebate.MULTISURF])
def test_categories_score_as_in_scikit_rebate(neighbors):
    found = scores(WHOLE[:, CATEGORIES], neighbors, range(10))
    np.testing.assert_allclose(found, rebate.OF_CATEGORIES[neighbors], atol=1e-10)


@pytest.mark.parametrize("neighbors", [rebate.RELIEFF, rebate.MULTISURF])
def test_categories_with_holes_score_as_in_scikit_rebate(neighbors):
    found = scores(HOLED[:, CATEGORIES], neighbors, [True] * 10)
    np.testing.assert_allclose(found, rebate.OF_HOLED_CATEGORIES[neighbors], atol=1e-10)


@pytest.mark.parametrize("neighbors", [rebate.RELIEFF, rebate.MULTISURF])
def test_categories_beside_numbers_with_holes_score_as_in_scikit_rebate(neighbors):
    found = scores(HOLED, neighbors, CATEGORICAL)
    theirs = rebate.OF_HOLED_MIXED[neighbors]
    np.testing.assert_allclose(found[CATEGORIES], theirs[CATEGORIES], atol=1e-10)


def with_one_hole(X):
    holed = X.copy()
    holed[0, 3] = np.nan
    return holed


def test_one_hole_changes_no_other_distance_where_scikit_rebate_changes_its_formula():
    """Without a hole it counts a category as often as features go into categories."""
    theirs = rebate.OF_MIXED[rebate.RELIEFF] - scores(WHOLE, 3, CATEGORICAL)
    assert np.abs(theirs[CATEGORIES]).max() > 0.01
    for rule in ("observed", "hybrid", "class"):
        whole, holed = (
            of_classes(mixed_samples(X, CATEGORICAL, rule), Y)[:, [0, 1, 2, *range(4, 14)]]
            for X in (WHOLE, with_one_hole(WHOLE))
        )
        np.testing.assert_array_equal(whole.distances(), holed.distances())


def test_a_category_beside_numbers_leaves_them_as_they_are():
    """Scikit-rebate then counts a number's difference above its deviation as 1."""
    numbers = scores(WHOLE, 3, CATEGORICAL)[NUMBERS]
    assert np.abs(rebate.OF_MIXED[rebate.RELIEFF][NUMBERS] - numbers).max() > 0.1
    whole, numbers = (
        mixed_samples(X, CATEGORICAL[: X.shape[1]], "observed") for X in (WHOLE, WHOLE[:, NUMBERS])
    )
    np.testing.assert_array_equal(whole[:, NUMBERS].distances(), numbers.distances())


@pytest.mark.filterwarnings("ignore:constant column")
def test_a_constant_number_scores_0_where_scikit_rebate_has_nan():
    constant = WHOLE[:, NUMBERS].copy()
    constant[:, 3] = 1.0
    assert scores(constant, 3)[3] == 0.0


def test_one_hole_keeps_the_radius_that_scikit_rebate_halves():
    """Its mean distance takes in a triangle of zeros as soon as a value is missing."""
    numbers = WHOLE[:, NUMBERS]
    theirs = np.abs(rebate.OF_NUMBERS_WITH_ONE_HOLE_BY_SURF - rebate.OF_NUMBERS[rebate.SURF])
    ours = np.abs(scores(with_one_hole(numbers), "surf") - scores(numbers, "surf"))
    assert ours.max() < theirs.max() / 2


@pytest.mark.parametrize("rule", ["hybrid", "class", "error"])
def test_without_holes_and_categories_nothing_changes(rule):
    plain, told = Relief(n_neighbors=3).fit(WHOLE, Y), Relief(n_neighbors=3, missing=rule)
    np.testing.assert_array_equal(plain.margin_, told.fit(WHOLE, Y).margin_)


@pytest.fixture(scope="module")
def holed():
    rng = np.random.default_rng(2)
    y = np.arange(80) % 2
    X = rng.standard_normal((80, 12))
    X[:, :3] += 1.3 * y[:, None]
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


@pytest.mark.parametrize("rule", ["hybrid", "class", "observed"])
def test_the_weights_are_certified_and_find_the_true_features(holed, rule):
    model = Relief(n_neighbors=5, missing=rule).fit(*holed)
    assert model.certificate_.ok
    assert model.weights_[:3].min() > model.weights_[3:].max()


@pytest.mark.parametrize("rule", ["hybrid", "class", "observed"])
@pytest.mark.parametrize("neighbors", [5, 0.25, "multisurf"])
def test_the_permutation_test_computes_the_margins_of_a_fit(holed, rule, neighbors):
    model = Relief(n_neighbors=neighbors, missing=rule)
    result = permutation_test(model, *holed, n_permutations=39, random_state=0)
    np.testing.assert_array_equal(result.statistic, np.float32(model.fit(*holed).margin_))
    assert result.selected[:3].all()
    assert result.global_pvalue == 1 / 40


@pytest.mark.filterwarnings("ignore:nothing is selected")
def test_holes_that_follow_the_class_are_no_evidence():
    """Noise of which the smaller class lacks most varies as it does at permuted labels."""
    rng, y, t = np.random.default_rng(7), np.arange(120) < 30, []
    for _ in range(25):
        X = rng.standard_normal((120, 20))
        X[:, :8] = np.where(rng.random((120, 8)) < np.where(y, 0.7, 0.1)[:, None], np.nan, X[:, :8])
        test = permutation_test(Relief(n_neighbors=10), X, y, n_permutations=39, random_state=0)
        t.append(test.centred[:8])
    assert np.mean(t) < 0.3
    assert np.std(t) < 1.25


def test_without_a_number_holes_go_into_the_test_too(holed):
    model = Relief(n_neighbors=0.25).fit(*holed)
    assert known(model.permutation_test_).selected[:3].all()
    assert np.asarray(model.transform(holed[0])).shape[1] == known(model.get_support()).sum()


def frame_of(X, y):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
    frame["stage"] = pd.Categorical(np.where(rng.random(len(y)) < 0.85, y, 1 - y))
    frame["stage"] = frame["stage"].cat.rename_categories(["early", "late"])
    frame["site"] = rng.choice(["north", "south", "west"], len(y))
    frame.loc[4, "site"] = None
    frame["count"] = pd.array(rng.integers(0, 9, len(y)), dtype="Int64")
    frame.loc[5, "count"] = pd.NA
    return frame


def test_frames_are_taken_as_they_are(holed):
    frame = frame_of(*holed)
    model = Relief(n_neighbors=5, n_features_to_select=4).set_output(transform="pandas")
    model.fit(frame, holed[1])
    assert set(model.get_feature_names_out()) == {"g0", "g1", "g2", "stage"}
    kept = model.transform(frame)
    pd.testing.assert_frame_equal(kept, frame.loc[:, ["g0", "g1", "g2", "stage"]])
    coded = frame.assign(
        stage=frame["stage"].cat.codes.astype(float),
        site=frame["site"].replace({"north": 7.0, "south": 3.0, "west": 5.0}).astype(float),
        count=frame["count"].astype(float),
    )
    for categories in (["stage", "site"], [12, 13], np.isin(frame.columns, ["stage", "site"])):
        again = Relief(n_neighbors=5, categorical_features=categories)
        np.testing.assert_allclose(again.fit(coded, holed[1]).margin_, model.margin_, atol=1e-11)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"missing": "mean"}, "unknown missing 'mean'"),
        ({"categorical_features": ["sit"]}, "no column 'sit' to be categorical; did you mean site"),
        ({"categorical_features": [99]}, "categorical_features has 99: give positions from 0 to"),
        ({"categorical_features": [True]}, "a mask of 1 for 15 features"),
        ({"categorical_features": ["stage"]}, "text in column 'site'.* must be named in cat"),
        ({"metric": "sqeuclidean"}, "metric='sqeuclidean' takes numbers without missing values"),
        ({"n_neighbors": "surff"}, "unknown n_neighbors 'surff': did you mean surf"),
    ],
)
def test_what_cannot_be_asked_is_named(holed, settings, message):
    with pytest.raises(InputError, match=message):
        Relief(**settings).fit(frame_of(*holed), holed[1])


def test_text_of_many_values_is_no_category(holed):
    frame = frame_of(*holed).assign(name=[f"p{i}" for i in range(80)])
    with pytest.raises(InputError, match=r"text in column 'name', such as 'p0'.*must be named"):
        Relief().fit(frame, holed[1])


def test_tags_say_what_is_taken():
    tags = Relief().__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.categorical
    assert not Relief(missing="error").__sklearn_tags__().input_tags.allow_nan
