"""A sweep of 30 penalties on one step of Logo: ``convexfs.solve`` beside a loop in plain cvxpy.

Both solve the same problem, compiled once, with the same options of the solver, and without
certificates. cvxpy starts warm by default, so convexfs does here too. Prints CPU seconds, the
best of three repeats, and the ratio. Takes about a minute.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import convexfs
from convexfs.solving.backends import BACKENDS

LAMS = np.geomspace(1.0, 50.0, 30)
SOLVERS = ("CLARABEL", "ECOS", "SCS")
REPEATS = 3


def sweep(problem: Any, solve: Callable[[Any], float | None]) -> tuple[float, np.ndarray]:
    """Return CPU seconds and objectives of all penalties, compilation included."""
    start = time.process_time()
    objectives = []
    for lam in LAMS:
        problem.param_dict["lam"].value = lam
        objectives.append(solve(problem) or np.nan)
    return time.process_time() - start, np.array(objectives)


def compare(model: convexfs.Logo, solver: str) -> tuple[float, float, float]:
    """Return the least seconds of each, and the largest relative difference of objectives."""
    options = BACKENDS[solver].options(1e-6)
    ours, plain, apart = [], [], 0.0
    for _ in range(REPEATS):
        by_us = sweep(
            model.problem(), lambda own: convexfs.solve(own, solver, warm_start=True).objective
        )
        by_hand = sweep(model.problem(), lambda own: own.solve(solver=solver, **options))
        ours.append(by_us[0])
        plain.append(by_hand[0])
        apart = max(apart, float(np.abs(by_us[1] / by_hand[1] - 1).max()))
    return min(ours), min(plain), apart


def main() -> None:
    data = convexfs.load("wdbc").scaled()
    model = convexfs.Logo(lam=5.0).fit(data.X, data.y)
    table = Table("solver", "convexfs, s", "plain cvxpy, s", "ratio", "objectives differ by")
    for solver in SOLVERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inaccurate, says cvxpy of ECOS on wdbc
            ours, plain, apart = compare(model, solver)
        row = (f"{ours:.2f}", f"{plain:.2f}", f"{ours / plain:.2f}", f"{apart:.0e}")
        table.add_row(solver, *row)
    Console().print(table)


if __name__ == "__main__":
    main()
