"""The verdict on every task, from stored rows alone."""

import json
import math
import sqlite3
import time

import numpy as np
import pandas as pd
import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store import RESULTS, Store
from convexfs.errors import InputError
from convexfs.methods import FORMULATIONS
from convexfs.methods.base.selector import RELEVANT_SHARE
from convexfs.solving.certify import SLACK as CERTIFIED_SLACK
from convexfs.study import outcomes as module
from convexfs.study.outcomes import export, outcomes, selected
from convexfs.study.profiles import summary

TASK = {
    "problem": "relief",
    "problem_file": "/p/relief.py",
    "method": "relief",
    "formulation": "relief",
    "needs": "SOC",
    "sense": "max",
    "data": "iris",
    "data_sha256": "d" * 64,
    "hyper": {"lam": 0.5},
    "solver": "CLARABEL",
    "options": "{}",
    "tol": 1e-6,
    "time_limit": 10.0,
    "repeat": 0,
    "seed": 0,
    "status": "optimal",
    "failure": "",
    "objective": 5.0,
    "solve_seconds": 0.5,
    "wall_seconds": 1.0,
}
PROVEN = {
    "primal_residual": 1e-9,
    "dual_residual": 1e-9,
    "complementarity": 1e-9,
    "gap": 1e-9,
    "ok": True,
    "certificate_tol": 1e-5,
    "basis": "cone program",
}
ALONE = PROVEN | dict.fromkeys(("dual_residual", "complementarity", "gap", "ok"))


def chosen_in(folder):
    with Store.read(folder) as store:
        return selected(outcomes(folder), store.answers())


@pytest.fixture
def folder(tmp_path):
    """A function that records tasks, each with the residuals of its steps, and judges them."""

    def folder(*told):
        with Store(tmp_path / "run") as store:
            for number, (changes, *steps) in enumerate(told):
                answers = [{"step": i} | step for i, step in enumerate(steps)]
                store.record(TASK | {"key": f"k{number}"} | changes, [], answers)
                time.sleep(0.002)  # the end of a task is kept to the millisecond
        return tmp_path / "run"

    return folder


def verdicts(folder):
    frame = outcomes(folder).set_index("key")
    return frame["outcome"].to_dict()


def test_an_optimum_is_solved_when_every_residual_is_within_ten_times_the_tolerance(folder):
    just, over = 10 * 1e-6, 1.001e-5
    parts = ("primal_residual", "dual_residual", "complementarity", "gap")
    run = folder(
        ({}, PROVEN | dict.fromkeys(parts, just)),
        *(({"repeat": i + 1}, PROVEN | {part: over, "ok": False}) for i, part in enumerate(parts)),
    )
    assert verdicts(run) == {
        "k0": "solved", "k1": "wrong claim", "k2": "failed", "k3": "failed", "k4": "wrong claim"
    }  # fmt: skip
    assert summary(outcomes(run))["unproven"].tolist() == [2]
    assert outcomes(run)["error"].tolist() == [just] + [over] * 4


def test_a_good_point_with_loose_multipliers_is_unproven_not_wrong(folder):
    loose = PROVEN | {"gap": 1e-3, "dual_residual": 1e-3, "ok": False}
    run = folder(
        ({}, PROVEN),
        ({"solver": "A", "objective": 5.0 * (1 + 9e-6)}, loose),
        ({"solver": "B", "objective": 5.0 * (1 + 2e-5)}, loose),
        ({"solver": "C", "objective": 5.0}, loose | {"primal_residual": 2e-5}),
        ({"solver": "D", "objective": 5.0, "hyper": {"lam": 9}}, loose),
    )
    told = outcomes(run).set_index("key").sort_index()
    assert told["outcome"].tolist() == ["solved", "failed", *["wrong claim"] * 3]
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
        "k0": "solved", "k1": "wrong claim", "k2": "solved", "k3": "wrong claim"
    }  # fmt: skip
    proven = outcomes(run).set_index("key")["ok"].to_dict()
    assert pd.isna(proven["k2"])  # feasible, but nothing proves it to 1e-8


def test_an_objective_far_from_a_proven_one_is_wrong_whatever_its_gap(folder):
    off = PROVEN | {"dual_residual": 1.0, "ok": False}
    run = folder(({}, PROVEN), ({"solver": "A", "objective": 0.05}, off))
    assert verdicts(run) == {"k0": "solved", "k1": "wrong claim"}


def test_slightly_infeasible_points_do_not_refute_feasible_ones(folder):
    lucky = ALONE | {"primal_residual": 9e-6}
    run = folder(
        ({"solver": "A"}, ALONE), ({"solver": "B", "objective": 5.0 * (1 + 1.5e-5)}, lucky)
    )
    assert verdicts(run) == {"k0": "solved", "k1": "solved"}


