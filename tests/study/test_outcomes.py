"""The verdict on every task, from stored rows alone."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store
from convexfs.errors import InputError
from convexfs.methods import FORMULATIONS
from convexfs.study.outcomes import busy_words, export, outcomes, selected
from tests.batch.older_store import make_older
from tests.study.stored import ALONE, PROVEN, TASK, verdicts


def chosen_in(folder):
    with Store.read(folder) as store:
        return selected(outcomes(folder), store.answers())


def test_an_edited_formula_is_another_problem(folder):
    run = folder(
        ({"problem_code": "a" * 64}, PROVEN),
        ({"problem_code": "b" * 64, "objective": 35.0, "solver": "B"}, ALONE),
    )
    assert verdicts(run) == {"k0": "solved", "k1": "undecided"}
    assert len(set(outcomes(run)["instance"])) == 2


def test_a_task_done_again_with_another_version_counts_once(folder):
    run = folder(
        ({"solver_version": "1", "status": "error"},),
        ({"solver_version": "2", "options": '{"eps": 1}'}, PROVEN),
    )
    assert verdicts(run) == {"k1": "solved"}


def test_samples_of_llfs_are_no_tasks(folder):
    run = folder(({"formulation": None, "hyper": None}, PROVEN))
    with pytest.raises(InputError, match="convexfs report shows them"):
        outcomes(run)


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


def test_tasks_that_waited_for_a_core_are_flagged(folder):
    run = folder(
        ({"wall_seconds": 1.0, "cpu_seconds": 0.99}, PROVEN),
        ({"repeat": 1, "wall_seconds": 1.0, "cpu_seconds": 0.3}, PROVEN),
        ({"repeat": 2, "wall_seconds": 0.004, "cpu_seconds": 0.001}, PROVEN),
        ({"repeat": 3, "wall_seconds": 1.0, "cpu_seconds": None, "status": "timeout"},),
    )
    frame = outcomes(run)
    assert frame["busy"].tolist() == [False, True, False, pd.NA]
    assert busy_words(frame).startswith("busy: 1 of 3 tasks got less than 80% of a core")
    assert busy_words(frame[:1]) == ""


def test_settings_and_solvers_say_how_they_were_asked(folder):
    own = '{"acceleration_lookback": 0, "more": {"deep": true}}'
    run = folder(
        ({"tol": None, "asked": "translated", "own_options": "{}", "warm_from": ""}, PROVEN),
        ({"tol": 1e-4, "asked": "raw", "warm_from": '{"lam": 0.4}'}, PROVEN),
        ({"tol": 2.5e-7, "own_options": own, "options": own}, PROVEN),
    )
    frame = outcomes(run).set_index("key").sort_index()
    assert frame["settings"].tolist() == ["default", "1e-04 raw warm", "2.5e-07"]
    words = "acceleration_lookback=0 more.deep=True"
    assert frame.loc["k2", "solver"] == f"CLARABEL {words}"
    assert frame["told"].tolist() == ["", "", words]


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


def test_runs_of_the_first_version_are_read_and_gone_on_with(folder):
    run = folder(({}, PROVEN))
    make_older(run, 1)
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


@pytest.mark.filterwarnings("ignore:n_neighbors=10, but there are only 3 other samples")
@pytest.mark.parametrize("name", sorted(FORMULATIONS))
def test_every_formulation_says_its_sense_first(name):
    X, codes = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 7.0], [6.0, 5.0]]), np.array([0, 0, 1, 1])
    formulation = FORMULATIONS[name]
    values, hyper = formulation.numbers(X, codes)
    problem = formulation.build(**values, **hyper)
    assert problem.objective.NAME[:3] == formulation.equation[:3]
