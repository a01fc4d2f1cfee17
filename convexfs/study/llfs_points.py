"""LLFS fits whose tasks are single points: their selections, and solvers compared on them.

The task of a point ends with a row labelled by its number, with a table along beta. Its solutions
are local optima, so no true one is known: each solver is compared with the best of all.
"""

import json

import numpy as np
import pandas as pd

from convexfs.batch.store.store import unpack
from convexfs.errors import RunError
from convexfs.study.outcome_rules import LOCAL

POINT, ITERATION = "point ", "iteration"
#: U1 of two solvers counts as equal up to this relative difference.
AS_GOOD = 1e-6
#: Absolute rounding error of U1, a mean of numbers near 1.
ROUNDING = 1e-15
STEPS, FITS, POINTS = "convex steps", "whole fits", "whole points, local optima"
#: Columns that identify an LLFS fit.
FIT = ["data", "hyper", "tol"]


def compared(solutions: pd.DataFrame) -> str:
    """Return text on what was compared: convex steps, entire fits or points with local optima."""
    last = solutions.drop_duplicates("key", keep="last").set_index("key")
    whole = set(solutions["key"][solutions["label"] == ITERATION])
    local = last["basis"].str.startswith(LOCAL, na=False) | last.index.isin(whole)
    points = last["label"].str.startswith(POINT, na=False)
    return " and ".join(dict.fromkeys(np.where(points, POINTS, np.where(local, FITS, STEPS))))


def kept_points(tasks: pd.DataFrame, solutions: pd.DataFrame) -> pd.DataFrame:
    """Return one row per finished point of the LLFS fits in a run, in order of completion.

    Its columns are FIT, solver, repeat, point, features, radius, beta, score, seconds,
    cpu_seconds and table; ``hyper`` is without the point. Of stores of earlier versions,
    which did not keep the settings, FIT is missing.
    """
    ends = solutions[solutions["label"].str.startswith(POINT, na=False)][["key", "primal"]]
    told = ["key", "solver", "repeat", "solve_seconds", "cpu_seconds", "finished_utc", *FIT]
    frame = ends.merge(tasks[told], on="key").sort_values("finished_utc", kind="stable")
    try:
        chosen = [_chosen(unpack(blob)) for blob in frame["primal"]]
    except (KeyError, ValueError, TypeError) as error:
        raise RunError(f"the arrays of a point are damaged ({error!r}); solve it again") from error
    frame = frame.drop(columns="primal").reset_index(drop=True)
    found = pd.DataFrame(chosen, columns=["point", "features", "radius", "beta", "score", "table"])
    frame["hyper"] = frame["hyper"].map(_without_point, na_action="ignore")
    return frame.rename(columns={"solve_seconds": "seconds"}).join(found)


def _chosen(arrays: dict[str, np.ndarray]) -> dict[str, object]:
    numbers = {name: arrays[name].item() for name in ("point", "radius", "beta", "score")}
    return numbers | {"features": tuple(arrays["features"].tolist()), "table": arrays["table"]}


def _without_point(hyper: str) -> str:
    """Return a task's hyperparameters without the point, as text that all points of a fit share."""
    values = json.loads(hyper)
    values.pop(POINT.strip(), None)
    return " ".join(f"{name}={value}" for name, value in values.items())


def last_fit(points: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the most recent fit's points, of the first repeat, sorted by point."""
    if points.empty:
        return points
    last = points.iloc[-1]
    same = points["repeat"].fillna(0) == 0
    for name in (*FIT, "solver"):
        told = points[name]
        same &= told.isna() if pd.isna(last[name]) else (told == last[name]).fillna(False)
    own = points[same].drop_duplicates("point", keep="last")
    return own.sort_values("point", ignore_index=True)


def along_beta(points: pd.DataFrame) -> pd.DataFrame:
    """Return the tables of all points in one: a row per point and beta."""
    parts = [
        pd.DataFrame(table).assign(point=point)
        for point, table in zip(points["point"], points["table"], strict=True)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def comparison(points: pd.DataFrame) -> pd.DataFrame:
    """Return one row per fit and solver: its U1 against the best of the others, and its time.

    Beta = 1 is left out: there any maximiser of U2 will do, whatever its U1.
    """
    rows = []
    for fit, own in points.groupby(FIT, sort=False, dropna=False):
        first = own[own["repeat"].fillna(0) == 0].drop_duplicates(["solver", "point"], keep="last")
        pairs = pd.concat(
            [along_beta(part).assign(solver=solver) for solver, part in first.groupby("solver")]
        )
        pairs = pairs[pairs["beta"] < 1.0].reset_index(drop=True)
        pairs["u1"] = pairs["u1"].where(np.isfinite(pairs["u1"]))
        for solver, mine in pairs.groupby("solver"):
            theirs = own[own["solver"] == solver]
            rows.append(
                dict(zip(FIT, fit, strict=True))
                | {"solver": solver, "points": theirs["point"].nunique()}
                | _against(mine, pairs[pairs["solver"] != solver])
                | {"cpu_seconds": theirs["cpu_seconds"].mean()}
            )
    return pd.DataFrame(rows)


def _against(mine: pd.DataFrame, others: pd.DataFrame) -> dict[str, float]:
    """Count (point, beta) pairs at which a solver's U1 equals, beats or misses the others' best."""
    pair = ["point", "beta"]
    held = mine.merge(others.groupby(pair)["u1"].min().rename("best"), on=pair, how="left")
    slack = AS_GOOD * held["best"].abs() + ROUNDING
    better, worse = held["u1"] < held["best"] - slack, held["u1"] > held["best"] + slack
    excess = (held["u1"] / held["best"].clip(lower=ROUNDING) - 1.0)[worse]
    answered = held["u1"].notna()
    return {
        "betas": len(held),
        "same": int((answered & ~better & ~worse).sum()),
        "better": int(better.sum()),
        "worse": int(worse.sum()),
        "worst": float(excess.max()) if len(excess) else 0.0,
        "failed": int((~answered).sum()),
        "programs": float(held["programs"].sum() / max(held["point"].nunique(), 1)),
    }
