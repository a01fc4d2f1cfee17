"""Means of seconds: their shift, and intervals over problems."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from convexfs.errors import InputError
from convexfs.study.summary import leaders, summary
from tests.study.test_summary import SHIFT, rows


def of_problems(times):
    """Rows of one solver; times by problem and repeat."""
    return rows(*(("A", f"p{i}", r, t) for i, own in enumerate(times) for r, t in enumerate(own)))


def test_the_interval_is_students_over_problems():
    logs = np.log(np.array([[1.0, 1.2], [0.2, 0.25], [0.5, 0.5], [0.7, 0.9], [2.0, 1.0]]))
    row = summary(of_problems(np.exp(logs) - SHIFT), SHIFT).iloc[0]
    own = logs.mean(axis=1)
    half = stats.t.ppf(0.995, 4) * stats.sem(own)
    middle = np.exp(own.mean()) - SHIFT
    assert row["seconds"] == pytest.approx(middle)
    # d log(exp(m) - s) / dm = exp(m) / (exp(m) - s)
    factor = np.exp(half * np.exp(own.mean()) / middle)
    assert row["seconds_low"] == pytest.approx(middle / factor)
    assert row["seconds_high"] == pytest.approx(middle * factor)


def test_repeats_make_no_interval_narrower():
    times = [[0.1], [0.2], [0.5], [0.7], [2.0]]
    once, often = (summary(of_problems(each), SHIFT).iloc[0] for each in (times, np.tile(times, 9)))
    assert once["seconds_high"] == pytest.approx(often["seconds_high"])


def test_few_problems_give_no_interval():
    assert math.isnan(summary(of_problems([[1.0, 1.1, 1.2]] * 4), SHIFT)["seconds_low"].iloc[0])


@settings(max_examples=25)
@given(st.lists(st.floats(1e-6, 100), min_size=5, max_size=9))
def test_an_interval_of_a_time_is_above_0_and_holds_the_mean(times):
    row = summary(of_problems([[each] for each in times])).iloc[0]
    assert 0 < row["seconds_low"] <= row["seconds"] <= row["seconds_high"]


@settings(max_examples=25)
@given(st.lists(st.floats(1e-4, 100), min_size=1, max_size=6), st.floats(0.1, 10))
def test_the_mean_of_equal_times_is_that_time_and_shifted_times_scale(times, factor):
    def mean(seconds):
        frame = rows(*(("A", str(i), 0, t) for i, t in enumerate(seconds)))
        return summary(frame, SHIFT)["seconds"].tolist()[0]

    assert mean([times[0]] * 3) == pytest.approx(times[0])
    assert min(times) - 1e-9 <= mean(times) <= max(times) + 1e-9
    scaled = [factor * (t + SHIFT) - SHIFT for t in times]
    assert mean(scaled) + SHIFT == pytest.approx(factor * (mean(times) + SHIFT))


def test_what_the_shift_hides_stands_beside_without_it():
    """With a shift of 10 ms these differ by 15 %."""
    frame = rows(
        *(("A", f"p{i}", 0, 125e-6) for i in range(9)),
        *(("B", f"p{i}", 0, 1.64e-3) for i in range(9)),
    )
    (row,) = leaders(frame).to_dict("records")
    assert row["lead"] == pytest.approx((1.64e-3 + 1e-3) / (125e-6 + 1e-3))
    assert row["lead_unshifted"] == pytest.approx(1.64e-3 / 125e-6)
    (hidden,) = leaders(frame, 0.01).to_dict("records")
    assert hidden["lead"] == pytest.approx(1.15, abs=0.01)
    assert hidden["lead_unshifted"] == row["lead_unshifted"]
    told = summary(frame).set_index("solver")["times_best_unshifted"]
    assert told.to_dict() == pytest.approx({"A": 1.0, "B": 1.64e-3 / 125e-6})


@pytest.mark.parametrize("shift", [-1.0, math.nan, "much"])
def test_a_shift_is_no_less_than_nothing(shift):
    with pytest.raises(InputError, match="shift, in seconds, must be a number"):
        summary(rows(("A", "one", 0, 1.0)), shift)
