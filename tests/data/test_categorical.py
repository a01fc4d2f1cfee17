"""Columns as numbers or categories, and data sets that keep both."""

import numpy as np
import pandas as pd
import pytest

from convexfs.data import load, make_dataset
from convexfs.data.categorical import coding_of, is_category
from convexfs.data.column_ranges import constant_columns
from convexfs.data.dataset import rescaled
from convexfs.data.writers import feature_frame, write_file
from convexfs.errors import InputError


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["a", "b", "a", None], True),
        (["a", "b", "c", "d"], False),
        ([*"abcd"] * 4, True),
        (["1", "2", "x", "1"], False),
        ([1, 2, 1, 2], False),
        ([True, False, True, True], False),
        ([None, None], False),
        (pd.Categorical([1, 2, 3, 4]), True),
        (pd.array(["a", "b", "a", "a"], dtype="string"), True),
    ],
)
def test_what_plainly_is_a_category(cells, expected):
    assert is_category(pd.Series(cells)) is expected


def test_codes_are_those_of_the_first_table():
    coding = coding_of(pd.DataFrame({"c": list("baab"), "x": [1.0, 2.0, 3.0, 4.0]}), None, "X")
    np.testing.assert_array_equal(coding.categorical, [True, False])
    later = pd.DataFrame({"c": ["b", None, "z"], "x": [1.0, np.nan, 2.0]})
    np.testing.assert_array_equal(coding.coded(later, "X"), [[1, 1], [np.nan, np.nan], [-1, 2]])


def test_numbers_of_any_type_are_one_category():
    coding = coding_of(np.array([[1.0], [2.0]]), [0], "X")
    cells = np.array([[1], [2.0], [True]], dtype=object)
    np.testing.assert_array_equal(coding.coded(cells, "X"), [[0], [1], [0]])


FRAME = pd.DataFrame(
    {
        "x": [1.0, np.nan, 3.0, 5.0, 6.0, 7.0],
        "site": ["s", "n", None, "s", "n", "s"],
        "grade": [1, 2, 1, 2, 3, 1],
    }
)
LABELS = list("abaabb")


def mixed(**more):
    return make_dataset(FRAME, LABELS, mixed=True, categorical=["grade"], **more)


def test_a_data_set_keeps_what_it_is_asked_to():
    data = mixed()
    assert data.is_mixed
    assert data.categories == {1: ("n", "s"), 2: ("1", "2", "3")}
    assert data.told == ("column 'site' holds text, 2 values: taken as a category",)
    np.testing.assert_array_equal(data.X[:, 1], [1, 0, np.nan, 1, 0, 1])
    assert data.select([2, 0]).categories == {0: ("1", "2", "3")}
    with pytest.raises(InputError, match="text in column 'site'"):
        make_dataset(FRAME, LABELS)
    with pytest.raises(InputError, match=r"NaN at data row 2, column 'x'.* that takes them"):
        make_dataset(FRAME[["x", "grade"]], LABELS)


def test_categories_are_neither_scaled_nor_imputed():
    scaled = mixed().scaled()
    np.testing.assert_array_equal(scaled.X[:, 1:], mixed().X[:, 1:])
    assert abs(np.nanmean(scaled.X[:, 0])) < 1e-15
    assert abs(np.nanstd(scaled.X[:, 0]) - 1.0) < 1e-15
    filled = mixed(impute="median")
    assert filled.X[1, 0] == 5.0
    assert np.isnan(filled.X[2, 1])


def test_missing_values_stay_missing_and_do_not_make_the_scale():
    X = np.array([[1.0, np.nan, 3.0, 5.0], [2.0, 2.0, 2.0, 9.0], [np.nan] * 4]).T
    fit = np.array([True, True, True, False])
    Z = rescaled(X, "minmax", fit)
    np.testing.assert_array_equal(Z, np.array([[0, np.nan, 1, 2], [0, 0, 0, 7], [np.nan] * 4]).T)
    whole = np.nan_to_num(X)
    np.testing.assert_array_equal(rescaled(whole, "zscore", fit)[:, 1], [0.0, 0.0, 0.0, 7.0])
    np.testing.assert_array_equal(constant_columns(X), [False, False, True])


def test_categories_are_written_and_read_back_by_their_names(tmp_path):
    assert feature_frame(mixed())["site"].tolist()[:2] == ["s", "n"]
    write_file(mixed(), tmp_path / "t.csv")
    again = load(tmp_path / "t.csv", "y", mixed=True, categorical="grade")
    assert again.categories == mixed().categories
    np.testing.assert_array_equal(again.X, mixed().X)


def test_what_is_no_category_is_named_with_the_cure():
    frame = FRAME.assign(name=list("abcdef"))
    with pytest.raises(InputError, match=r"text in column 'name'.*--drop name.*--categorical"):
        make_dataset(frame, LABELS, mixed=True)
    assert 3 in make_dataset(frame, LABELS, mixed=True, categorical=["name"]).categories
    with pytest.raises(InputError, match="no column 'grad' to be a category; did you mean grade"):
        make_dataset(FRAME, LABELS, mixed=True, categorical=["grad"])
    with pytest.raises(InputError, match="infinity at data row 1, column 'x'"):
        make_dataset(FRAME.assign(x=np.inf), LABELS, mixed=True)
