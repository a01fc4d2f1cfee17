"""A price of weight that permuted labels set: ``lam="null"``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from convexfs.methods.base.row_permutations import permuted_labels

#: Each price tried is this share of the last one.
_STEP = 0.9
#: Features that permuted labels may select on average.
_ALLOWED = 1.0
#: The search ends at this share of the highest price, as with few features it may.
_LEAST = 0.1
#: Objectives this near, relatively, are equal.
_EQUAL = 1e-9


@dataclass(frozen=True)
class NullPrice:
    """A price of weight, with what it was chosen by.

    ``counts`` maps every price tried to the features that permuted labels selected at it, on
    average; ``pvalue`` is that of the objective at the true labels.
    """

    lam: float
    counts: dict[float, float]
    pvalue: float


def null_price(
    codes: np.ndarray,
    n_permutations: int,
    seed: int,
    highest: Callable[[np.ndarray], float],
    fit: Callable[[float, np.ndarray], Any],
    map: Callable[..., Any] = map,
    watch: Callable[[str], Any] | None = None,
) -> NullPrice:
    """Lower the price until permuted labels select more than one feature on average.

    Parameters
    ----------
    codes : int array (N,)
    n_permutations, seed : int
    highest : callable
        From labels to the least price at which all weights are 0.
    fit : callable
        From a price and labels to Logo's result, from one start that does not depend on them:
        a start that knew other labels would make true and permuted fits incomparable.
    map : callable
        Applied over the permutations.
    watch : callable, optional
        Told of every price in a line of text.
    """
    labels = permuted_labels(codes, n_permutations, seed)
    lam = max(map(highest, labels)) or 1.0
    counts, objectives = {lam: 0.0}, []
    while True:
        lower = lam * _STEP
        fits = list(map(partial(fit, lower), labels))
        counts[lower] = float(np.mean([np.count_nonzero(each.weights) for each in fits]))
        if watch is not None:
            watch(f"lam {lower:.3g}: permuted labels select {counts[lower]:.2g} features")
        if counts[lower] > _ALLOWED or lower < _LEAST * next(iter(counts)):
            break
        lam, objectives = lower, [each.solution.objective for each in fits]
    objectives = objectives or [fit(lam, row).solution.objective for row in labels]
    reached = fit(lam, codes).solution.objective
    as_small = np.array(objectives) <= reached + _EQUAL * abs(reached)
    return NullPrice(lam, counts, float((1 + as_small.sum()) / (n_permutations + 1)))
