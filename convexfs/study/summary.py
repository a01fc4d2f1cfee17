"""From the outcomes of a study to its tables; pure functions of DataFrames.

Every table is computed per settings from what :func:`convexfs.study.outcomes.outcomes`
returns, and ranks on the seconds *charged*: those of the solve, or the time limit.

**Whom to compare on what.** A solver that cannot take a problem has no row for it in any
mean. A mean over different problems would then flatter those that take only easy ones, so

- ``seconds`` of :func:`summary` stand beside ``instances`` of ``of``, and beside
  ``times_best``: how many times slower than the best solver of the same instance, which
  can be compared between solvers of different reach;
- :func:`ranking` and :func:`leaders` compare within a problem class, only solvers that
  take every instance of the ``scope``: all of the class, and those of it that have a
  native twin;
- a :func:`performance_profile` counts the share of the instances a solver can take.

Means and their intervals are those of :mod:`convexfs.study.means`.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from convexfs.records import NATIVE, OPTIMAL, SKIPPED, TIMEOUT
from convexfs.report.columns import Column
from convexfs.study import columns
from convexfs.study.columns import names
from convexfs.study.means import chosen_shift, interval, logs, seconds, times_best, with_best
from convexfs.study.outcome_rules import ANSWERED, OUTCOMES, RESIDUALS, SOLVED, WRONG, allowed
from convexfs.study.outcomes import counts

#: ``par10`` charges an unsolved task this multiple of the time limit.
PENALTY = 10.0
ALL = "all"
#: Errors are raised to at least this before their geometric mean is taken.
EXACT = 1e-16
#: Column names for the numbers of tasks of each outcome, in the order of OUTCOMES.
COUNTS = ("solved", "undecided", "wrong_claims", "failed", "timeouts", "skipped")
SCOPE = names(columns.SCOPE)


def summary(outcomes: pd.DataFrame, shift: float | None = None) -> pd.DataFrame:
    """Return counts of outcomes, mean seconds and errors, one row per solver and settings.

    The columns are :data:`~convexfs.study.columns.SUMMARY`.
    In each settings the best ``success_rate`` comes first, then the least ``times_best``.
    Without a `shift` it is the usual one. Where no problem has a native twin, ``native`` is left
    out.
    """
    shift = chosen_shift(shift)
    rows = [
        {"settings": settings, "solver": solver, **_counts(own), **_speed(own, shift)}
        for settings, group in with_best(outcomes).groupby("settings")
        for solver, own in group.groupby("solver")
        if solver != NATIVE or (own["outcome"] != SKIPPED).any()
    ]
    table = pd.DataFrame(rows, columns=names(columns.SUMMARY))
    table["of"] = table["settings"].map(outcomes.groupby("settings")["instance"].nunique())
    by = ["settings", "success_rate", "times_best"]
    return table.sort_values(by, ascending=[True, False, True], ignore_index=True)


def _counts(own: pd.DataFrame) -> dict[str, Any]:
    found = dict(zip(COUNTS, counts(own).values(), strict=True))
    tried = len(own) - found["skipped"]
    return {
        **found,
        "instances": own.loc[own["outcome"] != SKIPPED, "instance"].nunique(),
        "tried": tried,
        "success_rate": found["solved"] / tried if tried else np.nan,
    }


def _speed(own: pd.DataFrame, shift: float) -> dict[str, Any]:
    tried, solved = own[own["outcome"] != SKIPPED], own["outcome"] == SOLVED
    right, charged = own[solved], tried["charged_seconds"]
    return {
        **seconds(tried, shift),
        "times_best": times_best(tried, shift),
        "times_best_unshifted": times_best(tried, 0.0),
        "shift": shift,
        "par10": charged.where(tried["outcome"].isin(ANSWERED), PENALTY * charged).mean(),
        "compile_seconds": tried["compile_seconds"].median(),
        "setup_share": _median(right["setup_seconds"] / right["solve_seconds"]),
        "iterations": _median(right["iterations"]),
        "peak_megabytes": tried["peak_bytes"].max() / 1e6,
        "busy": int(tried["busy"].sum()),
        "error": right["error"].median(),
        "dimacs_error": _median(right["dimacs_error"]),
    }


def _median(values: pd.Series) -> float:
    """Return the median of the values that are not NaN; NaN if there are none."""
    known = values.dropna()
    return float(known.median()) if len(known) else np.nan


def solver_options_table(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the options that each solver ran with, as text, and its tasks."""
    tried = outcomes[outcomes["outcome"] != SKIPPED]
    by = ["settings", "solver", "solver_version", "told"]
    counted = tried.assign(told=tried["told"].replace("", "nothing")).groupby(by, dropna=False)
    return counted.size().rename("tasks").reset_index()[names(columns.SOLVER_OPTIONS)]


