"""A selection as tables, words and pages, without a browser."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import convexfs
from convexfs.data import make_dataset
from convexfs.errors import InputError
from convexfs.selection.effect_sizes import class_differences
from convexfs.selection.figures import apart, curve_figure, heat_figure, short, weight_figure
from convexfs.selection.result import MOST_SECONDS, Selection
from tests.report.pages import frame_of, numbers_in, readable
from tests.selection.tables import genes
from tests.typed import known


def dataset(*size, **options):
    frame = genes(*size, **options)
    X, y = frame.drop(columns=["patient", "status"]), frame["status"]
    return make_dataset(X, y, name="genes")


@pytest.fixture(scope="module")
def data():
    return dataset(60, 30)


@pytest.fixture(scope="module")
def found(data):
    return convexfs.select(data, "relief")


def test_the_ranking_holds_what_was_tested(data, found):
    ranking, test = found.ranking(), found.judgement.test
    assert list(ranking) == [
        "name", "weight", "rank", "selected", "p", "max_t_p", "q", "higher_in", "difference",
        "mean_difference",
    ]  # fmt: skip
    rows = ranking.set_index("name").loc[list(data.feature_names)]
    np.testing.assert_array_equal(rows["weight"], found.weights)
    np.testing.assert_array_equal(rows["selected"], found.support)
    np.testing.assert_array_equal(rows["q"], test.qvalues)
    np.testing.assert_array_equal(rows["p"], test.pvalues)


def test_differences_are_those_of_the_data_as_they_are(data, found):
    rows = found.ranking().set_index("name")
    first, second = (data.X[data.y == c] for c in (0, 1))
    spread = np.sqrt((first.var(axis=0, ddof=1) + second.var(axis=0, ddof=1)) / 2)
    expected = (second.mean(axis=0) - first.mean(axis=0)) / spread
    names = list(data.feature_names)
    np.testing.assert_allclose(rows["difference"][names], expected)
    assert rows["higher_in"][names].tolist() == np.where(expected > 0, "tumour", "normal").tolist()


def test_of_several_classes_the_highest_is_held_against_the_rest():
    X = np.array([[0, 1, 5], [2, 1, 5], [10, 1, 5], [12, 1, 5], [1, 1, 5], [3, 1, 5.0]])
    data = make_dataset(X, list("aabbcc"))
    names, differences, own = class_differences(data)
    assert names.tolist() == ["b", None, None]
    np.testing.assert_allclose(differences[0], (11 - 1.5) / np.sqrt(2))
    assert np.isnan(differences[1:]).all()
    np.testing.assert_allclose(own, [11 - 1.5, 0, 0])  # in the units of the columns


def test_the_same_selection_as_of_the_estimator(data, found):
    scaled = data.scaled()
    model = convexfs.Relief(n_neighbors=0.25, random_state=0).fit(scaled.X, scaled.y)
    np.testing.assert_allclose(found.weights, model.weights_)
    assert found.line == "convexfs.select(data, 'relief')"
    again = convexfs.select("iris", "logo", top=2, settings={"lam": 1.0})
    assert again.line == "convexfs.select('iris', 'logo', top=2, settings={'lam': 1.0})"
    assert known(again.support).sum() == 2


def test_the_curve_has_the_errors_of_permuted_labels(found):
    curve = known(found.curve())
    low, middle, high = curve.permuted
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert abs(middle - curve.chance).max() < 0.1
    figure = known(curve_figure(found))
    assert set(figure.frame["what"]) == {
        "held-out samples", "permuted labels", "to be expected of the chosen number",
    }  # fmt: skip


def test_errors_nobody_asked_for_are_computed_if_that_is_quick(data):
    quick = convexfs.select(data, "logo", settings={"lam": 1.0})
    assert known(quick.judgement).curve is None
    assert quick.curve() is not None
    assert "<dt>held-out error</dt>" in quick.to_html()
    assert quick.told()["held-out error"] == "not computed: --curve or --report does it"
    assert " balanced, chance 0.50" in quick.with_curve().told()["held-out error"]
    slow = replace(quick, fit_seconds=MOST_SECONDS)
    assert slow.curve() is None
    assert "a fit takes 20 s" in slow.to_html()


def test_why_there_are_no_errors_is_said_exactly(data):
    tiny = convexfs.select(dataset(8, 5), "logo", settings={"lam": 1.0})
    assert tiny.curve() is None
    why = "not computed: class &#x27;normal&#x27; has 4 of the 5 samples that folds need."
    assert why in tiny.to_html()
    numbers = make_dataset(data.X, data.X[:, 0], target_kind="numbers")
    assert "a target of numbers" in convexfs.select(numbers, "rrelief", top=2).why_no_curve()
    knockoffs = convexfs.select(data, "knockoffs", rule="knockoffs")
    assert knockoffs.why_no_curve().startswith("this rule has none")
    assert convexfs.select(data, "lfe").told().keys() == {"scaling", "certificate"}


def test_weights_of_zero_are_not_drawn_before_those_below(data):
    found = convexfs.select(data, "relief", top=1)
    weights = np.zeros(30)
    weights[[3, 5]] = 2.0, -1.0
    figure = known(weight_figure(replace(found, weights=weights)))
    assert figure.frame["feature"].tolist() == ["GENE4", "GENE6"]


@pytest.mark.filterwarnings("ignore:nothing is selected")
def test_nothing_selected_has_no_map_and_says_so():
    nothing = convexfs.select(dataset(40, 20, shift=0.0), "relief")
    assert heat_figure(nothing) is None
    assert "Nothing is selected. The test says why" in nothing.to_html()


def test_names_are_short_and_apart_beside_figures():
    assert short("two\n lines") == "two lines"
    assert short("  ") == "(no name)"
    assert len(short("x" * 100)) == 28
    assert apart(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]
    assert apart(["a", "a", "a (2)"]) == ["a", "a (2)", "a (2) (2)"]


def test_names_that_only_differ_in_their_ends_stay_apart(tmp_path):
    long = [f"{'a' * 60}{j}" for j in range(8)]
    found = convexfs.select(dataset(40, 8, names=long, told=8), "relief", top=8)
    figure = known(heat_figure(found))
    assert len(set(figure.frame["feature"])) == 8


def test_the_page_has_all_digits_of_the_ranking(found):
    table = frame_of(numbers_in(found.to_html())["tables"]["features"])
    ranking = found.ranking()
    assert table["weight"].tolist() == ranking["weight"].tolist()
    assert table["q"].tolist() == ranking["q"].tolist()
    assert table["name"].tolist() == ranking["name"].tolist()


def test_the_page_tells_no_folder(tmp_path):
    path = tmp_path / "genes.csv"
    genes(20, 4).to_csv(path, index=False)
    data = convexfs.load(path, "status", id="patient")
    page = readable(convexfs.select(data, "relief", top=1).to_html())
    assert "genes.csv" in page
    assert str(tmp_path) not in page


def test_a_page_is_written_over_pages_only(found, tmp_path):
    out = tmp_path / "page.html"
    assert found.to_html(out) == out.read_text()
    found.to_html(out)
    other = tmp_path / "notes.html"
    other.write_text("my notes")
    with pytest.raises(InputError, match="is there already and is no page"):
        found.to_html(other)
    with pytest.raises(InputError, match=r"ends in \.html"):
        found.to_html(tmp_path / "page.txt")
    with pytest.raises(InputError, match="cannot be written"):
        found.to_html(tmp_path / "nowhere" / "page.html")


def test_a_notebook_shows_the_heaviest_and_the_certificate(found):
    html = found._repr_html_()
    assert "GENE1" in html
    assert "this proves nothing about the features" in html


def test_it_is_a_public_name():
    assert convexfs.Selection is Selection
    with pytest.raises(InputError, match="unknown method 'reliev'"):
        convexfs.select("iris", "reliev")
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        convexfs.selection.other  # noqa: B018


def test_a_projection_has_components_and_no_selection(data):
    projected = convexfs.select(data, "lfe", top=2)
    assert projected.support is None
    assert known(projected.components).shape == (60, 2)
    assert projected.curve() is None
    assert set(projected.ranking()["selected"]) == {pd.NA}


def test_sparse_samples_have_the_same_differences_and_a_page(data):
    sparse = make_dataset(csr_array(np.where(data.X > 1, data.X, 0.0)), data.labels, name="counts")
    dense = sparse.dense()
    for one, other in zip(class_differences(sparse), class_differences(dense), strict=True):
        pd.testing.assert_series_equal(pd.Series(one), pd.Series(other))
    found = convexfs.select(sparse, "relief", top=3)
    assert {"values", "heat-map"} <= numbers_in(found.to_html())["figures"].keys()


def test_a_target_of_numbers_has_correlations_and_a_page():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    y = X[:, 0] + 0.1 * rng.standard_normal(50)
    measured = make_dataset(X, y, target="age", target_kind="numbers", name="people")
    found = convexfs.select(measured, "rrelief", top=1)
    ranking = found.ranking()
    assert list(ranking) == ["name", "weight", "rank", "selected", "correlation"]
    rows = ranking.set_index("name")["correlation"]
    expected = [np.corrcoef(column, y)[0, 1] for column in X.T]
    np.testing.assert_allclose(rows[list(measured.feature_names)], expected)
    page = found.to_html()
    assert "target age" in page
    assert {"values", "heat-map"} <= numbers_in(page)["figures"].keys()
