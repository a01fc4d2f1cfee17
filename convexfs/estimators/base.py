"""What all feature-weighting estimators share: checked input, support, threads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from convexfs.data import check_classes, check_finite, warn_constant_columns
from convexfs.errors import InputError

#: Without n_features_to_select, weights above this share of the largest are kept.
RELEVANT_SHARE = 0.01


class WeightSelector(SelectorMixin, BaseEstimator):
    """Base of the estimators that give every feature a nonnegative weight.

    A subclass has ``n_features_to_select``, ``n_jobs`` and ``random_state``
    among its parameters and sets ``weights_`` in ``fit``.
    """

    n_features_to_select: int | None
    n_jobs: int | None
    n_features_in_: int
    random_state: Any
    weights_: np.ndarray

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weights, under scikit-learn's name."""
        check_is_fitted(self)
        return self.weights_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        weights, wanted = self.weights_, self.n_features_to_select
        if wanted is None:
            return weights > RELEVANT_SHARE * weights.max(initial=0.0)
        mask = np.zeros(len(weights), dtype=bool)
        mask[np.argsort(-weights, kind="stable")[:wanted]] = True
        return mask

    def _checked(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Float matrix and class codes, or an error that names the bad cell or class."""
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_samples=2
        )
        names = getattr(self, "feature_names_in_", None)
        check_finite(X, "Input X", names)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_classes(codes, [str(label) for label in self.classes_])
        warn_constant_columns(X, names)
        wanted = self.n_features_to_select
        if wanted is not None and not 1 <= wanted <= X.shape[1]:
            raise InputError(
                f"n_features_to_select={wanted} must lie between 1 and the {X.shape[1]} features"
            )
        return X, codes.astype(np.int64)

    def _seed(self) -> int:
        return check_random_state(self.random_state).randint(np.iinfo(np.int32).max)


@contextmanager
def thread_map(n_jobs: int | None) -> Iterator[Callable[..., Any]]:
    """Yield a ``map`` over `n_jobs` threads; the kernels it runs release the GIL."""
    workers = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map
