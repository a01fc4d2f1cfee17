"""Repeat a comparison from its archive, and report the differences."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.batch.problem_files.load import ProblemFile, load_problem_file
from convexfs.batch.run import Progress
from convexfs.data.specs import renamed
from convexfs.errors import InputError, and_more
from convexfs.records import NATIVE, SKIPPED
from convexfs.study import columns
from convexfs.study.archive import Contents
from convexfs.study.columns import names
from convexfs.study.compare import compare_problems
from convexfs.study.outcome_rules import ANSWERED, SMALL_OBJECTIVE, allowed
from convexfs.study.plan import ALL, Plan

#: Name of the folder for the unpacked archive, inside the run's folder.
UNPACKED = "archive"
#: Most packages that a list of differing versions names.
NAMED = 12
#: Columns that identify a task, independent of the folder of its files.
_TASK = [
    "settings", "solver", "problem", "problem_code", "formulation", "data_sha256", "hyper",
    "repeat", "seed",
]  # fmt: skip
_MACHINE = ("python", "platform", "processor", "cores")


def repeat(contents: Contents, out: str | Path, **limits: Any) -> list[Progress]:
    """Run all comparisons of an archive again with the installed solvers; return the counts."""
    done = []
    for study in contents.studies:
        problems = [_problem(contents.folder, own) for own in study["files"]]
        plan = _plan(study["plan"])
        reading = {"data_dir": None, "read_limit": None}
        done.append(compare_problems(problems, out, plan, reading, **limits))
    return done


def _problem(folder: Path, told: dict[str, Any]) -> ProblemFile:
    """Load a problem file of an archive, its data replaced by those in the archive."""
    problem = load_problem_file(folder / told["path"], told["sha256"])
    data = tuple(
        renamed(spec, str((folder / name).resolve())) if name else spec
        for spec, name in told["data"]
    )
    return replace(problem, data=data)


def _plan(told: dict[str, Any]) -> Plan:
    """Return an archive's plan without solvers that are not installed; raise if none is left."""
    try:
        missing = set(missing_solvers(told))
        here = [name for name in _named(told["solvers"]) if name not in missing]
        plan = Plan(**told)
        own = {name: sets for name, sets in plan.own_options.items() if name not in missing}
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"the plan of the archive cannot be understood ({error!r})") from error
    if missing and not here:
        raise InputError(f"none of its solvers is installed here: {', '.join(sorted(missing))}")
    return replace(plan, solvers=here or ALL, own_options=own)


def missing_solvers(plan: dict[str, Any]) -> list[str]:
    """Return the solvers that a plan names and that are not installed; [] if it asks for all."""
    from convexfs.solving.backends import BACKENDS

    here = {NATIVE} | {name for name, row in BACKENDS.items() if row.installed}
    return [name for name in _named(plan["solvers"]) if name.upper() not in {*map(str.upper, here)}]


def _named(solvers: str | list[str]) -> list[str]:
    """Return the solver names of a plan as a list; [] if it asks for all."""
    names = solvers.split(",") if isinstance(solvers, str) else list(solvers)
    return [] if names == [ALL] else [str(name).strip() for name in names]


def environment_differences(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> Iterator[str]:
    """Yield lines on how machine and package versions differ between the last of each list."""
    then, now = (records[-1] if records else {} for records in (before, after))
    for name in _MACHINE:
        if then.get(name) != now.get(name):
            yield f"{name}: {then.get(name)} then, {now.get(name)} now"
    old, new = (record.get("packages", {}) for record in (then, now))
    changed = [
        f"{name} {old.get(name, 'missing')} → {new.get(name, 'missing')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]
    if changed:
        yield f"packages: {and_more(changed[:NAMED], len(changed))}"


def repeated(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return how a repeated comparison differs from the first, per solver and settings.

    The columns are :data:`~convexfs.study.columns.REPEATED`.
    Both are rows of :func:`convexfs.study.outcomes.outcomes`; tasks are matched by what was
    solved, with what and how, whatever versions and machine.
    """
    pairs = before.merge(after, on=_TASK, how="outer", suffixes=("", "_now"), indicator="where")
    rows = [
        {"settings": settings, "solver": solver, **_compared(own)}
        for (settings, solver), own in pairs.groupby(["settings", "solver"])
    ]
    return pd.DataFrame(rows, columns=names(columns.REPEATED))


def _compared(pairs: pd.DataFrame) -> dict[str, Any]:
    both = pairs[pairs["where"] == "both"]
    other = both[both["outcome"] != both["outcome_now"]]
    timed = both[both["outcome"].isin(ANSWERED) & both["outcome_now"].isin(ANSWERED)]
    sizes = np.maximum(timed["objective"].abs(), timed["objective_now"].abs())
    apart = (timed["objective_now"] - timed["objective"]).abs() / sizes.clip(SMALL_OBJECTIVE)
    return {
        "tasks": int((pairs["where"] != "right_only").sum()),
        "again": int((both["outcome_now"] != SKIPPED).sum()),
        "other_outcome": len(other),
        "other_objective": int((apart > allowed(timed)).sum()),
        "other_iterations": int((timed["iterations"] != timed["iterations_now"]).sum()),
        "times": (timed["solve_seconds_now"] / timed["solve_seconds"]).median(),
        "example": next(
            (f"{own.instance}: {own.outcome} → {own.outcome_now}" for own in other.itertuples()),
            None,
        ),
    }
