"""Solvers matched by the accuracy that was verified, by hand."""

import math

import pandas as pd
import pytest

from convexfs.study.time_to_accuracy import quickest, reached_within, time_to_accuracy, verified
from tests.study.test_summary import LIMIT, SHIFT, rows


def run(solver, instance, settings, seconds, error, repeat=0, **more):
    """A run that was solved or not, with the error its answer was verified to have."""
    own = {"settings": settings, "error": error, "gap": error, "solve_seconds": seconds}
    return rows((solver, instance, repeat, seconds), **own | more)


STUDY = pd.concat(
    [
        # A asks for too much at first, B for too little.
        run("A", "one", "1e-03", 2.0, 1e-9),
        run("A", "one", "1e-06", 3.0, 1e-10),
        run("B", "one", "1e-03", 0.5, 1e-2),
        run("B", "one", "1e-06", 1.0, 1e-6),
        run("A", "two", "1e-03", 4.0, 1e-9),
        run("B", "two", "1e-06", 5.0, 1e-3),
    ],
    ignore_index=True,
)


def test_the_quickest_run_that_got_there_counts_whatever_was_asked_for():
    table = time_to_accuracy(STUDY, SHIFT, [1e-3]).set_index(["target", "solver"])
    rows = table.to_dict("index")
    a, b = rows[1e-3, "A"], rows[1e-3, "B"]
    assert (a["reached"], b["reached"]) == (1.0, 1.0)
    assert (a["at"], b["at"]) == ("1e-03", "1e-06")
    assert a["seconds"] == pytest.approx(math.sqrt((2 + SHIFT) * (4 + SHIFT)) - SHIFT)
    assert b["seconds"] == pytest.approx(math.sqrt((1 + SHIFT) * (5 + SHIFT)) - SHIFT)
    assert a["times_best_unshifted"] == pytest.approx(math.sqrt(2.0 * 1.0))
    assert b["times_best_unshifted"] == pytest.approx(math.sqrt(1.0 * 5 / 4))


def test_what_nobody_got_to_is_charged_the_limit():
    table = time_to_accuracy(STUDY, SHIFT, [1e-6, 1e-8]).set_index(["target", "solver"])
    rows = table.to_dict("index")
    row = rows[1e-6, "B"]
    assert row["reached"] == 0.5
    assert row["seconds"] == pytest.approx(math.sqrt((1 + SHIFT) * (LIMIT + SHIFT)) - SHIFT)
    assert rows[1e-8, "B"]["reached"] == 0
    assert pd.isna(rows[1e-8, "B"]["at"])


def test_only_accuracies_that_were_asked_for_are_told():
    asked = STUDY.assign(tol=[1e-3, 1e-6, 1e-3, 1e-6, 1e-3, 1e-6])
    assert sorted(set(time_to_accuracy(asked)["target"])) == [1e-6, 1e-3]
    assert set(time_to_accuracy(STUDY.assign(tol=math.nan))["target"]) == {1e-5}


@pytest.mark.parametrize(
    ("changes", "reached"),
    [
        ({}, True),
        ({"outcome": "failed", "status": "optimal_inaccurate"}, True),
        ({"gap": math.nan}, False),
        ({"objective_error": 1e-2}, False),
        ({"solve_seconds": 2 * LIMIT}, False),
        ({"error": math.inf}, False),
    ],
)
def test_only_what_was_verified_in_time_has_an_accuracy(changes, reached):
    frame = run("A", "one", "1e-06", 1.0, 1e-7).assign(**changes)
    assert (verified(frame) <= 1e-6).tolist() == [reached or "solve_seconds" in changes]
    assert (quickest(frame, 1e-6)["outcome"] == "solved").tolist() == [reached]


def test_warm_starts_and_skipped_tasks_stay_out():
    warm = run("A", "one", "1e-06 warm", 0.1, 1e-9)
    skipped = run("B", "one", "1e-06", 0.1, 1e-9, outcome="skipped")
    cold = run("A", "one", "1e-06", 1.0, 1e-9)
    frame = pd.concat([warm, skipped, cold], ignore_index=True)
    assert quickest(frame, 1e-6)["charged_seconds"].tolist() == [1.0]


def test_curves_count_what_is_there_by_then():
    table = reached_within(STUDY, [1e-3])
    found = {
        solver: list(zip(own["seconds"], own["share"], strict=True))
        for solver, own in table.groupby("solver")
    }
    assert found == {"A": [(2.0, 0.5), (4.0, 1.0), (5.0, 1.0)], "B": [(1.0, 0.5), (5.0, 1.0)]}
    assert reached_within(STUDY, [1e-12]).empty


def test_classes_are_told_apart_and_together():
    more = pd.concat([STUDY, run("A", "three", "1e-06", 1.0, 1e-9, problem_class="QP")])
    table = time_to_accuracy(more, SHIFT)
    assert set(table["problem_class"]) == {"all", "LP", "QP"}
    assert set(time_to_accuracy(STUDY, SHIFT)["problem_class"]) == {"LP"}
