"""``convexfs certify`` as a user meets it: answers from files, from a file's own solve, of runs."""

import json
import sqlite3
from contextlib import closing

import cvxpy as cp
import numpy as np
import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import RESULTS, Store
from convexfs.cli import main
from convexfs.cli.certify import read_solution
from convexfs.formats import write_problem
from convexfs.records import Certificate
from convexfs.study.page import gather

PROBLEM = """
import cvxpy as cp
x = cp.Variable(2, name="x")
problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= [1, 2]])
"""
RELIEF = """
METHOD = "relief"
DATA = ["iris"]
GRID = {"lam": [0.1]}
SOLVERS = ["CLARABEL", "native"]
"""


@pytest.fixture
def run(capsys):
    def ran(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ran


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_what_a_files_own_solve_left_is_certified(tmp_path, run):
    file = written(tmp_path, "mine.py", PROBLEM + "problem.solve(solver='CLARABEL')\n")
    code, out, _ = run("certify", file)
    assert code == 0
    assert out.startswith("mine.py\noptimal: proven to 1e-05\n")
    assert "proven bound                   3" in out


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ([1, 2], 0, "optimal: proven"),
        ([1, 3], 1, "a verified feasible point has objective 3"),
        ([0, 3], 1, "constraint 0[0] is violated by"),
    ],
)
@pytest.mark.parametrize("kind", ["json", "npz", "csv"])
def test_an_answer_from_a_file_is_certified(tmp_path, run, kind, values, code, words):
    file, solution = written(tmp_path, "mine.py", PROBLEM), tmp_path / f"answer.{kind}"
    if kind == "npz":
        np.savez(solution, x=np.array(values, dtype=float))
    else:
        text = {"json": json.dumps({"x": values}), "csv": f"x,{values[0]},{values[1]}\n"}
        solution.write_text(text[kind])
    found, out, _ = run("certify", file, "--solution", solution)
    assert found == code
    assert words in out


def test_an_undecided_solution_has_an_exit_code_of_its_own(tmp_path, run, monkeypatch):
    left_open = Certificate(0, None, None, None, 1e-5, "", verdict="undecided", reason="no bound")
    monkeypatch.setattr("convexfs.certification.certify.certify", lambda *_, **__: left_open)
    file = written(tmp_path, "mine.py", PROBLEM)
    answer = written(tmp_path, "answer.json", '{"x": [1, 2]}')
    code, out, _ = run("certify", file, "--solution", answer)
    assert code == 3
    assert (
        out
        == "mine.py\noptimal: undecided to 1e-05: no bound\n  constraints violated by        0\n"
    )


def test_the_reported_objective_is_compared(tmp_path, run):
    file = written(tmp_path, "mine.py", PROBLEM)
    answer = written(tmp_path, "answer.json", '{"x": [1, 2]}')
    words = ("certify", file, "--solution", answer, "--objective")
    assert run(*words, 3)[0] == 0
    code, out, _ = run(*words, 3.3)
    assert code == 1
    assert "the reported objective is off by" in out


def test_all_numbers_are_told_as_json(tmp_path, run):
    file = written(tmp_path, "mine.py", PROBLEM)
    answer = written(tmp_path, "answer.json", '{"x": [1, 2]}')
    _, out, _ = run("certify", file, "--solution", answer, "--json")
    told = json.loads(out)
    assert told["ok"] is True
    assert told["bound"] == pytest.approx(3.0)


def test_a_problem_file_is_judged_on_its_first_instance(tmp_path, run):
    file = written(tmp_path, "relief.py", RELIEF)
    answer = written(tmp_path, "answer.json", '{"w": [0, 0, 0, 0]}')
    code, out, _ = run("certify", file, "--solution", answer)
    assert code == 1
    assert out.startswith('relief.py on iris {"lam": 0.1}\noptimal: refuted')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"y": [1, 2]}', "the problem has no variable 'y': "),
        ("[1, 2]", "holds no values by name"),
        ('{"x": [1, 2, 3]}', "the solution's 'x' has another size"),
        ('{"x": "many"}', "holds no values by name"),
    ],
)
def test_a_solution_that_does_not_fit_is_an_error_in_a_line(tmp_path, run, text, said):
    file = written(tmp_path, "mine.py", PROBLEM)
    code, _, error = run("certify", file, "--solution", written(tmp_path, "a.json", text))
    assert code == 2
    assert said in error
    assert error.count("\n") == 1


