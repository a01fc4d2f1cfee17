"""Answers are judged by their residuals, alike for all solvers."""

import math
from typing import Any

import pandas as pd
import pytest

from convexfs.certification.certify import SLACK as CERTIFIED_SLACK
from convexfs.estimators.selector import RELEVANT_SHARE
from convexfs.study import outcome_rules
from convexfs.study import outcomes as rows
from convexfs.study.outcomes import outcomes
from convexfs.study.page import gather
from convexfs.study.summary import summary
from tests.study.stored import ALONE, PROVEN, verdicts


def test_an_optimum_is_solved_when_every_residual_is_within_ten_times_the_tolerance(folder):
    just, over = 10 * 1e-6, 1.001e-5
    parts = ("primal_residual", "dual_residual", "complementarity", "gap")
    run = folder(
        ({}, PROVEN | dict.fromkeys(parts, just)),
        *(({"repeat": i + 1}, PROVEN | {part: over, "ok": False}) for i, part in enumerate(parts)),
    )
    assert verdicts(run) == {
        "k0": "solved", "k1": "wrong claim", "k2": "undecided", "k3": "undecided",
        "k4": "wrong claim",
    }  # fmt: skip
    assert summary(outcomes(run))["undecided"].tolist() == [2]
    assert outcomes(run)["error"].tolist() == [just] + [over] * 4


def test_a_good_point_with_loose_multipliers_is_undecided_not_wrong(folder):
    loose = PROVEN | {"gap": 1e-3, "dual_residual": 1e-3, "ok": False}
    run = folder(
        ({}, PROVEN),
        ({"solver": "A", "objective": 5.0 * (1 + 9e-6)}, loose),
        ({"solver": "B", "objective": 5.0 * (1 + 2e-5)}, loose),
        ({"solver": "C", "objective": 5.0}, loose | {"primal_residual": 2e-5}),
        ({"solver": "D", "objective": 5.0, "hyper": {"lam": 9}}, loose),
    )
    told = outcomes(run).set_index("key").sort_index()
    assert told["outcome"].tolist() == ["solved", "undecided", *["wrong claim"] * 3]
    assert told["objective_error"].tolist() == pytest.approx(
        [0.0, 9e-6, 2e-5, 0.0, math.nan], rel=1e-3, nan_ok=True
    )


def test_a_coarse_proof_refutes_what_is_far_from_it(folder):
    coarse = PROVEN | {"gap": 5e-5, "certificate_tol": 1e-4}
    run = folder(
        ({"tol": None}, coarse),
        ({"solver": "FAR", "tol": 1e-8, "objective": 500.0}, ALONE),
        ({"solver": "NEAR", "tol": 1e-8}, ALONE),
        ({"solver": "MUTE", "tol": 1e-8, "objective": None}, ALONE),
    )
    assert verdicts(run) == {
        "k0": "solved", "k1": "wrong claim", "k2": "undecided", "k3": "wrong claim"
    }  # fmt: skip
    proven: Any = outcomes(run).set_index("key")["ok"]
    assert pd.isna(proven["k2"])  # feasible, but nothing proves it to 1e-8


def test_an_objective_far_from_a_proven_one_is_wrong_whatever_its_gap(folder):
    off = PROVEN | {"dual_residual": 1.0, "ok": False}
    run = folder(({}, PROVEN), ({"solver": "A", "objective": 0.05}, off))
    assert verdicts(run) == {"k0": "solved", "k1": "wrong claim"}


@pytest.mark.parametrize(("sense", "wrong"), [("min", "k1"), ("max", "k0")])
def test_a_worse_objective_beside_a_proven_one_is_wrong_whatever_its_certificate(
    folder, sense, wrong
):
    told = {"sense": sense}
    run = folder(
        (told | {"objective": -100.0}, PROVEN),
        (told | {"objective": -0.015, "solver": "QPALM"}, PROVEN),
        (told | {"objective": -100.0 if sense == "min" else -0.015, "solver": "SCS"}, PROVEN),
    )
    found = verdicts(run)
    assert found.pop(wrong) == "wrong claim"
    assert set(found.values()) == {"solved"}


