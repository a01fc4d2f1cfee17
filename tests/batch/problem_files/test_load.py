"""A file either keeps the contract or is told where it does not, and what was expected."""

from pathlib import Path

import pytest

from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import dataset_of, expand
from convexfs.errors import ProblemFileError, RunError

GOOD = '''"""RELIEF with a cap: max w'z."""
import cvxpy as cp

METHOD = "relief"
DATA = ["iris", "near.csv"]
GRID = {"cap": [0.3, 0.6], "n_neighbors": [1]}
SOLVERS = ["CLARABEL", "SCS"]
LIMIT = 7


def build(z, cap, lam=0.0):
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w) <= 1, w >= 0, w <= cap])
'''


@pytest.fixture
def write(tmp_path):
    def write(text, name="capped.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_data_may_say_how_they_are_read(write, tmp_path):
    (tmp_path / "near.csv").write_text("a,b,age,kind\n" + "1,2,3,x\n2,1,4,y\n" * 4)
    words = "near.csv --target kind --drop age"
    file = load_problem_file(write(GOOD.replace("near.csv", words)))
    assert file.data == ("iris", f"{tmp_path / words}")
    tasks = expand([file])
    data = dataset_of(next(task for task in tasks if task.data != "iris"))
    assert data.feature_names == ("a", "b")
    with pytest.raises(ProblemFileError, match=r"line 5: .* says '--dorp'; did you mean drop"):
        load_problem_file(write(GOOD.replace("near.csv", "near.csv --dorp age")))


def test_a_good_file_is_read_whole(write, tmp_path):
    (tmp_path / "near.csv").write_text("a,y\n1,0\n")
    file = load_problem_file(write(GOOD))
    assert file.name == "capped"
    assert file.equation == "RELIEF with a cap: max w'z."
    assert file.formulation.name == "relief"
    assert file.data == ("iris", str(tmp_path / "near.csv"))
    assert file.grid == {"cap": [0.3, 0.6], "n_neighbors": [1]}
    assert file.solvers == ("CLARABEL", "SCS")
    assert not file.fit
    assert file.build is not None
    assert len(file.sha256) == 64


def test_the_least_a_file_can_say(write):
    file = load_problem_file(write('METHOD = "relief"\nDATA = ["iris"]\n'))
    assert file.build is None
    assert file.solvers == ("auto",)
    assert file.grid == {}


def test_a_bare_name_is_sought_in_the_problems_folder(write, tmp_path, monkeypatch):
    (tmp_path / "problems").mkdir()
    write(GOOD, "problems/capped.py")
    monkeypatch.chdir(tmp_path)
    assert load_problem_file("capped").path == tmp_path / "problems" / "capped.py"
    with pytest.raises(ProblemFileError, match=r"no file problems/caped\.py: did you mean capped"):
        load_problem_file("caped")
    with pytest.raises(ProblemFileError, match=r"there is no problem file nowhere/x\.py"):
        load_problem_file("nowhere/x.py")


def test_a_file_that_changed_is_refused(write):
    path = write(GOOD)
    before = load_problem_file(path).sha256
    assert load_problem_file(path, before).sha256 == before
    path.write_text(GOOD + "\n# changed\n")
    with pytest.raises(RunError, match="changed while the run was going"):
        load_problem_file(path, before)


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("SOLVERS =", "SOLVER ="), 7, "SOLVER means nothing here: did you mean SOLVERS?"),
        (('METHOD = "relief"\n', "\n"), 1, "METHOD is missing: give the name of a method"),
        (
            ('"relief"', '"releif"'),
            4,
            "unknown method or formulation 'releif': did you mean relief?",
        ),
        (('["iris", "near.csv"]', '"iris"'), 5, r"DATA must be a list of data sets.*, not 'iris'"),
        (('["iris", "near.csv"]', "[]"), 5, "DATA must be a list of data sets"),
        (('"cap":', '"cup":'), 11, "build asks for 'cap', which neither relief nor GRID offers"),
        (('"n_neighbors"', '"n_neighbor"'), 6, "did you mean n_neighbors?"),
        (("[0.3, 0.6]", "0.3"), 6, r"GRID\['cap'\] must be a list of values, not 0.3"),
        (("[0.3, 0.6]", "[]"), 6, r"GRID\['cap'\] must be a list of values"),
        (("[0.3, 0.6]", "[cp.Variable()]"), 6, "may hold numbers, words and lists"),
        (('"SCS"]', '"SSC"]'), 7, "unknown solver 'SSC': did you mean SCS?"),
        (('"SCS"]', '"native"]'), 7, "'native' solves relief as printed; this file changes it"),
        (("LIMIT = 7", "FIT = 1"), 8, "FIT must be True for the whole method or False"),
        (("LIMIT = 7", "LIMIT = 1 / 0"), 8, "ZeroDivisionError: division by zero"),
        (("LIMIT = 7", "LIMIT = = 7"), 8, "invalid syntax"),
        (("def build(z, cap, lam=0.0):", "build = 3\ndef b():"), 11, "build must be a function"),
    ],
)
def test_a_broken_contract_names_file_line_and_cure(write, change, line, message):
    assert change[0] in GOOD
    path = write(GOOD.replace(*change))
    with pytest.raises(ProblemFileError, match=rf"capped\.py, line {line}: .*{message}"):
        load_problem_file(path)


