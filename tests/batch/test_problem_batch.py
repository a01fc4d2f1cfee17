"""Batches of problems made in Python: the results of a hand-written loop, stored and resumed."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import convexfs
from convexfs.batch.problem_digest import problem_digest
from convexfs.batch.store.store import Store
from convexfs.errors import InputError
from tests.typed import known

VALUES = [0.1, 0.5, 2.0, 8.0]
RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((12, 5)), RNG.standard_normal(12)


def lasso():
    lam, x = cp.Parameter(nonneg=True, name="lam"), cp.Variable(5, name="x")
    objective = cp.sum_squares(A @ x - B) + lam * cp.norm1(x)
    return cp.Problem(cp.Minimize(objective), [x <= 3])


def by_hand(values=VALUES):
    problem = lasso()
    for value in values:
        problem.parameters()[0].value = value
        problem.solve(solver="CLARABEL")
        yield problem.value, known(problem.variables()[0].value)


@pytest.mark.parametrize("out", [None, "run"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_values_of_a_parameter_are_those_of_a_loop(tmp_path, out, jobs):
    folder = None if out is None else tmp_path / out
    run = convexfs.solve_batch(
        lasso(), {"lam": VALUES}, out=folder, jobs=jobs, solver="CLARABEL", verbose=False
    )
    table: Any = run.tasks(primal=True, dual=True)
    assert table["lam"].tolist() == VALUES
    assert table["ok"].tolist() == [True] * 4
    for (value, x), row in zip(by_hand(), table.to_dict("records"), strict=True):
        assert row["objective"] == pytest.approx(value, abs=1e-6)
        np.testing.assert_allclose(row["primal_x"], x, atol=1e-5)
        assert row["dual_0"].shape == (5,)
    assert len(run) == 4
    assert "4 tasks (4 optimal): 4 proven>" in repr(run)
    assert set(run.certificates()["verdict"]) == {"proven"}
    solution = run.solution(table["key"][2][:10])
    np.testing.assert_array_equal(solution.primal["x"], table["primal_x"][2])
    assert (solution.status, solution.solver) == ("optimal", "CLARABEL")


def test_a_folder_resumes_what_was_solved_also_from_another_process(tmp_path):
    first = convexfs.solve_batch(lasso(), {"lam": VALUES[:3]}, out=tmp_path, verbose=False)
    before: Any = first.tasks().set_index("key")["finished_utc"]
    program = (
        "from tests.batch.test_problem_batch import lasso, VALUES; import convexfs, sys\n"
        "import cvxpy as cp; cp.Variable(), cp.Parameter()\n"
        f"convexfs.solve_batch(lasso(), {{'lam': VALUES}}, out={str(tmp_path)!r})"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    after: Any = convexfs.open_run(tmp_path).tasks().set_index("key")["finished_utc"]
    assert len(after) == 4
    pd.testing.assert_series_equal(after[before.index], before)


def test_problems_by_name_and_solvers_and_points():
    x = cp.Variable(2, name="x")
    problems = {
        "low": cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]),
        "none": cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, x <= 0]),
        "free": cp.Problem(cp.Minimize(cp.sum(x))),
    }
    run = convexfs.solve_batch(problems, solver=["CLARABEL", "HIGHS"], verbose=False)
    table = run.tasks().set_index(["problem", "solver"])
    assert table["status"].loc["low"].tolist() == ["optimal"] * 2
    assert set(table["status"].loc["none"]) == {"infeasible"}
    assert set(table["status"].loc["free"]) == {"unbounded"}
    listed = convexfs.solve_batch(list(problems.values())[:2], verbose=False).tasks()
    assert listed["problem"].tolist() == ["0", "1"]
    points = [{"lam": 1.0}, {"lam": 3.0}]
    table = convexfs.solve_batch(lasso(), points, verbose=False).tasks()
    assert table["lam"].tolist() == [1.0, 3.0]


def test_parameters_may_be_arrays(tmp_path):
    b, x = cp.Parameter(3, name="b"), cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= b])
    values = [np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])]
    table = convexfs.solve_batch(problem, {"b": values}, out=tmp_path, verbose=False).tasks()
    assert table["objective"].tolist() == pytest.approx([6.0, 0.6])
    assert table["b"].tolist() == [value.tolist() for value in values]


def test_problems_are_left_as_they_were():
    problem = lasso()
    problem.parameters()[0].value = 0.7
    problem.solve()
    before = (problem.value, problem.variables()[0].value, problem.constraints[0].dual_value)
    convexfs.solve_batch(problem, {"lam": VALUES}, verbose=False)
    after = (problem.value, problem.variables()[0].value, problem.constraints[0].dual_value)
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    np.testing.assert_array_equal(before[2], after[2])
    assert problem.parameters()[0].value == 0.7


def test_without_certificates_the_verdict_is_left_open(tmp_path):
    run = convexfs.solve_batch(lasso(), {"lam": VALUES}, certify=False, out=tmp_path, verbose=False)
    assert list(run.tasks()["ok"].isna()) == [True] * 4
    assert set(run.certificates()["verdict"]) == {"undecided"}
    proven = convexfs.solve_batch(lasso(), {"lam": VALUES}, out=tmp_path, verbose=False)
    assert len(proven) == 4
    assert proven.tasks()["ok"].tolist() == [True] * 4
    assert len(convexfs.open_run(tmp_path)) == 8


def test_failures_are_rows_and_limits_hold(tmp_path):
    run = convexfs.solve_batch(lasso(), {"lam": [1.0, -1.0]}, out=tmp_path, verbose=False)
    table = run.tasks()
    assert table["status"].tolist() == ["optimal", "error"]
    assert "nonnegative" in table["failure"][1]
    unsuitable = convexfs.solve_batch(lasso(), {"lam": [1.0]}, solver="GLPK_MI", verbose=False)
    assert unsuitable.tasks()["status"].tolist() == ["skipped"]
    with ThreadPoolExecutor(1) as executor:
        elsewhere = convexfs.solve_batch(
            lasso(), {"lam": [1.0]}, executor=executor, solver="CLARABEL", verbose=False
        )
    assert elsewhere.tasks()["ok"].tolist() == [True]


@pytest.mark.parametrize(
    ("problems", "parameters", "words"),
    [
        (3, None, "takes cvxpy problems, not int"),
        ([], None, "at least one problem"),
        ([lasso(), "x"], None, "problem 0: give parameter 'lam' a value"),
        ([3], None, "is a int, not a cvxpy.Problem"),
        (lasso(), {"lamda": [1]}, "has no parameter 'lamda': did you mean lam"),
        (lasso(), {"lam": []}, "have no values"),
        (lasso(), {"lam": ["a"]}, "must be real numbers"),
        (lasso(), [{"lam": 1}, {}], "one lacks 'lam'"),
        (cp.Problem(cp.Minimize(cp.sqrt(cp.Variable()))), None, "is not convex by DCP"),
    ],
)
def test_what_cannot_be_solved_is_refused_before_any_work(problems, parameters, words):
    with pytest.raises(InputError, match=words):
        convexfs.solve_batch(problems, parameters)


def test_keys_that_are_none_or_several(tmp_path):
    run = convexfs.solve_batch(lasso(), {"lam": VALUES}, verbose=False)
    with pytest.raises(InputError, match="no task has a key that begins with 'xyz'"):
        run.solution("xyz")
    with pytest.raises(InputError, match="4 tasks have a key"):
        run.solution("")
    with pytest.raises(InputError, match=r"holds no results\.sqlite"):
        convexfs.open_run(tmp_path)


def test_progress_is_printed_on_request(capsys):
    convexfs.solve_batch(lasso(), {"lam": VALUES}, verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("solve_batch: 1 of 4 tasks, 0 failed")
    assert lines[-1] == "solve_batch: 4 of 4 tasks, 0 failed"
    convexfs.solve_batch(lasso(), {"lam": VALUES}, verbose=False)
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_one_line_of_progress(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    for _ in range(2):  # solved, and then resumed
        convexfs.solve_batch(lasso(), {"lam": VALUES}, out=tmp_path / "run")
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1
        assert shown.split("\r")[-1].strip() == "solve_batch: 4 of 4 tasks, 0 failed"


def test_statuses_without_an_optimum_and_refuted_ones_are_named():
    y = cp.Variable(name="y")
    problems = {
        "unbounded": cp.Problem(cp.Minimize(y), [y <= 1]),
        "infeasible": cp.Problem(cp.Minimize(y), [y >= 1, y <= 0]),
    }
    run = convexfs.solve_batch(problems, verbose=False)
    assert "(1 unbounded, 1 infeasible): 2 proven" in repr(run)
    assert run.tasks()["status"].tolist() == list(problems)
    assert run.certificates()["reason"].tolist() == ["", ""]


def test_a_run_of_files_has_its_grid_as_columns(plain, tmp_path):
    from convexfs.batch.run import solve_files

    solve_files([plain], tmp_path / "run", solvers=["native"])
    table = convexfs.open_run(tmp_path / "run").tasks(primal=True)
    assert sorted(set(table["n_neighbors"])) == [1, 2, 3, 4, 5]
    assert set(table["primal_w"].map(len)) == {4, 13}


def digests(change):
    """Digest of a problem of many parts, one of them changed."""
    parts = {"a": 1.5, "matrix": A, "name": "x", "power": 3, "rows": slice(0, 3), "label": "cap"}
    parts |= change
    x = cp.Variable(5, name=parts["name"], nonneg=parts.get("nonneg", False))
    lam = cp.Parameter(name="lam", value=parts.get("lam", 2.0))
    constraint = cp.norm(x[parts["rows"]], 1) <= 7
    constraint.set_label(parts["label"])
    objective = parts["a"] * cp.sum(x) + lam * cp.pnorm(parts["matrix"] @ x - B, parts["power"])
    problem = parts.get("sense", cp.Minimize)(objective)
    return problem_digest(cp.Problem(problem, [constraint, cp.SOC(cp.sum(x), x)]))


@pytest.mark.parametrize(
    "change",
    [
        {"a": 1.6}, {"matrix": A + 1e-12}, {"name": "y"}, {"power": 4}, {"rows": slice(0, 2)},
        {"label": "floor"}, {"nonneg": True}, {"lam": 2.1}, {"sense": cp.Maximize},
    ],
)  # fmt: skip
def test_the_digest_of_a_problem_tells_every_part(change):
    assert digests({}) == digests({})  # variables have other numbers each time
    assert digests({}) != digests(change)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6, unique=True))
def test_any_values_give_what_single_solves_give(values):
    run = convexfs.solve_batch(lasso(), {"lam": values}, certify=False, solver="CLARABEL")
    problem = lasso()
    for row in run.tasks().to_dict("records"):
        problem.parameters()[0].value = row["lam"]
        assert json.loads(known(row["hyper"])) == {"lam": row["lam"]}
        assert row["objective"] == pytest.approx(convexfs.solve(problem, "CLARABEL").objective)
    assert run.tasks()["lam"].tolist() == values


def test_the_store_is_that_of_every_batch(tmp_path):
    convexfs.solve_batch(lasso(), {"lam": VALUES}, out=tmp_path, verbose=False)
    with Store.read(tmp_path) as store:
        assert store.tasks()["formulation"].tolist() == ["own"] * 4
    subprocess.run(
        [sys.executable, "-m", "convexfs", "export", tmp_path, "--to", tmp_path / "t.csv"],
        check=True, capture_output=True,
    )  # fmt: skip
    assert pd.read_csv(tmp_path / "t.csv")["outcome"].tolist() == ["solved"] * 4
