"""Rows of a store, made up."""

import sqlite3

import numpy as np

from convexfs.batch.store.store import RESULTS, Store


def task(key, **changes):
    row = {
        "key": key,
        "problem": "relief",
        "data": "iris",
        "hyper": {"lam": np.float64(0.5), "sigma": 2},
        "solver": "CLARABEL",
        "tol": 1e-6,
        "repeat": np.int64(0),
        "status": "optimal",
        "failure": "",
        "objective": 0.1 + 0.2,
        "ok": True,
    }
    return row | changes


def solution(step=0, **changes):
    row = {
        "step": step,
        "label": f"beta={step}",
        "status": "optimal",
        "primal_residual": 1e-9 / 3,
        "gap": None,
        "ok": None,
        "basis": "cone program",
        "primal": {"w": np.arange(3.0), "mask": np.array([True, False])},
        "dual": {},
    }
    return row | changes


ATTEMPT = {"started_utc": "2030-01-01T00:00:00+00:00", "seconds": 0.5, "pid": 1, "ended": "done"}


def fill(folder, **changes):
    with Store(folder) as store:
        for key in ("a", "b", "c"):
            store.record(task(key, **changes), [ATTEMPT], [solution(0), solution(1)])
    return folder


def with_file(folder, *statements):
    with sqlite3.connect(folder / RESULTS) as file:
        for statement in statements:
            file.execute(statement)
    file.close()
