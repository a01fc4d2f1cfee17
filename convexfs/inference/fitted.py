"""What a selector asks of the estimator that it fits, whoever wrote it."""

from typing import Any

import numpy as np
from sklearn.base import clone

from convexfs.errors import InputError

#: Attributes that hold one number a feature, or a row of them a class; the first found counts.
_WEIGHTS = ("weights_", "coef_", "feature_importances_")


def seeded(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy, whose chance is that of `seed` unless it has a state of its own."""
    made: Any = clone(estimator)
    open_states = {
        name: seed
        for name, value in made.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return made.set_params(**open_states)


def weights_of(fitted: Any, n_features: int) -> np.ndarray:
    """Return how much each feature counts in a fitted estimator, or in the last of a pipeline.

    Of several rows, one a class, the largest size counts.
    """
    fitted = _last(fitted)
    name = next((name for name in _WEIGHTS if hasattr(fitted, name)), None)
    if name is None:
        raise InputError(
            f"{type(fitted).__name__} has none of {', '.join(_WEIGHTS)} after its fit: give an "
            "estimator that weighs features, such as Logo() or an l1-penalised "
            "LogisticRegression"
        )
    weights = np.abs(np.atleast_2d(np.asarray(getattr(fitted, name), dtype=np.float64))).max(axis=0)
    if weights.shape != (n_features,) or not np.isfinite(weights).all():
        raise InputError(
            f"{name} of {type(fitted).__name__} is not one finite number for each of the "
            f"{n_features} features it was given"
        )
    return weights


def support_of(fitted: Any, n_features: int) -> np.ndarray:
    """Return which features a fitted estimator selects: as it says, else those of any weight."""
    fitted = _last(fitted)
    if hasattr(fitted, "get_support"):
        return np.asarray(fitted.get_support(), dtype=bool)
    return weights_of(fitted, n_features) > 0


def _last(fitted: Any) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    while hasattr(fitted, "steps"):
        fitted = fitted.steps[-1][1]
    return fitted
