"""Tables of a study against hand computation and brute force."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from convexfs.study.outcome_rules import ANSWERED, OUTCOMES
from convexfs.study.summary import (
    COUNTS,
    accuracy_time,
    agreement,
    by_instance,
    leaders,
    performance_profile,
    ranking,
    reasons,
    summary,
    wrong_claims,
)

LIMIT = 10.0
SHIFT = 0.01


def rows(*told, **shared):
    """Outcomes from (solver, instance, repeat, seconds or outcome)."""
    frame = []
    for solver, instance, repeat, what in told:
        solved = not isinstance(what, str)
        outcome = "solved" if solved else what
        charged = what if solved else math.nan if outcome == "skipped" else LIMIT
        frame.append(
            {
                "settings": "1e-06",
                "tol": 1e-6,
                "problem_class": "LP",
                "solver": solver,
                "instance": instance,
                "repeat": repeat,
                "outcome": outcome,
                "status": "optimal",
                "charged_seconds": charged,
                "solve_seconds": charged,
                "setup_seconds": math.nan,
                "iterations": 7,
                "peak_bytes": 2e6,
                "dimacs_error": 1e-9,
                "busy": False,
                "solver_version": "1",
                "told": "eps=1e-06",
                "wall_seconds": charged,
                "time_limit": LIMIT,
                "compile_seconds": 0.5,
                "build_seconds": 0.25,
                "error": 1e-8 if solved else math.nan,
                "primal_residual": 1e-8 if solved else math.inf,
                "dual_residual": math.nan,
                "complementarity": math.nan,
                "gap": math.nan,
                "objective_error": math.nan,
            }
            | shared
        )
    return pd.DataFrame(frame)


def by_solver(table):
    return table.set_index("solver")


def test_the_summary_by_hand():
    frame = rows(
        ("A", "one", 0, 1.0), ("A", "two", 0, 0.04), ("A", "three", 0, "wrong claim"),
        ("B", "one", 0, 0.3), ("B", "two", 0, "failed"), ("B", "three", 0, "skipped"),
    )  # fmt: skip
    table = by_solver(summary(frame, SHIFT))
    by_name = table.to_dict("index")
    a, b = by_name["A"], by_name["B"]
    assert (a["instances"], a["of"], a["tried"]) == (3, 3, 3)
    assert (b["instances"], b["of"], b["tried"], b["skipped"]) == (2, 3, 2, 1)
    assert (a["solved"], a["wrong_claims"], a["failed"], a["timeouts"]) == (2, 1, 0, 0)
    assert (b["solved"], b["wrong_claims"], b["failed"], b["timeouts"]) == (1, 0, 1, 0)
    assert a["success_rate"] == pytest.approx(2 / 3)
    assert b["success_rate"] == 0.5
    s = 0.01
    assert a["seconds"] == pytest.approx(((1 + s) * (0.04 + s) * (10 + s)) ** (1 / 3) - s)
    assert b["seconds"] == pytest.approx(((0.3 + s) * (10 + s)) ** 0.5 - s)
    assert a["times_best"] == pytest.approx(((1 + s) / (0.3 + s)) ** (1 / 2))
    assert b["times_best"] == pytest.approx(((10 + s) / (0.04 + s)) ** 0.5)
    assert a["par10"] == pytest.approx((1 + 0.04 + 100) / 3)
    assert b["par10"] == pytest.approx((0.3 + 100) / 2)
    assert np.isnan(a["seconds_low"])


def test_the_profile_by_hand():
    frame = rows(
        ("A", "one", 0, 1.0), ("A", "two", 0, 4.0), ("A", "three", 0, "timeout"),
        ("B", "one", 0, 2.0), ("B", "two", 0, 1.0), ("B", "three", 0, 1.0),
        ("C", "one", 0, 5.0), ("C", "two", 0, "skipped"), ("C", "three", 0, "skipped"),
    )  # fmt: skip
    table = performance_profile(frame)
    found = {
        solver: list(zip(own["ratio"], own["share"], strict=True))
        for solver, own in table[table["problem_class"] == "all"].groupby("solver")
    }
    assert found == {
        "A": [(1.0, 1 / 3), (4.0, 2 / 3), (5.0, 2 / 3)],
        "B": [(1.0, 2 / 3), (2.0, 1.0), (5.0, 1.0)],
        "C": [(1.0, 0.0), (5.0, 1.0)],
    }


what = st.one_of(
    st.floats(0.0, 10.0, allow_subnormal=False), st.sampled_from([*OUTCOMES[1:], "solved at 0"])
)


@st.composite
def studies(draw):
    told = [
        (solver, instance, repeat, draw(what))
        for solver in "ABC"[: draw(st.integers(1, 3))]
        for instance in ("one", "two", "three")[: draw(st.integers(1, 3))]
        for repeat in range(draw(st.integers(1, 2)))
    ]
    return rows(*((*head, 0.0 if last == "solved at 0" else last) for *head, last in told))


@settings(max_examples=25)
@given(studies())
def test_profiles_are_what_counting_gives(frame):
    table = performance_profile(frame)
    tried = frame[frame["outcome"] != "skipped"]
    for solver, own in table[table["problem_class"] == "all"].groupby("solver"):
        assert (np.diff(own["ratio"]) >= 0).all()
        assert (np.diff(own["share"]) >= 0).all()
        assert 0 <= min(own["share"]) <= max(own["share"]) <= 1
        mine = tried[tried["solver"] == solver]
        for ratio, share in zip(own["ratio"], own["share"], strict=True):
            count = 0
            for row in mine[mine["outcome"].isin(ANSWERED)].to_dict("records"):
                same = (tried["instance"] == row["instance"]) & (tried["repeat"] == row["repeat"])
                best = tried.loc[same, "charged_seconds"].min()
                seconds = row["charged_seconds"]
                count += seconds == best or (best > 0 and seconds / best <= ratio)
            assert share == pytest.approx(count / len(mine))


@settings(max_examples=25)
@given(studies())
def test_somebody_is_the_fastest_at_every_problem_that_is_solved(frame):
    table = performance_profile(frame)
    first = table[(table["problem_class"] == "all") & (table["ratio"] == 1)]
    tried = frame[frame["outcome"] != "skipped"].groupby("solver").size()
    firsts = (first.set_index("solver")["share"] * tried).sum()
    solved = frame[frame["outcome"] == "solved"].groupby(["instance", "repeat"])
    assert firsts >= solved.ngroups - 1e-9


@settings(max_examples=25)
@given(studies())
def test_counts_add_up(frame):
    for row in summary(frame).to_dict("records"):
        told = frame[frame["solver"] == row["solver"]]["outcome"]
        assert [row[name] for name in COUNTS] == [(told == name).sum() for name in OUTCOMES]
        assert row["tried"] + row["skipped"] == len(told)


def repeated(solver, seconds, instances=("one", "two"), **shared):
    told = [
        (solver, instance, repeat, t) for instance in instances for repeat, t in enumerate(seconds)
    ]
    return rows(*told, **shared)


def lead_of(*parts):
    return leaders(pd.concat(parts), SHIFT).to_dict("records")


def problems(solver, seconds):
    """Outcomes of one solver, each of a problem of its own."""
    return rows(*((solver, f"p{i}", 0, what) for i, what in enumerate(seconds)))


def test_a_lead_is_clear_when_its_interval_is_above_one():
    fast, slow = [1.0, 1.1, 0.9, 1.0, 1.05], [2.0, 2.3, 1.9, 2.1, 2.0]
    (row,) = leaders(pd.concat([problems("A", fast), problems("B", slow)]), SHIFT).to_dict(
        "records"
    )
    assert (row["fastest"], row["second"], row["clear"]) == ("A", "B", True)
    logs = np.log(np.array(slow) + SHIFT) - np.log(np.array(fast) + SHIFT)
    low, high = stats.t.interval(0.99, 4, logs.mean(), stats.sem(logs))
    assert (row["lead_low"], row["lead_high"]) == pytest.approx((np.exp(low), np.exp(high)))
    noisy = [0.2, 5.0, 0.1, 4.0, 0.9]
    (row,) = leaders(pd.concat([problems("A", fast), problems("B", noisy)]), SHIFT).to_dict(
        "records"
    )
    assert not row["clear"]


def test_one_repeat_gives_no_clear_lead_and_one_solver_no_second():
    (row,) = leaders(pd.concat([repeated("A", [1.0]), repeated("B", [9.0])]), SHIFT).to_dict(
        "records"
    )
    assert (row["fastest"], row["clear"]) == ("A", False)
    (row,) = leaders(repeated("A", [1.0, 2.0]), SHIFT).to_dict("records")
    assert (row["second"], row["clear"]) == (None, False)


def test_long_and_short_problems_are_paired_in_the_lead():
    sizes = np.array([1.0, 7.0, 3.0, 5.0, 2.0])
    frame = pd.concat([problems("A", sizes), problems("B", 1.5 * sizes + 0.5 * SHIFT)])
    (row,) = leaders(frame, SHIFT).to_dict("records")
    assert row["lead"] == pytest.approx(1.5)
    assert row["clear"]


#: Seconds of some solvers, not in the order of their names.
TIMES = {"A": 4.0, "B": 1.0, "C": 2.0}


def test_easy_problems_alone_win_nothing():
    """B takes only the easy problem; A is compared with C on both, with B on neither."""
    frame = rows(
        ("A", "easy", 0, 0.5), ("A", "hard", 0, 5.0),
        ("B", "easy", 0, 0.1), ("B", "hard", 0, "skipped"),
        ("C", "easy", 0, 0.6), ("C", "hard", 0, 6.0),
    )  # fmt: skip
    assert leaders(frame)["fastest"].tolist() == ["A"]
    assert ranking(frame)["solver"].tolist() == ["A", "C"]
    table = by_solver(summary(frame, SHIFT))
    assert table["seconds"]["B"] < table["seconds"]["A"]
    assert (table["instances"]["B"], table["of"]["B"]) == (1, 2)


def test_native_twins_are_compared_where_they_are():
    frame = rows(
        ("native", "printed", 0, 0.01), ("native", "changed", 0, "skipped"),
        ("A", "printed", 0, 0.5), ("A", "changed", 0, 5.0),
        ("B", "printed", 0, 0.4), ("B", "changed", 0, "failed"),
    )  # fmt: skip
    table = leaders(frame).set_index("scope")
    assert table["fastest"]["all"] == "A"
    assert table["fastest"]["native"] == "native"
    assert table["second"]["native"] == "B"
    assert table["instances"].to_dict() == {"all": 2, "native": 1}


def test_every_rank_has_its_lead_over_the_next():
    sizes = [1.0, 1.1, 0.9, 1.05, 0.95]
    frame = pd.concat([problems(name, [size * t for t in sizes]) for name, size in TIMES.items()])
    table = ranking(frame, SHIFT).set_index("solver")
    assert table["rank"].to_dict() == {"B": 1, "C": 2, "A": 3}
    assert table["lead"]["B"] == pytest.approx((2 + SHIFT) / (1 + SHIFT), rel=1e-2)
    assert table["lead"]["C"] == pytest.approx((4 + SHIFT) / (2 + SHIFT), rel=1e-2)
    assert table["clear"].to_dict() == {"B": True, "C": True, "A": False}
    assert math.isnan(table["lead"]["A"])


def test_failures_cost_the_limit_in_the_ranking():
    frame = pd.concat([repeated("A", [4.0, "wrong claim"]), repeated("B", [5.0, 5.0])])
    assert ranking(frame)["solver"].tolist() == ["B", "A"]
    nothing = pd.concat([repeated("A", ["failed"]), repeated("B", ["timeout"])])
    assert leaders(nothing).empty


def test_the_most_accurate_is_sought_among_those_that_solved_most():
    frame = pd.concat(
        [
            repeated("A", [1.0, 1.0], error=1e-7),
            repeated("B", [2.0, 2.0], error=1e-9),
            repeated("C", [1.0, "failed"], error=0.0),
        ]
    )
    (row,) = leaders(frame, SHIFT).to_dict("records")
    assert (row["most_accurate"], row["error"]) == ("B", pytest.approx(1e-9))


def test_who_solves_half_is_not_the_fastest_however_quick():
    told = [("A", name, 0, 0.001) for name in "abcde"]
    told += [("A", name, 0, "wrong claim") for name in "fghij"]
    told += [("B", name, 0, 9.0) for name in "abcdefghij"]
    frame = rows(*told)
    assert ranking(frame)["solver"].tolist() == ["A", "B"]
    assert leaders(frame)["fastest"].tolist() == ["B"]


def test_failing_where_all_fail_is_not_being_best():
    frame = rows(
        ("A", "hard", 0, "failed"), ("B", "hard", 0, "failed"), ("B", "one", 0, 2.0),
        ("C", "one", 0, 1.0),
    )  # fmt: skip
    table: Any = by_solver(summary(frame, SHIFT))["times_best"]
    assert math.isnan(table["A"])
    assert table["C"] == 1.0
    assert table["B"] == pytest.approx(2.01 / 1.01)


def test_settings_and_classes_stay_apart():
    frame = pd.concat(
        [
            repeated("A", [1.0, 1.0]),
            repeated("B", [2.0, 2.0]),
            repeated("B", [1.0, 1.0], settings="default"),
            repeated("A", [3.0, 3.0], problem_class="QP", instances=("three",)),
        ]
    )
    table = leaders(frame).set_index(["settings", "problem_class"])["fastest"]
    assert table.to_dict() == {("1e-06", "LP"): "A", ("1e-06", "QP"): "A", ("default", "LP"): "B"}
    assert set(performance_profile(frame)["problem_class"]) == {"all", "LP", "QP"}


def test_accuracy_against_time_are_medians_of_answers():
    frame = repeated("A", [1.0, 3.0, 2.0, "failed"], instances=("one",))
    (row,) = accuracy_time(frame).to_dict("records")
    assert (row["answers"], row["solved"]) == (3, 3)
    assert (row["solve_seconds"], row["error"]) == (2.0, 1e-8)


def test_wrong_claims_are_listed_with_their_numbers():
    frame = repeated("A", ["wrong claim", "wrong claim", 1.0], instances=("one",))
    (row,) = wrong_claims(frame).to_dict("records")
    assert (row["solver"], row["instance"], row["claims"]) == ("A", "one", 2)
    assert row["primal_residual"] == math.inf


def test_reasons_are_told_once_the_worst_first():
    frame = rows(
        ("A", "one", 0, "failed"), ("B", "one", 0, "failed"), ("A", "two", 0, "wrong claim"),
        ("B", "two", 0, 1.0),
    ).assign(
        key=["a", "b", "c", "d"],
        failure=["A stopped at 3 s", "B stopped at 4.5 s", "certificate refused", ""],
    )  # fmt: skip
    table = reasons(frame)
    assert table["outcome"].tolist() == ["wrong claim", "failed"]
    assert table["tasks"].tolist() == [1, 2]
    assert table["solvers"].tolist() == ["A", "A, B"]
    assert table["message"].tolist() == ["certificate refused", "A stopped at 3 s"]
    assert reasons(frame[3:]).empty


def test_reasons_where_nothing_was_said():
    frame = rows(
        ("A", "one", 0, "failed"), ("B", "one", 0, "failed"), ("A", "two", 0, "timeout"),
    ).assign(
        key=["a", "b", "c"], failure="", error=[2e-4, 1e-9, 1e-9],
        status=["optimal", "optimal_inaccurate", "optimal"],
    )  # fmt: skip
    assert set(reasons(frame)["message"]) == {
        "residual 2.0e-04 > 1e-05",
        "B says optimal_inaccurate",
        "solved after its time limit",
    }


def test_agreement_by_hand():
    told = {("A", "one"): (0, 1), ("B", "one"): (1, 2), ("A", "two"): (), ("B", "two"): ()}
    chosen = pd.DataFrame(
        {"solver": s, "instance": i, "features": f, "settings": "x", "repeat": 0, "outcome": o}
        for o in ("solved", "failed")
        for (s, i), f in told.items()
        if o == "solved" or s == "B"
    )
    table = agreement(chosen).set_index(["solver", "other"])
    assert table["jaccard"].to_dict() == {
        ("A", "A"): 1.0,
        ("A", "B"): pytest.approx((1 / 3 + 1) / 2),
        ("B", "A"): pytest.approx((1 / 3 + 1) / 2),
        ("B", "B"): 1.0,
    }
    assert set(table["instances"]) == {2}


@pytest.mark.parametrize(
    "table", [summary, performance_profile, accuracy_time, leaders, ranking, wrong_claims]
)
def test_no_tasks_no_rows(table):
    assert table(rows(("A", "one", 0, 1.0)).iloc[:0]).empty


# ---- instances and solvers ----------------------------------------------------------------------


def test_a_cell_has_the_worst_outcome_and_the_median_seconds():
    frame = rows(
        ("A", "one", 0, 1.0), ("A", "one", 1, 3.0), ("A", "one", 2, 2.0),
        ("B", "one", 0, 1.0), ("B", "one", 1, "wrong claim"),
        ("A", "two", 0, "timeout"), ("B", "two", 0, "skipped"),
    )  # fmt: skip
    table, declared = by_instance(frame)
    assert [column.name for column in declared] == list(table)
    cells = table.set_index("instance")
    assert cells["A"]["one"] == "solved 2"
    assert cells["B"]["one"].startswith("wrong claim ")
    assert cells["A"]["two"].startswith("timeout ")
    assert pd.isna(cells["B"]["two"])


def test_settings_have_rows_of_their_own():
    frame = pd.concat([rows(("A", "one", 0, 1.0)), rows(("A", "one", 0, 2.0), settings="1e-08")])
    assert by_instance(frame)[0]["A"].tolist() == ["solved 1", "solved 2"]
