"""Means of seconds: their shift, and intervals over repeats."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from convexfs.errors import InputError
from convexfs.study.means import time_shift
from convexfs.study.summary import leaders, summary
from tests.study.test_summary import SHIFT, rows


def test_the_interval_is_students_over_repeats():
    logs = np.log(np.array([[1.0, 1.2, 0.9, 1.1], [0.2, 0.25, 0.22, 0.21]]))
    seconds = np.exp(logs) - SHIFT
    frame = rows(*(("A", f"p{i}", r, seconds[i, r]) for i in range(2) for r in range(4)))
    row = summary(frame, SHIFT).iloc[0]
    means = logs.mean(axis=0)
    low, high = stats.t.interval(0.99, 3, means.mean(), stats.sem(means))
    assert row["seconds"] == pytest.approx(np.exp(logs.mean()) - SHIFT)
    assert row["seconds_low"] == pytest.approx(np.exp(low) - SHIFT)
    assert row["seconds_high"] == pytest.approx(np.exp(high) - SHIFT)


def test_a_repeat_under_way_has_no_say_in_the_interval():
    told = [("A", i, r, t) for i in ("p", "q") for r, t in enumerate((0.5, 0.6, 0.55))]
    whole, more = rows(*told), rows(*told, ("A", "p", 3, 9.0))
    width = [
        np.log((row["seconds_high"] + SHIFT) / (row["seconds_low"] + SHIFT))
        for row in (summary(whole, SHIFT).iloc[0], summary(more, SHIFT).iloc[0])
    ]
    assert width[0] == pytest.approx(width[1])


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


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([125e-6, 1.64e-3], 1e-4),
        ([3.0, 4.0, 50.0], 1.0),
        ([0.0, 0.0], 1e-7),
        (["failed", "timeout"], 0.01),
        ([2e-3, "failed", "failed"], 1e-3),
    ],
)
def test_the_shift_is_by_the_shortest_that_were_solved(seconds, expected):
    frame = rows(*(("A", f"p{i}", 0, what) for i, what in enumerate(seconds)))
    assert time_shift(frame) == pytest.approx(expected)


def test_microseconds_are_not_hidden_by_the_shift_of_the_data():
    """With a shift of 10 ms these differ by 15 %."""
    frame = rows(
        *(("A", f"p{i}", 0, 125e-6) for i in range(9)),
        *(("B", f"p{i}", 0, 1.64e-3) for i in range(9)),
    )
    (row,) = leaders(frame).to_dict("records")
    assert row["lead"] == pytest.approx((1.64e-3 + 1e-4) / (125e-6 + 1e-4))
    assert row["lead_unshifted"] == pytest.approx(1.64e-3 / 125e-6)
    (hidden,) = leaders(frame, 0.01).to_dict("records")
    assert hidden["lead"] == pytest.approx(1.15, abs=0.01)
    assert hidden["lead_unshifted"] == row["lead_unshifted"]
    told = summary(frame).set_index("solver")["times_best_unshifted"]
    assert told.to_dict() == pytest.approx({"A": 1.0, "B": 1.64e-3 / 125e-6})


@settings(max_examples=25)
@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=8))
def test_at_least_three_quarters_are_above_the_shift(times):
    frame = rows(*(("A", str(i), 0, t) for i, t in enumerate(times)))
    shift = time_shift(frame)
    assert math.isclose(math.log10(shift), round(math.log10(shift)))
    assert np.mean(np.array(times) >= shift) >= 0.75 - 1 / len(times)


@pytest.mark.parametrize("shift", [-1.0, math.nan, "much"])
def test_a_shift_is_no_less_than_nothing(shift):
    with pytest.raises(InputError, match="shift, in seconds, must be a number"):
        summary(rows(("A", "one", 0, 1.0)), shift)
