"""Markers of each class against the rest."""

import numpy as np
import pytest

import convexfs
from convexfs.data import make_dataset
from convexfs.errors import InputError
from convexfs.inference import shadow_test
from convexfs.selection.class_markers import ClassMarkers, adjust_for_classes
from tests.selection.tables import genes
from tests.typed import known

CLASSES = ("basal", "HER2", "luminal A", "normal")


@pytest.fixture(scope="module")
def table():
    return genes(80, 40, classes=CLASSES, told=8)


@pytest.fixture(scope="module")
def found(table):
    return convexfs.select(table, target="status", per_class=True, drop=["patient"])


def test_each_class_has_its_planted_markers(found):
    assert isinstance(found, ClassMarkers)
    for c, name in enumerate(CLASSES):
        markers = found.markers()[name]
        assert {f"GENE{c + 1}", f"GENE{c + 5}"} <= set(markers)
        assert f"GENE{c + 1}" in markers[:2]
    assert set(np.flatnonzero(found.support)) >= set(range(8))


def test_a_class_is_tested_against_the_rest_and_adjusted_for_all_classes(found):
    data = found.data
    for c, name in enumerate(data.class_names[:2]):
        own = convexfs.select(make_dataset(data.X, data.y == c, data.feature_names))
        test, expected = found.tests[name], known(known(own.judgement).test)
        np.testing.assert_allclose(found.parts[name].weights, own.weights)
        # All four classes have a signal, so that q-values are those of the class alone.
        np.testing.assert_allclose(test.qvalues, expected.qvalues)
        strict = np.minimum(4 * expected.max_t_pvalues, 1)
        np.testing.assert_allclose(test.max_t_pvalues, strict)


def test_classes_without_signal_make_the_others_stricter():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 30))
    y = np.repeat(["a", "b", "c"], 30)
    X[y == "a", 0] += 6
    data = make_dataset(X, y).scaled()
    tests = [
        shadow_test(convexfs.Relief(), data.X, data.y == c, random_state=1, level=0.1)
        for c in range(2)
    ]
    null = rng.permutation(data.y)
    with pytest.warns(UserWarning, match="nothing is selected"):
        tests.append(shadow_test(convexfs.Relief(), data.X, null == 2, random_state=5))
    first, _, last = adjust_for_classes(tests)
    share = 3 / sum(test.global_pvalue <= 0.05 for test in tests)
    assert share == 1.5
    np.testing.assert_allclose(first.qvalues, np.minimum(tests[0].qvalues * share, 1))
    assert (last.qvalues == 1).all()
    np.testing.assert_allclose(first.max_t_pvalues, np.minimum(3 * tests[0].max_t_pvalues, 1))


def test_two_classes_have_one_test_and_opposite_differences(table):
    two = table[table["status"].isin(CLASSES[:2])]
    found = convexfs.select(two, target="status", per_class=True, drop=["patient"])
    alone = convexfs.select(two, target="status", drop=["patient"])
    first, second = found.parts.values()
    np.testing.assert_array_equal(found.support, alone.support)
    frames = [part.ranking().set_index("name") for part in (first, second)]
    np.testing.assert_allclose(frames[0]["difference"], -frames[1]["difference"])
    assert found.families == 1


def test_the_ranking_has_a_row_per_class_and_feature(found):
    ranking = found.ranking()
    assert list(ranking)[:3] == ["class", "name", "weight"]
    assert len(ranking) == 4 * 40
    own = ranking[(ranking["class"] == "HER2") & (ranking["name"] == "GENE2")].iloc[0]
    data = found.data
    inside = data.labels == "HER2"
    expected = data.X[inside, 1].mean() - data.X[~inside, 1].mean()
    assert own["mean_difference"] == pytest.approx(expected)
    assert own["q"] >= own["p"]


@pytest.mark.filterwarnings("ignore:nothing is selected")
def test_without_signal_there_are_no_markers():
    counts = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        data = make_dataset(rng.standard_normal((60, 40)), rng.permutation(np.arange(60) % 5))
        counts.append(convexfs.select(data, per_class=True).support.sum())
    # FDR of 10 %: any marker in about 1 of 10 sets; 4 or more of 8 have a chance of .5 %.
    assert np.count_nonzero(counts) < 4


def test_what_markers_cannot_be_selected_by_is_refused(table, found):
    for asked, said in (
        ({"rule": "curve"}, "--per-class takes --fdr, --fwer or --top, and not --curve"),
        ({"method": "lfe"}, "is a projection"),
        ({"method": "rrelief"}, "learns from numbers"),
        ({"rule": "fwer", "permutations": 50}, "use at least 79"),
    ):
        with pytest.raises(InputError, match=said):
            convexfs.select(found.data, **asked, per_class=True)
    numbers = make_dataset(found.data.X, found.data.X[:, 0], target_kind="numbers")
    with pytest.raises(InputError, match="classes are needed"):
        convexfs.select(numbers, per_class=True)


def test_untested_markers_say_so(table):
    found = convexfs.select(table, target="status", per_class=True, top=2, drop=["patient"])
    assert [len(own) for own in found.markers().values()] == [2] * 4
    assert found.told()["shadow columns"] == "single features not tested"
    assert found.tests == {}
    assert "<table" in found._repr_html_()
    assert repr(found).endswith("HER2 2, basal 2, luminal A 2, normal 2>")
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_the_page_names_markers_and_cites(found, tmp_path):
    page = found.to_html(tmp_path / "markers.html")
    assert "Benjamini Y, Bogomolov M (2014)" in page
    assert "Each of 4 classes was compared with all other samples." in page
    assert len(page) < 2e6