def by_instance(outcomes: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Column, ...]]:
    """Return a table of outcomes, a row per instance and a column per solver; and its columns.

    A cell is the worst outcome over the repeats with the median of the seconds charged, such as
    "solved 0.0123"; it is empty where the solver does not take the problem.
    """
    where = ["settings", "problem_class", "instance"]
    worst = outcomes["outcome"].map(OUTCOMES.index)
    groups = outcomes.assign(worst=worst).groupby([*where, "solver"], sort=False)
    cells = groups.agg(worst=("worst", "max"), seconds=("charged_seconds", "median")).reset_index()
    cells = cells[cells["worst"] != OUTCOMES.index(SKIPPED)]
    ends = zip(cells["worst"], cells["seconds"], strict=True)
    told = [_cell(OUTCOMES[worst], seconds) for worst, seconds in ends]
    table = cells.assign(told=told).pivot(index=where, columns="solver", values="told")
    solvers = sorted(table.columns)
    first = (columns.SETTINGS, columns.CLASS, columns.INSTANCE)
    declared = (*first, *(Column(str(name), "timed") for name in solvers))
    return table[solvers].reset_index().rename_axis(columns=None), declared


def _cell(outcome: str, seconds: Any) -> str:
    return outcome if pd.isna(seconds) else f"{outcome} {seconds:.3g}"


