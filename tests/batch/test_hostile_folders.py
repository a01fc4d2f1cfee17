"""Folders, archives and files of others: none chooses what is run, and damage is one line."""

import json
import os
import shutil
import sqlite3

import numpy as np
import pytest

from convexfs import LLFS, load, open_run
from convexfs.batch.run import solve_files
from convexfs.batch.store.merge import merge
from convexfs.batch.store.shards import Shard
from convexfs.batch.store.store import RESULTS, Store
from convexfs.errors import ConvexfsError, InputError, RunError
from tests.batch.problem_texts import program_file
from tests.batch.rows import with_file

POINTS = """
METHOD = "llfs"
FIT = "points"
DATA = ["subclasses:n=4,noise=1"]
GRID = {"max_features": [2], "betas": [3]}
SOLVERS = ["native"]
"""
CHANGED = """
import pathlib
import cvxpy as cp
pathlib.Path("ran").write_text("the folder chose")
def feasible(f, max_features):
    return [f >= 0, f <= 1, cp.sum(f) <= max_features]
"""


@pytest.fixture(scope="module")
def points_solved(tmp_path_factory):
    """A finished run of LLFS by points."""
    folder = tmp_path_factory.mktemp("points")
    (folder / "points.py").write_text(POINTS)
    solve_files([folder / "points.py"], folder / "run")
    return folder / "run"


@pytest.fixture
def points(points_solved, tmp_path):
    """A copy of that run, which a test may damage."""
    return shutil.copytree(points_solved, tmp_path / "points")


@pytest.mark.filterwarnings("ignore:feasible drops")
def test_a_folder_does_not_choose_the_problem_file_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(POINTS.replace('"native"', '"CLARABEL"') + CHANGED)
    solve_files([file], tmp_path / "run")
    (tmp_path / "ran").unlink()
    with pytest.raises(InputError, match=r"mine\.py: give that as formulation=; it is code"):
        LLFS.from_run(tmp_path / "run")
    assert not (tmp_path / "ran").exists()
    model = LLFS.from_run(tmp_path / "run", formulation=file)
    assert model.formulation == file
    other = tmp_path / "other.py"
    other.write_text(file.read_text().replace("<= max_features", "<= max_features - 1"))
    with pytest.raises(RunError, match="is not the problem file of the run"):
        LLFS.from_run(tmp_path / "run", formulation=other)


def test_a_folder_does_not_choose_the_files_that_are_read(points, tmp_path):
    assert LLFS.from_run(points).weights_.shape == (3,)
    secret = tmp_path / "secret.csv"
    with_file(points, f"UPDATE tasks SET data = '{secret}'")
    with pytest.raises(InputError, match=r"secret\.csv: give it as data="):
        LLFS.from_run(points)
    assert LLFS.from_run(points, "subclasses:n=4,noise=1").weights_.shape == (3,)
    (tmp_path / "points.py").write_text(POINTS)
    with pytest.raises(InputError, match="leave formulation= out"):
        LLFS.from_run(points, "subclasses:n=4,noise=1", formulation=tmp_path / "points.py")


def test_options_in_words_are_for_the_caller_to_give(points):
    options = json.dumps({"write_model_file": "mine.mps"})
    with_file(points, f"UPDATE tasks SET options = '{options}'")
    with pytest.raises(InputError, match="options in words may name files"):
        LLFS.from_run(points)


@pytest.mark.parametrize(
    "statement",
    [
        """UPDATE tasks SET hyper = '{"max_features": 2, "betas": 3}'""",
        """UPDATE tasks SET hyper = '{"max_features": 2, "betas": 3, "point": "a"}'""",
        "UPDATE tasks SET options = NULL",
        "UPDATE solutions SET primal = (SELECT primal FROM solutions WHERE label = 'point 0') "
        "WHERE label LIKE 'point %'",
        "UPDATE solutions SET primal = (SELECT primal FROM solutions WHERE label LIKE 'beta%')",
    ],
)
def test_points_that_do_not_match_their_tasks_are_refused(points, statement):
    with_file(points, statement)
    with pytest.raises(ConvexfsError):
        LLFS.from_run(points)


@pytest.mark.parametrize(
    "change",
    [
        {"shard": "one"}, {"of": None}, {"shard": 5}, {"versions": []}, {"files": {"a": 1}},
        {"run": 3}, {"tasks": 1.5}, {"data": None},
    ],
)  # fmt: skip
def test_edited_records_of_shards_are_one_line(tmp_path, change):
    file = tmp_path / "few.py"
    file.write_text('METHOD = "relief"\nDATA = ["iris"]\nGRID = {"n_neighbors": [1, 2, 3]}')
    solve_files([file], tmp_path / "part", shard=Shard(1, 2))
    with sqlite3.connect(tmp_path / "part" / RESULTS) as store:
        (record,) = store.execute("SELECT record FROM shards").fetchone()
        edited = json.dumps(json.loads(record) | change)
        store.execute("UPDATE shards SET record = ?", (edited,))
    store.close()
    with pytest.raises(RunError, match="its record of the shard is incomplete"):
        merge([tmp_path / "part"], tmp_path / "whole")
    with pytest.raises(RunError, match="its record of the shard is incomplete"):
        solve_files([file], tmp_path / "part", shard=Shard(1, 2))


