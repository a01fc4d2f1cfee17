"""What the protocols measure, at sizes that take no time."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from papers import EXPERIMENTS, experiment_named, svm
from papers.experiment import Case
from papers.logo import ablation, figures, table2
from papers.logo.rankings import prices_of, readings
from papers.splits import noisy_split, unit_scaled

from convexfs.data import load
from convexfs.methods.logo.estimator import Logo

TINY = load("twonorm:n=80,noise=4,seed=2")
#: Settings of one case of each experiment, by the name of its row.
CASES = {
    "logo-table2": ("row", {
        "sizes": {"row": [30, 30]}, "noise": 10, "grids": {},
        "nested": dict.fromkeys(table2.METHODS, 2),
        "grid": {"sigmas": [2.0], "lams": [0.4, 1.0]}, "cv_iterations": 20, "irelief_sigma": 2.0,
    }),
    "logo-rfe-gamma": ("row", {"sizes": {"row": [30, 30]}, "noise": 10}),
    "logo-ties": ("row", {"sizes": {"row": [30, 30]}, "noise": 10}),
    "logo-noise": ("5 noise features", {"noise": {"5 noise features": 5}}),
    "logo-million": ("5 noise features", {"noise": {"5 noise features": 5}}),
    "logo-parameters": ("row", {"noise": 5, "pairs": {"row": [1.0, 1.0]}}),
    "logo-starts": ("row", {"train": 40, "noise": 5}),
    "logo-classifier": ("row", {"noise": {"row": 5}, "sizes": [30, 30]}),
    "logo-table4": ("row", {}),
    "logo-genes": ("row", {"genes": {"row": 10}}),
    "lfe-table2": ("row", {
        "sizes": {"row": [40, 20]}, "noise": 2, "neighbors": [1, 3], "nca_ranks": [2],
        "nca_iterations": 5,
    }),
    "lfe-usps": ("row", {"sizes": {"row": [60, 20]}, "features": 3, "neighbors": [1, 3]}),
    "lfe-microarrays": ("row", {}),
}  # fmt: skip
#: Forests take seconds at any size; so few samples have no weight at a high price.
NOT_HERE = {
    ("logo-table2", "random-forest"), ("logo-table4", "random-forest"), ("logo-ties", "lam 3"),
    ("logo-ties", "lam 5"),
}  # fmt: skip
MEASURED = [
    (name, method)
    for name in CASES
    for method in experiment_named(name).methods
    if (name, method) not in NOT_HERE
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(svm, "PRICES", (1.0,))
    monkeypatch.setattr(svm, "GAMMAS", (0.5, 1.0))
    monkeypatch.setattr(table2, "MOST_FEATURES", 6)
    for room in (svm, table2):
        monkeypatch.setattr(room, "FOLDS", 3)


@pytest.mark.parametrize(("name", "method"), MEASURED)
def test_every_number_a_table_shows_is_measured(name, method):
    row, settings = CASES[name]
    own = experiment_named(name)
    data = TINY.select(range(20)) if name != "logo-table4" else load("twonorm:n=14,noise=4")
    numbers: Any = own.measure(Case(data, row, method, 0, settings))
    columns = [column for table in own.tables for column in table.columns]
    shown = {
        measure
        for column in columns
        if column.method == method
        for measure in (column.measure, column.honest)
        if measure
    }
    assert shown <= numbers.keys()
    assert np.isfinite([numbers[measure] for measure in shown]).all()


def test_logos_readings_are_ordered():
    """More features to choose from cannot make the least error larger."""
    row, settings = CASES["logo-table2"]
    numbers: Any = table2.measure(Case(TINY, row, "logo", 0, settings))
    others = (numbers[name] for name in ("permuted", "slope", "index"))
    assert max(others) <= numbers["error"] <= numbers["nested"]


def test_a_curve_is_made_of_machines_fitted_one_by_one():
    split = noisy_split(case(), 40, 30, 3, shuffle_columns=True)
    machine, order = svm.Machine(2.0, 0.5, 1.0), np.array([5, 0, 9, 3])
    each = [
        machine.errors(split.X[:, own], split.y, split.X_test[:, own], split.y_test)
        for own in (order[:count] for count in range(1, 5))
    ]
    assert machine.curve(split, order).tolist() == pytest.approx(each)


def test_features_of_weight_zero_follow_as_a_reading_says():
    split = noisy_split(case(), 40, 30, 10, shuffle_columns=True)
    model = Logo(sigma=2.0, lam=1.0).fit(split.X, split.y)
    ranked = readings(model, split, 34)
    prices, held = prices_of(model, split.X, split.y), ranked.held
    assert 0 < held < 30
    for order in (ranked.permuted, ranked.slope, ranked.index):
        assert sorted(order) == list(range(34))
        assert (model.weights_[order[:held]] > 0).all()
    assert (np.diff(prices[ranked.slope[held:]]) <= 0).all()
    assert (np.diff(split.original[ranked.index[held:]].astype(int)) <= 0).all()


def case(**settings):
    return Case(TINY, "row", "any", 3, settings)


def test_columns_are_scaled_by_the_training_rows():
    split = noisy_split(case(), 40, 20, 3)
    assert split.X.shape == (40, 27)
    assert split.X.min(axis=0) == pytest.approx(0)
    assert split.X.max(axis=0) == pytest.approx(1)
    assert split.X_test.max() > 1
    constant = np.ones((3, 1))
    assert unit_scaled(constant, constant).tolist() == [[0], [0], [0]]


def test_a_shuffled_split_is_the_same_in_another_order():
    plain, shuffled = (noisy_split(case(), 40, 20, 3, shuffle_columns=own) for own in (False, True))
    assert not np.array_equal(plain.original, shuffled.original)
    assert sorted(plain.X.sum(axis=0)) == pytest.approx(sorted(shuffled.X.sum(axis=0)))
    clean = set(np.round(plain.clean().X.sum(axis=0), 9))
    assert clean == set(np.round(shuffled.clean().X.sum(axis=0), 9))


def test_rows_of_a_split_never_meet():
    marked = replace(TINY, X=np.arange(80.0)[:, None] * np.ones((1, 24)))
    split = noisy_split(Case(marked, "row", "any", 0, {}), 40, 20, 0)
    assert not set(split.X[:, 0]) & set(split.X_test[:, 0])


def test_letters_coded_as_they_are_change_nothing():
    letters = replace(TINY, X=np.digitize(TINY.X, [-0.7, 0.0, 0.7]) + 1.0)
    settings = {"sizes": {"row": [30, 30]}, "noise": 0, "nested": {}}

    def error(codes):
        told = settings | {"codings": {"row": codes}}
        return ablation.measure_coding(Case(letters, "row", "svm-original", 0, told))["error"]

    plain = Case(letters, "row", "svm-original", 0, settings)
    assert error((1, 2, 3, 4)) == table2.measure(plain)["error"] != error((1, 3, 2, 4))


def test_very_many_noise_features_are_single_precision_and_the_spiral_comes_first(monkeypatch):
    monkeypatch.setattr(figures, "SINGLE_PRECISION", 5)
    data = load("spiral:n=20")
    drawn = [figures._noisy_spiral(Case(data, "row", "logo", 0, {}), noise)[0] for noise in (4, 5)]
    assert [own.dtype for own in drawn] == [np.float64, np.float32]
    for own in drawn:
        np.testing.assert_allclose(own[:, :2], data.X, rtol=1e-6)
        assert 0.5 < own[:, 2:].std() < 1.5


def test_all_experiments_are_tried_here():
    own = {
        name for name, home in EXPERIMENTS.items() if home.startswith(("papers.logo", "papers.lfe"))
    }
    assert own == {*CASES, "logo-splice-coding"}
    assert figures.NOISE.name in own
