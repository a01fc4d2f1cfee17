"""Rows survive what befalls the file, the disk and the process."""

import io
import json
import math
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest

import convexfs
from convexfs.batch.store.schema import SCHEMA, VOLATILE
from convexfs.batch.store.store import RESULTS, Store, pack, same_results, unpack
from convexfs.errors import RunError
from tests.batch.older_store import make_older
from tests.batch.rows import ATTEMPT, fill, solution, task


def test_round_trip(folder):
    fill(folder)
    with Store.read(folder) as store:
        tasks, attempts, solutions = store.tasks(), store.attempts(), store.solutions()
    assert tasks["key"].tolist() == ["a", "b", "c"]
    first = tasks.iloc[0].to_dict()
    assert first["objective"] == 0.1 + 0.2
    assert json.loads(first["hyper"]) == {"lam": 0.5, "sigma": 2}
    assert tasks["ok"].tolist() == [True] * 3
    assert first["n_attempts"] == 1
    assert first["finished_utc"].endswith("+00:00")
    assert not tasks["time_limit"].dropna().tolist()
    assert attempts[["key", "attempt", "ended"]].iloc[2].tolist() == ["c", 1, "done"]
    assert len(solutions) == 6
    assert not solutions["ok"].dropna().tolist()
    arrays = unpack(solutions["primal"].iloc[0])
    np.testing.assert_array_equal(arrays["w"], [0, 1, 2])
    assert arrays["mask"].tolist() == [True, False]
    assert unpack(solutions["dual"].iloc[0]) == {}


def test_empty_tables_have_their_columns(folder):
    Store(folder).close()
    with Store.read(folder) as store:
        assert {"key", "status", "ok"} <= set(store.tasks())
        assert store.attempts().empty
        assert store.solutions().empty


def test_a_key_written_again_replaces_its_row_and_keeps_its_attempts(folder):
    with Store(folder) as store:
        store.record(task("a", status="error"), [ATTEMPT, ATTEMPT], [])
        store.record(task("a"), [ATTEMPT], [solution()])
        store.record(task("a"), [], [solution(7)])
        assert store.tasks()["status"].tolist() == ["optimal"]
        assert store.tasks()["n_attempts"].tolist() == [3]
        assert store.attempts()["attempt"].tolist() == [1, 2, 3]
        assert store.solutions()["step"].tolist() == [7]


def test_finished_tells_how_every_task_ended(folder):
    with Store(folder) as store:
        store.record(task("a"), [], [])
        store.record(task("b", status="error", ok=None, failure="OSError: no"), [], [])
        store.record(task("c", ok=False), [], [])
        assert store.finished() == {
            "a": ("optimal", True, ""),
            "b": ("error", None, "OSError: no"),
            "c": ("optimal", False, ""),
        }


def test_a_row_is_written_whole_or_not_at_all(folder):
    with Store(folder) as store:
        store.record(task("a"), [ATTEMPT], [solution()])
        with pytest.raises(sqlite3.OperationalError, match="colour"):
            store.record(task("b"), [ATTEMPT], [solution(colour="red")])
        assert set(store.finished()) == {"a"}
        assert len(store.attempts()) == len(store.solutions()) == 1


def test_an_environment_is_noted_once(folder):
    with Store(folder) as store:
        first = store.environment({"python": "3.11", "cpus": 2})
        assert store.environment({"cpus": 2, "python": "3.11"}) == first
        assert store.environment({"cpus": 4, "python": "3.11"}) != first


def test_packing_is_exact_and_the_same_every_time():
    arrays = {
        "file": np.array([math.nan, -0.0, 1e-300]),
        "a/b": np.eye(2, dtype=np.float32),
        "x": np.array(3),
        "names": np.array(["p", "qq"]),
        "long": np.arange(1000) / 7,
        "by columns": np.asfortranarray(np.arange(200.0).reshape(10, 20)),
        "slice": np.arange(400.0).reshape(20, 20)[::2, ::3],
        "empty": np.empty((0, 3)),
        "ü": np.array([True, False]),
    }
    blob = pack(arrays)
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [f"{name}.npy" for name in sorted(arrays)]
    assert blob == pack(dict(reversed(arrays.items())))
    back = unpack(blob)
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()
    assert len(pack({"w": np.zeros(10_000)})) < 1000
    assert unpack(pack({})) == {}


def test_arrays_that_need_zip64_are_packed_too(monkeypatch):
    monkeypatch.setattr("convexfs.batch.store.schema._LARGEST", 1000)
    arrays = {"a": np.arange(3.0), "b": np.arange(500.0)}
    back = unpack(pack(arrays))
    assert all((back[name] == arrays[name]).all() for name in arrays)


def test_objects_are_not_packed():
    with pytest.raises(ValueError, match="an array of objects cannot be stored"):
        pack({"w": np.array([object()])})


def test_a_reader_sees_what_is_written_meanwhile(folder):
    with Store(folder) as writer, Store.read(folder) as reader:
        assert set(reader.finished()) == set()
        writer.record(task("a"), [], [])
        assert set(reader.finished()) == {"a"}
        with pytest.raises(RunError, match="cannot be written"):
            reader.record(task("b"), [], [])


def test_the_second_run_is_refused(folder):
    with (
        Store(folder),
        pytest.raises(RunError, match=r"process \d+ on .* since \d{4}-\d\d-\d\d .* UTC; wait"),
    ):
        Store(folder)
    # Refusing it did not let go of the first's lock.
    with Store(folder) as first:
        first.record(task("a"), [], [])
        for _ in range(2):
            with pytest.raises(RunError, match="choose another --out"):
                Store(folder)
    with Store(folder) as store:
        assert set(store.finished()) == {"a"}


