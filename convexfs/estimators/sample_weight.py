"""Weights of samples and of classes: their checks, and sample weights as counts of rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from convexfs.errors import InputError, check_number, did_you_mean

BALANCED = "balanced"
#: Integer weights are row counts up to this sum. No table has more rows: others are relative.
_MOST_ROWS = 2.0**40


def weighted_rows(sample_weight: Any, X: Any, y: Any, *units: Any) -> tuple[Any, ...]:
    """Return positive sample weights as row counts, and X, y and `units` without the other rows."""
    try:
        rows = np.empty((_num_samples(X), 1))
        weights = _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
    except ValueError as error:
        raise InputError(f"sample_weight: {error}") from error
    counting = np.flatnonzero(weights)
    if not len(counting):
        raise InputError("sample_weight is 0 for all samples: some must count")
    counts = _counts(weights[counting].astype(np.float64))
    if len(counting) == len(weights):
        return counts, X, y, *units
    kept = (None if rows is None else _safe_indexing(rows, counting) for rows in (X, y, *units))
    return counts, *kept


def check_class_weight(given: Any, labels: list[Any]) -> None:
    """Raise unless `given` is a valid class_weight for these labels."""
    if not isinstance(given, Mapping):
        if isinstance(given, str) and given == BALANCED:
            return
        raise InputError(
            "class_weight must be 'balanced', None or a dict of labels to numbers, such as "
            f"{{{labels[0]!r}: 2.0}}, not {given!r}"
        )
    for label, weight in given.items():
        check_number(f"class_weight of {label!r}", weight, 0)
    unknown = [label for label in given if label not in labels]
    # A fold may lack a class, so raise only if some class of the data is not named either.
    if unknown and not all(label in given for label in labels):
        raise InputError(
            f"class_weight names {unknown[0]!r}, which is no class: "
            f"{did_you_mean(str(unknown[0]), [str(label) for label in labels])}"
        )
    if not any(given.get(label, 1.0) for label in labels):
        raise InputError("class_weight is 0 for all classes: some must count")


def _counts(weights: np.ndarray) -> np.ndarray:
    """Scale positive weights to counts: integers of sum up to 2^40 stay, others get mean 1."""
    with np.errstate(over="ignore"):
        if weights.sum() <= _MOST_ROWS and (weights == np.round(weights)).all():
            return weights
    relative = weights / weights.max()
    # Smaller weights vanish in sums of distances and overflow as divisors.
    return np.maximum(relative / relative.mean(), np.finfo(float).eps)
