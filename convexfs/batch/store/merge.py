"""Merge the shards of a run; the result equals a run that was not split.

Each shard is copied in one transaction. If a merge is killed, it leaves complete shards, and the
same command resumes it. Merging a shard again changes nothing. If two shards have the same task,
the later result is used.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convexfs.batch.store import schema
from convexfs.batch.store.shards import Shard, differences, shard_name, shard_record
from convexfs.batch.store.store import Store
from convexfs.errors import InputError, RunError

#: Tables whose rows have the key of a task.
_OF_TASKS = ("tasks", "attempts", "solutions")


@dataclass(frozen=True)
class Merged:
    """Summary of a merge: counts of shards and tasks, and which are missing or unfinished.

    Attributes
    ----------
    folder : path
    shards, tasks : int
        Shards found, and tasks that are in the folder now.
    total : int
        Tasks of the whole run.
    missing : tuple of str
        Shards of the run that were not given, as ``3/8``.
    unfinished : tuple of str
        Sentences on shards that have not done all of their tasks.
    """

    folder: Path
    shards: int
    tasks: int
    total: int
    missing: tuple[str, ...]
    unfinished: tuple[str, ...]


def merge(folders: Iterable[str | Path], out: str | Path) -> Merged:
    """Merge folders of shards into `out`, as if the run had not been split; return counts.

    Parameters
    ----------
    folders : paths
        Of shards of one run; those of different runs are refused before anything is written.
    out : path
        Folder of the results; the same line again goes on, or takes what was done since.
    """
    given = list(dict.fromkeys(Path(folder).resolve() for folder in folders))
    if not given:
        raise InputError("give the folders of the shards to merge")
    parts = {folder: _record(folder) for folder in given}
    _check_one_run(parts)
    first = next(iter(parts.values()))
    with Store(out) as store:
        _check_place(store, first)
        store.keep_shard({**first, "shard": 0, "tasks": first["total"]})
        for folder in sorted(parts, key=lambda own: parts[own]["shard"]):
            _take(store, folder)
        finished = store.finished()
    there = {record["shard"] for record in parts.values()}
    absent = (number for number in range(1, first["of"] + 1) if number not in there)
    return Merged(
        Path(out),
        len(parts),
        len(finished),
        first["total"],
        tuple(str(Shard(number, first["of"])) for number in absent),
        tuple(_unfinished(parts)),
    )


def _record(folder: Path) -> dict[str, Any]:
    with Store.read(folder) as store:
        record = shard_record(store)
    if record is None or not record["shard"]:
        raise InputError(f"{folder}: is no shard; merge takes folders of runs with --shard")
    return record


def _check_one_run(parts: Mapping[Path, Mapping[str, Any]]) -> None:
    seen: dict[int, Path] = {}
    first = next(iter(parts))
    for folder, record in parts.items():
        said = list(differences(parts[first], record))
        if said:
            raise InputError(
                f"{first} and {folder} are not of one run ({'; '.join(said)}); merge the shards "
                "of each run by themselves"
            )
        if record["shard"] in seen:
            raise InputError(
                f"{seen[record['shard']]} and {folder} are both shard {shard_name(record)}; "
                "give one"
            )
        seen[record["shard"]] = folder


def _check_place(store: Store, record: Mapping[str, Any]) -> None:
    """Raise unless the output folder is empty or holds merged shards of the same run."""
    there, place = shard_record(store), store.path.parent
    if there is None and store.finished():
        raise RunError(f"{place}: holds another run; choose another --out")
    if there is not None and there["shard"]:
        raise RunError(f"{place}: is shard {shard_name(there)} itself; choose another --out")
    said = [] if there is None else list(differences(there, record))
    if said:
        raise RunError(f"{place}: holds another run ({'; '.join(said)}); choose another --out")


def _unfinished(parts: Mapping[Path, Mapping[str, Any]]) -> Iterator[str]:
    for folder, record in parts.items():
        with Store.read(folder) as store:
            done = len(store.finished())
        if done < record["tasks"]:
            yield (
                f"shard {shard_name(record)} in {folder} has done {done} of {record['tasks']} "
                "tasks; run its line again"
            )


def _take(store: Store, folder: Path) -> None:
    """Copy a shard's tasks that the store lacks or has older, its problem files and studies."""
    with store.beside(folder) as database:
        database.execute("DROP TABLE IF EXISTS temp.taken")
        database.execute(
            "CREATE TEMP TABLE taken AS SELECT t.key FROM shard.tasks t LEFT JOIN main.tasks m "
            "USING (key) WHERE m.key IS NULL OR m.finished_utc < t.finished_utc"
        )
        database.execute(
            "INSERT OR IGNORE INTO main.environment (record) SELECT record FROM shard.environment"
        )
        for table in _OF_TASKS:
            _copy(database, table, "WHERE key IN (SELECT key FROM taken)")
        _copy(
            database,
            "problems",
            "AS p WHERE NOT EXISTS "
            "(SELECT 1 FROM main.problems m WHERE m.sha256 = p.sha256 AND m.failure = '')",
        )
        # Every shard stores the study with its own command line; one copy is enough.
        database.execute(
            "INSERT OR IGNORE INTO main.studies (record) SELECT record FROM shard.studies AS s "
            "WHERE NOT EXISTS (SELECT 1 FROM main.studies m WHERE "
            "json_remove(m.record, '$.command') = json_remove(s.record, '$.command'))"
        )


def _copy(database: sqlite3.Connection, table: str, where: str) -> None:
    names = list(schema.columns()[table])
    if table in _OF_TASKS:
        database.execute(f"DELETE FROM main.{table} {where}")
    values = [_SAME_ENVIRONMENT if name == "environment" else name for name in names]
    database.execute(
        f"INSERT OR REPLACE INTO main.{table} ({', '.join(names)}) "
        f"SELECT {', '.join(values)} FROM shard.{table} {where}"
    )


#: SQL for the id in the merged store that corresponds to an environment's id in the shard.
_SAME_ENVIRONMENT = """(SELECT m.id FROM main.environment m JOIN shard.environment s
    ON m.record = s.record WHERE s.id = environment)"""