@pytest.mark.parametrize(
    ("objective", "tol"),
    [(5.0 * (1 + 5e-6), 1e-6), (5.0 + 1e-7, 1e-8), (5.2, 1e-2)],
)
def test_two_proven_objectives_may_differ_by_their_accuracy(folder, objective, tol):
    run = folder(
        ({"sense": "min"}, PROVEN),
        ({"sense": "min", "objective": objective, "solver": "SCS", "tol": tol}, PROVEN),
    )
    assert verdicts(run) == {"k0": "solved", "k1": "solved"}


def test_a_coarse_proof_that_is_a_little_infeasible_refutes_no_finer_one(folder):
    coarse = PROVEN | {"primal_residual": 2e-4, "certificate_tol": 1e-2}
    run = folder(
        ({"sense": "min", "objective": -5.006, "tol": 1e-3, "solver": "SDPA"}, coarse),
        ({"sense": "min", "objective": -5.0, "tol": 1e-8}, PROVEN),
        ({"sense": "min", "objective": -4.9, "tol": 1e-8, "solver": "OFF"}, PROVEN),
    )
    assert verdicts(run) == {"k0": "solved", "k1": "solved", "k2": "wrong claim"}


def test_slightly_infeasible_points_do_not_refute_feasible_ones(folder):
    lucky = ALONE | {"primal_residual": 9e-6}
    run = folder(
        ({"solver": "A"}, ALONE), ({"solver": "B", "objective": 5.0 * (1 + 1.5e-5)}, lucky)
    )
    assert verdicts(run) == {"k0": "undecided", "k1": "undecided"}


def test_the_worst_step_counts(folder):
    bad = PROVEN | {"gap": 1e-3, "ok": False}
    run = folder(({}, PROVEN, bad, PROVEN), ({"repeat": 1}, PROVEN, PROVEN))
    assert verdicts(run) == {"k0": "wrong claim", "k1": "solved"}
    assert outcomes(run)["gap"].tolist() == [1e-3, 1e-9]


def test_an_undefined_residual_is_no_small_one(folder):
    run = folder(({}, PROVEN | {"gap": math.nan, "ok": False}))
    assert verdicts(run) == {"k0": "wrong claim"}


def test_default_settings_are_judged_by_one_fixed_tolerance(folder):
    off = PROVEN | {"gap": 9e-5, "certificate_tol": 1e-4}
    more = PROVEN | {"gap": 2e-4, "certificate_tol": 1e-4, "ok": False}
    run = folder(({"tol": None}, off), ({"tol": None, "repeat": 1}, more), ({}, off))
    frame = outcomes(run).set_index("key")
    assert frame["outcome"].to_dict() == {"k0": "solved", "k1": "wrong claim", "k2": "wrong claim"}
    assert frame["settings"].to_dict() == {"k0": "default", "k1": "default", "k2": "1e-06"}


@pytest.mark.parametrize("status", ["infeasible", "unbounded"])
def test_denying_a_proven_optimum_is_a_wrong_claim(folder, status):
    denial = ({"status": status, "solver": "QPALM", "objective": None},)
    assert verdicts(folder(denial, ({}, PROVEN))) == {"k0": "wrong claim", "k1": "solved"}


def test_a_denial_that_nobody_disproves_is_a_failure(folder):
    denial = ({"status": "infeasible", "solver": "QPALM", "objective": None},)
    other = ({"hyper": {"lam": 0.7}}, PROVEN)
    refused = ({}, PROVEN | {"gap": 1.0, "ok": False})
    told = verdicts(folder(denial, other, refused))
    assert told == {"k0": "failed", "k1": "solved", "k2": "wrong claim"}


@pytest.mark.parametrize("status", ["infeasible", "unbounded"])
def test_a_denial_that_its_certificate_leaves_open_is_undecided_unless_disproven(folder, status):
    denial = {"status": status, "solver": "QPALM", "objective": None}
    left_open = ALONE | {"basis": "contradiction"}
    assert verdicts(folder((denial, left_open))) == {"k0": "undecided"}


