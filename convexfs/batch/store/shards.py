"""Shards: parts of a run that work independently, such as the jobs of a cluster's array.

The key of a task determines its shard, so every shard finds its own part of the same files and no
task is run twice. Each shard has its own folder, which records the run that it belongs to.
:mod:`convexfs.batch.store.merge` joins the folders.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convexfs.batch.store.sqlite_file import MOVE
from convexfs.batch.store.store import Store
from convexfs.batch.tasks import Task, own_code, versions
from convexfs.errors import InputError, RunError


@dataclass(frozen=True)
class Shard:
    """Part ``number`` (from 1) of the ``count`` parts of a run."""

    number: int
    count: int

    @classmethod
    def named(cls, text: str) -> "Shard":
        """Parse a text such as ``3/8``; raise InputError if it is none."""
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        number, count = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= count:
            raise InputError(f"--shard takes a part as 1/8, 2/8, ... 8/8, not {text!r}")
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def part(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks that belong to this shard by their keys, in order."""
        return [task for task in tasks if int(task.key[:16], 16) % self.count == self.number - 1]


#: Fields of a shard's record and their types.
_FIELDS = {
    "shard": int, "of": int, "tasks": int, "total": int, "run": str, "code": str,
    "versions": dict, "files": dict, "data": dict, "solvers": dict,
}  # fmt: skip


def shard_record(store: Store) -> dict[str, Any] | None:
    """Return the checked shard record of a store; None if the run was not split."""
    record = store.shard()
    if record is None:
        return None
    fits = all(type(record.get(name)) is kind for name, kind in _FIELDS.items())
    if not fits or not 0 <= record["shard"] <= record["of"] or not all(
        isinstance(value, str) for name, kind in _FIELDS.items() if kind is dict
        for value in record[name].values()
    ):  # fmt: skip
        raise RunError(f"{store.path}: is damaged: its record of the shard is incomplete; {MOVE}")
    return record


def claim_shard(store: Store, shard: Shard | None, tasks: Sequence[Task]) -> None:
    """Record in a folder which shard of which run it holds; raise if it holds another run.

    ``tasks`` are those of the whole run. A run without a shard may go on in a folder that
    shards were merged into, and in no other of theirs.
    """
    there = shard_record(store)
    if shard is None:
        if there is not None and there["shard"]:
            raise RunError(
                f"{store.path.parent}: holds shard {shard_name(there)} of a run; add --shard "
                f"{shard_name(there)} to go on with it, or choose another --out"
            )
        return
    record = {"shard": shard.number, "tasks": len(shard.part(tasks)), **_whole(shard, tasks)}
    if there is None and not store.finished():
        store.keep_shard(record)
    elif there is None or not there["shard"]:
        raise RunError(
            f"{store.path.parent}: holds a run that is no shard; choose another --out for {shard}"
        )
    elif there != record:
        mine = "" if there["shard"] == shard.number else f"it is {shard_name(there)}"
        reason = "; ".join(filter(None, [mine, *differences(there, record)]))
        raise RunError(
            f"{store.path.parent}: holds another shard than {shard} of this run ({reason}); "
            "choose another --out"
        )


def shard_name(record: Mapping[str, Any]) -> str:
    """Return the number of a shard record as text, such as ``3/8``."""
    return str(Shard(record["shard"], record["of"]))


def _whole(shard: Shard, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return the fields that all shards of a run share: hashes of tasks and inputs, versions."""
    keys = "\n".join(sorted(task.key for task in tasks))
    return {
        "of": shard.count,
        "total": len(tasks),
        "run": hashlib.sha256(keys.encode()).hexdigest(),
        "code": own_code(),
        "versions": versions(),
        "files": {task.problem: task.problem_sha256 for task in tasks},
        "data": {task.data: task.data_sha256 for task in tasks},
        "solvers": {task.solver: task.solver_version for task in tasks},
    }


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Yield texts on how the runs of two shard records differ; none if they are of one run."""
    if one["of"] != other["of"]:
        yield f"{one['of']} shards and {other['of']}"
    if one["run"] == other["run"]:
        return
    yield from [*_causes(one, other)] or ["other grids, options, repeats or seeds"]


def _causes(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for name, version in one["versions"].items():
        if other["versions"].get(name) != version:
            yield f"{name} {version} and {other['versions'].get(name)}"
    if one["code"] != other["code"]:
        yield "another state of convexfs's code"
    for kind, words in (("files", "another text of"), ("data", "other data behind")):
        yield from (f"{words} {name}" for name in _changed(one[kind], other[kind]))
    for name in _changed(one["solvers"], other["solvers"]):
        yield f"{name} {one['solvers'][name]} and {other['solvers'][name]}"
    for kind, words in (("files", "problem"), ("data", "data"), ("solvers", "solver")):
        for name in sorted(one[kind].keys() ^ other[kind].keys()):
            yield f"{words} {name} in one only"


def _changed(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in one.keys() & other.keys() if one[name] != other[name])
