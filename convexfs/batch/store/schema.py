"""The database schema of a run, its migrations, and the format of stored arrays."""

import io
import re
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache, lru_cache
from typing import Any

import numpy as np

from convexfs.data.readers.memory_limit import read_limit
from convexfs.errors import ConvexfsError, RunError

VERSION = 8
#: Version of the certificates' rules: 2 has three verdicts about the stated problem.
CERTIFICATES = 2
SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks ( -- one row for every task that has come to its end
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
  options TEXT,                -- all options of the solver, JSON
  own_options TEXT,            -- what of it was asked for by name, JSON
  tol REAL,                    -- accuracy asked for; NULL: the solver's own default
  asked TEXT,                  -- how it was: translated for the solver, or raw
  warm_from TEXT,              -- hyper-parameters of the problem it started from; empty: cold
  interface TEXT,              -- empty: cvxpy's; direct: the solver's own; or its environment
  time_limit REAL,             -- seconds allowed; NULL: no limit
  repeat INTEGER,              -- number of the repetition
  seed INTEGER,
  status TEXT,                 -- cvxpy's word, or error, timeout, skipped
  failure TEXT,                -- what went wrong, or why the verdict is undecided, or empty
  objective REAL,
  ok INTEGER,                  -- the certificate's verdict: 1 proven, 0 refuted, NULL undecided
  n_attempts INTEGER,          -- rows in attempts
  build_seconds REAL,          -- stating the problem
  compile_seconds REAL,        -- cvxpy's canonicalisation
  solve_seconds REAL,          -- the solver, and cvxpy's interface to it
  solve_cpu_seconds REAL,      -- its processor time
  clock_seconds REAL,          -- of it, what the solver's own clock says; NULL: it has none
  setup_seconds REAL,          -- of it, what the solver says its setup took
  dimacs TEXT,                 -- the DIMACS errors 1 to 6 of the point, JSON
  peak_bytes INTEGER,          -- memory the solver took at most; NULL: not measured
  wall_seconds REAL,           -- the whole last attempt
  cpu_seconds REAL,            -- its processor time
  environment INTEGER,         -- id in environment
  finished_utc TEXT
);
CREATE TABLE IF NOT EXISTS attempts ( -- every try, also those that a dying worker took along
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
CREATE TABLE IF NOT EXISTS solutions ( -- the answers of a task, one for every step of its method
  key TEXT,
  step INTEGER,                -- 0, 1, ...; the last is the task's own answer
  label TEXT,                  -- what the step is, such as iteration
  change REAL,                 -- how far an iteration moved the weights, relatively
  status TEXT,
  objective REAL,
  primal_residual REAL,        -- of the certificate, as are the next seven
  dual_residual REAL,
  complementarity REAL,
  gap REAL,
  ok INTEGER,
  certificate_tol REAL,
  basis TEXT,                  -- what the residuals were computed on
  certificates INTEGER,        -- version of their rules; NULL: before there were three verdicts
  iterations INTEGER,
  primal BLOB,                 -- arrays by symbol, see unpack
  dual BLOB,                   -- arrays by constraint, see unpack
  PRIMARY KEY (key, step)
);
CREATE TABLE IF NOT EXISTS problems ( -- problem files as they were solved
  sha256 TEXT PRIMARY KEY,     -- of its text, as in tasks.problem_sha256
  source TEXT,                 -- the text
  equation TEXT,               -- first line of its docstring
  reference TEXT,              -- where its formulation is printed
  data TEXT,                   -- the data it is stated on, as in tasks
  hyper TEXT,                  -- and the hyper-parameters
  variables INTEGER,           -- scalars in it
  constraints INTEGER,         -- and their rows
  text TEXT,                   -- the statement in three notations
  latex TEXT,
  mathml TEXT,
  failure TEXT                 -- why it could not be stated, or empty
);
CREATE TABLE IF NOT EXISTS studies ( -- what it takes to do each comparison again
  id INTEGER PRIMARY KEY,
  record TEXT UNIQUE           -- JSON
);
CREATE TABLE IF NOT EXISTS shards ( -- which part of a run this is; no row: all of it
  id INTEGER PRIMARY KEY,
  record TEXT UNIQUE           -- JSON, see shards.py
);
CREATE TABLE IF NOT EXISTS environment ( -- the machines and versions rows were computed with
  id INTEGER PRIMARY KEY,
  record TEXT UNIQUE           -- JSON
);
"""
#: SQL that upgrades the tables by one version, by the schema version it starts from.
UPGRADES = {
    1: """ALTER TABLE tasks ADD COLUMN problem_code TEXT;
          ALTER TABLE tasks ADD COLUMN needs TEXT; ALTER TABLE tasks ADD COLUMN sense TEXT;
          ALTER TABLE solutions ADD COLUMN change REAL;""",
    2: "",
    3: """ALTER TABLE tasks ADD COLUMN own_options TEXT; ALTER TABLE tasks ADD COLUMN asked TEXT;
          ALTER TABLE tasks ADD COLUMN warm_from TEXT;
          ALTER TABLE tasks ADD COLUMN setup_seconds REAL;
          ALTER TABLE tasks ADD COLUMN peak_bytes INTEGER;""",
    4: "",
    5: "ALTER TABLE solutions ADD COLUMN certificates INTEGER;",
    6: """ALTER TABLE tasks ADD COLUMN solve_cpu_seconds REAL;
          ALTER TABLE tasks ADD COLUMN clock_seconds REAL;""",
    7: """ALTER TABLE tasks ADD COLUMN interface TEXT;
          ALTER TABLE tasks ADD COLUMN dimacs TEXT;""",
}
_OWN = re.compile(r"CREATE (TABLE|INDEX|UNIQUE INDEX)\b", re.IGNORECASE)
#: Tables that SCHEMA creates if they are missing, by the schema version that introduced them.
NEW_TABLES = {"problems": 3, "studies": 4, "shards": 5}
#: Columns that may differ between two equal runs; so may the tables attempts and environment.
VOLATILE = {"n_attempts", "environment", "finished_utc", "peak_bytes"} | {
    f"{stage}_seconds"
    for stage in ("build", "compile", "setup", "solve", "solve_cpu", "clock", "wall", "cpu")
}
#: Text columns that are read as JSON objects.
JSON_OBJECTS = {"hyper", "options", "own_options", "dimacs", "record"}
#: SQL order in which tasks are read, independent of the order in which they finished.
ORDER = "problem, data, method, formulation, hyper, solver, options, repeat, key"


@cache
def columns() -> dict[str, dict[str, str]]:
    """Return {table: {column: SQL type}} of the current schema; cached."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: columns_in(database, name) for (name,) in tables}


def columns_in(database: sqlite3.Connection, table: str) -> dict[str, str]:
    """Return {column: SQL type} of a table in a database; {} if the table is missing."""
    found = database.execute(f"PRAGMA table_info({table})").fetchall()
    return {name: kind for _, name, kind, *_ in found}


def missing_columns(database: sqlite3.Connection, version: int) -> Iterator[str]:
    """Yield ``table.column`` for columns that schema `version` has and a database lacks."""
    later = set(_added_after(version))
    for table, kinds in columns().items():
        there = columns_in(database, table)
        for name in kinds:
            if name not in there and (table, name) not in later:
                yield f"{table}.{name}"


def foreign(database: sqlite3.Connection) -> str | None:
    """Return the name of a view, trigger or virtual table in a database, or None.

    SQLite runs views and triggers whenever tables are read or written. The text is compared
    because an edited schema may give them another type.
    """
    made = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return next((str(name) for name, text in made if not _OWN.match(str(text))), None)


def _added_after(version: int) -> Iterator[tuple[str, str]]:
    for older in range(version, VERSION):
        yield from re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", UPGRADES[older])
    for table, first in NEW_TABLES.items():
        if version < first:
            yield from ((table, name) for name in columns()[table])


def has_tables(db: sqlite3.Connection) -> bool:
    """Return whether the database has tables; a run killed at its start leaves none."""
    try:
        return bool(db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
        return False


#: From these on, zip64 is needed: bytes of a member or offset, and number of members.
_LARGEST, _MOST_MEMBERS = 2**31, 2**16 - 1
#: Shorter members are stored uncompressed, because compression costs more than it saves.
_COMPRESSED_BYTES = 512
_STORED, _DEFLATED, _VERSION, _UTF_8 = 0, 8, 20, 0x800
#: The earliest time that a zip archive can store, 1980-01-01 00:00.
_TIME, _DATE = 0, 0x21
#: Zip headers (APPNOTE.TXT): of a member, of its directory entry, and of the archive's end.
_MEMBER, _ENTRY = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Return named arrays as the bytes of a compressed .npz; equal arrays give equal bytes.

    It is a ``.npz`` file with its members in the order of their names and no times. It is
    written here because `zipfile` takes ten times as long for the small arrays of a task.
    """
    if len(arrays) >= _MOST_MEMBERS:
        return _pack_large(arrays)
    parts, entries, place = [], [], 0
    for name in sorted(arrays):
        member, content = f"{storable(name)}.npy".encode(), _npy(np.asarray(arrays[name]))
        how, held = _STORED, content
        if len(content) >= _COMPRESSED_BYTES:
            how, held = _DEFLATED, zlib.compress(content, wbits=-zlib.MAX_WBITS)
        if len(content) >= _LARGEST or place + len(held) >= _LARGEST:
            return _pack_large(arrays)
        told = (_VERSION, _UTF_8, how, _TIME, _DATE, zlib.crc32(content), len(held), len(content))
        parts += [_MEMBER.pack(b"PK\x03\x04", *told, len(member), 0), member, held]
        last = (len(member), 0, 0, 0, 0, 0, place)
        entries += [_ENTRY.pack(b"PK\x01\x02", _VERSION, *told, *last), member]
        place += _MEMBER.size + len(member) + len(held)
    index = b"".join(entries)
    count = len(arrays)
    end = _END.pack(b"PK\x05\x06", 0, 0, count, count, len(index), place, 0)
    return b"".join([*parts, index, end])


def _npy(array: np.ndarray) -> bytes:
    """Return an array as the bytes of a .npy file; raise ValueError if it holds objects."""
    if array.dtype.hasobject:
        raise ValueError("an array of objects cannot be stored")
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    return _npy_header(array.dtype, array.shape, by_columns) + array.tobytes("A")


@lru_cache(maxsize=256)
def _npy_header(dtype: np.dtype, shape: tuple[int, ...], by_columns: bool) -> bytes:
    descr = np.lib.format.dtype_to_descr(dtype)
    header = io.BytesIO()
    told = {"descr": descr, "fortran_order": by_columns, "shape": shape}
    np.lib.format.write_array_header_1_0(header, told)
    return header.getvalue()


def _pack_large(arrays: Mapping[str, Any]) -> bytes:
    """Return named arrays as the bytes of an .npz with zip64, by the zipfile module."""
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            with archive.open(f"{storable(name)}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(arrays[name]), allow_pickle=False)
    return blob.getvalue()


def unpack(blob: bytes) -> dict[str, np.ndarray]:
    """Return the arrays by name from bytes of :func:`pack`; raise if damaged or too large."""
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
            # A blob from another person's folder may unpack to more than the memory.
            unpacked = sum(member.file_size for member in archive.zip.infolist())
            read_limit().check(unpacked, "the arrays of a result")
            return dict(archive)
    except ConvexfsError:
        raise
    # numpy, zipfile and zlib raise many classes of errors for invalid bytes.
    except Exception as error:
        raise RunError(f"the arrays of a result are damaged ({error}); solve it again") from error


def storable(text: str) -> str:
    """Return text with lone surrogates escaped, so that UTF-8 can encode it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