def test_a_denial_that_its_certificate_refutes_is_a_wrong_claim(folder):
    denial = {"status": "infeasible", "solver": "QPALM", "objective": None}
    run = folder((denial, ALONE | {"ok": False, "basis": "contradiction"}))
    assert verdicts(run) == {"k0": "wrong claim"}


def test_a_native_gap_counts_though_its_certificate_asks_for_more(folder):
    formula = PROVEN | {"gap": 1e-8, "ok": None, "certificate_tol": 1e-9, "basis": "formula"}
    run = folder(({}, formula), ({"repeat": 1}, formula | {"gap": 1e-3}))
    assert verdicts(run) == {"k0": "solved", "k1": "undecided"}


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("sense", ["min", "max"])
def test_of_two_proofs_that_contradict_each_other_the_better_point_is_the_reference(folder, sense):
    """The worse one is said more accurate; it must not become the reference."""
    told, (better, worse) = {"sense": sense}, (4.0, 5.0) if sense == "min" else (5.0, 4.0)
    run = folder(
        (told | {"objective": worse, "solver": "HIGHS"}, PROVEN | {"gap": 1e-15}),
        (told | {"objective": better}, PROVEN | {"gap": 1e-7}),
        (told | {"objective": better, "solver": "SCIP"}, ALONE),
        (told | {"objective": worse, "solver": "DAQP"}, ALONE),
    )
    frame = outcomes(run).set_index("key").sort_index()
    assert frame["outcome"].tolist() == ["wrong claim", "solved", "solved", "wrong claim"]
    assert frame["fooled"].tolist() == [True, False, False, False]
    assert frame["objective_error"]["k0"] == pytest.approx(0.2)
    (line,) = rows.certificate_warnings(frame)
    assert line.startswith("A CERTIFICATE WAS FOOLED: 1 proven objectives are far worse than")
    assert f"HIGHS on {frame.loc['k0', 'instance']}, objective {worse:g}" in line
    assert "A CERTIFICATE WAS FOOLED" in gather(run).html


def test_verdicts_of_older_versions_are_kept_and_named(folder):
    run = folder(({}, PROVEN | {"certificates": None}), ({"repeat": 1}, PROVEN))
    assert verdicts(run) == {"k0": "solved", "k1": "solved"}
    (line,) = rows.certificate_warnings(outcomes(run))
    assert line.startswith("1 of 2 verdicts were made by an older version")


def test_a_proven_infeasibility_is_solved_and_an_optimum_of_it_a_wrong_claim(folder):
    refutation = PROVEN | {"complementarity": None, "basis": "Farkas multipliers"}
    told = folder(
        ({"status": "infeasible", "objective": None, "solve_seconds": 0.5}, refutation),
        ({"solver": "QPALM"}, PROVEN | {"primal_residual": 0.1, "ok": False}),
        ({"solver": "ECOS", "status": "unbounded", "objective": None},),
    )
    assert verdicts(told) == {"k0": "solved", "k1": "wrong claim", "k2": "wrong claim"}
    assert outcomes(told)["charged_seconds"].iloc[0] == 0.5


def test_a_proven_ray_is_solved_and_infeasible_said_of_it_wrong(folder):
    ray = PROVEN | {"complementarity": None, "dual_residual": None, "basis": "ray"}
    told = folder(
        ({"status": "unbounded", "objective": None, "solve_seconds": 0.5}, ray),
        ({"solver": "QPALM", "status": "infeasible", "objective": None},),
    )
    assert verdicts(told) == {"k0": "solved", "k1": "wrong claim"}


def test_a_gap_that_proves_nothing_either_way_is_no_wrong_claim(folder):
    open_gap = PROVEN | {"gap": 0.05, "ok": None}
    run = folder(({"needs": "integer + LP"}, open_gap))
    assert verdicts(run) == {"k0": "undecided"}
    frame = outcomes(run)
    assert frame["charged_seconds"].tolist() == [0.5]
    assert frame["ok"].isna().tolist() == [True]
    assert frame["gap"].iloc[0] == 0  # its distance from the best that is known, its own


