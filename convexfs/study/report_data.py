"""What a run folder holds beyond its outcomes: steps, LLFS's points, machines."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.batch.store import RESULTS, Store, unpack
from convexfs.study.outcomes import Frame

POINTS = ["point", "features", "radius", "beta", "score", "seconds"]


def _query(folder: Path, query: str) -> Frame:
    # For what the store does not hand out: blobs of a few rows among many, and single cells.
    uri = f"{(folder / RESULTS).absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        return pd.read_sql_query(query, database)


def environments(folder: Path) -> list[dict[str, Any]]:
    """The machines and versions of a run."""
    return [
        json.loads(record) for record in _query(folder, "SELECT record FROM environment")["record"]
    ]


def times(folder: Path) -> tuple[str, str]:
    """When the first task was started and the last finished, UTC; empty if unknown."""
    started = _query(folder, "SELECT min(started_utc) AS at FROM attempts")["at"].iloc[0]
    ended = _query(folder, "SELECT max(finished_utc) AS at FROM tasks")["at"].iloc[0]
    first, last = (str(at or "")[:19].replace("T", " ") for at in (started, ended))
    return first, last


def steps(folder: Path, outcomes: Frame) -> Frame:
    """``instance, solver, step, change`` of the methods that iterate, in one repeat."""
    with Store.read(folder) as store:
        found = store.solutions(blobs=False)
    if "change" not in found:  # tables of version 1
        return pd.DataFrame()
    found = found[found["change"].notna()]
    told = outcomes[outcomes["repeat"] == 0][["key", "instance", "solver"]]
    return found.merge(told, on="key")[["instance", "solver", "step", "change"]]


def llfs_points(folder: Path) -> tuple[Frame, Frame]:
    """The samples an LLFS estimator has kept in its ``run_dir``, and their rows along beta."""
    found = _query(
        folder,
        "SELECT label, primal FROM solutions JOIN tasks USING (key) "
        "WHERE label LIKE 'point %' ORDER BY finished_utc",
    )
    # A folder may hold several fits; of each sample the last counts.
    kept = [unpack(blob) for blob in found.drop_duplicates("label", keep="last")["primal"]]
    points = pd.DataFrame([_point(arrays) for arrays in kept], columns=POINTS)
    parts = [pd.DataFrame(arrays["table"]).assign(point=arrays["point"].item()) for arrays in kept]
    betas = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return points.sort_values("point", ignore_index=True), betas


def _point(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    numbers = {name: arrays[name].item() for name in POINTS if name != "features"}
    return numbers | {"features": tuple(arrays["features"].tolist())}
