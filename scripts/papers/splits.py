"""Random splits with noise appended, scaled as the released code of the Logo paper does."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from papers.experiment import Case


@dataclass(frozen=True)
class Split:
    """Training and test rows; ``original`` marks the columns that are no noise."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    original: np.ndarray

    def clean(self) -> "Split":
        """Return the original columns alone."""
        kept = self.original
        return Split(self.X[:, kept], self.y, self.X_test[:, kept], self.y_test, kept[kept])


def noisy_split(
    case: Case, train: int, test: int, noise: int, *, shuffle_columns: bool = False
) -> Split:
    """Return a random split with N(0, 1) columns added, all columns in [0, 1] on training rows.

    The rows are drawn without regard to classes. With ``shuffle_columns`` no method can tell
    original columns from noise by their place.
    """
    random = case.random("split")
    rows = random.permutation(case.data.n_samples)[: train + test]
    X = case.data.X[rows]
    X = np.hstack([X, case.random("noise").standard_normal((len(rows), noise))])
    original = np.arange(X.shape[1]) < case.data.n_features
    if shuffle_columns:
        order = case.random("columns").permutation(X.shape[1])
        X, original = X[:, order], original[order]
    X = unit_scaled(X[:train], X)
    y = np.unique(case.data.y, return_inverse=True)[1][rows]
    return Split(X[:train], y[:train], X[train:], y[train:], original)


def unit_scaled(known: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return columns less the smallest known value, over the known range; constant ones over 1."""
    low, high = known.min(axis=0), known.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0)


def least_of_means(runs: pd.DataFrame, measures: Iterable[str]) -> pd.DataFrame:
    """Return, of each curve, the numbers of all runs at the place of its least mean over runs.

    So the papers choose, by test errors. The measure is called ``least`` and the curve's name;
    what is no curve has nothing to choose and is left out.
    """
    curves = runs[runs["measure"].isin(list(measures))]
    means = curves.groupby(["data", "method", "measure", "position"], sort=False)["value"].mean()
    best = means.reset_index().sort_values("value", kind="stable")
    several = best.duplicated(["data", "method", "measure"], keep=False)
    best = best[several].drop_duplicates(["data", "method", "measure"]).drop(columns="value")
    chosen = curves.merge(best, on=["data", "method", "measure", "position"])
    return chosen.assign(measure="least " + chosen["measure"], position=0)
