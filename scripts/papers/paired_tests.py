"""Paired tests, computed from the numbers of single runs as they are exported."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

LEVEL = 0.05
WIN, TIE, LOSS = "win", "tie", "loss"


def comparisons(
    runs: pd.DataFrame,
    reference: tuple[str, str],
    others: Iterable[tuple[str, str]],
    *,
    higher_is_better: bool = False,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Hold others against a reference, data set by data set, by a paired t-test over runs.

    Parameters
    ----------
    runs : DataFrame
        As ``runs.csv`` has them: data, method, run, measure, value.
    reference, others : pairs of method and measure
    level : float
        Below this p-value the other wins or loses, by the sign of the difference; else it is a
        tie. So the papers count.

    Returns
    -------
    DataFrame
        ``data``, ``method``, ``measure``, ``runs`` (that both have), ``difference`` (other less
        reference), ``p``, ``result`` of the other method; none where there is no pair of runs.
    """
    rows = []
    for data in runs["data"].unique():
        own = runs[runs["data"] == data]
        for method, measure in others:
            first, second = _paired(own, reference, (method, measure))
            difference, p = _test(first, second)
            worse = difference < 0 if higher_is_better else difference > 0
            result = "" if np.isnan(p) else TIE if p >= level else LOSS if worse else WIN
            rows.append((data, method, measure, len(first), difference, p, result))
    columns = ["data", "method", "measure", "runs", "difference", "p", "result"]
    return pd.DataFrame(rows, columns=columns)


def _paired(
    runs: pd.DataFrame, one: tuple[str, str], other: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    def values(method: str, measure: str) -> pd.Series:
        chosen = (runs["method"] == method) & (runs["measure"] == measure)
        return runs[chosen].set_index("run")["value"]

    both = pd.concat([values(*one), values(*other)], axis=1, join="inner").to_numpy()
    return both[:, 0], both[:, 1]


def _test(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Return the mean difference and its p-value; 1 where all runs are alike, NaN of one run."""
    if not len(first):
        return np.nan, np.nan
    change = second - first
    if len(change) > 1 and not change.any():
        return 0.0, 1.0
    p = float(ttest_rel(second, first).pvalue) if len(change) > 1 else np.nan
    return float(change.mean()), p


def win_tie_loss(compared: pd.DataFrame) -> pd.DataFrame:
    """Count the results of each method over the data sets that could be tested."""
    tested = compared[compared["p"].notna()]
    counted = tested.groupby(["method", "measure"], sort=False)["result"].value_counts()
    return counted.unstack(fill_value=0).reindex(columns=[WIN, TIE, LOSS], fill_value=0)
