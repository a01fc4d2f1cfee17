"""The outcome of every task of a run, one row each.

Tables, pages and exports all read :func:`outcomes`, so that they show the same numbers.
"""

import json
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from convexfs.batch.run_results import are_measurements, read_measurements
from convexfs.batch.store.schema import CERTIFICATES
from convexfs.batch.store.store import Store, unpack
from convexfs.data.writers import check_package
from convexfs.errors import InputError, writing
from convexfs.methods import stored_formulation, stored_names
from convexfs.records import RELEVANT_SHARE, SKIPPED
from convexfs.study import labels
from convexfs.study.outcome_rules import OUTCOMES, RESIDUALS, charged_seconds, classify_outcomes
from convexfs.study.published import add_published

#: Columns that identify a task; of several results, for instance after code changes, the last
#: counts.
_SAME = ["instance", "solver", "settings", "repeat"]
#: A task that got less than this share of a core was disturbed, if it lost more than these seconds.
UNDISTURBED, MOMENT = 0.8, 0.01
#: First word of a certificate's basis if a formula gives its gap, valid whatever the verdict.
FORMULA = "formula"


def outcomes(folder: str | Path, keys: Collection[str] = ()) -> pd.DataFrame:
    """Return a DataFrame of a stored run's tasks, one result each, with their outcomes.

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
        return outcomes_of_tables(folder, store.tasks(), store.solutions(blobs=False), keys)


def outcomes_of_tables(
    folder: str | Path, tasks: pd.DataFrame, solutions: pd.DataFrame, keys: Collection[str] = ()
) -> pd.DataFrame:
    """Return the table of :func:`outcomes` from tables of tasks and solutions."""
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
    frame = tasks.drop(columns="ok").merge(_worst(solutions), on="key", how="left")
    frame["settings"], frame["solver"] = labels.settings(frame), labels.solvers(frame)
    frame["told"] = frame["options"].fillna("{}").map(labels.words).astype("string")
    frame["instance"] = labels.instances(frame)
    frame["problem_class"] = labels.problem_classes(frame)
    frame["busy"] = was_disturbed(frame)
    add_published(frame)
    frame["dimacs_error"] = _largest_dimacs(frame["dimacs"])
    _skip_integer_variants(frame)
    frame = (
        frame.sort_values("finished_utc", kind="stable")
        .sort_values("key", key=lambda key: key.isin(list(keys)), kind="stable")
        .drop_duplicates(_SAME, keep="last")
        .sort_index()
    )
    for name in ("undecided", "refuted", "older"):
        frame[name] = frame[name].eq(True).fillna(False).astype(bool)
    frame = classify_outcomes(frame.reset_index(drop=True)).drop(columns=["undecided", "refuted"])
    frame["charged_seconds"] = charged_seconds(frame)
    return frame


def _largest_dimacs(told: pd.Series) -> pd.Series:
    """Return the largest of each task's six DIMACS errors, read from JSON; NaN if it has none."""
    errors = told.map(lambda own: max(json.loads(own).values(), default=None), na_action="ignore")
    return pd.to_numeric(errors.astype(object), errors="coerce")


def _skip_integer_variants(frame: pd.DataFrame) -> None:
    """Mark, in place, mixed-integer variants as skipped where their continuous twin took part."""
    from convexfs.solving.backends import integer_variants

    for variant, twin in integer_variants().items():
        name = frame["solver"].str.split(" ").str[0]
        twins = set(frame.loc[name == twin, "instance"])
        continuous = ~frame["problem_class"].str.startswith("MI")
        rows = (name == variant) & continuous & frame["instance"].isin(twins)
        frame.loc[rows, "status"] = SKIPPED
        frame.loc[rows, "failure"] = f"without integers {variant} is {twin}, which takes part"


def was_disturbed(tasks: pd.DataFrame) -> pd.Series:
    """Return a mask of tasks that got too little of their core; missing if unknown."""
    lost = tasks["wall_seconds"] - tasks["cpu_seconds"]
    slow = tasks["cpu_seconds"] < UNDISTURBED * tasks["wall_seconds"]
    return (slow & (lost > MOMENT)).astype("boolean").mask(tasks["cpu_seconds"].isna())


def certificate_warnings(frame: pd.DataFrame) -> list[str]:
    """Return warnings about proofs that contradict each other, and about outdated certificates."""
    lines = []
    fooled = frame[frame["fooled"].fillna(False)]
    if len(fooled):
        first = "{solver} on {instance}, objective {objective:.9g}".format(**fooled.iloc[0])
        lines.append(
            f"A CERTIFICATE WAS FOOLED: {len(fooled):,} proven objectives are far worse than "
            f"proven ones of the same problem (the first: {first}). The better ones are the "
            "reference; please report this to the developers of convexfs."
        )
    older = int(frame["older"].sum())
    if older:
        lines.append(
            f"{older:,} of {len(frame):,} verdicts were made by an older version of convexfs, "
            "whose certificates proved less: convexfs certify DIR --problem FILE renews them."
        )
    return lines


