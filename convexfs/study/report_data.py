"""What a run folder holds beyond its outcomes: steps, LLFS's points, machines."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.batch.store import Store, unpack
from convexfs.study.outcomes import Frame

POINTS = ["point", "features", "radius", "beta", "score", "seconds"]


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


def llfs_points(folder: Path) -> tuple[Frame, Frame]:
    """The samples an LLFS estimator has kept in its ``run_dir``, and their rows along beta."""
    with Store.read(folder) as store:
        found = store.select(
            "SELECT label, primal FROM solutions JOIN tasks USING (key) "
            "WHERE label LIKE 'point %' ORDER BY finished_utc"
        )
    # A folder may hold several fits; of each sample the last counts.
    kept = [unpack(blob) for blob in dict(found).values()]
    points = pd.DataFrame([_point(arrays) for arrays in kept], columns=POINTS)
    parts = [pd.DataFrame(arrays["table"]).assign(point=arrays["point"].item()) for arrays in kept]
    betas = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return points.sort_values("point", ignore_index=True), betas


def _point(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    numbers = {name: arrays[name].item() for name in POINTS if name != "features"}
    return numbers | {"features": tuple(arrays["features"].tolist())}
