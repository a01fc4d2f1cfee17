"""The results of a run: a folder with a SQLite file that no accident empties.

::

    runs/first/results.sqlite   the four tables of SCHEMA, read by any SQLite tool
    runs/first/log.txt          what the run had to say
    runs/first/lock             who is running now

One process writes, any number read meanwhile. The file is in WAL mode with
``synchronous=NORMAL``: a row is safe from the end of this process, SIGKILL included, as
soon as :meth:`Store.record` returns; a power cut may take the last rows, never the file.
"""

import io
import json
import os
import socket
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.errors import InputError, RunError

RESULTS, LOG, LOCK = "results.sqlite", "log.txt", "lock"
VERSION = 2
SCHEMA = """
CREATE TABLE tasks (           -- one row for every task that has come to its end
  key TEXT PRIMARY KEY,        -- sha256 of all that determines the result
  problem TEXT,                -- name of the problem file
  problem_file TEXT,           -- its path
  problem_sha256 TEXT,         -- of its text
  problem_code TEXT,           -- hash of what in it states the problem
  method TEXT,                 -- whose numeric half prepared the values
  formulation TEXT,            -- the convex problem that was solved
  needs TEXT,                  -- what it asks of a solver, such as LP or EXP + QP
  sense TEXT,                  -- min or max
  data TEXT,                   -- the dataset as it was named
  data_sha256 TEXT,            -- of its numbers
  hyper TEXT,                  -- hyper-parameters, JSON
  solver TEXT,
  solver_version TEXT,
  options TEXT,                -- tol and time_limit in the solver's own words, JSON
  tol REAL,                    -- accuracy asked for; NULL: the solver's own default
  time_limit REAL,             -- seconds allowed; NULL: no limit
  repeat INTEGER,              -- number of the repetition
  seed INTEGER,
  status TEXT,                 -- cvxpy's word, or error, timeout, skipped
  failure TEXT,                -- class and text of what went wrong, or empty
  objective REAL,
  ok INTEGER,                  -- the certificate's verdict: 1, 0 or NULL (not certified)
  n_attempts INTEGER,          -- rows in attempts
  build_seconds REAL,          -- stating the problem
  compile_seconds REAL,        -- cvxpy's canonicalisation
  solve_seconds REAL,          -- the solver's own work
  wall_seconds REAL,           -- the whole last attempt
  cpu_seconds REAL,            -- its processor time
  environment INTEGER,         -- id in environment
  finished_utc TEXT
);
CREATE TABLE attempts (        -- every try, also those that a dying worker took along
  key TEXT,
  attempt INTEGER,             -- 1, 2, ...
  started_utc TEXT,
  seconds REAL,
  cpu_seconds REAL,            -- NULL if it was cut short
  pid INTEGER,
  host TEXT,
  ended TEXT,                  -- done, error, timeout, died
  failure TEXT,
  PRIMARY KEY (key, attempt)
);
CREATE TABLE solutions (       -- the answers of a task, one for every step of its method
  key TEXT,
  step INTEGER,                -- 0, 1, ...; the last is the task's own answer
  label TEXT,                  -- what the step is, such as iteration
  change REAL,                 -- how far an iteration moved the weights, relatively
  status TEXT,
  objective REAL,
  primal_residual REAL,        -- of the certificate, as are the next five
  dual_residual REAL,
  complementarity REAL,
  gap REAL,
  ok INTEGER,
  certificate_tol REAL,
  basis TEXT,                  -- what the residuals were computed on
  iterations INTEGER,
  primal BLOB,                 -- arrays by symbol, see unpack
  dual BLOB,                   -- arrays by constraint, see unpack
  PRIMARY KEY (key, step)
);
CREATE TABLE environment (     -- the machines and versions rows were computed with
  id INTEGER PRIMARY KEY,
  record TEXT UNIQUE           -- JSON
);
"""
#: What brings tables of an older version to the next one.
UPGRADES = {
    1: """ALTER TABLE tasks ADD COLUMN problem_code TEXT;
          ALTER TABLE tasks ADD COLUMN needs TEXT; ALTER TABLE tasks ADD COLUMN sense TEXT;
          ALTER TABLE solutions ADD COLUMN change REAL;""",
}
#: Columns in which two equal runs may differ; so may all of attempts and environment.
VOLATILE = {"n_attempts", "environment", "finished_utc", "wall_seconds", "cpu_seconds"} | {
    f"{stage}_seconds" for stage in ("build", "compile", "solve")
}
#: Tasks are read in this order, whatever the order of arrival was.
ORDER = "problem, data, method, formulation, hyper, solver, options, repeat, key"
#: What went wrong, by SQLite's primary result code, and what to do.
MOVE = "move it away or choose another --out"
AGAIN = "what was recorded before is safe, and the same command goes on from there"
TROUBLE = {
    sqlite3.SQLITE_FULL: f"the disk is full; make room: {AGAIN}",
    sqlite3.SQLITE_IOERR: f"the disk failed; check it: {AGAIN}",
    sqlite3.SQLITE_BUSY: f"another program keeps it locked; close that: {AGAIN}",
    sqlite3.SQLITE_CORRUPT: f"is damaged; {MOVE}",
    sqlite3.SQLITE_NOTADB: f"is damaged or no database; {MOVE}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened; {MOVE}",
    sqlite3.SQLITE_READONLY: f"cannot be written; {MOVE}",
}


