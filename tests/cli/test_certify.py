"""``convexfs certify`` as a user meets it: answers from files, from a file's own solve, of runs."""

import json

import cvxpy as cp
import numpy as np
import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store import RESULTS
from convexfs.cli import main
from convexfs.cli.certify import read_solution
from convexfs.formats import write_problem

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


def test_what_a_files_own_solve_left_is_judged(tmp_path, run):
    file = written(tmp_path, "mine.py", PROBLEM + "problem.solve(solver='CLARABEL')\n")
    code, out, _ = run("certify", file)
    assert code == 0
    assert out.startswith("mine.py\noptimal: proven to 1e-05\n")
    assert "proven bound                   3" in out


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ([1, 2], 0, "optimal: proven"),
        ([1, 3], 1, "the gap is"),
        ([0, 3], 1, "constraints are violated by"),
    ],
)
@pytest.mark.parametrize("kind", ["json", "npz", "csv"])
def test_an_answer_from_a_file_is_judged(tmp_path, run, kind, values, code, words):
    file, solution = written(tmp_path, "mine.py", PROBLEM), tmp_path / f"answer.{kind}"
    if kind == "npz":
        np.savez(solution, x=np.array(values, dtype=float))
    else:
        text = {"json": json.dumps({"x": values}), "csv": f"x,{values[0]},{values[1]}\n"}
        solution.write_text(text[kind])
    found, out, _ = run("certify", file, "--solution", solution)
    assert found == code
    assert words in out


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
    assert out.startswith('relief.py on iris {"lam": 0.1}\noptimal: refused')


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
        ("certify", file): "comes without an answer to judge",
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
    assert "without an answer to judge: give one by --solution" in capsys.readouterr().err
    (tmp_path / "answer.json").write_text('{"x": [1, 1]}')
    words = ["certify", str(tmp_path / "model.mps"), "--solution", str(tmp_path / "answer.json")]
    assert main(words) == 0