KILLED = """
    import os, signal, sys
    from convexfs.batch.store.store import Store

    store = Store(sys.argv[1])
    for number in range(100):
        store.record({"key": str(number)}, [], [])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_loses_no_row_and_leaves_no_lock(folder):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(folder)]
    assert subprocess.run(command).returncode < 0
    with Store.read(folder) as store:
        assert len(set(store.finished())) == 100
    with Store(folder) as store:
        assert len(set(store.finished())) == 100


def test_a_full_disk_keeps_what_was_there(folder):
    with Store(folder) as store:
        store.record(task("a"), [], [])
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages + 5}")
        noise = np.random.default_rng(0).normal(size=100_000)
        with pytest.raises(RunError, match=r"disk is full; .* before is safe, .* same command"):
            store.record(task("b"), [], [solution(primal={"w": noise})])
        store.record(task("c"), [], [])
        assert set(store.finished()) == {"a", "c"}


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be made"):
        Store(tmp_path / "file")


def test_odd_folder_names(tmp_path):
    fill(tmp_path / "50% of #1? ü")
    assert (tmp_path / "50% of #1? ü" / RESULTS).is_file()


def test_equal_runs(tmp_path):
    first = fill(tmp_path / "first", wall_seconds=1.0, environment=1)
    second = fill(tmp_path / "second", wall_seconds=2.0, environment=2)
    assert same_results(first, second) == []


def test_runs_that_differ(tmp_path):
    first = fill(tmp_path / "first")
    second = fill(tmp_path / "second", objective=0.3)
    with Store(second) as store:
        store.record(task("c"), [], [solution(0, primal={"w": np.zeros(3)})])
        store.record(task("d"), [], [])
    differences = same_results(first, second)
    assert [text.split(":")[0] for text in differences] == [
        "tasks ('d',)",
        "tasks ('a',) objective",
        "tasks ('b',) objective",
        "solutions ('c', 1)",
        "solutions ('c', 0) primal",
    ]
    assert "0.30000000000000004 and 0.3" in differences[1]


def test_volatile_columns_exist():
    assert all(f"\n  {column} " in SCHEMA for column in VOLATILE)


@pytest.mark.parametrize(
    "happens",
    [
        lambda folder, moved: shutil.rmtree(moved),
        lambda *_: None,
        lambda folder, moved: fill(folder),
    ],
    ids=["deleted", "moved", "replaced"],
)
def test_a_folder_that_goes_away_stops_the_writer(folder, tmp_path, happens):
    with Store(folder) as store:
        store.record(task("a"), [], [])
        happens(folder, folder.rename(tmp_path / "elsewhere"))
        with pytest.raises(RunError, match=r"was moved, deleted or replaced .* put the folder"):
            store.record(task("b"), [], [])


def test_a_folder_that_was_moved_has_what_was_written_before(folder, tmp_path):
    with Store(folder) as store:
        store.record(task("a"), [], [])
        folder.rename(tmp_path / "elsewhere")
        with pytest.raises(RunError, match="was moved"):
            store.record(task("b"), [], [])
    with Store.read(tmp_path / "elsewhere") as moved:
        assert set(moved.finished()) == {"a"}


def test_a_problem_is_kept_once_and_can_be_stated_again(folder):
    with Store(folder) as store:
        store.keep_problem({"sha256": "a", "source": "old", "failure": "no memory"})
        assert store.stated() == {"a": "no memory"}
        store.keep_problem({"sha256": "a", "source": "new", "failure": ""})
        assert store.stated() == {"a": ""}
        assert store.problems()["source"].tolist() == ["new"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tables_of_older_versions_are_read_and_brought_up_to_date(folder, version):
    fill(folder, needs="LP")
    make_older(folder, version)
    with Store.read(folder) as store:
        assert store.tasks()["needs"].notna().tolist() == [version > 1] * 3
        assert store.tasks()["own_options"].isna().tolist() == [True] * 3
        assert store.problems().empty
    with Store(folder) as store:
        store.record(task("d", needs="QP", own_options="{}"), [], [])
        store.keep_problem({"sha256": "a"})
    with Store.read(folder) as store:
        assert len(store.tasks()) == 4
        assert len(store.tasks()["needs"].dropna()) == (4 if version > 1 else 1)
        assert len(store.tasks()["own_options"].dropna()) == 1
        assert store.problems()["sha256"].tolist() == ["a"]


def test_the_times_of_a_run(folder):
    fill(folder)
    with Store.read(folder) as store:
        first, last = store.times()
        assert first == min(store.attempts()["started_utc"])[:19].replace("T", " ")
        assert last == max(store.tasks()["finished_utc"])[:19].replace("T", " ")
    Store(folder / "empty").close()
    with Store.read(folder / "empty") as store:
        assert store.times() == ("", "")


def test_the_last_step_of_a_task_is_its_answer(folder):
    steps = [solution(step, primal={"w": np.full(2, step)}) for step in range(3)]
    with Store(folder) as store:
        store.record(task("a"), [], steps)
        store.record(task("b"), [], [solution(0, primal=None)])
        (row,) = store.answers().to_dict("records")
    assert row["key"] == "a"
    assert unpack(row["primal"])["w"].tolist() == [2, 2]


def test_only_the_store_speaks_sql():
    package = Path(convexfs.__file__).parent
    speaking = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\bSELECT\s.+\sFROM\s|\bPRAGMA\s", path.read_text())
    }
    assert speaking == {
        "batch/store/store.py", "batch/store/schema.py", "batch/store/sqlite_file.py",
        "batch/store/merge.py",
    }  # fmt: skip
