"""Detect and normalise count data, such as sequencing reads."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from convexfs.data.dataset import Dataset
from convexfs.errors import InputError, check_choice

#: Choices of ``--normalize`` for counts.
NORMALIZATIONS = ("log1p-cpm",)
#: Note to the user after counts were normalised.
LOG1P = "counts are normalised: log(1 + counts per million) of each sample"
_MILLION = 1e6
#: Count data have a value above the first number, and at least as many features as the second.
_LARGE, _FEATURES = 20, 50


def looks_like_counts(X: Any) -> bool:
    """Return whether X looks like counts: nonnegative integers, some large, of many features."""
    values = X.data if issparse(X) else X
    if X.shape[1] < _FEATURES or not values.size or not values.max() > _LARGE:
        return False
    return bool(values.min() >= 0 and (values == np.rint(values)).all())


def normalize_counts(data: Dataset, how: str) -> Dataset:
    """Return the data with log(1 + counts per million), relative to each sample's sum.

    Samples without any count stay 0.

    Raises
    ------
    InputError
        If a value is negative or missing, or if there are categorical columns.
    """
    check_choice("--normalize", how, NORMALIZATIONS)
    values: Any = data.X.data if data.is_sparse else data.X
    if data.categories or (values.size and not values.min() >= 0):
        raise InputError(
            f"{data.name} holds negative or missing values or categorical columns, which are no "
            "counts; leave --normalize out"
        )
    sums = np.asarray(data.X.sum(axis=1), dtype=np.float64).ravel()
    factors = _MILLION / np.where(sums > 0, sums, 1.0)
    if data.is_sparse:
        X: Any = csr_array(data.X, dtype=np.float64, copy=True)
        X.data = np.log1p(X.data * np.repeat(factors, np.diff(X.indptr)))
    else:
        X = np.log1p(data.X * factors[:, None])
    return replace(data, X=X, told=(*data.told, LOG1P))
