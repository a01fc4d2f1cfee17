"""The results of a run: a folder with a SQLite file that no accident empties.

::

    runs/first/results.sqlite   the tables of schema.py, read by any SQLite tool
    runs/first/log.txt          what the run had to say
    runs/first/lock             who is running now
    runs/first/holder           the same, where several hosts may write

One process writes, any number read meanwhile. A row is safe from the end of this process,
SIGKILL included, as soon as :meth:`Store.record` returns; a power cut may take the last rows,
never the file. The file is in WAL mode where the file system is a local one with shared memory
maps and locks, otherwise it has a rollback journal; see :mod:`convexfs.batch.store.sqlite_file`.
"""

import json
import sqlite3
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.batch.store import schema, sqlite_file
from convexfs.batch.store.cells import cell, insertion, table_column, task_frame
from convexfs.batch.store.run_lock import RunLock
from convexfs.batch.store.schema import pack, unpack
from convexfs.batch.store.sqlite_file import MOVE, connect, explain_errors, identity, probe
from convexfs.errors import InputError, RunError

__all__ = ["LOG", "RESULTS", "Store", "pack", "same_results", "task_frame", "unpack"]

RESULTS, LOG, LOCK, HOLDER = "results.sqlite", "log.txt", "lock", "holder"


class Store(AbstractContextManager["Store"]):
    """The SQLite store of a run's folder: locked for writing, or opened by :meth:`read` only.

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
        self.path, self._lock = folder / RESULTS, None
        try:
            system = probe(folder)
        except OSError as error:
            raise RunError(f"{folder}: cannot be written ({error.strerror}); {MOVE}") from error
        _check_files(folder)
        with ExitStack() as held, explain_errors(self.path):
            with explain_errors(folder / LOCK):
                if system.locks:
                    sqlite_file.lock(folder / LOCK, held)
                if system.shared or not system.locks:
                    self._lock = RunLock(folder / HOLDER)
                    self._lock.take(held)
            self._db = held.enter_context(closing(connect(self.path, "rwc", locks=system.locks)))
            self._prepare(system)
            self._file = identity(self.path)
            self._held = held.pop_all()

    @classmethod
    def read(cls, folder: str | Path) -> "Store":
        """Open a run's folder for reading only, without the lock; the run may continue."""
        store = cls.__new__(cls)
        store.path, store._lock = Path(folder) / RESULTS, None
        if not store.path.is_file():
            inside = sorted(path.parent.name for path in Path(folder).glob(f"*/{RESULTS}"))
            runs = f", such as {Path(folder) / inside[0]}" if inside else ""
            raise InputError(f"{folder}: holds no {RESULTS}; give the folder of a run{runs}")
        with ExitStack() as held, explain_errors(store.path):
            path, mode = sqlite_file.readable(store.path, held)
            store._db = held.enter_context(closing(connect(path, mode)))
            if not schema.has_tables(store._db):
                raise InputError(f"{folder}: its run was stopped at once; start it again")
            store._check()
            store._file = identity(store.path)
            store._held = held.pop_all()
        return store

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release the lock."""
        self._held.close()

    def finished(self) -> dict[str, tuple[str, bool | None, str]]:
        """Return {key: (status, True, False or None as verdict, failure)} of all stored tasks."""
        rows = self._select("SELECT key, status, ok, failure FROM tasks")
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
        """Store a task's row and solutions, replacing older ones, and add attempts; all or nothing.

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

    def renew(self, key: str, step: int, certificate: Mapping[str, Any], failure: str) -> None:
        """Overwrite the certificate of a stored solution, and verdict and failure of its task."""
        names = ", ".join(f'"{name}" = ?' for name in certificate)
        values = [cell(name, value) for name, value in certificate.items()]
        with self._transaction():
            self._db.execute(
                f"UPDATE solutions SET {names} WHERE key = ? AND step = ?", (*values, key, step)
            )
            self._db.execute(
                "UPDATE tasks SET ok = ?, failure = ? WHERE key = ?",
                (certificate["ok"], failure, key),
            )

    def stated(self) -> dict[str, str]:
        """Return {hash: why it could not be stated, or ""} of all stored problem files."""
        return dict(self._select("SELECT sha256, failure FROM problems"))

    def keep_problem(self, row: Mapping[str, Any]) -> None:
        """Store the row of a problem file (source and statement), replacing an earlier one."""
        with self._transaction():
            self._insert("problems", row)

    def environment(self, record: Mapping[str, Any]) -> int:
        """Return the id of this environment's record, storing it if it is new."""
        return self._noted("environment", record)

    def keep_study(self, record: Mapping[str, Any]) -> None:
        """Store the record that is needed to repeat a comparison, unless it is there already."""
        self._noted("studies", record)

    def keep_shard(self, record: Mapping[str, Any]) -> None:
        """Store the record of which shard of which run this is, unless it is there already."""
        self._noted("shards", record)

    def _noted(self, table: str, record: Mapping[str, Any]) -> int:
        text = cell("record", record)
        with self._transaction():
            self._db.execute(f"INSERT OR IGNORE INTO {table} (record) VALUES (?)", (text,))
            found = self._db.execute(f"SELECT id FROM {table} WHERE record = ?", (text,))
            return found.fetchone()[0]

    def tasks(self) -> pd.DataFrame:
        """Return the table of tasks as a DataFrame, sorted by problem, data, method and so on."""
        return self._frame("tasks", schema.ORDER)

    def attempts(self) -> pd.DataFrame:
        """Return the table of attempts as a DataFrame."""
        return self._frame("attempts")

    def solutions(self, blobs: bool = True) -> pd.DataFrame:
        """Return the table of solutions; `blobs`: with packed arrays, see :func:`unpack`."""
        return self._frame("solutions", blobs=blobs)

    def environments(self) -> list[dict[str, Any]]:
        """Return the records of all machines and versions used, in the order of their ids."""
        return self._records("environment")

    def studies(self) -> list[dict[str, Any]]:
        """Return the records that are needed to repeat the stored comparisons."""
        return self._records("studies")

    def shard(self) -> dict[str, Any] | None:
        """Return the record of which shard this is; None if the run was not split."""
        return next(iter(self._records("shards")), None)

    def _records(self, table: str) -> list[dict[str, Any]]:
        return [json.loads(record) for record in self._frame(table)["record"].dropna()]

    def problems(self) -> pd.DataFrame:
        """Return the table of problem files, with the text they had when solved."""
        return self._frame("problems")

    def answers(self) -> pd.DataFrame:
        """Return a DataFrame of key and packed primal of each task's last step, if it has one."""
        last = self._frame("solutions").drop_duplicates("key", keep="last")
        return last.loc[last["primal"].notna(), ["key", "primal"]]

    def times(self) -> tuple[str, str]:
        """Return the UTC times, as text, of the first start and the last end; "" if none."""
        first, last = "SELECT min(started_utc) FROM attempts", "SELECT max(finished_utc) FROM tasks"
        ((first, last),) = self._select(f"SELECT ({first}), ({last})")
        return str(first or "")[:19].replace("T", " "), str(last or "")[:19].replace("T", " ")

    def _select(self, query: str) -> list[tuple]:
        with explain_errors(self.path):
            return self._db.execute(query).fetchall()

    def _frame(self, table: str, order: str = "1, 2", blobs: bool = True) -> pd.DataFrame:
        kinds = schema.columns()[table]
        kinds = {name: kind for name, kind in kinds.items() if blobs or kind != "BLOB"}
        with explain_errors(self.path):
            there = schema.columns_in(self._db, table)
            chosen = (name if name in there else f"NULL AS {name}" for name in kinds)
            query = f"SELECT {', '.join(chosen)} FROM {table} ORDER BY {order}"
        rows = self._select(query) if there else []
        frame = pd.DataFrame(rows, columns=list(kinds), dtype=object)
        return pd.DataFrame(
            {
                name: table_column(frame[name], kinds[name], f"{self.path}: is damaged: {table}")
                for name in kinds
            }
        )

    def _prepare(self, system: sqlite_file.FileSystem) -> None:
        if not system.write_ahead and sqlite_file.in_wal(self.path):
            # With exclusive access SQLite needs no shared memory to leave WAL mode.
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode = TRUNCATE")
            self._db.execute("PRAGMA locking_mode = NORMAL")
        if not schema.has_tables(self._db):
            self._make_tables(schema.VERSION)
        self._check()
        for version in range(self._version(), schema.VERSION):
            self._make_tables(version + 1, schema.UPGRADES[version])
        journal, sync = ("WAL", "NORMAL") if system.write_ahead else ("TRUNCATE", "FULL")
        (chosen,) = self._db.execute(f"PRAGMA journal_mode = {journal}").fetchone()
        self._db.execute(f"PRAGMA synchronous = {sync}")
        self.journal = f"journal {chosen.upper()}, for the folder is on {system}"

    def _make_tables(self, version: int, upgrade: str = "") -> None:
        script = f"{upgrade} {schema.SCHEMA} PRAGMA user_version = {version};"
        try:
            self._db.executescript(f"BEGIN; {script} COMMIT;")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            raise RunError(
                f"{self.path}: is damaged: its tables are not of the version it says ({error}); "
                f"{MOVE}"
            ) from error

    def _check(self) -> None:
        """Raise RunError unless the file is intact and has all columns of its version, no views."""
        if foreign := schema.foreign(self._db):
            raise RunError(
                f"{self.path}: holds {foreign!r:.60}, a view, trigger or virtual table; no run of "
                f"convexfs makes one, so somebody changed the file; {MOVE}"
            )
        lacking = list(schema.missing_columns(self._db, self._version()))
        if lacking:
            raise RunError(f"{self.path}: is damaged: it lacks {', '.join(lacking)}; {MOVE}")
        (found,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise RunError(f"{self.path}: is damaged ({found.splitlines()[-1]}); {MOVE}")

    def _version(self) -> int:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (*schema.UPGRADES, schema.VERSION):
            raise RunError(
                f"{self.path}: has tables of version {version}, not {schema.VERSION}, so another "
                f"version of convexfs or another program wrote it; {MOVE}"
            )
        return version

    def check_in_place(self) -> None:
        """Raise RunError if the database file was moved or removed: writes would be lost."""
        if identity(self.path) != self._file:
            raise RunError(
                f"{self.path}: was moved, deleted or replaced while the run was going; put the "
                "folder back as it was and the same command goes on, else it begins anew"
            )

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        values = [cell(name, value) for name, value in row.items()]
        self._db.execute(insertion(table, tuple(row)), values)

    @contextmanager
    def beside(self, folder: str | Path) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction, with another run's file attached as ``shard``."""
        other = Path(folder) / RESULTS
        with ExitStack() as held, explain_errors(other):
            path, mode = sqlite_file.readable(other, held)
            self._db.execute("ATTACH ? AS shard", (f"{path.absolute().as_uri()}?mode={mode}",))
            try:
                with self._transaction():
                    yield self._db
            finally:
                self._db.execute("DETACH shard")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.check_in_place()
        if self._lock is not None:
            self._lock.check()
        with explain_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # If the disk is full, SQLite has rolled back already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _check_files(folder: Path) -> None:
    """Raise RunError if a file of the run's folder is a link, pipe or device."""
    for name in (RESULTS, *(RESULTS + end for end in sqlite_file.SQLITE_ENDS), LOG, LOCK, HOLDER):
        path = folder / name
        if path.is_symlink():
            raise RunError(
                f"{path}: is a symbolic link, and a run writes in its own folder only; replace "
                "the link by its file, or choose another --out"
            )
        if path.exists() and not path.is_file():
            raise RunError(f"{path}: is no regular file; move it away, or choose another --out")


def same_results(first: str | Path, second: str | Path) -> list[str]:
    """Return how tasks and solutions of two runs differ, but for VOLATILE columns; [] if equal."""
    with Store.read(first) as one, Store.read(second) as other:
        return [
            difference
            for table, key in (("tasks", ["key"]), ("solutions", ["key", "step"]))
            for difference in _differences(table, _rows(one, table, key), _rows(other, table, key))
        ]


def _rows(store: Store, table: str, key: list[str]) -> dict[tuple, dict[Hashable, Any]]:
    rows = store._frame(table).drop(columns=list(schema.VOLATILE), errors="ignore").astype(object)
    records = rows.where(rows.notna(), None).to_dict("records")
    return {tuple(row[name] for name in key): row for row in records}


def _differences(table: str, ours: dict[tuple, dict], theirs: dict[tuple, dict]) -> Iterator[str]:
    for key in sorted(ours.keys() ^ theirs.keys()):
        yield f"{table} {key}: only in the {'first' if key in ours else 'second'} run"
    for key in sorted(ours.keys() & theirs.keys()):
        for column, value in ours[key].items():
            other = theirs[key][column]
            if _numbers(value) != _numbers(other):
                shown = "arrays" if isinstance(value, bytes) else f"{value!r} and {other!r}"
                yield f"{table} {key} {column}: {shown} differ"


def _numbers(cell: Any) -> Any:
    """Return a cell in comparable form: packed arrays as {name: (dtype, shape, bytes)}."""
    if not isinstance(cell, bytes):
        return cell
    return {name: (own.dtype, own.shape, own.tobytes()) for name, own in unpack(cell).items()}
