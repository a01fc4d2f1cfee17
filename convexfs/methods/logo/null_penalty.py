"""The penalty that permuted labels set: ``lam="null"``."""

from collections.abc import Callable

import numpy as np

#: Features that may enter at permuted labels on average.
_ALLOWED = 1
#: With few features the penalty ends at this share of the highest one.
_LEAST = 0.1


def null_penalty(labels: np.ndarray, entry: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the least penalty above which permuted labels let one feature enter on average.

    No fit is needed: a feature enters the weights w = 0 if its score is above the penalty.
    Correlated features take each other's place, so that a fit selects about as many or fewer.

    Parameters
    ----------
    labels : array (B, N)
        Permuted labels.
    entry : callable
        From labels to the score of every feature at w = 0.
    """
    number = _ALLOWED * len(labels)
    largest = np.empty(0)
    for row in labels:
        largest = np.append(largest, entry(row))
        if len(largest) > number + 1:
            largest = np.partition(largest, -number - 1)[-number - 1 :]
    highest = max(float(largest.max(initial=0.0)), 0.0)
    allowed = float(largest.min()) if len(largest) > number else 0.0
    # Scores are of single precision: what is left of it is equal for all kinds of samples.
    return float(f"{max(allowed, _LEAST * highest):.4g}") or 1.0