def test_cells_that_a_spreadsheet_would_run_are_escaped_on_request(tmp_path, text_of):
    file = tmp_path / "few.py"
    file.write_text("import cvxpy as cp\ndef problem():\n    raise ValueError('no')\n")
    file = file.rename(tmp_path / "=cmd|' C'!A0.py")
    with pytest.raises(ConvexfsError):
        solve_files([file], tmp_path / "run")
    with Store(tmp_path / "run") as store:
        store.record(
            {"key": "a", "problem": "=cmd|' C'!A0", "formulation": "own", "status": "error",
             "solver": "X", "data": "own data", "hyper": {}, "repeat": 0},
            [], [],
        )  # fmt: skip
    for words, begins in (((), "=cmd"), (("--escape-formulas",), "'=cmd")):
        table = tmp_path / "table.csv"
        assert text_of("export", tmp_path / "run", "--to", table, *words)[0] == 0
        assert any(f",{begins}" in line or f',"{begins}' in line for line in table.open())


@pytest.fixture
def finished(tmp_path):
    """A finished run of one task and its problem file."""
    file = tmp_path / "few.py"
    file.write_text('METHOD = "relief"\nDATA = ["iris"]\nSOLVERS = ["native"]\n')
    solve_files([file], tmp_path / "run")
    return file, tmp_path / "run"


@pytest.mark.parametrize("name", [RESULTS, f"{RESULTS}-wal", "log.txt", "lock", "holder"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_a_folder_does_not_lead_a_run_to_other_files(finished, text_of, name, there):
    file, run = finished
    outside = file.with_name("outside")
    if there:
        outside.write_bytes(b"mine")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(outside)
    code, err = text_of("solve", file, "--jobs", 1, "--out", run)
    assert (code, err.count("\n")) == (2, 1)
    assert "symbolic link" in err
    assert outside.exists() == there
    assert not there or outside.read_bytes() == b"mine"


@pytest.mark.parametrize("name", [RESULTS, "log.txt", "lock", "holder"])
def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(finished, text_of, name):
    file, run = finished
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    code, err = text_of("solve", file, "--jobs", 1, "--out", run)
    assert (code, err.count("\n")) == (2, 1)
    assert "no regular file" in err


def test_a_page_is_not_written_through_a_link(finished, text_of):
    _, run = finished
    outside = run.with_name("outside.html")
    (run / "report.html").symlink_to(outside)
    code, err = text_of("report", run)
    assert (code, outside.exists()) == (2, False)
    assert "symbolic link" in err


ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT tasks_.* FROM tasks_, n"
)
FOREIGN = {
    "view": ["ALTER TABLE tasks RENAME TO tasks_", f"CREATE VIEW tasks AS {ENDLESS}"],
    "trigger": ["CREATE TRIGGER t AFTER INSERT ON tasks BEGIN UPDATE tasks SET ok = 1; END"],
    "virtual table": ["CREATE VIRTUAL TABLE v USING fts5(words)"],
    "trigger called a table": [
        "CREATE TRIGGER t AFTER INSERT ON tasks BEGIN UPDATE tasks SET ok = 1; END",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET type = 'table' WHERE name = 't'",
    ],
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_views_and_triggers_of_a_store_are_refused_before_they_run(finished, text_of, kind):
    file, run = finished
    database = sqlite3.connect(run / RESULTS, isolation_level=None)
    for statement in FOREIGN[kind]:
        database.execute(statement)
    database.close()
    for words in (("solve", file, "--jobs", 1, "--out", run), ("report", run), ("certify", run)):
        code, err = text_of(*words)
        assert (code, err.count("\n")) == (2, 1), words


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE VIEW holder AS SELECT 1 AS id, 2 AS pid, 3 AS host, 4 AS since"],
        ["CREATE TABLE holder (x)"],
    ],
)
def test_a_lock_that_is_none_of_ours_is_one_line(finished, text_of, statements):
    file, run = finished
    (run / "lock").unlink()
    database = sqlite3.connect(run / "lock", isolation_level=None)
    for statement in statements:
        database.execute(statement)
    database.close()
    code, err = text_of("solve", file, "--jobs", 1, "--out", run)
    assert (code, err.count("\n")) == (2, 1)
    assert "no lock of convexfs" in err


@pytest.mark.parametrize(
    "table", ["holder (id INTEGER PRIMARY KEY, pid, host, since)", "other (x)"]
)
def test_a_process_that_has_just_taken_the_lock_is_reported(finished, text_of, table):
    file, run = finished
    (run / "lock").unlink()
    database = sqlite3.connect(run / "lock", isolation_level=None)
    database.execute(f"CREATE TABLE {table}")
    database.execute("BEGIN IMMEDIATE")
    code, err = text_of("solve", file, "--jobs", 1, "--out", run)
    database.close()
    assert (code, err.count("\n")) == (2, 1)
    assert "another process has just started here" in err


class _Payload:
    """An object whose pickle writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_no_pickle_in_a_file_of_arrays_is_read(finished, text_of):
    file, run = finished
    ran, arrays = file.with_name("ran"), file.with_name("arrays.npz")
    hostile = np.array([_Payload(ran)], dtype=object)
    names = ("x", "X", "y", "A", "b", "c", "P", "q", "kind", "cones", "objective", "primal", "w")
    np.savez(arrays, **dict.fromkeys(names, hostile))  # pyright: ignore[reportArgumentType]
    blob, whole = arrays.read_bytes(), program_file(file.with_name("whole.npz"))
    with Store(run) as store:
        store._db.execute("UPDATE solutions SET primal = ?, dual = ?", (blob, blob))
    one = arrays.with_suffix(".npy")
    np.save(one, hostile)
    for words in (
        ("solve", arrays, "--out", run.with_name("a")),
        ("certify", arrays),
        ("certify", whole, "--solution", arrays),
        ("select", arrays),
        ("select", one),
        ("report", run),
        ("certify", run, "--problem", file),
        ("export", run, "--to", file.with_name("table.csv")),
    ):
        text_of(*words)
        assert not ran.exists(), words
    with pytest.raises(ConvexfsError):
        open_run(run).tasks(primal=True)
    with pytest.raises(ConvexfsError):
        load(str(arrays))
    assert not ran.exists()