def busy_words(frame: pd.DataFrame) -> str:
    """Return a text on how many tasks other work slowed down; "" if none."""
    timed, busy = int(frame["busy"].notna().sum()), int(frame["busy"].sum())
    if not busy:
        return ""
    return (
        f"busy: {busy:,} of {timed:,} tasks got less than {UNDISTURBED:.0%} of a core, so that "
        "their times are too long"
    )


def counts(found: pd.DataFrame) -> dict[str, int]:
    """Return {outcome: number of tasks}, for all outcomes."""
    return {outcome: int((found["outcome"] == outcome).sum()) for outcome in OUTCOMES}


def selected(rows: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the solutions of a run with the features (indices) that each selects.

    A feature is selected above 1 % of the largest weight, as the estimators do; of a
    matrix the diagonal counts, of LLFS's indicators those above one half.

    Parameters
    ----------
    rows : DataFrame
        Some rows of :func:`outcomes`.
    answers : DataFrame
        The store's :meth:`~convexfs.batch.store.store.Store.answers`.

    Returns
    -------
    DataFrame
        ``key, instance, problem_class, settings, solver, repeat, outcome`` of every task
        that has an answer, and ``features``, a tuple of positions.
    """
    told = ["key", "instance", "problem_class", "settings", "solver", "repeat", "outcome"]
    frame = rows[[*told, "formulation"]].merge(answers, on="key")
    chosen = [
        _features(unpack(blob), str(name))
        for blob, name in zip(frame["primal"], frame["formulation"], strict=True)
    ]
    frame["features"] = pd.Series(chosen, index=frame.index, dtype=object)
    return frame.loc[frame["features"].notna(), [*told, "features"]].reset_index(drop=True)


def export(folder: str | Path, to: str | Path, escape_formulas: bool = False) -> None:
    """Write a run's outcomes, or an experiment's numbers, to a csv, parquet or jsonl file.

    Parameters
    ----------
    folder : path
        Where the run is; it may be going on.
    to : path
        A ``.parquet``, ``.csv`` or ``.jsonl`` file. Hyper-parameters are JSON text. Of an
        experiment of ``scripts/reproduce.py`` it has one row per measured number.
    escape_formulas : bool
        Put an apostrophe before texts that a spreadsheet would run as formulas, such as
        ``=cmd|...``: those that begin with ``=``, ``+``, ``-``, ``@``, a tab or a line end.
    """
    to = Path(to)
    writers = {
        ".parquet": lambda frame: frame.to_parquet(to, index=False),
        ".csv": lambda frame: frame.to_csv(to, index=False),
        ".jsonl": lambda frame: to.write_text(_json_lines(frame), encoding="utf-8"),
    }
    if to.suffix not in writers:
        raise InputError(f"{to}: unsupported file type; end it in {', '.join(writers)}")
    check_package(to)
    with Store.read(folder) as store:
        numbers = are_measurements(store.tasks())
    frame = read_measurements(folder) if numbers else outcomes(folder)
    if escape_formulas:
        for name in frame.select_dtypes(["string", "object"]):
            frame[name] = frame[name].str.replace(r"^(?=[=+\-@\t\r\n])", "'", regex=True)
    with writing(to):
        writers[to.suffix](frame)


def _json_lines(frame: pd.DataFrame) -> str:
    # pandas' own format keeps 15 digits, but a double needs 17.
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


def _worst(solutions: pd.DataFrame) -> pd.DataFrame:
    """Return, per task, the largest residuals over its steps and its last step's verdict."""
    # The gap of an undecided certificate may belong to other data, unless a formula gives it.
    known = solutions["ok"].notna() | solutions["basis"].str.startswith(FORMULA, na=False)
    solutions = solutions.assign(gap=solutions["gap"].where(known))
    worst = solutions.groupby("key", sort=False)[RESIDUALS].max()
    # The store holds an undefined residual as NULL; the verdict tells it from a missing one.
    small = solutions[RESIDUALS].max(axis=1) <= solutions["certificate_tol"]
    undefined = (small & ~solutions["ok"].fillna(True)).groupby(solutions["key"]).any()
    worst.loc[undefined | worst["primal_residual"].isna(), "primal_residual"] = np.inf
    last = solutions.drop_duplicates("key", keep="last").set_index("key")
    worst["undecided"] = last["ok"].isna()
    worst["older"] = last["certificates"].fillna(0) < CERTIFICATES
    # Older versions had no verdict for undecided solutions.
    worst["refuted"] = last["ok"].eq(False) & ~worst["older"]
    return worst.join(last[["label", "basis", "iterations"]]).reset_index()
