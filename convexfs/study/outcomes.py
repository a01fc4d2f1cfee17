"""What became of every task of a run, judged alike for all solvers.

Table, page and export all read :func:`outcomes`, so they cannot show different numbers.

An answer is judged by its residuals, not by its solver's word: it is *solved* if the
solver says ``optimal``, every residual is at most ten times the accuracy asked for, and
the solver kept its time limit; or if it says ``infeasible`` and multipliers prove it. With
a solver's own default accuracy the bound is ``SLACK * DEFAULT_ACCURACY`` = 1e-4 for all: ten
times the 1e-5 that most first-order solvers default to, and a hundredth of the 1 % of the
largest weight at which features are selected.

A *wrong claim* is an ``optimal`` about a point that is not feasible (primal residual beyond
the bound) or not optimal (objective farther than the bound from a proven one of the same
problem; where nobody has proven any, gap beyond the bound), or an ``infeasible`` or
``unbounded`` about a problem that has a proven optimum, or an ``unbounded`` about one that
is proven infeasible. Solvers that say they are unsure (``optimal_inaccurate``,
``user_limit``) have *failed*, and so have those whose point is good but whose multipliers do
not prove it: unproven is not wrong.

Answers without multipliers (integer problems, solvers that return none) cannot be proven
by themselves. Their gap is the distance of their objective from a proven one of the same
problem or, where nobody has proven any, from the best feasible one; it is left open where
it may be the reference's own error. A claim without an objective is wrong.
"""

import json
import os
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.batch.store import Store, unpack
from convexfs.errors import InputError
from convexfs.methods import stored_formulation, stored_names
from convexfs.records import (
    DEFAULT_ACCURACY,
    INFEASIBLE,
    OPTIMAL,
    RELEVANT_SHARE,
    SKIPPED,
    TIMEOUT,
)

#: A DataFrame or Series inside: pandas' own hints mislead a type checker.
Frame = Any
SOLVED, WRONG, FAILED = "solved", "wrong claim", "failed"
#: Every outcome there is, best first; a task that could not be tried is ``skipped``.
OUTCOMES = (SOLVED, WRONG, FAILED, TIMEOUT, SKIPPED)
DEFAULT = "default"
#: An answer may be this many times less accurate than was asked for.
SLACK = 10.0
#: False of a problem that has a proven optimum.
DENIALS = (INFEASIBLE, "unbounded")
RESIDUALS = ["primal_residual", "dual_residual", "complementarity", "gap"]
#: Bases of answers that nothing but another answer can prove.
BY_PROOF, BY_BEST = "objective of a proven answer", "best objective known"
#: Objectives are compared relative to themselves, or to this: an optimum may be zero.
SMALL_OBJECTIVE = 0.01
_CLASSES = {"SDP": "SDP", "POW": "POW", "EXP": "EXP", "SOC": "SOCP", "QP": "QP"}
#: Tasks equal in these are the same task; done again after a change of code, the last counts.
_SAME = ["instance", "solver", "settings", "repeat"]
#: Told apart in the instance's label where problem, data and hyper-parameters do not suffice.
_APART = ["formulation", "problem_file", "problem_code", "data_sha256", "seed", "time_limit"]


def outcomes(folder: str | Path, keys: Collection[str] = ()) -> pd.DataFrame:
    """Return every task of a run, one row each, with the verdict on it.

    Parameters
    ----------
    folder : path
        The ``--out`` of ``convexfs solve`` or ``convexfs compare``; it may be going on.
    keys : collection of str
        Tasks that count where others are the same but for the code; else the last counts.

    Returns
    -------
    DataFrame
        The columns of the store's table of tasks, the worst residuals over its steps, label,
        basis and iterations of the last one, and those that
        :data:`convexfs.study.columns.ROWS` explains.
    """
    with Store.read(folder) as store:
        return judge(folder, store.tasks(), store.solutions(blobs=False), keys)


