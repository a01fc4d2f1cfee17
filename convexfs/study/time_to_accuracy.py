"""Compare solvers by the accuracy that their solutions have, not the requested one.

One solver may be asked for 1e-6 and return 1e-9, another returns 1e-4: their times are not for the
same work. Run at a ladder of tolerances, each solver has a time for almost every accuracy: that of
its fastest run whose solution was verified to have it, whatever its options and status. If no run
reaches the accuracy in time, the limit is charged. Warm starts are left out, because they start
from a known solution.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from convexfs.records import DEFAULT_ACCURACY, SKIPPED
from convexfs.study import columns
from convexfs.study.columns import names
from convexfs.study.means import chosen_shift, seconds, times_best, with_best
from convexfs.study.outcome_rules import SOLVED, unsolved_seconds

#: Accuracies at which the curve of mean seconds is evaluated.
CURVE = tuple(10.0**-power for power in range(1, 11))
ALL = "all"
_RUN = ["problem_class", "instance", "repeat", "solver"]


def targets_of(outcomes: pd.DataFrame) -> list[float]:
    """Return the tolerances that some run asked for (or the default one), coarse ones first."""
    asked = {float(tol) for tol in outcomes["tol"].dropna()}
    return sorted(asked or {DEFAULT_ACCURACY}, reverse=True)


def verified(outcomes: pd.DataFrame) -> pd.Series:
    """Return each row's verified accuracy, its largest error; infinite if unknown.

    It is the largest of its residuals and of its distance from a proven objective.
    """
    known = outcomes["error"].where(outcomes["gap"].notna(), np.inf)
    return known.fillna(np.inf).clip(lower=outcomes["objective_error"].fillna(0.0))


def quickest(outcomes: pd.DataFrame, target: float) -> pd.DataFrame:
    """Return, per solver, instance and repeat, its fastest run that reached `target`, or a miss.

    The columns are those of outcomes that name what was run; ``outcome`` is solved where a run
    got there, else failed; ``charged_seconds`` its own or the limit; ``at`` its settings.
    """
    tried = outcomes[(outcomes["outcome"] != SKIPPED) & ~outcomes["settings"].str.contains("warm")]
    limit = unsolved_seconds(tried)
    there = (verified(tried) <= target) & (tried["solve_seconds"] <= limit)
    runs = tried[_RUN].assign(
        outcome=np.where(there, SOLVED, "failed"),
        charged_seconds=tried["solve_seconds"].where(there, limit),
        at=tried["settings"].where(there),
        settings=f"{target:g}",
    )
    return runs.sort_values("charged_seconds", kind="stable").drop_duplicates(_RUN).sort_index()


def time_to_accuracy(
    outcomes: pd.DataFrame, shift: float | None = None, targets: Sequence[float] | None = None
) -> pd.DataFrame:
    """Return each solver's mean seconds to reach verified accuracies, by problem class.

    The columns are :data:`~convexfs.study.columns.ACHIEVED`.
    Without `targets` they are those that some run asked for.
    In each class the most that got there comes first, then the least ``times_best``.
    """
    shift = chosen_shift(shift)
    rows = [
        row
        for target in targets or targets_of(outcomes)
        for row in _reached(outcomes, target, shift)
    ]
    table = pd.DataFrame(rows, columns=names(columns.ACHIEVED))
    by = ["target", "problem_class", "reached", "times_best"]
    return table.sort_values(by, ascending=[False, True, False, True], ignore_index=True)


def _reached(outcomes: pd.DataFrame, target: float, shift: float) -> Iterator[dict[str, Any]]:
    runs = with_best(quickest(outcomes, target))
    for name, group in _classes(runs):
        for solver, own in group.groupby("solver"):
            settings = own["at"].value_counts()
            yield {
                "target": target,
                "problem_class": name,
                "solver": solver,
                "instances": own["instance"].nunique(),
                "reached": (own["outcome"] == SOLVED).mean(),
                **seconds(own, shift),
                "times_best": times_best(own, shift),
                "times_best_unshifted": times_best(own, 0.0),
                "at": settings.index[0] if len(settings) else None,
            }


def _classes(runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return (name, runs) of each problem class, after ("all", all runs) if there are several."""
    groups = [(str(name), group) for name, group in runs.groupby("problem_class")]
    return [(ALL, runs), *groups] if len(groups) > 1 else groups


def reached_within(outcomes: pd.DataFrame, targets: Sequence[float] | None = None) -> pd.DataFrame:
    """Return step curves: the fraction of problems each solver brought to a target by a time.

    Returns
    -------
    DataFrame
        ``target, problem_class, solver, seconds, share``: from each row's seconds on the share
        holds until the next row's. Every solver has a row at the largest of all.
    """
    steps = [
        _steps(own, last).assign(target=target, problem_class=name, solver=solver)
        for target in targets or targets_of(outcomes)
        for name, group in _classes(quickest(outcomes, target))
        if (last := group.loc[group["outcome"] == SOLVED, "charged_seconds"].max()) >= 0
        for solver, own in group.groupby("solver")
    ]
    columns = ["target", "problem_class", "solver", "seconds", "share"]
    return pd.concat(steps or [pd.DataFrame(columns=columns)], ignore_index=True)[columns]


def _steps(own: pd.DataFrame, last: float) -> pd.DataFrame:
    there = np.sort(own.loc[own["outcome"] == SOLVED, "charged_seconds"])
    moments = np.unique([*there, last])
    shares = np.searchsorted(there, moments, side="right") / len(own)
    return pd.DataFrame({"seconds": moments, "share": shares})