def test_an_edited_formula_is_another_problem(folder):
    run = folder(
        ({"problem_code": "a" * 64}, PROVEN),
        ({"problem_code": "b" * 64, "objective": 35.0, "solver": "B"}, ALONE),
    )
    assert verdicts(run) == {"k0": "solved", "k1": "solved"}
    assert len(set(outcomes(run)["instance"])) == 2


def test_a_task_done_again_with_another_version_counts_once(folder):
    run = folder(
        ({"solver_version": "1", "status": "error"},),
        ({"solver_version": "2", "options": "{'eps': 1}"}, PROVEN),
    )
    assert verdicts(run) == {"k1": "solved"}


def test_samples_of_llfs_are_no_tasks(folder):
    run = folder(({"formulation": None, "hyper": None}, PROVEN))
    with pytest.raises(InputError, match="convexfs report shows them"):
        outcomes(run)


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


def test_a_proven_infeasibility_is_solved_and_an_optimum_of_it_a_wrong_claim(folder):
    refutation = PROVEN | {"complementarity": None, "basis": "Farkas multipliers"}
    told = folder(
        ({"status": "infeasible", "objective": None, "solve_seconds": 0.5}, refutation),
        ({"solver": "QPALM"}, PROVEN | {"primal_residual": 0.1, "ok": False}),
        ({"solver": "ECOS", "status": "unbounded", "objective": None},),
    )
    assert verdicts(told) == {"k0": "solved", "k1": "wrong claim", "k2": "wrong claim"}
    assert outcomes(told)["charged_seconds"].iloc[0] == 0.5


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
    assert frame["outcome"].sort_index().tolist() == ["solved", "solved", "wrong claim", "solved"]
    assert frame["ok"].sort_index().tolist() == [True, True, False, pd.NA]
    assert frame.loc["k2", "gap"] == pytest.approx(0.01 / 5)
    assert frame.loc["k1", "basis"] == module.BY_PROOF


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


@pytest.mark.parametrize(
    ("needs", "name"),
    [("LP", "LP"), ("QP", "QP"), ("SOC", "SOCP"), ("EXP + QP", "EXP"), ("SDP + SOC", "SDP"),
     ("integer + LP", "MILP"), ("integer + QP + SOC", "MISOCP")],
)  # fmt: skip
def test_classes_are_named_by_the_largest_cone(folder, needs, name):
    assert outcomes(folder(({"needs": needs}, PROVEN)))["problem_class"].tolist() == [name]


def test_a_task_that_was_cut_short_has_the_class_of_its_instance(folder):
    run = folder(
        ({"needs": None, "status": "timeout", "solver": "SCS"},),
        ({"needs": "EXP + QP"}, PROVEN),
        ({"needs": None, "hyper": {"lam": 9}}, PROVEN),
    )
    assert outcomes(run)["problem_class"].tolist() == ["EXP", "EXP", "SOCP"]


def test_instances_are_told_apart(folder):
    run = folder(
        ({}, PROVEN),
        ({"solver": "SCS"}, PROVEN),
        ({"hyper": {"lam": 2.0}}, PROVEN),
        ({"data": "/far/away/own.csv"}, PROVEN),
        ({"data": "/far/off/own.csv", "data_sha256": "e" * 64}, PROVEN),
        ({"hyper": {"lam": 2.0}, "seed": 1}, PROVEN),
    )
    labels = outcomes(run).set_index("key")["instance"].to_dict()
    assert labels["k0"] == labels["k1"] == "relief iris lam=0.5"
    assert labels["k2"] == "relief iris lam=2 seed=0"
    assert labels["k5"] == "relief iris lam=2 seed=1"
    assert labels["k3"] == "relief own.csv lam=0.5 data_sha256=dddddddd"
    assert len(set(labels.values())) == 5


def test_done_again_after_an_edit_the_last_counts(folder):
    run = folder(({"objective": 1.0}, PROVEN))
    with Store(run) as store:
        store.record(TASK | {"key": "new", "objective": 2.0}, [], [{"step": 0} | PROVEN])
    assert outcomes(run)["objective"].tolist() == [2.0]


def test_nothing_but_skipped_tasks(folder):
    run = folder(({"status": "skipped", "solve_seconds": None},))
    assert verdicts(run) == {"k0": "skipped"}
    assert chosen_in(run).empty


def test_features_above_one_percent_the_diagonal_of_a_matrix_and_indicators(folder):
    def point(**arrays):
        return PROVEN | {"primal": {name: np.array(value) for name, value in arrays.items()}}

    run = folder(
        ({}, point(w=[0.5, 0.004, 0.006])),
        ({"formulation": "lfe"}, point(W=[[1.0, 9.0], [9.0, 0.001]])),
        ({"formulation": "llfs-linear"}, point(f=[0.4, 0.6, 1.0], z=[7.0])),
        ({"formulation": "logo-penalised"}, point(w=[0.0, 0.0])),
        ({"status": "error", "repeat": 3}, PROVEN | {"primal": {}}),
    )
    chosen = chosen_in(run).set_index("key")["features"].to_dict()
    assert chosen == {"k0": (0, 2), "k1": (0,), "k2": (1, 2), "k3": ()}