def judge(folder: str | Path, tasks: Frame, solutions: Frame, keys: Collection[str] = ()) -> Frame:
    """Return :func:`outcomes` of tasks and solutions that have been read."""
    if tasks.empty:
        raise InputError(f"{folder}: has no finished task yet; wait for the first and try again")
    samples = tasks["formulation"].isna()
    tasks = tasks[~samples]
    if samples.any() and tasks.empty:
        raise InputError(f"{folder}: holds samples of a fit; convexfs report shows them")
    unknown = sorted(set(tasks["formulation"]) - stored_names())
    if unknown:
        raise InputError(
            f"{folder}: holds results of {unknown[0]!r}, a formulation that this version of "
            "convexfs does not know; read it with the version that wrote it"
        )
    frame: Frame = tasks.drop(columns="ok").merge(_worst(solutions), on="key", how="left")
    frame["settings"] = frame["tol"].map(_settings).astype("string")
    frame["instance"] = _instances(frame)
    frame["problem_class"] = _problem_classes(frame)
    frame = (
        frame.sort_values("finished_utc", kind="stable")
        .sort_values("key", key=lambda key: key.isin(list(keys)), kind="stable")
        .drop_duplicates(_SAME, keep="last")
        .sort_index()
    )
    frame = _judged(frame.reset_index(drop=True))
    frame["charged_seconds"] = _charged(frame)
    return frame


def counts(judged: Frame) -> dict[str, int]:
    """Return how many tasks had each outcome, of :func:`outcomes` or some of its rows."""
    found = judged["outcome"].value_counts()
    return {outcome: int(found.get(outcome, 0)) for outcome in OUTCOMES}


def selected(judged: Frame, answers: Frame) -> pd.DataFrame:
    """Return the features each answer of a run selects.

    A feature is selected above 1 % of the largest weight, as the estimators do; of a
    matrix the diagonal counts, of LLFS's indicators those above one half.

    Parameters
    ----------
    judged : DataFrame
        Some rows of :func:`outcomes`.
    answers : DataFrame
        The store's :meth:`~convexfs.batch.store.Store.answers`.

    Returns
    -------
    DataFrame
        ``key, instance, problem_class, settings, solver, repeat, outcome`` of every task
        that has an answer, and ``features``, a tuple of positions.
    """
    told = ["key", "instance", "problem_class", "settings", "solver", "repeat", "outcome"]
    frame = judged[[*told, "formulation"]].merge(answers, on="key")
    chosen = [
        _features(unpack(blob), str(name))
        for blob, name in zip(frame["primal"], frame["formulation"], strict=True)
    ]
    frame["features"] = pd.Series(chosen, index=frame.index, dtype=object)
    return frame.loc[frame["features"].notna(), [*told, "features"]].reset_index(drop=True)


def export(folder: str | Path, to: str | Path) -> None:
    """Write the outcomes of a run to one table.

    Parameters
    ----------
    folder : path
        Where the run is; it may be going on.
    to : path
        A ``.parquet``, ``.csv`` or ``.jsonl`` file. Hyper-parameters are JSON text.
    """
    to = Path(to)
    writers = {
        ".parquet": lambda frame: frame.to_parquet(to, index=False),
        ".csv": lambda frame: frame.to_csv(to, index=False),
        ".jsonl": lambda frame: to.write_text(_json_lines(frame), encoding="utf-8"),
    }
    if to.suffix not in writers:
        raise InputError(f"{to}: cannot be told its format; end it in {', '.join(writers)}")
    frame = outcomes(folder)
    try:
        writers[to.suffix](frame)
    except OSError as error:
        raise InputError(f"{to}: cannot be written ({error.strerror or error})") from error


def _json_lines(frame: pd.DataFrame) -> str:
    # Not pandas' own: it keeps 15 digits, and a double needs 17.
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _features(primal: dict[str, np.ndarray], formulation: str) -> tuple[int, ...] | None:
    row = stored_formulation(formulation)
    if row.symbol not in primal:
        return None
    weights = np.asarray(primal[row.symbol], dtype=float)
    weights = np.diag(weights) if weights.ndim == 2 else np.ravel(weights)
    bound = row.selected_above
    if bound is None:
        bound = RELEVANT_SHARE * np.max(weights)
    return tuple(np.flatnonzero(weights > bound).tolist())


