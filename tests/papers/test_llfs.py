"""The protocols of the LLFS paper, on small data."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from papers.compare_with_paper import judged
from papers.experiment import Case
from papers.llfs import figures, splits, table2, table3, table5, voting
from sklearn.svm import SVC

from convexfs import LLFS, Logo, load
from convexfs.data.dataset import Dataset

SETTINGS: dict[str, Any] = {
    "sizes": {"breast": [40, 60, 10], "colon": [40, 60, 10]},
    "budgets": {"breast": [2, 3, 10], "colon": [2, 3, 10]},
    "most_test_rows": 50,
    "folds": 5,
}


def case(method="llfs", row="breast", run=0, data=None, **settings: Any) -> Case:
    return Case(data or load("wdbc"), row, method, run, {**SETTINGS, **settings})


def measured(method="llfs", data=None) -> Any:
    return table2.measure(case(method, data=data))


@pytest.fixture
def pruned_to_five(monkeypatch):
    monkeypatch.setattr(splits.best_by_logo, "__defaults__", (5,))


def test_sizes_and_budgets_are_the_papers_up_to_the_cap():
    as_printed = {"sizes": {}, "budgets": {}, "most_test_rows": 1500}
    assert splits.sizes("dna", as_printed) == (100, 1500, 100)
    assert splits.sizes("colon", as_printed) == (50, 12, 0)
    assert splits.budgets("breast", as_printed) == list(range(1, 31))
    assert splits.budgets("nervous_system", as_printed) == list(range(1, 36))


@pytest.mark.parametrize("row", splits.SOURCES)
def test_what_is_tried_is_in_the_papers_range_and_has_what_it_prints_and_folds_try(row):
    tried = splits.budgets(row, {"budgets": {}})
    few = splits.coarse(tried)
    assert splits.SIZES["llfs_alpha"].to_dict()[row] in tried
    assert tried[-1] == splits.LARGEST[row] == few[-1]
    assert few[:4] == [1, 3, 10, 30]
    assert set(few) <= set(tried)


def test_a_split_is_scaled_by_its_training_rows_and_permuted():
    own = splits.parts(case())
    assert own.X.shape == (40, 40)
    assert own.X_test.shape == (50, 40)
    np.testing.assert_allclose(own.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(own.X.std(axis=0), 1)
    drawn, y, train = splits.rows_drawn(case())
    assert train == 40
    np.testing.assert_array_equal(y[:40], own.y)
    # As drawn, the first column of the data stands somewhere else.
    first = load("wdbc").X[:, 0]
    at = [j for j in range(40) if np.isin(drawn[:, j], first).all()]
    assert len(at) == 1
    assert at != [0]


def test_junctions_of_dna_are_one_class():
    data = load("iris")
    y = splits.rows_drawn(case(row="dna", data=data, sizes={"dna": [60, 60, 0]}))[1]
    assert np.bincount(y).size == 2


def shaken(data: Dataset, rows: np.ndarray) -> Dataset:
    """Return the data with other values in these rows."""
    X = data.X.copy()
    X[rows] = np.random.default_rng(0).permutation(X[rows], axis=1)
    return replace(data, X=X)


def test_pruning_sees_test_rows_only_where_it_is_meant_to_leak(pruned_to_five):
    data = load("wdbc")
    rows = case(row="colon").random("split").permutation(data.n_samples)[40:]
    other = shaken(data, rows)
    own, changed = (splits.parts(case(row="colon", data=each)) for each in (data, other))
    assert len(own.columns) == 5
    np.testing.assert_array_equal(own.columns, changed.columns)
    np.testing.assert_array_equal(own.X, changed.X)
    leaks = [table2._leaking(case(row="colon", data=each)) for each in (data, other)]
    assert not np.array_equal(leaks[0].X, leaks[1].X)


def test_errors_are_those_of_a_fit_at_every_budget():
    own = splits.parts(case())
    numbers = measured()
    by_hand = LLFS(max_features=10).fit(own.X, own.y)
    assert numbers["errors"][2] == pytest.approx(100 * (1 - by_hand.score(own.X_test, own.y_test)))
    assert numbers["features"][2] == by_hand.local_support_.sum(axis=1).mean()
    assert numbers["coarse"] == numbers["errors"][1:]
    literal = measured("llfs-literal")
    assert literal["budgets"] == [3.0, 10.0]


def test_what_is_nested_does_not_look_at_test_rows():
    data = load("wdbc")
    rows = case().random("split").permutation(data.n_samples)[40:]
    first, second = (measured("llfs", each) for each in (data, shaken(data, rows)))
    assert first["budget"] == second["budget"]
    assert first["nested"] != second["nested"]


def test_folds_hold_every_training_row_out_once_and_prune_without_it(pruned_to_five):
    asked = case(row="colon")
    own = splits.parts(asked)
    parted = list(splits.folds(own, asked))
    assert sum(len(fold.y_test) for fold in parted) == len(own.y)
    for fold in parted:
        np.testing.assert_array_equal(fold.columns, splits.best_by_logo(fold.X, fold.y))
    (alone,) = splits.folds(own, case(row="colon", folds=1))
    np.testing.assert_array_equal(alone.X_test, parted[0].X_test)


def test_the_number_of_features_is_chosen_by_rankings_of_the_folds():
    asked = case("ks")
    own, numbers = splits.parts(asked), measured("ks")
    wrong = {3: 0.0, 10: 0.0}
    for fold in splits.folds(own, asked):
        order = table2.first_best(table2.ranking("ks"), fold)
        for count in wrong:
            wrong[count] += table2.error(SVC(gamma="scale"), fold, order[:count])
    best = min(wrong, key=lambda count: wrong[count])
    assert numbers["nested scaled"] == numbers["scaled"][[2, 3, 10].index(best)]


def test_a_ranking_is_judged_by_both_kernels():
    own = splits.parts(case())
    numbers = measured("logo")
    top = np.argsort(-Logo().fit(own.X, own.y).weights_, kind="stable")[:3]
    at = SETTINGS["budgets"]["breast"].index(3)
    kernels: dict[str, Any] = {"unscaled": 1.0, "scaled": "scale"}
    for name, gamma in kernels.items():
        model = SVC(gamma=gamma).fit(own.X[:, top], own.y)
        expected = 100 * (1 - model.score(own.X_test[:, top], own.y_test))
        assert numbers[name][at] == pytest.approx(expected)


@pytest.mark.parametrize("method", ["svm", "l1-logistic", "random-forest", "mrmr", "kpls"])
def test_every_comparator_gives_percentages(method):
    numbers = measured(method)
    errors = np.concatenate([np.ravel(v) for name, v in numbers.items() if name != "seconds"])
    assert ((errors >= 0) & (errors <= 100)).all()


def test_other_classifiers_have_a_curve_each():
    numbers = table3.measure(case("fisher-markov"))
    assert {len(np.atleast_1d(curve)) for curve in numbers.values()} == {2}
    assert set(numbers) == {"adaboost", "logreg"}


FIGURES = {
    "noise": {"choices": 20, "many": 20, "growth": 5},
    "train": 40,
    "swept": [1, 5],
    "grown": [30, 60],
}


def figure(method, row, data=None) -> Any:
    return figures.measure(case(method, row, data=data, **FIGURES))


def test_choices_are_told_of_the_columns_as_they_stood():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 130))
    X[:, 90] += 6.0 * y
    numbers = figure("choices", "dna", Dataset(X, y, (), ()))
    assert int(np.argmax(numbers["chosen"])) == 90
    assert numbers["most"] == numbers["chosen"][90]
    assert 0 < numbers["seen"] <= numbers["near"] <= 100
    assert numbers["near"] + numbers["noise"] <= 100 + 1e-9


def test_larger_budgets_choose_more_and_each_reading_has_its_curves():
    numbers = figure("sweep", "breast")
    assert numbers["budgets"] == [1.0, 5.0]
    for reading in ("feasible", "literal"):
        assert numbers[f"features {reading}"][0] == 1.0
        assert numbers[f"features {reading}"][1] > 1.0
        assert len(numbers[f"errors {reading}"]) == 2


def test_most_entries_are_left_as_they_are():
    numbers = figure("distances", "breast")
    assert np.sum(numbers["histogram"]) == pytest.approx(100)
    assert numbers["same"] > 50
    assert numbers["fractional"] < 40


def test_the_time_of_a_point_is_measured_at_every_size():
    numbers = figure("growth", "subclasses")
    assert numbers["samples"] == [30.0, 60.0]
    assert len(numbers["seconds"]) == 2


@pytest.mark.parametrize("table", figures.EXPERIMENT.tables, ids=lambda table: table.name)
def test_a_table_may_be_about_some_of_the_data_sets(table):
    columns = ["data", "method", "run", "measure", "position", "value"]
    experiment = figures.EXPERIMENT
    rows = judged(experiment, table, experiment.full, pd.DataFrame(columns=columns))
    assert set(rows["data"]) == set(table.rows)


def test_votes_are_counted_both_ways():
    normalised, raw = (voting.measure(case(vote)) for vote in ("normalised", "raw"))
    assert {len(np.ravel(curve)) for curve in (*normalised.values(), *raw.values())} == {3}
    by_hand = measured()
    np.testing.assert_allclose(normalised["errors"], by_hand["errors"])


def test_dna_may_be_coded_otherwise_on_the_same_rows():
    sizes = {"dna1": [60, 60, 5]}
    asked = case("llfs-three", "dna1", data=load("iris"), sizes=sizes, budgets={"dna1": [2, 3]})
    own, three = splits.parts(asked), table5.all_classes(asked)
    np.testing.assert_array_equal(three.X, own.X)
    np.testing.assert_array_equal(three.y == splits.NO_JUNCTION, own.y)
    np.testing.assert_array_equal(three.y_test == splits.NO_JUNCTION, own.y_test)
    plain = table5.as_coded(asked)
    np.testing.assert_allclose(splits.z_scores(plain.X, plain.X_test), own.X_test)
    by_hand = LLFS(max_features=2).fit(three.X, three.y)
    expected = 100 * (1 - by_hand.score(three.X_test, three.y_test))
    assert np.ravel(table5.measure(asked)["errors"])[0] == pytest.approx(expected)