def test_files_that_cannot_be_judged_are_errors_in_a_line(tmp_path, run):
    file = written(tmp_path, "mine.py", PROBLEM)
    cases = {
        ("certify", file): "comes without a solution to certify",
        ("certify", tmp_path / "none.py"): "cannot be read",
        ("certify", written(tmp_path, "bad.py", "problem = 1 / 0\n")): "ZeroDivisionError",
        ("certify", written(tmp_path, "one.py", "problem = 1\n")): "takes a cvxpy.Problem, not int",
        ("certify", file, "--solution", "answer.txt"): "give the solution as .json, .npz, .csv",
        ("certify", file, "--solution", tmp_path / "no.json"): "cannot be read",
    }
    for words, said in cases.items():
        code, _, error = run(*words)
        assert code == 2, words
        assert said in error
        assert error.count("\n") == 1


def test_a_stored_run_is_judged_anew_without_solving(tmp_path, run, monkeypatch):
    file, out = written(tmp_path, "relief.py", RELIEF), tmp_path / "out"
    solve_files([file], out, jobs=1)
    before = (out / RESULTS).read_bytes()
    monkeypatch.setattr("cvxpy.Problem.solve", None)
    monkeypatch.setattr("convexfs.solving.solve.solve", None)
    code, said, _ = run("certify", out, "--problem", file)
    assert code == 0
    assert said.splitlines()[-1] == "2 proven"
    assert (out / RESULTS).read_bytes() == before


@pytest.fixture
def older(tmp_path):
    """A run whose verdicts were stored by an older version, one of them wrong."""
    file, out = written(tmp_path, "relief.py", RELIEF), tmp_path / "out"
    solve_files([file], out, jobs=1)
    with closing(sqlite3.connect(out / RESULTS)) as store:
        store.execute("UPDATE solutions SET certificates = NULL")
        told = "ok = 0, failure = 'certificate refused (1e-3 > 1e-5)'"
        store.execute(f"UPDATE tasks SET {told} WHERE solver = 'CLARABEL'")
        keys = "SELECT key FROM tasks WHERE solver = 'CLARABEL'"
        store.execute(f"UPDATE solutions SET ok = 0 WHERE key IN ({keys})")
        store.commit()
    return file, out


def test_verdicts_of_an_older_version_are_named_and_renewed(older, run):
    file, out = older
    assert "2 of 2 verdicts were made by an older version" in gather(out).html
    code, said, _ = run("certify", out, "--problem", file)
    assert code == 0
    assert said.count("; before refuted by an older version") == 1
    assert said.splitlines()[-2:] == ["2 proven", "renewed 2 verdicts of an older version"]
    with Store.read(out) as store:
        assert store.tasks()["ok"].tolist() == [True, True]
        assert store.tasks()["failure"].tolist() == ["", ""]
    assert "verdicts were made by an older version" not in gather(out).html
    assert run("certify", out, "--problem", file)[1].splitlines()[-1] == "2 proven"


def test_another_tolerance_renews_nothing(older, run):
    file, out = older
    before = (out / RESULTS).read_bytes()
    assert run("certify", out, "--problem", file, "--tol", "1e-3")[0] == 0
    assert (out / RESULTS).read_bytes() == before


def test_the_exit_code_of_a_run_is_that_of_its_worst_task(tmp_path, run, monkeypatch):
    file, out = written(tmp_path, "relief.py", RELIEF), tmp_path / "out"
    solve_files([file], out, jobs=1)
    for verdicts, code in ((("proven", "undecided"), 3), (("undecided", "refuted"), 1)):
        made = (Certificate(0, None, None, 0, 1e-5, "", verdict=word) for word in verdicts)
        monkeypatch.setattr("convexfs.certification.certify.certify", lambda *_, m=made: next(m))
        found, said, _ = run("certify", out, "--problem", file)
        assert found == code
        assert said.splitlines()[-1] == f"1 {verdicts[0]}, 1 {verdicts[1]}"


def test_a_folder_does_not_choose_what_is_run(tmp_path, run):
    file, out = written(tmp_path, "relief.py", RELIEF), tmp_path / "out"
    solve_files([file], out, jobs=1)
    code, _, error = run("certify", out)
    assert code == 2
    assert "name it with --problem" in error
    file.write_text(RELIEF + "# another text\n")
    assert run("certify", out, "--problem", file)[0] == 2


def test_a_matrix_in_a_table_is_read_row_by_row(tmp_path):
    table = written(tmp_path, "answer.csv", "X,1,2,3,4\n\ny,0.5\n")
    assert read_solution(table)["X"].tolist() == [1, 2, 3, 4]
    assert read_solution(table)["y"].tolist() == [0.5]


def test_a_problem_without_an_answer_asks_for_one(tmp_path, capsys):
    x = cp.Variable(2, name="x")
    write_problem(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]), tmp_path / "model.mps")
    assert main(["certify", str(tmp_path / "model.mps")]) == 2
    assert "without a solution to certify: give one by --solution" in capsys.readouterr().err
    (tmp_path / "answer.json").write_text('{"x": [1, 1]}')
    words = ["certify", str(tmp_path / "model.mps"), "--solution", str(tmp_path / "answer.json")]
    assert main(words) == 0