def _worst(solutions: Frame) -> Frame:
    """Return the largest of each residual over the steps of a task, and the last one's basis."""
    steps = solutions.groupby("key", sort=False)
    worst = steps[RESIDUALS].max()
    # The store holds an undefined residual as none; the certificate's verdict tells them apart.
    small = solutions[RESIDUALS].max(axis=1) <= solutions["certificate_tol"]
    undefined = (small & ~solutions["ok"].fillna(True)).groupby(solutions["key"]).any()
    worst.loc[undefined | worst["primal_residual"].isna(), "primal_residual"] = np.inf
    last = solutions.drop_duplicates("key", keep="last").set_index("key")
    return worst.join(last[["label", "basis", "iterations"]]).reset_index()


def _settings(tol: float) -> str:
    return DEFAULT if pd.isna(tol) else f"{tol:g}"


def _problem_classes(frame: Frame) -> Frame:
    """Return the class of each problem, by its largest cone.

    Tasks that were cut short have no note of it: another task of the instance has, or else
    the formulation as printed.
    """
    needs = frame["needs"]
    needs = needs.fillna(needs.groupby(frame["instance"]).transform("first"))
    classes = [
        _class(str(formulation) if pd.isna(need) else None, str(need))
        for need, formulation in zip(needs, frame["formulation"], strict=True)
    ]
    return pd.Series(classes, index=frame.index, dtype="string")


@cache
def _class(formulation: str | None, needs: str) -> str:
    if formulation is None:
        parts = set(needs.split(" + "))
        integer = "integer" in parts
    else:
        row = stored_formulation(formulation)
        parts, integer = row.cones, row.integer
    largest = next((name for cone, name in _CLASSES.items() if cone in parts), "LP")
    return f"MI{largest}" if integer else largest


def _instances(frame: Frame) -> Frame:
    """Return labels that differ where anything but solver, settings and repeat differs."""
    labels = pd.Series(
        [
            " ".join([str(problem), Path(str(data)).name, *_hyper_words(str(hyper))])
            for problem, data, hyper in zip(
                frame["problem"], frame["data"], frame["hyper"], strict=True
            )
        ],
        index=frame.index,
        dtype="string",
    )
    for name in _APART:
        told = from_common_folder(frame[name]) if name == "problem_file" else frame[name]
        values = told.map(lambda value, name=name: f" {name}={_short(value)}")
        labels = labels.where(values.groupby(labels).transform("nunique") == 1, labels + values)
    return labels


def from_common_folder(paths: Frame) -> Frame:
    """Shorten absolute paths to begin at the innermost folder they share; other words stay."""
    places = {path: Path(str(path)) for path in paths.dropna().unique()}
    folders = [place.parent for place in places.values() if place.is_absolute()]
    if not folders:
        return paths
    common = os.path.commonpath(folders)
    short = {
        path: str(place.relative_to(common)) if place.is_absolute() else path
        for path, place in places.items()
    }
    return paths.map(short).astype("string")


@cache
def _hyper_words(hyper: str) -> tuple[str, ...]:
    return tuple(f"{name}={_short(value)}" for name, value in json.loads(hyper).items())


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text[:8] if len(text) == 64 else text


def allowed(frame: Frame) -> Frame:
    """Return the largest residual with which each answer counts as solved."""
    return SLACK * frame["tol"].fillna(DEFAULT_ACCURACY)