class Store(AbstractContextManager["Store"]):
    """The results of one run, open for writing.

    Parameters
    ----------
    folder : path
        Made if missing. Locked until :meth:`close`, or until this process ends.
    """

    def __init__(self, folder: str | Path):
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: cannot be made ({error.strerror})") from error
        self.path = folder / RESULTS
        with ExitStack() as held, _explained(self.path):
            with _explained(folder / LOCK):
                _lock(folder, held)
            self._db = held.enter_context(closing(_connect(self.path, "rwc")))
            self._prepare()
            self._held = held.pop_all()

    @classmethod
    def read(cls, folder: str | Path) -> "Store":
        """Open for reading only, without the lock: a run may go on meanwhile."""
        store = cls.__new__(cls)
        store.path = Path(folder) / RESULTS
        if not store.path.is_file():
            raise InputError(f"{folder}: holds no {RESULTS}; give the --out folder of a run")
        with ExitStack() as held, _explained(store.path):
            store._db = held.enter_context(closing(_connect(store.path, "ro")))
            store._check_version()
            store._held = held.pop_all()
        return store

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._held.close()

    def finished(self) -> dict[str, tuple[str, bool | None, str]]:
        """Return status, verdict of the certificate and failure of every key that has a row."""
        with _explained(self.path):
            rows = self._db.execute("SELECT key, status, ok, failure FROM tasks").fetchall()
        return {
            key: (status, None if ok is None else bool(ok), failure or "")
            for key, status, ok, failure in rows
        }

    def record(
        self,
        task: Mapping[str, Any],
        attempts: Iterable[Mapping[str, Any]],
        solutions: Iterable[Mapping[str, Any]],
    ) -> None:
        """Write a task's end in one transaction: all of it is in the file, or nothing.

        Rows are mappings from column to value, what is missing is NULL. Mappings become
        JSON, mappings of arrays blobs. A key written again replaces its row and solutions;
        its attempts are added to those there. Sets ``n_attempts`` and ``finished_utc``.
        """
        key = task["key"]
        with self._transaction():
            count = self._db.execute("SELECT count(*) FROM attempts WHERE key = ?", (key,))
            attempt = count.fetchone()[0]
            for row in attempts:
                attempt += 1
                self._insert("attempts", {"key": key, "attempt": attempt, **row})
            self._db.execute("DELETE FROM solutions WHERE key = ?", (key,))
            for row in solutions:
                self._insert("solutions", {"key": key, **row})
            finished = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._insert("tasks", {**task, "n_attempts": attempt, "finished_utc": finished})

    def environment(self, record: Mapping[str, Any]) -> int:
        """Return the id of this environment, noting it if it is new."""
        text = _cell("record", record)
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO environment (record) VALUES (?)", (text,))
            found = self._db.execute("SELECT id FROM environment WHERE record = ?", (text,))
            return found.fetchone()[0]

    def tasks(self) -> pd.DataFrame:
        """Return the table of tasks."""
        return self._frame("tasks", ORDER)

    def attempts(self) -> pd.DataFrame:
        """Return the table of attempts."""
        return self._frame("attempts")

    def solutions(self, blobs: bool = True) -> pd.DataFrame:
        """Return the table of solutions, with or without blobs; see :func:`unpack` for these."""
        return self._frame("solutions", blobs=blobs)

    def _frame(self, table: str, order: str = "1, 2", blobs: bool = True) -> pd.DataFrame:
        dtypes = {"TEXT": "string", "INTEGER": "Int64", "REAL": "float64", "BLOB": "object"}
        with _explained(self.path):
            columns = self._db.execute(f"PRAGMA table_info({table})").fetchall()
            kinds = {name: kind for _, name, kind, *_ in columns if blobs or kind != "BLOB"}
            query = f"SELECT {', '.join(kinds)} FROM {table} ORDER BY {order}"
            rows = self._db.execute(query).fetchall()
        frame = pd.DataFrame(rows, columns=list(kinds))
        return frame.astype(
            {name: "boolean" if name == "ok" else dtypes[kind] for name, kind in kinds.items()}
        )

    def _prepare(self) -> None:
        if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            self._db.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
        for version in range(self._check_version(), VERSION):
            step = f"{UPGRADES[version]} PRAGMA user_version = {version + 1};"
            self._db.executescript(f"BEGIN; {step} COMMIT;")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")

    def _check_version(self) -> int:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (*UPGRADES, VERSION):
            raise RunError(
                f"{self.path}: has tables of version {version}, not {VERSION}, so another version "
                f"of convexfs or another program wrote it; {MOVE}"
            )
        return version

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" * len(row))
        values = [_cell(name, value) for name, value in row.items()]
        self._db.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", values)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk has rolled back already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _connect(path: Path, mode: str, patience: float = 30.0) -> sqlite3.Connection:
    with _explained(path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=patience)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what can happen to a file on a disk into a sentence; leave mistakes of ours."""
    try:
        yield
    except sqlite3.Error as error:
        trouble = TROUBLE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if trouble is None:
            raise
        raise RunError(f"{path}: {trouble} ({error})") from error


def _lock(folder: Path, held: ExitStack) -> None:
    """Take the run's lock, or name the process that has it.

    The lock is an open write transaction on a little database: it ends with this process
    however that ends, forked workers do not inherit it, and others can read meanwhile
    who holds it.
    """
    lock = held.enter_context(closing(_connect(folder / LOCK, "rwc", patience=0.5)))
    try:
        lock.execute("BEGIN IMMEDIATE")
        lock.execute("CREATE TABLE IF NOT EXISTS holder (id INTEGER PRIMARY KEY, pid, host, since)")
        me = (os.getpid(), socket.gethostname(), f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}")
        lock.execute("INSERT OR REPLACE INTO holder VALUES (1, ?, ?, ?)", me)
        lock.execute("COMMIT")
        lock.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        pid, host, since = lock.execute("SELECT pid, host, since FROM holder").fetchone()
        raise RunError(
            f"{folder}: process {pid} on {host} has been running here since {since} UTC; "
            "wait for it, stop it, or choose another --out"
        ) from error


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Turn named arrays into a compressed blob; equal arrays give equal bytes.

    It is a ``.npz`` file with its members in the order of their names and no times.
    """
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(arrays[name]), allow_pickle=False)
    return blob.getvalue()


