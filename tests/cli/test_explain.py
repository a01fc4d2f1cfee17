"""``convexfs explain`` as a user meets it."""

import json

import cvxpy as cp
import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store
from convexfs.formats import write_problem

DIET = """
import cvxpy as cp
food = cp.Variable(2, name="food", nonneg=True)
problem = cp.Problem(
    cp.Minimize(cp.sum(food)),
    [
        (3 * food[0] + 2 * food[1] <= 10).set_label("budget"),
        cp.sum(food) >= 6,
    ],
)
"""
MPS = """NAME          TWO
ROWS
 N  COST
 G  LEAST
 L  MOST
COLUMNS
    A         COST                 1   LEAST                1
    A         MOST                 1
    B         LEAST                1   MOST                 2
RHS
    RHS       LEAST                5   MOST                 3
ENDATA
"""
BATCH = '''
"""A problem without a feasible point."""
import cvxpy as cp
GRID = {"least": [1.0, 5.0]}
SOLVERS = ["CLARABEL"]


def problem(least):
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(cp.sum(x)), [(x >= least).set_label("least"),
                                               (cp.norm(x) <= 3).set_label("ball")])
'''


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_a_python_file_is_explained_with_its_lines(tmp_path, run):
    code, out, err = run("explain", written(tmp_path, "diet.py", DIET))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "diet.py"
    assert lines[2].startswith("INFEASIBLE, proven: 3 of 4 rows conflict")
    assert any(line.startswith("  budget") and line.endswith("diet.py:7") for line in lines)
    assert any("constraint 1" in line and line.endswith("diet.py:8") for line in lines)
    assert max(map(len, lines)) <= 80


def test_json_html_latex_and_stages(tmp_path, run):
    file, page = written(tmp_path, "diet.py", DIET), tmp_path / "diet.html"
    code, out, _ = run("explain", file, "--json", "--html", page)
    found = json.loads(out)
    assert code == 0
    assert found["status"] == "infeasible"
    assert {row["name"] for row in found["conflict"]} == {
        "budget", "constraint 1", "attribute of food"
    }  # fmt: skip
    assert "budget" in page.read_text()
    assert "\\begin{itemize}" in run("explain", file, "--latex")[1]
    assert "rows" in run("explain", file, "--stages")[1].partition("Stages: ")[2]


def test_rows_of_files_go_by_their_names(tmp_path, run):
    code, out, _ = run("explain", written(tmp_path, "two.mps", MPS))
    assert code == 0
    assert "  LEAST       A + B >= 5" in out
    assert "  MOST        A + 2 B <= 3" in out
    assert "  bound of B  B >= 0" in out
    assert "lower the lower limit of LEAST from 5 to 3" in out


def test_a_range_of_a_file_is_named_on_both_sides(tmp_path, run):
    x = cp.Variable(2, name="x")
    write_problem(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, x <= 2]), tmp_path / "box.lp")
    code, out, _ = run("explain", tmp_path / "box.lp")
    assert code == 0
    assert out.splitlines()[2].startswith("OPTIMAL, proven: 2")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.py", None, "cannot be read"),
        ("bad.py", "problem = (", "line 1"),
        ("unset.py", "import cvxpy as cp\nx = cp.Variable()\np = cp.Parameter(name='p')\n"
         "problem = cp.Problem(cp.Minimize(x), [x >= p])\n", "give parameter p a value"),
        ("other.py", "problem = 3\n", "explain takes a cvxpy.Problem"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_one_line(tmp_path, run, name, text, words):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    code, out, err = run("explain", path)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_an_unknown_solver_is_refused_before_any_work(tmp_path, run):
    file = written(tmp_path, "diet.py", DIET)
    code, out, err = run("explain", file, "--solver", "CLARABLE")
    assert (code, out) == (2, "")
    assert "did you mean CLARABEL" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("page", "said"), [("nowhere/page.html", "there is no folder"), ("page.txt", "ends in .html")]
)
def test_an_unusable_file_for_the_page_is_refused_before_any_work(tmp_path, run, page, said):
    file = written(tmp_path, "diet.py", DIET)
    code, out, err = run("explain", file, "--html", tmp_path / page)
    assert (code, out) == (2, "")
    assert said in err


def test_a_syntax_error_is_named_once_with_its_line(tmp_path, run):
    file = written(tmp_path, "diet.py", "import cvxpy as cp\nproblem = (\n")
    _, _, err = run("explain", file)
    assert err.strip() == f"convexfs: error: {file}, line 2: '(' was never closed"


def test_what_is_not_decided_has_its_own_exit_code(tmp_path, run):
    text = "import cvxpy as cp\nz = cp.Variable(name='z')\n"
    text += "problem = cp.Problem(cp.Maximize(cp.log(z)), [z >= 1])\n"
    code, out, _ = run("explain", written(tmp_path, "log.py", text), "--seconds", 1)
    assert code == 3
    assert "UNDECIDED" in out


def test_failed_tasks_of_a_run_keep_a_reason_and_are_explained(tmp_path, run):
    file = written(tmp_path, "ball.py", BATCH)
    solve_files([file], tmp_path / "run", jobs=1)
    code, out, _ = run("explain", tmp_path / "run", "--problem", file)
    assert code == 0
    assert out.splitlines()[0].startswith("ball on")
    assert "INFEASIBLE, proven: 2 of 3 rows conflict" in out
    assert out.splitlines()[-1] == "tasks without a solution: 1"
    with Store.read(tmp_path / "run") as store:
        reasons = dict(store.tasks()[["status", "failure"]].itertuples(index=False))
    assert reasons["optimal"] == ""
    assert reasons["infeasible"].endswith("any one fewer does not: least[1], ball")
    code, _, err = run("explain", tmp_path / "run")
    assert code == 2
    assert "--problem" in err
