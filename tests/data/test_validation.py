import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

from convexfs.data import make_dataset
from convexfs.data.validation import (
    check_classes,
    check_finite,
    encode_labels,
    refuse_text,
    warn_constant_columns,
)
from convexfs.errors import ConvexfsWarning, InputError

X = np.arange(8.0).reshape(4, 2)
Y = [0, 0, 1, 1]


def test_nan_is_named_by_row_and_column():
    table = np.ones((20, 2))
    table[[16, 17, 18], 1] = np.nan
    message = "data.csv contains NaN at data row 17, column 'age' (3 such cells in all); drop or"
    with pytest.raises(InputError, match=re.escape(message)):
        check_finite(table, "data.csv", ["height", "age"])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_named_by_position_without_names(value):
    table = np.ones((5, 3))
    table[0, 2] = value
    with pytest.raises(InputError, match=r"X contains infinity at data row 1, column 3 \(counted"):
        check_finite(table)


def test_bad_cells_are_found_in_every_block_of_rows():
    table = np.zeros((3, 2**20))
    table[1, 5] = table[2, 7] = np.nan
    with pytest.raises(InputError, match=r"data row 2, column 6 .*\(2 such cells"):
        check_finite(table)


def test_clean_data_pass_with_little_memory():
    table = np.zeros((64, 2**17))
    tracemalloc.start()
    check_finite(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < table.nbytes / 16


def test_a_table_of_dates_without_rows_or_with_missing_ones_only_is_refused_in_words():
    refuse_text(pd.DataFrame({"when": pd.to_datetime([])}), "X")  # has no text to be named
    with pytest.raises(InputError, match="X holds dates in column 'when', such as 'NaT'"):
        refuse_text(pd.DataFrame({"when": [pd.NaT, pd.NaT]}), "X")


def test_labels_of_unequal_length_are_refused_in_words():
    with pytest.raises(InputError, match="y has rows of unequal length; give as many values"):
        encode_labels([[1], [1, 2]], "y")


def test_integers_need_no_check():
    check_finite(np.ones((2, 2), dtype=int))


def test_one_class_is_an_error():
    with pytest.raises(InputError, match="only one class, 'a'"):
        check_classes(np.zeros(3, dtype=int), ["a", "b"])


def test_a_class_of_one_sample_is_a_warning():
    with pytest.warns(ConvexfsWarning, match="class 'b' of one sample"):
        check_classes(np.array([0, 0, 1]), ["a", "b", "absent"])


def test_full_classes_give_no_warning():
    check_classes(np.array(Y), ["a", "b"])


def test_at_most_five_constant_columns_are_named():
    with pytest.warns(ConvexfsWarning, match="'c0', 'c1', 'c2', 'c3', 'c4' and 2 more"):
        warn_constant_columns(np.ones(7, dtype=bool), [f"c{j}" for j in range(7)])
    with pytest.warns(ConvexfsWarning, match="constant column '2' kept"):
        warn_constant_columns(np.array([False, True]))


def test_varying_columns_give_no_warning():
    warn_constant_columns(np.zeros(2, dtype=bool))


def test_making_a_data_set_leaves_warnings_to_the_estimators():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_dataset(np.ones((3, 2)), [0, 0, 1])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (X[:, 0], r"1 dimension.*reshape\(-1, 1\)"),
        (X[:0], "data has no rows"),
        (X[:, :0], "no feature columns"),
        (X + 1j, "complex numbers"),
        (np.array([["a", "b"]] * 4), "text in columns '1', '2', such as 'a'"),
        (np.array([[1, "b"]] * 4, dtype=object), "text in column '2', such as 'b'; .* out$"),
        (pd.DataFrame({"a": 1, "on": pd.to_datetime(["2020"] * 4)}), "'on', such as '2020-01-01"),
        (pd.DataFrame(X, columns=["a", "a"]), "duplicate column name 'a'; rename or drop"),
        (np.array([[1.0, None]] * 4, dtype=object), "NaN at data row 1, column 'x2'"),
        (pd.DataFrame({"n": pd.array([1, None, 2, 3], dtype="Int64")}), "data row 2, column 'n'"),
    ],
)
def test_unusable_samples(table, message):
    with pytest.raises(InputError, match=message):
        make_dataset(table, Y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [0.5, 0.7, 0.5, 0.7],
            r"target 'y' of data looks continuous \(such as 0.5\).*needs classes",
        ),
        ([0.0, 1.0, np.inf, 1.0], r"looks continuous \(such as inf"),
        (np.array(["2020-01-01"] * 4, dtype="M8[D]"), "looks continuous"),
        (np.array([(0, 1), (1, 0)] * 2, dtype="i4,i4"), r"looks continuous \(such as \(0, 1"),
        ([1, 2, 3, 4], "identifier: every row has a different value"),
        ([0, 1, np.nan, np.nan], r"missing value \(NaN\) at data row 3 \(2 in all\)"),
        (pd.Series(["a", None, "b", "b"]), "missing value .* data row 2"),
        (["a"] * 4, "only one class, 'a'"),
        ([0, 1, 1], "3 values for 4 rows"),
        (np.ones((4, 2)), "2 dimensions; give one label per row"),
    ],
)
def test_unusable_labels(labels, message):
    with pytest.raises(InputError, match=message):
        make_dataset(X, labels)


@pytest.mark.parametrize(
    ("labels", "codes", "names"),
    [
        ([10, 2, 10], [1, 0, 1], ("2", "10")),
        ([-1.0, 1.0, 1.0], [0, 1, 1], ("-1", "1")),
        ([True, False, True], [1, 0, 1], ("False", "True")),
        (["b", "a", "b"], [1, 0, 1], ("a", "b")),
        (np.array([b"b", b"a", b"b"]), [1, 0, 1], ("a", "b")),
        (pd.Categorical(["b", "a", "b"]), [1, 0, 1], ("a", "b")),
        (pd.array([7, 5, 7], dtype="Int64"), [1, 0, 1], ("5", "7")),
        ([[3], [1], [3]], [1, 0, 1], ("1", "3")),
    ],
)
def test_labels_are_encoded_in_sorted_order(labels, codes, names):
    found, classes = encode_labels(labels, "y")
    np.testing.assert_array_equal(found, codes)
    assert classes == names