@pytest.mark.parametrize("status", ["optimal_inaccurate", "user_limit", "error", "solver_error"])
def test_a_solver_that_says_it_is_unsure_has_failed(folder, status):
    assert verdicts(folder(({"status": status}, PROVEN))) == {"k0": "failed"}


def test_time_counts(folder):
    run = folder(
        ({"status": "timeout", "solve_seconds": None},),
        ({"repeat": 1, "solve_seconds": 10.5}, PROVEN),
        ({"repeat": 2, "status": "skipped", "solve_seconds": None, "wall_seconds": 0.1},),
        ({"repeat": 3}, PROVEN),
        ({"repeat": 4, "solve_seconds": 0.1}, PROVEN | {"gap": 1.0, "ok": False}),
    )
    frame = outcomes(run)
    assert frame["outcome"].tolist() == ["timeout", "timeout", "skipped", "solved", "wrong claim"]
    assert frame["charged_seconds"].tolist() == pytest.approx(
        [10.0, 10.0, math.nan, 0.5, 10.0], nan_ok=True
    )


def test_without_a_limit_the_longest_task_is_charged(folder):
    run = folder(
        ({"time_limit": None, "status": "error", "solve_seconds": None},),
        ({"time_limit": None, "repeat": 1, "wall_seconds": 7.0}, PROVEN),
    )
    assert outcomes(run)["charged_seconds"].tolist() == [7.0, 0.5]


def test_without_multipliers_a_proven_objective_is_the_judge(folder):
    run = folder(
        ({}, PROVEN),
        ({"solver": "SCIP", "objective": 5.0 + 1e-6}, ALONE),
        ({"solver": "CBC", "objective": 4.99}, ALONE),
        ({"solver": "GLPK_MI", "hyper": {"lam": 0.7}, "objective": 4.0}, ALONE),
    )
    frame = outcomes(run).set_index("key")
    assert frame["outcome"].sort_index().tolist() == [
        "solved",
        "solved",
        "wrong claim",
        "undecided",
    ]
    assert frame["ok"].sort_index().tolist() == [True, True, False, pd.NA]
    assert frame["gap"]["k2"] == pytest.approx(0.01 / 5)
    assert frame["basis"]["k1"] == outcome_rules.BY_PROOF


def test_a_branching_twin_is_skipped_where_its_continuous_one_took_part(folder):
    told = {"needs": "LP"}
    run = folder(
        (told | {"solver": "GLPK"}, PROVEN),
        (told | {"solver": "GLPK_MI"}, ALONE),
        (told | {"solver": "GLPK_MI", "hyper": {"lam": 0.7}}, ALONE),
    )
    frame = outcomes(run).set_index("key")
    assert frame["outcome"]["k1"] == "skipped"
    assert "is GLPK" in frame["failure"]["k1"]
    assert frame["outcome"]["k2"] != "skipped"


@pytest.mark.parametrize(("sense", "wrong"), [("max", "k1"), ("min", "k0")])
def test_where_nobody_has_multipliers_the_best_feasible_objective_is(folder, sense, wrong):
    told = {"formulation": "llfs-exact", "needs": "integer + LP", "sense": sense}
    infeasible = ALONE | {"primal_residual": 0.5, "ok": False}
    run = folder(
        (told | {"solver": "HIGHS", "objective": 5.0}, ALONE),
        (told | {"solver": "SCIP", "objective": 4.0}, ALONE),
        (told | {"solver": "CBC", "objective": 4.0 if sense == "max" else 5.0}, infeasible),
    )
    frame = outcomes(run).set_index("key")
    assert set(frame[frame["outcome"] == "wrong claim"].index) == {wrong, "k2"}
    assert set(frame["problem_class"]) == {"MILP"}
    assert frame.loc["k0" if wrong == "k1" else "k1", "ok"] is pd.NA


