"""What a run folder holds beyond its outcomes: steps, machines."""

from pathlib import Path

from convexfs.batch.store import Store
from convexfs.study.outcomes import Frame


def times(folder: Path) -> tuple[str, str]:
    """When the first task was started and the last finished, UTC; empty if unknown."""
    with Store.read(folder) as store:
        ((started,),) = store.select("SELECT min(started_utc) FROM attempts")
        ((ended,),) = store.select("SELECT max(finished_utc) FROM tasks")
    first, last = (str(at or "")[:19].replace("T", " ") for at in (started, ended))
    return first, last


def steps(folder: Path, outcomes: Frame) -> Frame:
    """``instance, solver, step, change`` of the methods that iterate, in one repeat."""
    with Store.read(folder) as store:
        found = store.solutions(blobs=False)
    found = found[found["change"].notna()]
    told = outcomes[outcomes["repeat"] == 0][["key", "instance", "solver"]]
    return found.merge(told, on="key")[["instance", "solver", "step", "change"]]
