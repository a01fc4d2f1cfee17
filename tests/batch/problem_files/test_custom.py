"""Files without a METHOD, functions of packages and files of formats are problems like any."""

import json
import re
import sys

import numpy as np
import pytest

from convexfs import write_problem
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store, unpack
from convexfs.batch.tasks import do, expand
from convexfs.cli import main
from convexfs.errors import InputError, ProblemFileError, RunError
from tests.solving import problems

GOOD = '''"""The nearest point of a box: min |x - a|^2, 0 <= x <= top."""
import cvxpy as cp
import numpy as np

GRID = {"top": [0.5, 1.0], "n": [3]}
SOLVERS = ["CLARABEL", "OSQP"]
SEED = 7


def problem(top, n, seed):
    a = np.random.default_rng(seed).uniform(0, 2, n)
    x = cp.Variable(n, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(x - a)), [x >= 0, x <= top])
'''
SEVERAL = """
import cvxpy as cp
GRID = {"n": [2, 3]}
def least(n):
    x = cp.Variable(n)
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
def most(n, top=5.0):
    x = cp.Variable(n)
    return cp.Problem(cp.Maximize(cp.sum(x)), [x <= top])
PROBLEMS = {"least": least, "most": most}
"""
ON_SAMPLES = """
import cvxpy as cp
import numpy as np
DATA = ["iris"]
GRID = {"lam": [1.0]}
def problem(X, y, names, lam):
    w = cp.Variable(X.shape[1], name="w")
    target = np.where(y == 0, 1.0, -1.0)
    assert len(names) == X.shape[1]
    return cp.Problem(cp.Minimize(cp.sum_squares(X @ w - target) + lam * cp.norm1(w)))
"""
PRODUCTS = """
import cvxpy as cp
import numpy as np
GRID = {"scale": [1.0, 2.0, 4.0]}
SOLVERS = ["HIGHS", "SCIPY", "CLARABEL"]
def problem(scale):
    A, signs = np.array([[1.0, -1], [-1, -2], [2, 1]]), np.array([1.0, -1, 1])
    w = cp.Variable(2, name="w")
    cost = cp.sum(cp.abs(cp.multiply(scale * signs, A @ w) - 1))
    return cp.Problem(cp.Minimize(cost), [cp.norm_inf(w) <= 5])
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="nearest.py"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def objectives(path, out):
    solve_files([path], out)
    with Store.read(out) as store:
        tasks = store.tasks()
    assert set(tasks["ok"]) == {True}
    keys = zip(tasks["hyper"], tasks["solver"], strict=True)
    return dict(zip(keys, tasks["objective"], strict=True))


def test_a_function_with_a_grid_is_solved_and_proven(write, tmp_path):
    file = load_problem_file(write(GOOD))
    assert file.is_own
    assert (file.data, file.seed, file.name) == ((), 7, "nearest")
    a = np.random.default_rng(7).uniform(0, 2, 3)
    found = objectives(write(GOOD), tmp_path / "out")
    assert len(found) == 4
    for (hyper, _), value in found.items():
        beyond = np.maximum(a - json.loads(hyper)["top"], 0)
        assert value == pytest.approx(beyond @ beyond, rel=1e-5)


def test_a_batch_solves_atoms_of_products_with_data_by_any_solver(write, tmp_path):
    found = objectives(write(PRODUCTS), tmp_path / "out")
    assert len(found) == 9
    assert list(found.values()) == pytest.approx([1.0] * 9, abs=1e-5)


def test_the_page_of_a_run_has_the_formula(write, tmp_path, capsys):
    problem = tmp_path / "deviations.mps"
    write_problem(problems.linear(), problem)
    solve_files([write(GOOD), problem], tmp_path / "out")
    assert main(["report", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "The nearest point of a box" in page
    assert "the problem of deviations.mps" in page


def test_a_second_run_does_nothing_and_an_edited_formula_all(write, tmp_path):
    path, out = write(GOOD), tmp_path / "out"
    assert solve_files([path], out).done == 4
    assert solve_files([path], out).done == 0
    write(GOOD.replace("[0.5, 1.0]", "[0.5, 1.0, 2.0]"))
    assert solve_files([path], out).done == 2
    write(GOOD.replace("SEED = 7", "SEED = 8"))
    assert solve_files([path], out).done == 4
    write(GOOD.replace("x >= 0", "x >= 0.1"))
    assert solve_files([path], out).done == 4


def test_a_file_that_changes_while_its_run_goes_is_refused(write):
    tasks = expand([load_problem_file(write(GOOD))])
    write(GOOD.replace("x >= 0", "x >= 0.1"))
    with pytest.raises(RunError, match="changed while the run was going"):
        do(tasks[0])


def test_several_problems_go_by_their_names(write, tmp_path):
    found = objectives(write(SEVERAL), tmp_path / "out")
    values = {(json.loads(hyper)["problem"], json.loads(hyper)["n"]): value
              for (hyper, _), value in found.items()}  # fmt: skip
    expected = {("least", 2): 2, ("least", 3): 3, ("most", 2): 10, ("most", 3): 15}
    assert values == pytest.approx(expected)


def test_all_of_the_grid_may_be_taken_by_stars(write, tmp_path):
    text = GOOD.replace("problem(top, n, seed):", "problem(seed, **grid):\n    n = grid['n']")
    found = objectives(write(text.replace("<= top", "<= grid['top']")), tmp_path / "out")
    assert len(found) == 4


def test_samples_are_offered_where_there_are_data(write, tmp_path):
    ((_, value),) = objectives(write(ON_SAMPLES), tmp_path / "out").items()
    assert 0 < value < 150


def test_a_method_s_build_may_ask_for_samples(write, tmp_path):
    text = """
