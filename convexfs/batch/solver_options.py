"""Solver options of a task: accuracy, time limit, and the solver's own options.

The solver table is imported on use, because it imports cvxpy.
"""

import json
from contextlib import AbstractContextManager

from convexfs.batch.problem_files.load import canonical
from convexfs.records import DEFAULT_ACCURACY, OWN, TRANSLATED


def solver_fields(
    solver: str,
    tol: float | None,
    time_limit: float | None,
    asked: str = TRANSLATED,
    own_options: str = "{}",
) -> dict[str, str]:
    """Return {"solver_version", "options"} of a task: all options as JSON; {} if auto or native."""
    from convexfs.solving.backends import BACKENDS
    from convexfs.solving.solve import merged

    if solver == "auto":
        # "auto" picks the solver when the problem is built, so the versions of all solvers count.
        installed = {name: row.version for name, row in BACKENDS.items() if row.installed}
        return {"solver_version": canonical(installed), "options": "{}"}
    row = BACKENDS.get(solver)
    if row is None:
        return {"solver_version": "", "options": "{}"}
    version = row.version if row.installed else ""
    with tolerance_mode_for(tol, asked):
        options = row.options(tol or DEFAULT_ACCURACY, time_limit)
    options = merged(options, json.loads(own_options))
    return {"solver_version": version, "options": canonical(options)}


def tolerance_mode_for(tol: float | None, asked: str) -> AbstractContextManager[None]:
    """Return a context in which solvers get the task's tolerance, or their default if None."""
    from convexfs.solving.backend import tolerance_mode

    return tolerance_mode(OWN if tol is None else asked)
