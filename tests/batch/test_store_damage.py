"""Files that are damaged, or are no results of a run, are said to be so."""

import sqlite3
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from convexfs.batch.store.store import RESULTS, Store, pack, unpack
from convexfs.errors import InputError, RunError
from tests.batch.rows import ATTEMPT, fill, solution, task, with_file


def damage(folder, offset, text):
    with open(folder / RESULTS, "r+b") as file:
        file.seek(offset)
        file.write(text)


@pytest.mark.parametrize("opens", [Store, Store.read])
def test_a_damaged_file_is_a_clear_error(folder, opens):
    fill(folder)
    damage(folder, 0, b"what is this?")
    with pytest.raises(RunError, match=r"results\.sqlite: is damaged .*move it away"):
        opens(folder)


def test_a_run_killed_while_it_made_its_tables_has_no_results_yet(folder):
    folder.mkdir(parents=True)
    making = textwrap.dedent("""
        import os, sqlite3, sys
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.execute("PRAGMA cache_size = 1")  # what is written goes to the disk at once
        db.executescript("BEGIN; CREATE TABLE t (b); INSERT INTO t VALUES (zeroblob(1000000));")
        os._exit(0)
    """)
    subprocess.run([sys.executable, "-c", making, folder / RESULTS], check=True)
    assert (folder / f"{RESULTS}-journal").stat().st_size
    with pytest.raises(InputError, match="its run was stopped at once; start it again"):
        Store.read(folder)
    with Store(folder) as store:
        assert store.finished() == {}


def test_a_page_damaged_after_opening_is_a_clear_error(folder):
    fill(folder)
    with Store.read(folder) as store:
        damage(folder, 4096, b"\xff" * 4096 * 3)
        store._db.execute("PRAGMA cache_size = 0")
        with pytest.raises(RunError, match="is damaged"):
            store.tasks()


def test_after_damage_the_lock_is_free(folder):
    fill(folder)
    damage(folder, 0, b"what is this?")
    for _ in range(2):
        with pytest.raises(RunError, match="damaged"):
            Store(folder)


def test_tables_of_another_version(folder):
    fill(folder)
    with sqlite3.connect(folder / RESULTS) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(RunError, match=r"version 99.*move it away"):
        Store(folder)


def test_a_database_of_somebody_else(folder):
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / RESULTS) as file:
        file.execute("CREATE TABLE songs (title)")
    file.close()
    with pytest.raises(RunError, match="another program"):
        Store(folder)


@pytest.mark.parametrize("opens", [Store, Store.read])
def test_damage_in_the_middle_is_seen_on_opening(folder, opens):
    with Store(folder) as store:
        for number in range(300):
            store.record(task(f"key {number}"), [ATTEMPT], [solution()])
    pages = (folder / RESULTS).stat().st_size // 4096
    damage(folder, 4096 * (pages // 2), b"\xff" * 4096)
    with pytest.raises(RunError, match=r"is damaged \(.*move it away, or solve into another"):
        opens(folder)


@pytest.mark.parametrize("opens", [Store, Store.read])
@pytest.mark.parametrize("table", ["tasks", "solutions", "problems", "environment"])
def test_a_missing_column_or_table_is_damage(folder, opens, table):
    fill(folder)
    column = {"environment": "record", "problems": "mathml"}.get(table, "status")
    with_file(folder, f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
    with pytest.raises(RunError, match=rf"is damaged: it lacks {table}\.{column}; move it away"):
        opens(folder)
    with_file(folder, f"DROP TABLE {table}")
    with pytest.raises(RunError, match=f"is damaged: it lacks {table}"):
        opens(folder)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("objective", "'abc'"),
        ("repeat", "'x'"),
        ("ok", "7"),
        ("ok", "'yes'"),
        ("status", "x'ff'"),
        ("objective", "CAST(x'ff' AS TEXT)"),
        ("failure", "CAST(x'ff' AS TEXT)"),
        ("hyper", "'{\"lam\":'"),
        ("hyper", "'[1]'"),
    ],
)
def test_a_value_of_another_kind_is_damage(folder, column, value):
    fill(folder)
    with_file(folder, f"UPDATE tasks SET {column} = {value} WHERE key = 'b'")
    with Store.read(folder) as store, pytest.raises(RunError, match="is damaged"):
        store.tasks()


def test_arrays_that_are_none_are_damage():
    for blob in (b"", b"words", pack({"w": np.arange(9.0)})[:-30], b"PK\x03\x04" + bytes(40)):
        with pytest.raises(RunError, match=r"the arrays of a result are damaged \("):
            unpack(blob)


def test_a_machine_that_is_noted_wrongly_is_damage(folder):
    with Store(folder) as store:
        store.environment({"python": "3.11"})
        assert store.environments() == [{"python": "3.11"}]
    with_file(folder, "UPDATE environment SET record = '7'")
    with Store.read(folder) as store, pytest.raises(RunError, match=r"environment\.record holds"):
        store.environments()


def test_tables_that_belie_their_version_are_damage(folder):
    fill(folder)
    with_file(folder, "PRAGMA user_version = 1")
    with pytest.raises(RunError, match="its tables are not of the version it says"):
        Store(folder)