def _judged(frame: Frame) -> Frame:
    """Add error, ok and outcome; answers without multipliers get a gap first."""
    frame["error"] = frame[RESIDUALS].max(axis=1)
    frame["ok"] = _within(frame)
    reference = _references(frame)
    # What is proven to 1e-4 can refute, but is no measure of 1e-5.
    sure = reference["proven"] & (reference["error"] <= allowed(frame))
    frame["objective_error"] = reference["distance"].where(sure)
    alone = frame["gap"].isna() & frame["basis"].eq("cone program").fillna(False).astype(bool)
    near = (reference["distance"] <= allowed(frame)) & (sure | ~reference["proven"])
    alone = alone & (near | reference["beyond"])
    frame.loc[alone, "gap"] = reference["distance"].fillna(np.inf)
    frame.loc[alone, "basis"] = np.where(reference["proven"], BY_PROOF, BY_BEST)[alone]
    frame["error"] = frame[RESIDUALS].max(axis=1)
    unknown = frame["gap"].isna() | (alone & ~reference["proven"])
    within = _within(frame)
    frame["ok"] = within.mask(unknown & within.fillna(False))
    frame["outcome"] = _outcome(
        frame, reference["beyond"] | (frame["gap"] > allowed(frame)) & ~sure
    )
    return frame


def _within(frame: Frame) -> Frame:
    return (frame["error"] <= allowed(frame)).astype("boolean").mask(frame["error"].isna())


def _references(frame: Frame) -> Frame:
    """Return how far each objective is from its problem's reference, and whether that is proven.

    The reference is the most accurate proven answer or, without any, the best feasible one.
    ``beyond`` is an objective farther from it than the bound and the reference's error allow,
    or none at all.
    """
    problem = ["instance", "repeat"]
    claimed = frame[(frame["status"] == OPTIMAL) & frame["ok"].fillna(False)]
    proven = claimed["gap"].notna()
    worse = claimed["objective"].where(_senses(claimed) != "max", -claimed["objective"])
    ranked = claimed.assign(proven=proven, place=claimed["error"].where(proven, worse))
    first = ranked.sort_values(["proven", "place"], ascending=[False, True])
    first = first.drop_duplicates(problem)[[*problem, "objective", "error", "proven"]]
    best = frame[problem].merge(first, on=problem, how="left").set_index(frame.index)
    best["proven"] = best["proven"].eq(True).astype(bool)
    sizes = np.maximum(frame["objective"].abs(), best["objective"].abs().clip(SMALL_OBJECTIVE))
    best["distance"] = (frame["objective"] - best["objective"]).abs() / sizes
    far = best["distance"].fillna(np.inf) > allowed(frame) + best["error"]
    best["beyond"] = far & best["objective"].notna()
    return best


def _senses(frame: Frame) -> Frame:
    """Return min or max; of tables that do not tell, as the formulation is printed."""
    printed = frame["formulation"].map(lambda name: stored_formulation(name).equation[:3])
    return frame["sense"].fillna(printed)


def _outcome(frame: Frame, off: Frame) -> Frame:
    """Return the verdicts; `off` are objectives that are not optimal."""
    claims = frame["status"] == OPTIMAL
    infeasible = frame["status"] == INFEASIBLE
    denies = frame["status"].isin(DENIALS)
    settled = frame["ok"].fillna(False)
    proven, refuted = (_of_anyone(frame, said & settled) for said in (claims, infeasible))
    good = (frame["primal_residual"] <= allowed(frame)) & ~off
    refused = claims & ~frame["ok"].fillna(True)
    late = frame["solve_seconds"] > frame["time_limit"]
    chosen = [
        (frame["status"] == SKIPPED, SKIPPED),
        ((refused & ~good) | (denies & proven) | (denies & ~infeasible & refuted), WRONG),
        ((frame["status"] == TIMEOUT) | late, TIMEOUT),
        (claims & ~refused, SOLVED),
        (infeasible & settled, SOLVED),
    ]
    cases = [np.asarray(case, dtype=bool) for case, _ in chosen]
    found = np.select(cases, [name for _, name in chosen], FAILED)
    return pd.Series(found, index=frame.index, dtype="string")


def _of_anyone(frame: Frame, known: Frame) -> Frame:
    """Tell whether something is known of a task's problem by any solver."""
    return known.groupby([frame["instance"], frame["repeat"]]).transform("any")


def _charged(frame: Frame) -> Frame:
    longest = frame[["solve_seconds", "wall_seconds"]].max(axis=None)
    price = frame["time_limit"].fillna(longest)
    charged = frame["solve_seconds"].where(frame["outcome"] == SOLVED, price)
    return charged.mask(frame["outcome"] == SKIPPED)