def test_constants_said_twice_agree():
    assert module.SLACK == CERTIFIED_SLACK
    assert module.RELEVANT_SHARE == RELEVANT_SHARE


def test_runs_of_the_first_version_are_read_and_gone_on_with(folder):
    run = folder(({}, PROVEN))
    with sqlite3.connect(run / RESULTS) as file:
        file.executescript(
            "ALTER TABLE tasks DROP COLUMN needs; ALTER TABLE tasks DROP COLUMN sense;"
            "ALTER TABLE tasks DROP COLUMN problem_code; ALTER TABLE solutions DROP COLUMN change;"
            "PRAGMA user_version = 1;"
        )
    file.close()
    frame = outcomes(run)
    assert (frame["outcome"].tolist(), frame["problem_class"].tolist()) == (["solved"], ["SOCP"])
    with Store(run) as store:
        store.record(TASK | {"key": "new", "repeat": 1}, [], [{"step": 0} | PROVEN])
        assert store.tasks()["needs"].isna().tolist() == [True, False]
    assert outcomes(run)["outcome"].tolist() == ["solved", "solved"]


READ = {
    ".parquet": pd.read_parquet,
    ".csv": lambda path: pd.read_csv(path, dtype={"settings": str}),
    ".jsonl": lambda path: pd.DataFrame(map(json.loads, path.read_text().splitlines())),
}


@pytest.mark.parametrize("suffix", list(READ))
def test_the_export_has_the_numbers_of_the_table(folder, tmp_path, suffix):
    run = folder(
        ({"objective": 0.1 + 0.2, "solve_seconds": 1 / 3}, PROVEN | {"gap": 1e-9 / 3}),
        ({"objective": math.inf, "status": "unbounded", "solver": "SCS"},),
        ({"status": "skipped", "repeat": 2, "solve_seconds": None},),
    )
    export(run, tmp_path / f"x{suffix}")
    read, told = READ[suffix](tmp_path / f"x{suffix}"), outcomes(run)
    assert list(read) == list(told)
    for name in ("key", "instance", "outcome", "settings", "problem_class"):
        assert read[name].tolist() == told[name].tolist()
    for name in ("objective", "charged_seconds", "solve_seconds", "gap", "error"):
        ours, theirs = (frame[name].astype(float).to_numpy() for frame in (told, read))
        np.testing.assert_array_equal(ours, theirs)
    assert read["ok"].tolist()[0] is True
    assert read["ok"].isna().tolist() == [False, True, True]
    assert json.loads(read["hyper"][0]) == {"lam": 0.5}
    assert not {"primal", "dual"} & set(read)


def test_a_formulation_of_another_version_is_told(folder):
    run = folder(({"formulation": "newest"}, PROVEN))
    with pytest.raises(InputError, match="'newest', a formulation that this version"):
        outcomes(run)


def test_a_run_without_a_finished_task_is_told(tmp_path):
    Store(tmp_path).close()
    with pytest.raises(InputError, match="has no finished task yet"):
        outcomes(tmp_path)


def test_the_export_says_what_is_wrong(folder, tmp_path):
    with pytest.raises(InputError, match=r"holds no results\.sqlite"):
        export(tmp_path / "nowhere", tmp_path / "x.csv")
    run = folder(({}, PROVEN))
    with pytest.raises(InputError, match=r"\.parquet, \.csv, \.jsonl"):
        export(run, tmp_path / "x.xlsx")
    with pytest.raises(InputError, match="cannot be written"):
        export(run, tmp_path / "missing" / "x.csv")


def test_a_run_of_solve_is_judged_too(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        'METHOD = "relief"\nDATA = ["iris"]\nSOLVERS = ["native", "CLARABEL", "HIGHS"]\n'
    )
    solve_files([file], tmp_path / "run")
    frame = outcomes(tmp_path / "run").set_index("solver")
    assert frame["outcome"].to_dict() == {
        "native": "solved", "CLARABEL": "solved", "HIGHS": "skipped"
    }  # fmt: skip
    assert set(frame["sense"]) == {"max"}
    chosen = chosen_in(tmp_path / "run").set_index("solver")["features"].to_dict()
    assert chosen["native"] == chosen["CLARABEL"]


@pytest.mark.parametrize("name", sorted(FORMULATIONS))
def test_every_formulation_says_its_sense_first(name):
    X, codes = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 7.0], [6.0, 5.0]]), np.array([0, 0, 1, 1])
    formulation = FORMULATIONS[name]
    values, hyper = formulation.numbers(X, codes)
    problem = formulation.build(**values, **hyper)
    assert problem.objective.NAME[:3] == formulation.equation[:3]