import cvxpy as cp
METHOD = "relief"
DATA = ["subclasses:noise=2"]
def build(z, X, y, names, groups):
    assert X.shape == (len(y), len(names)) and len(groups) == len(y)
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w) <= 1, w >= 0, X.mean(axis=0) @ w <= 9])
"""
    assert len(objectives(write(text), tmp_path / "out")) == 1
    missing = write(text.replace("subclasses:noise=2", "wine"), "b.py")
    with pytest.raises(InputError, match="wine knows no groups of its samples"):
        do(expand([load_problem_file(missing)])[0])
    whole = write(text.replace('METHOD = "relief"', 'METHOD = "logo"\nFIT = True'), "c.py")
    with pytest.raises(ProblemFileError, match="build asks for 'z'"):
        load_problem_file(whole)


@pytest.mark.parametrize("suffix", [".mps", ".cbf.gz", ".lp", ".dat-s", ".npz"])
def test_a_file_of_a_format_is_an_instance(tmp_path, suffix):
    problem, path = problems.linear(), tmp_path / f"deviations{suffix}"
    write_problem(problem, path)
    file = load_problem_file(path)
    assert (file.name, file.grid, file.data) == ("deviations", {}, ())
    progress = solve_files([path], tmp_path / "out", solvers=["CLARABEL", "HIGHS"])
    assert (progress.done, progress.failed) == (2, [])
    problem.solve(solver="HIGHS")
    with Store.read(tmp_path / "out") as store:
        assert store.tasks()["objective"].tolist() == pytest.approx([problem.value] * 2)
        assert "x" in unpack(store.answers()["primal"].iloc[0])
    write_problem(problems.linear_with_bounds(), path)
    with pytest.raises(RunError, match="changed while the run"):
        load_problem_file(path, file.sha256)


def test_a_function_of_a_package(tmp_path, monkeypatch):
    (tmp_path / "a_package").mkdir()
    (tmp_path / "a_package" / "__init__.py").write_text("")
    text = GOOD.replace("problem(top, n, seed)", "nearest(top=1.0, n=3, seed=0)")
    (tmp_path / "a_package" / "boxes.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        file = load_problem_file("a_package.boxes:nearest")
        assert (file.name, file.grid) == ("nearest", {})
        assert len(objectives("a_package.boxes:nearest", tmp_path / "out")) == 1
        with pytest.raises(ProblemFileError, match=r"a_package.boxes has no function farthest"):
            load_problem_file("a_package.boxes:farthest")
        with pytest.raises(ProblemFileError, match="No module named 'no_package'"):
            load_problem_file("no_package.boxes:nearest")
    finally:
        for name in ("a_package", "a_package.boxes"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("def problem", "def make", 1, "METHOD is missing.*or define problem"),
        ("SEED = 7", "SEED = = 7", 7, "invalid syntax"),
        ("problem(top, n, seed)", "problem(top, n, sed)", 10, "asks for 'sed'.*mean seed"),
        ("problem(top, n, seed)", "problem(top, n, X)", 10, "only if the file has DATA"),
        ('"top":', '"tip":', 5, "GRID names 'tip', which problem does not take: did you mean top"),
        ("[0.5, 1.0]", "0.5", 5, "must be a list of values"),
        ('"OSQP"]', '"OSPQ"]', 6, "unknown solver 'OSPQ': did you mean OSQP"),
        ('"OSQP"]', '"native"]', 6, "'native' solves problems of methods"),
        ("SEED = 7", "SEED = -1", 7, "SEED must be an integer of at least 0"),
        ("SEED = 7", "FIT = True", 7, "FIT is for files with a METHOD"),
        ("SEED = 7", "PROBLEMS = {}", 7, "give problem or PROBLEMS, not both"),
    ],
)
def test_a_broken_contract_names_file_line_and_cure(write, old, new, line, message):
    assert old in GOOD
    with pytest.raises(ProblemFileError, match=rf"nearest\.py, line {line}: .*{message}"):
        load_problem_file(write(GOOD.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("return cp.Problem", "cp.Problem"), "must return a cvxpy.Problem, not NoneType"),
        (("return cp.Problem", "return 3 #"), "must return a cvxpy.Problem, not int"),
        (("x = cp", "1 / 0; x = cp"), "cannot be built: ZeroDivisionError"),
        (("x = cp", "raise SystemExit(3); x = cp"), "cannot be built: SystemExit"),
        (("x <= top", "x <= undefined"), "cannot be built: NameError"),
        (("uniform(0, 2, n)", "uniform(0, 2, 10**14)"), "cannot be built: .*allocate"),
    ],
)
@pytest.mark.parametrize("command", ["solve", "compare", "show"])
def test_a_hostile_function_ends_every_command_with_one_line(
    write, tmp_path, capsys, command, change, message
):
    assert change[0] in GOOD
    path = write(GOOD.replace(*change))
    out = [] if command == "show" else ["--out", str(tmp_path / "out")]
    assert main([command, str(path), *out]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    lines = [line for line in said.err.splitlines() if line.startswith("convexfs: error")]
    assert len(lines) == 1
    assert re.search(message, lines[0])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_what_is_not_convex_is_refused_before_the_run(write, tmp_path, capsys, command):
    path = write(GOOD.replace("cp.sum_squares(x - a)", "cp.sqrt(cp.sum(x))"))
    assert main([command, str(path), "--out", str(tmp_path / "out")]) == 2
    assert "nearest.py: the problem is not convex by cvxpy's rules" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_a_file_prints_is_not_the_command_s_output(write, capsys):
    text = GOOD.replace("SEED = 7", "SEED = 7\nprint('at the top')")
    path = write(text.replace("    x = cp", "    print('inside')\n    x = cp"))
    assert main(["show", str(path), "--as", "text"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("minimize")
    assert "at the top" in said.err
    assert "inside" in said.err


def test_formats_and_own_files_are_shown_saved_and_compared(write, tmp_path, capsys):
    path = write(GOOD)
    assert main(["show", str(path), "--save", str(tmp_path / "a.qps")]) == 0
    assert main(["show", str(tmp_path / "a.qps")]) == 0
    assert "On its own data:\n\nminimize" in capsys.readouterr().out
    assert main(["show", str(path), str(tmp_path / "a.qps")]) == 0
    assert main(["show", str(path), "--on", "iris"]) == 2
    assert "brings its own data: leave --on out" in capsys.readouterr().err
    (tmp_path / "b.mps").write_text("NAME\nROWZ\n")
    for command in ("show", "solve", "compare"):
        assert main([command, str(tmp_path / "b.mps")]) == 2
        assert "b.mps, line 2: 'ROWZ' is no section" in capsys.readouterr().err
    assert main(["solve", str(path), "--solvers", "OSPQ"]) == 2
    assert "did you mean OSQP?" in capsys.readouterr().err
