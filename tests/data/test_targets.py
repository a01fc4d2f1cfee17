from typing import Any

import numpy as np
import pandas as pd
import pytest

import convexfs
from convexfs.data import make_dataset
from convexfs.data.targets import are_codes, as_numbers, looks_measured
from convexfs.data.writers import write_file
from convexfs.errors import InputError

RNG = np.random.default_rng(0)
AGES = np.round(40 + 10 * RNG.standard_normal(120)).astype(int)
X = RNG.standard_normal((120, 3))
BOTH = r"ReliefRegressor \(--method rrelief\) and LogoRegressor \(--method rlogo\)"


@pytest.mark.parametrize(
    ("values", "measured"),
    [
        (np.arange(100) % 10, False),
        (np.arange(1000) % 40, True),
        (np.arange(30) % 10, True),
        (np.arange(8) % 8, False),
        (AGES, True),
        (np.arange(30).astype(str), False),
    ],
)
def test_many_whole_numbers_look_measured(values, measured):
    assert looks_measured(values) == measured


def test_codes_are_told_from_quantities():
    assert are_codes(np.arange(1000) % 40)
    assert are_codes(1 + np.arange(1000) % 40)
    assert not are_codes(AGES)
    assert not are_codes(np.arange(0, 200, 5))


def test_many_whole_numbers_are_asked_about_and_may_be_insisted_on():
    asked = f"target 'y' of data has .* different integers in 120 rows.*{BOTH}.*--target-kind"
    with pytest.raises(InputError, match=asked):
        make_dataset(X, AGES)
    assert make_dataset(X, AGES, target_kind="classes").n_classes == len(set(AGES))
    numbers = make_dataset(X, AGES, target_kind="numbers")
    assert numbers.numeric
    np.testing.assert_array_equal(numbers.labels, AGES.astype(float))
    assert numbers.subset([3, 4]).y.tolist() == AGES[[3, 4]].tolist()
    assert numbers.digest != make_dataset(X, AGES + 1, target_kind="numbers").digest


def test_an_estimator_of_classes_asks_too_and_takes_text_or_codes():
    with pytest.raises(InputError, match=f"Input y has .* integers.*{BOTH}.*astype"):
        convexfs.Relief().fit(X, AGES)
    with pytest.raises(InputError, match=f"Unknown label type: continuous.*{BOTH}"):
        convexfs.Logo().fit(X, X[:, 0])
    thirty = 30 + np.arange(120) % 30
    with pytest.raises(InputError, match="30 different integers"):
        convexfs.Relief().fit(X, thirty)
    named, coded = (convexfs.Logo(lam=0.1).fit(X, y) for y in (thirty.astype(str), thirty - 30))
    np.testing.assert_allclose(named.weights_, coded.weights_)


def test_numbers_are_written_and_read_back(tmp_path):
    data = make_dataset(X, X[:, 0] ** 2, target_kind="numbers")
    for suffix in (".csv", ".npz"):
        write_file(data, tmp_path / f"out{suffix}")
        again = convexfs.load(tmp_path / f"out{suffix}", "y", target_kind="numbers")
        np.testing.assert_allclose(again.y, data.y, rtol=1e-15)
    with pytest.raises(InputError, match=f"looks continuous.*{BOTH}"):
        convexfs.load(tmp_path / "out.csv", "y")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones((3, 2)), "has 2 dimensions; give one number per row"),
        (pd.Series(["a", "b", "c"]), "holds no numbers, such as 'a'"),
        (np.array([1 + 2j, 2, 3]), "holds no numbers"),
        (pd.Series([1.0, None, 2.0]), "missing value .* at data row 2"),
        ([1.0, np.inf, 2.0], "infinity at data row 2"),
        ([2, 2, 2], "single value 2"),
    ],
)
def test_what_is_no_number_is_named(y, message):
    with pytest.raises(InputError, match=message):
        as_numbers(y, "y")


def test_columns_booleans_and_objects_are_numbers():
    expected = [1.0, 0.0, 1.0]
    for y in ([[1], [0], [1]], [True, False, True], np.array([1, 0, 1], dtype=object)):
        np.testing.assert_array_equal(as_numbers(y, "y"), expected)


def test_survival_times_are_refused_with_what_to_use(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,time,event\n1,3.5,0\n2,4.5,1\n3,1.5,1\n4,2.5,0\n")
    targets: list[Any] = ["time,event", "time, event", ["time", "event"], ("time", "event")]
    for target in targets:
        with pytest.raises(InputError, match=r"columns, 'time', 'event': survival times .* Cox"):
            convexfs.load(path, target=target)
    with pytest.raises(InputError, match="no column 'time,status'"):
        convexfs.load(path, target="time,status")
    outcome = np.array([(True, 3.0), (False, 2.0)] * 4, dtype=[("event", bool), ("time", float)])
    for model in (convexfs.Relief(), convexfs.ReliefRegressor()):
        with pytest.raises(InputError, match="columns, 'event', 'time': survival times"):
            model.fit(np.arange(16.0).reshape(8, 2), outcome)
