"""Ours beside the paper's, number by number."""

from collections.abc import Container
from typing import Any

import numpy as np
import pandas as pd

from papers.experiment import Column, Experiment, Table, Variant, printed

WITHIN, BETTER, OFF = "within", "better", "off"
NO_DATA, NOT_RUN, LEFT_OUT, NOT_PRINTED = "no data", "not run", "left out", ""


def judged(
    experiment: Experiment,
    table: Table,
    variant: Variant,
    numbers: pd.DataFrame,
    missing: Container[str] = (),
) -> pd.DataFrame:
    """Return a row for each data set and column of a table, and one for a set without numbers.

    Those named as `missing` have no data.

    Returns
    -------
    DataFrame
        ``data``, ``method`` (its heading), ``reading``, ``default``, ``paper``, ``paper_sd``,
        ``ours``, ``sd`` (of the runs), ``runs``, ``difference`` (in the paper's deviations),
        ``verdict``, ``honest`` (the same method with everything chosen on training rows),
        ``contends`` (no yardstick) and ``note``.
    """
    paper = printed(table.printed) if table.printed else pd.DataFrame()
    rows = []
    # Generated data, which stand for a table's own in quick runs, are rows of every table.
    sources = list(variant.sources)
    for data in [data for data in sources if data in table.rows] or sources:
        own = numbers[numbers["data"] == data]
        for column in table.columns if len(own) else [Column("", "")]:
            row = _row(column, own, paper, data)
            row["note"] = experiment.why_left_out(data, column.method)
            row["verdict"] = verdict(row, table.higher_is_better)
            if not row["runs"]:
                absent = LEFT_OUT if row["note"] else NOT_RUN
                row["verdict"] = NO_DATA if data in missing else absent
            rows.append({"data": data, **row})
    return pd.DataFrame(rows)


def _row(column: Column, numbers: pd.DataFrame, paper: pd.DataFrame, data: str) -> dict[str, Any]:
    ours, sd, runs = spread(numbers, column.method, column.measure)
    expected = _cell(paper, data, column.printed)
    expected_sd = _cell(paper, data, f"{column.printed}_sd")
    honest = spread(numbers, column.method, column.honest or column.measure)[0]
    return {
        "method": column.heading,
        "reading": column.reading,
        "default": column.default,
        "paper": expected,
        "paper_sd": expected_sd,
        "ours": ours,
        "sd": sd,
        "runs": runs,
        "difference": (ours - expected) / expected_sd if expected_sd > 0 else np.nan,
        "honest": honest,
        "contends": column.contends,
    }


def spread(numbers: pd.DataFrame, method: str, measure: str) -> tuple[float, float, int]:
    """Return mean, sample deviation and number of runs of a measure."""
    chosen = (numbers["method"] == method) & (numbers["measure"] == measure)
    values = numbers.loc[chosen, "value"]
    deviation = float(values.std(ddof=1)) if len(values) > 1 else np.nan
    return float(values.mean()) if len(values) else np.nan, deviation, len(values)


def _cell(paper: pd.DataFrame, data: str, name: str) -> float:
    return float(paper[name][data]) if data in paper.index and name in paper else np.nan


def verdict(row: dict[str, Any], higher_is_better: bool = False) -> str:
    """Return whether a number is within one deviation of the paper's, better, or off."""
    difference = -row["difference"] if higher_is_better else row["difference"]
    if np.isnan(difference):
        return NOT_PRINTED
    if abs(difference) <= 1:
        return WITHIN
    return BETTER if difference < 0 else OFF


def best(rows: pd.DataFrame, higher_is_better: bool = False, number: str = "ours") -> str:
    """Return which method of the default readings does best on each data set, on average.

    ``number`` is "ours", or "honest" for those with everything chosen on training rows.
    """
    told = rows[rows["default"] & rows["contends"] & rows[number].notna()]
    lines = []
    for data, own in told.groupby("data", sort=False):
        chosen = own[number].argmax() if higher_is_better else own[number].argmin()
        lines.append(f"{data} {own['method'].iloc[chosen]} {own[number].iloc[chosen]:.1f}")
    return ", ".join(lines)


def tally(rows: pd.DataFrame) -> str:
    """Return how many numbers of the default readings are within one deviation or better."""
    told = rows[rows["default"] & rows["verdict"].isin([WITHIN, BETTER, OFF])]
    lines = [
        f"{heading}: {int((own['verdict'] != OFF).sum())} of {len(own)}"
        for heading, own in told.groupby("method", sort=False)
    ]
    return "; ".join(lines)


def averages(rows: pd.DataFrame) -> str:
    """Return the mean of every column that all data sets have, and of the paper's beside it."""
    told, n_sets = rows[rows["ours"].notna()], rows["data"].nunique()
    lines = []
    for (heading, reading), own in told.groupby(["method", "reading"], sort=False):
        if len(own) == n_sets:
            name = f"{heading}: {reading}" if reading else str(heading)
            paper = f" / {own['paper'].mean():.1f}" if own["paper"].notna().all() else ""
            lines.append(f"{name} {own['ours'].mean():.1f}{paper}")
    return "; ".join(lines)


def left_out(rows: pd.DataFrame) -> list[str]:
    """Return what is not measured and why, a line for each reason."""
    told = rows[rows["verdict"] == LEFT_OUT]
    return [
        f"{', '.join(dict.fromkeys(own['method'] + ' on ' + own['data']))} ({reason})"
        for reason, own in told.groupby("note", sort=False)
    ]
