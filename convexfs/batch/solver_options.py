"""Options of a task's solver: accuracy, time limit, and options by the solver's own names.

The solver table is imported when it is asked: it brings cvxpy with it.
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
    """Return the version of a solver and all its options, as a task stores them."""
    from convexfs.solving.backends import BACKENDS
    from convexfs.solving.solve import merged

    if solver == "auto":
        # Which one it will be is known when the problem is built: any change counts.
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
    """Put accuracies to solvers as a task says; without one they work at their own."""
    from convexfs.solving.backend import tolerance_mode

    return tolerance_mode(OWN if tol is None else asked)