def test_constants_said_twice_agree():
    assert outcome_rules.SLACK == CERTIFIED_SLACK
    assert rows.RELEVANT_SHARE == RELEVANT_SHARE


def test_a_coarse_point_that_is_not_feasible_refutes_no_fine_one_where_nothing_is_proven(folder):
    """Four solvers agree at 1e-6; a fifth, asked for 1e-3, is better by what it violates."""
    fine = ALONE | {"primal_residual": 1e-11}
    run = folder(
        *(({"sense": "min", "solver": name, "objective": -5.0}, fine) for name in "ABCD"),
        (
            {"sense": "min", "solver": "E", "objective": -5.01, "tol": 1e-3},
            ALONE | {"primal_residual": 5e-5, "certificate_tol": 1e-2},
        ),
        ({"sense": "min", "solver": "F", "objective": -4.99}, fine),
    )
    found = verdicts(run)
    assert {found[f"k{i}"] for i in range(5)} == {"undecided"}
    assert found["k5"] == "wrong claim"


def test_a_proof_that_exceeds_its_tolerance_by_rounding_is_one(folder):
    run = folder(({"tol": 1e-3}, PROVEN | {"gap": 0.01 + 1e-16, "certificate_tol": 1e-2}))
    assert verdicts(run) == {"k0": "solved"}


def test_verdicts_do_not_depend_on_the_name_of_the_solver(folder):
    """Identical solutions get identical verdicts, whoever found them and in whatever order."""
    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, PROVEN),
        ({"objective": 4.0}, PROVEN),
        ({"objective": 5.0}, ALONE),
        ({"objective": 4.0}, ALONE),
        ({"status": "infeasible", "objective": None}, ALONE),
        ({"status": "optimal_inaccurate"}, PROVEN),
        ({}, PROVEN | {"primal_residual": 0.5, "ok": False}),
        ({"solve_seconds": 11.0}, PROVEN),
    ]
    names = ["CLARABEL", "HIGHS", "DAQP", "SCIP", "native", "SCS"]
    run = folder(
        *(
            (case | {"solver": name, "repeat": repeat}, own)
            for repeat, (case, own) in enumerate(cases)
            for name in names
        )
    )
    frame: Any = outcomes(run)
    number = frame["key"].str[1:].astype(int) // len(names)
    for column in ("outcome", "ok", "error", "gap", "fooled"):
        told = frame[column].astype(object).where(frame[column].notna(), None)
        assert (told.groupby(number).nunique(dropna=False) == 1).all(), column
    assert frame.groupby(number)["outcome"].first().nunique() >= 3


def test_a_violation_that_its_certificate_leaves_undecided_is_no_wrong_claim(folder):
    """As of a row whose terms are all near 0: its violation is large in its own terms only."""
    vague = ALONE | {"primal_residual": 0.24}
    run = folder(
        ({"solver": "A"}, vague),
        ({"solver": "B"}, vague | {"ok": False}),
        ({"solver": "A", "repeat": 1}, PROVEN),
        ({"solver": "B", "repeat": 1}, vague),
        ({"solver": "C", "repeat": 1, "objective": 4.0}, vague),
    )
    expected = ["undecided", "wrong claim", "solved", "undecided", "wrong claim"]
    assert verdicts(run) == {f"k{i}": verdict for i, verdict in enumerate(expected)}


def test_a_proof_that_a_more_accurate_one_beats_by_more_than_the_accuracy_is_undecided(folder):
    """Its gap is small beside the terms of the objective, not beside the objective."""
    run = folder(
        ({"sense": "min", "solver": "A", "objective": 5.0}, PROVEN),
        ({"sense": "min", "solver": "B", "objective": 5.0018}, PROVEN | {"gap": 1e-7}),
        ({"sense": "min", "solver": "C", "objective": 5.00002}, PROVEN | {"gap": 1e-7}),
    )
    assert verdicts(run) == {"k0": "solved", "k1": "undecided", "k2": "solved"}
