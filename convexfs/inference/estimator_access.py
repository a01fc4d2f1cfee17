"""Read weights and supports from fitted estimators, also of other packages."""

from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.inference.selector_tests import last_step

#: Attributes with one number per feature (or per class and feature), in order of preference.
_WEIGHTS = ("weights_", "coef_", "feature_importances_")


def estimator_weights(fitted: Any, n_features: int) -> np.ndarray:
    """Return absolute weights, the largest over classes, of an estimator or pipeline's last step.

    Raise if the estimator has no weights, or not one finite number per feature.
    """
    fitted = last_step(fitted)
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


def estimator_support(fitted: Any, n_features: int) -> np.ndarray:
    """Return the mask of selected features: by get_support, else features of nonzero weight."""
    fitted = last_step(fitted)
    if hasattr(fitted, "get_support"):
        return np.asarray(fitted.get_support(), dtype=bool)
    return estimator_weights(fitted, n_features) > 0