def unpack(blob: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that :func:`pack` was given."""
    with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
        return dict(archive)


def _cell(column: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if column in ("primal", "dual"):
            return pack(value)
        return json.dumps(value, sort_keys=True, default=lambda part: part.tolist())
    return value.item() if isinstance(value, np.generic) else value


def same_results(first: str | Path, second: str | Path) -> list[str]:
    """Return the differences of two runs in all but VOLATILE columns; none: they are equal."""
    with Store.read(first) as one, Store.read(second) as other:
        return [
            difference
            for table, key in (("tasks", ["key"]), ("solutions", ["key", "step"]))
            for difference in _differences(table, _rows(one, table, key), _rows(other, table, key))
        ]


def _rows(store: Store, table: str, key: list[str]) -> dict[tuple, dict[str, Any]]:
    rows = store._frame(table).astype(object)
    records = rows.where(rows.notna(), None).drop(columns=list(VOLATILE), errors="ignore")
    return {tuple(row[name] for name in key): row for row in records.to_dict("records")}


def _differences(table: str, ours: dict[tuple, dict], theirs: dict[tuple, dict]) -> Iterator[str]:
    for key in sorted(ours.keys() ^ theirs.keys()):
        yield f"{table} {key}: only in the {'first' if key in ours else 'second'} run"
    for key in sorted(ours.keys() & theirs.keys()):
        for column, value in ours[key].items():
            other = theirs[key].get(column)
            if _comparable(value) != _comparable(other):
                shown = "arrays" if isinstance(value, bytes) else f"{value!r} and {other!r}"
                yield f"{table} {key} {column}: {shown} differ"


def _comparable(value: Any) -> Any:
    """Arrays by their numbers, not by how they were compressed."""
    if not isinstance(value, bytes):
        return value
    arrays = unpack(value).items()
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays}