def test_the_whole_method_takes_no_argument_of_the_printed_problem(write):
    text = 'METHOD = "relief"\nDATA = ["iris"]\nFIT = True\nGRID = {"lam": [0, 50]}\n'
    with pytest.raises(ProblemFileError, match="GRID names 'lam', which neither build nor relief"):
        load_problem_file(write(text))


@pytest.mark.parametrize(
    ("method", "argument", "values"),
    [("logo-constrained", "beta", [2.0]), ("lfe-trace", "form", ["trace"])],
)
def test_the_whole_method_must_be_asked_for_a_formulation_not_its_default(
    write, method, argument, values
):
    text = f'METHOD = "{method}"\nDATA = ["iris"]\nFIT = True\n'
    needs = rf"line 1: {method} needs {argument} in GRID, for without it FIT = True fits another"
    with pytest.raises(ProblemFileError, match=needs):
        load_problem_file(write(text))
    with pytest.raises(ProblemFileError, match=needs):
        load_problem_file(write(text + f"GRID = {{{argument!r}: [None]}}\n"))
    assert load_problem_file(write(text + f"GRID = {{{argument!r}: {values}}}\n")).fit
    assert not load_problem_file(write(text.replace("True", "False"))).fit


def test_a_misspelt_build_is_not_ignored(write):
    with pytest.raises(ProblemFileError, match="line 11: Build is not called"):
        load_problem_file(write(GOOD.replace("def build", "def Build")))


def test_a_file_that_exits_is_an_error(write):
    with pytest.raises(ProblemFileError, match="line 8: SystemExit: 3"):
        load_problem_file(write(GOOD.replace("LIMIT = 7", "raise SystemExit(3)")))


def test_an_unreadable_file_is_named(write, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    path = write(GOOD)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ProblemFileError, match=r"capped\.py cannot be read \(Permission denied\)"):
        load_problem_file(path)


SEEDED = GOOD.replace('"n_neighbors": [1]', '"seed": [1, 2]').replace("lam=0.0", "seed, lam=0.0")


@pytest.mark.parametrize("fit", ["", "FIT = True\n"])
def test_a_seed_that_build_takes_may_vary(write, tmp_path, fit):
    from convexfs.batch.run import solve_files

    text = SEEDED.replace('"iris", "near.csv"', '"iris"').replace(', "SCS"', "")
    path = write(fit + text + "    # which may draw something by its seed\n")
    assert load_problem_file(path).grid["seed"] == [1, 2]
    progress = solve_files([str(path)], tmp_path / "out", jobs=1)
    assert (progress.total, progress.solved) == (4, 4)


def test_a_seed_that_nobody_takes(write):
    with pytest.raises(ProblemFileError, match="'seed', which neither build nor relief takes"):
        load_problem_file(write(SEEDED.replace("seed, lam", "lam")))
