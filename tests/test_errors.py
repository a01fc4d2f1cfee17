import math

import numpy as np
import pytest

from convexfs import errors
from convexfs.data.validation import warn_constant_columns
from convexfs.errors import ConvexfsWarning, InputError, check_choice, check_number, did_you_mean


def test_input_errors_are_value_errors():
    for name in ("InputError", "SolverUnavailable", "SolverUnsuitable", "ProblemFileError"):
        assert issubclass(getattr(errors, name), ValueError)
        assert issubclass(getattr(errors, name), errors.ConvexfsError)


def test_the_nearest_name_is_suggested_whatever_its_case():
    assert did_you_mean("clarbel", ["CLARABEL", "SCS"]) == "did you mean CLARABEL?"
    assert did_you_mean("zzz", ["b", "a"]) == "choose from a, b"
    assert did_you_mean("zzz", []) == "there are none to choose from"


@pytest.mark.parametrize("value", [math.nan, math.inf, "3", None, True, 2.5, 0])
def test_what_is_not_a_whole_number_in_range_is_refused(value):
    with pytest.raises(InputError, match="k must be an integer of at least 1, not"):
        check_number("k", value, 1, whole=True)


def test_numbers_in_range_pass():
    check_number("k", 1, 1, whole=True)
    check_number("share", 1.0, 0, 1)
    with pytest.raises(InputError, match="share must be a number above 0 and below 1, not 1"):
        check_number("share", 1, 0, 1, open_ends=True)


def test_integers_too_large_for_a_float_are_compared_all_the_same():
    check_number("k", 10**400, 1, whole=True)
    with pytest.raises(InputError, match="k must be an integer at most 9, not 1000"):
        check_number("k", 10**400, high=9, whole=True)
    with pytest.raises(InputError, match="share must be a number of at least 0, not 1000"):
        check_number("share", 10**400, 0)


def test_choices():
    check_choice("metric", "a", ("a", "b"))
    with pytest.raises(InputError, match="unknown metric 7: choose from a, b"):
        check_choice("metric", 7, ("a", "b"))


def test_a_warning_names_the_line_outside_the_package():
    with pytest.warns(ConvexfsWarning, match="constant column") as caught:
        warn_constant_columns(np.array([True]))
    assert caught[0].filename == __file__
