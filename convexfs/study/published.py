"""Outcomes of public instances beside what is published about them.

``published_optima.csv`` has an optimum, or the status of instances without one, by set and name;
``*`` stands for all others of a set. Sources: Netlib's readme; Maros and Meszaros (1999); MIPLIB
3's catalogue, without values it calls not optimal; SDPLIB's readme (Borchers 1999), whose
infeasible duals are unbounded problems here; Liu and Pataki (2017). Of 15 files of Netlib the
readme's value is not the optimum, as has long been known (Koch 2004): "recomputed" values are
those of HiGHS, which reads the files by itself. Published numbers play no part in verdicts.
"""

import csv
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.records import OPTIMAL
from convexfs.study import columns
from convexfs.study.columns import names
from convexfs.study.outcome_rules import SOLVED, allowed
from convexfs.study.public_sets import SETS

_TABLE = Path(__file__).with_name("published_optima.csv")
OTHERS = "*"


def add_published(frame: pd.DataFrame) -> None:
    """Add columns ``set`` and ``published`` in place: each file's public set and known result.

    A set is recognised by the folder of its files, as ``--set`` finds them.
    """
    folders = [Path(str(path)).parent.name.replace("_", "-") for path in frame["problem_file"]]
    sets = [folder if folder in SETS else None for folder in folders]
    known = [
        None if of is None else published(of, str(problem))
        for of, problem in zip(sets, frame["problem"], strict=True)
    ]
    for name, values in (("set", sets), ("published", known)):
        frame[name] = pd.Series(values, index=frame.index, dtype="string")


def published(of: str, problem: str) -> str | None:
    """Return the published optimum or status of an instance, as printed; None if unknown."""
    own = _published()
    return own.get((of, _plain(problem)), own.get((of, OTHERS)))


@cache
def _published() -> dict[tuple[str, str], str]:
    with _TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["set"], _plain(row["problem"])): row["optimum"] for row in rows}


def _plain(name: str) -> str:
    """Return a name without case and punctuation, so that CVXQP1_S and cvxqp1-s are equal."""
    return name if name == OTHERS else re.sub(r"[^a-z0-9]", "", name.lower())


def beside_published(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return published and found optima of public instances, one row each.

    The columns are :data:`~convexfs.study.columns.PUBLISHED`.
    """
    groups = outcomes[outcomes["published"].notna()].groupby(["set", "instance", "published"])
    rows = [
        _row(str(of), str(instance), str(printed), own) for (of, instance, printed), own in groups
    ]
    return pd.DataFrame(rows, columns=names(columns.PUBLISHED))


def contradicts(outcomes: pd.DataFrame) -> pd.Series:
    """Return a mask of solved tasks whose result differs from the published one.

    Objectives may differ by ten times the accuracy asked for, relative to the published optimum or
    to 1, and by half a unit of the last published digit.
    """
    optimum = pd.to_numeric(outcomes["published"], errors="coerce")
    word = outcomes["published"].notna() & optimum.isna()
    expected = outcomes["published"].where(word, OPTIMAL)
    printed = outcomes["published"].astype(object).where(~word & outcomes["published"].notna())
    half = pd.to_numeric(printed.map(_half_unit, na_action="ignore"), errors="coerce")
    size = optimum.abs().clip(lower=1.0)
    far = (outcomes["objective"] - optimum).abs() > allowed(outcomes) * size + half
    other = (outcomes["status"] != expected) | (~word & far)
    return outcomes["published"].notna() & (outcomes["outcome"] == SOLVED) & other


def _half_unit(printed: str) -> float:
    """Return half a unit of the last digit of a printed number."""
    digits, _, power = printed.lower().partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def _row(of: str, instance: str, printed: str, own: pd.DataFrame) -> dict[str, Any]:
    solved = own[own["outcome"] == SOLVED]
    wrong = own[contradicts(own)]
    best = solved.sort_values("error", kind="stable").head(1)
    status = best["status"].iloc[0] if len(best) else None
    found = best["objective"].iloc[0] if status == OPTIMAL else np.nan
    optimum = np.nan if printed[-1].isalpha() else float(printed)
    return {
        "set": of,
        "instance": instance,
        "published": printed,
        "status": status,
        "objective": found,
        "objective_error": abs(found - optimum) / max(abs(optimum), 1.0),
        "solved": len(solved),
        "contradicting": len(wrong),
        "solvers": ", ".join(sorted(set(wrong["solver"]))),
    }