def performance_profile(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return Dolan and Moré's profile: share of instances solved within a ratio of the fastest.

    An instance of one repeat is one problem; its ratio is to the fastest solver of that
    repeat, and infinite where the solver has not solved it.

    Returns
    -------
    DataFrame
        ``settings, problem_class, solver, ratio, share``: from each row's ratio on the
        share holds until the next row's. Every solver has rows at ratio 1 and at the
        largest of all. ``problem_class`` is each class, and ``all``.
    """
    parts = [
        _profile(group).assign(settings=settings, problem_class=name)
        for settings, of_settings in with_best(outcomes).groupby("settings")
        for name, group in [(ALL, of_settings), *of_settings.groupby("problem_class")]
    ]
    columns = ["settings", "problem_class", "solver", "ratio", "share"]
    return pd.concat(parts or [pd.DataFrame(columns=columns)], ignore_index=True)[columns]


def _profile(group: pd.DataFrame) -> pd.DataFrame:
    tried = group[group["outcome"] != SKIPPED]
    # On a coarse clock both times may be 0: they count as equal.
    ratios = (tried["charged_seconds"] / tried["best"]).fillna(1.0)
    ratios = ratios.where(tried["outcome"].isin(ANSWERED), np.inf)
    largest = ratios[np.isfinite(ratios)].max()
    steps = [pd.DataFrame(columns=["solver", "ratio", "share"])]
    for solver, own in ratios.groupby(tried["solver"]):
        finite = own[np.isfinite(own)]
        jumps = np.unique([1.0, *finite, *([largest] if np.isfinite(largest) else [])])
        shares = np.searchsorted(np.sort(own), jumps, side="right") / len(own)
        steps.append(pd.DataFrame({"solver": solver, "ratio": jumps, "share": shares}))
    return pd.concat(steps[1:] or steps)


def wrong_claims(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return a table of wrong claims: per solver, settings, status and instance, the errors.

    The columns are :data:`~convexfs.study.columns.CLAIMS`; residuals are the largest over
    repeats, infinite without a point.
    """
    by = ["solver", "settings", "status", "instance"]
    groups = outcomes[outcomes["outcome"] == WRONG].groupby(by)
    table = groups[[*RESIDUALS, "objective_error"]].max()
    return table.assign(claims=groups.size()).reset_index()[names(columns.CLAIMS)]


def claimants(claims: pd.DataFrame) -> pd.DataFrame:
    """Return a table that counts the problems with wrong claims by solver, settings and status.

    `claims` are :func:`wrong_claims`, the columns :data:`~convexfs.study.columns.CLAIMANTS`.
    Only the status "optimal" comes with a point whose residuals can be computed.
    """
    told = [*RESIDUALS, "objective_error"]
    optimal = claims["status"] == OPTIMAL
    measured = claims.assign(**{name: claims[name].where(optimal) for name in told})
    groups = measured.groupby(["solver", "settings", "status"])
    table = groups[told].max().assign(problems=groups.size())
    table["example"] = groups["instance"].first()
    return table.reset_index()[names(columns.CLAIMANTS)]


def reasons(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the reasons why tasks are not solved, similar messages grouped.

    Messages that differ only in numbers and solver count as one, shown by the first of them; the
    worst outcomes come first, then the commonest.
    """
    lost = outcomes[outcomes["outcome"] != SOLVED]
    said = lost["failure"].fillna("")
    said = said.where(said != "", _complaints(lost))
    alike = [
        re.sub(r"\d[\d.e+-]*", "#", text.replace(solver, "#"))
        for text, solver in zip(said, lost["solver"], strict=True)
    ]
    groups = lost.assign(message=said, alike=alike).groupby(["outcome", "alike"], sort=False)
    table = groups.agg(
        solvers=("solver", lambda own: ", ".join(sorted(set(own)))),
        tasks=("key", "size"),
        message=("message", "first"),
        example=("instance", "first"),
    )
    table = table.reset_index().drop(columns="alike").sort_values("tasks", ascending=False)
    worst_first = {"key": lambda own: own.map(OUTCOMES.index), "kind": "stable"}
    return table.sort_values("outcome", ignore_index=True, **worst_first)


def _complaints(lost: pd.DataFrame) -> pd.Series:
    """Return a text for each unsolved task without message: late, unsure status or residual."""
    unsure = lost["solver"] + " says " + lost["status"]
    inaccurate = lost["error"].map("residual {:.1e}".format) + allowed(lost).map(" > {:.0e}".format)
    late = pd.Series("solved after its time limit", index=lost.index)
    claimed = late.where(lost["outcome"] == TIMEOUT, inaccurate)
    return unsure.where(lost["status"] != OPTIMAL, claimed)


def accuracy_time(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return median error and seconds of every instance and solver with a solution.

    Returns
    -------
    DataFrame
        ``settings, problem_class, instance, solver``; ``answers`` and how many of them are
        ``solved``; medians of ``error, solve_seconds, compile_seconds, build_seconds``.
    """
    answered = outcomes[np.isfinite(outcomes["error"]) & outcomes["solve_seconds"].notna()]
    groups = answered.groupby(["settings", "problem_class", "instance", "solver"])
    table = groups[["error", "solve_seconds", "compile_seconds", "build_seconds"]].median()
    table.insert(0, "answers", groups.size())
    table.insert(1, "solved", groups["outcome"].agg(lambda told: (told == SOLVED).sum()))
    return table.reset_index()


def agreement(selected: pd.DataFrame) -> pd.DataFrame:
    """Return the mean Jaccard index of each two solvers' features, both solved or undecided.

    Returns
    -------
    DataFrame
        ``settings, solver, other, jaccard, instances`` for every ordered pair, a solver
        with itself included: the mean over instances of |both| / |either|, which is 1 for
        two empty selections.
    """
    solved = selected[selected["outcome"].isin(ANSWERED)]
    where = ["settings", "instance", "repeat"]
    columns = [*where, "solver", "features"]
    pairs = solved[columns].merge(solved[columns], on=where, suffixes=("", "_other"))
    pairs["jaccard"] = [
        _jaccard(set(one), set(other))
        for one, other in zip(pairs["features"], pairs["features_other"], strict=True)
    ]
    groups = pairs.rename(columns={"solver_other": "other"}).groupby(
        ["settings", "solver", "other"]
    )
    table = groups["jaccard"].mean().to_frame()
    return table.assign(instances=groups["instance"].nunique()).reset_index()


def _jaccard(one: set, other: set) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def ranking(outcomes: pd.DataFrame, shift: float | None = None) -> pd.DataFrame:
    """Return the solvers that take all of a class, ranked by mean charged seconds, with leads.

    The columns are :data:`~convexfs.study.columns.RANKING`.
    Within each problem class, all on the same instances. ``scope`` is ``all``, or ``native``:
    only the instances that have a native twin, where these are not all. The lead is over the
    next in rank. Without a `shift` it is the usual one.
    """
    shift = chosen_shift(shift)
    rows = [row for scope, group in _scopes(outcomes) for row in _ranked(scope, group, shift)]
    table = pd.DataFrame(rows, columns=names(columns.RANKING))
    return table.sort_values(SCOPE, kind="stable", ignore_index=True)


def _ranked(scope: dict[str, Any], group: pd.DataFrame, shift: float) -> Iterator[dict[str, Any]]:
    means = {str(solver): seconds(own, shift) for solver, own in group.groupby("solver")}
    names = sorted(means, key=lambda solver: means[solver]["seconds"])
    for place, solver in enumerate(names):
        behind = names[place + 1] if place + 1 < len(names) else None
        known = {**scope, "rank": place + 1, "solver": solver, **means[solver]}
        own = group[group["solver"] == solver]
        yield {**known, **_success(own), **_lead(group, shift, solver, behind)}


def _success(own: pd.DataFrame) -> dict[str, float]:
    solved = own[own["outcome"] == SOLVED]
    error = np.exp(np.log(solved["error"].clip(lower=EXACT)).mean())
    return {"solved": len(solved), "success_rate": len(solved) / len(own), "error": error}


def leaders(outcomes: pd.DataFrame, shift: float | None = None) -> pd.DataFrame:
    """Return the fastest and the most accurate solver of each problem class, one row each.

    The columns are :data:`~convexfs.study.columns.LEADERS`.
    The fastest and the most accurate are sought among those that solved the most. Without a
    `shift` it is the usual one.
    """
    shift = chosen_shift(shift)
    table_of_ranks = ranking(outcomes, shift)
    groups = {tuple(scope.values()): group for scope, group in _scopes(outcomes)}
    rows = []
    for where, table in table_of_ranks[table_of_ranks["solved"] > 0].groupby(SCOPE, sort=False):
        most = table[table["solved"] == table["solved"].max()]
        best = most.loc[most["error"].fillna(math.inf).idxmin()]
        rows.append(
            {
                **dict(zip(SCOPE, where, strict=True)),
                "fastest": most["solver"].iloc[0],
                "seconds": most["seconds"].iloc[0],
                **_lead(groups[where], shift, *most["solver"].iloc[:2]),
                "most_accurate": best["solver"],
                "error": best["error"],
            }
        )
    return pd.DataFrame(rows, columns=names(columns.LEADERS))


def _lead(
    group: pd.DataFrame, shift: float, first: str, second: str | None = None
) -> dict[str, Any]:
    """Return columns on the lead: second solver's time over the first's, with its interval."""
    if second is None:
        return {"second": None, "clear": False}
    ahead, behind = (group[group["solver"] == solver] for solver in (first, second))
    low, lead, high = (
        float(np.exp(end)) for end in interval(logs(behind, shift) - logs(ahead, shift))
    )
    return {
        "second": second,
        "lead": lead,
        "lead_low": low,
        "lead_high": high,
        "lead_unshifted": float(np.exp(interval(logs(behind, 0.0) - logs(ahead, 0.0))[1])),
        "clear": bool(low > 1),
    }


def _scopes(outcomes: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield (scope, its rows): instances of a class, and the solvers that take all of them."""
    tried = outcomes[outcomes["outcome"] != SKIPPED]
    for (settings, name), group in tried.groupby(["settings", "problem_class"]):
        sets = group.groupby("solver")["instance"].agg(frozenset)
        scopes = {frozenset(group["instance"]): ALL}
        if NATIVE in sets:
            scopes.setdefault(sets[NATIVE], NATIVE)
        for instances, scope in scopes.items():
            takers = sets.index[[instances <= own for own in sets]]
            kept = group["solver"].isin(takers) & group["instance"].isin(instances)
            values = (settings, name, scope, len(instances))
            yield dict(zip(SCOPE, values, strict=True)), group[kept]
