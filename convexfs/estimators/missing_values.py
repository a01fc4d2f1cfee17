"""Estimators that take missing values and categories as they are."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from convexfs.data.categorical import Coding, check_not_infinite, coding_of, has_missing
from convexfs.data.column_ranges import check_largest, check_range
from convexfs.data.validation import check_finite
from convexfs.errors import InputError, check_choice
from convexfs.estimators.selector import MethodEstimator
from convexfs.methods.base.parameters import learned, parameters
from convexfs.neighbors.missing_values import MISSING_RULES, MixedSamples, mixed_samples


@parameters
class TakesMissing(MethodEstimator):
    """Parameters of the methods that need nothing of samples but their differences.

    Samples without missing values and categories are taken as ever, unless `missing` is
    "observed"; :mod:`convexfs.neighbors.missing_values` says what differences others have.

    Parameters
    ----------
    missing : {"hybrid", "class", "observed", "error"}, default="hybrid"
        What stands for a difference of which a value is missing.
    categorical_features : sequence of int, str or bool, optional
        Positions, names or a mask of the categories. By default pandas' categoricals, and
        columns of text that have few values.
    """

    missing: str = "hybrid"
    categorical_features: Any = None

    #: What `missing` may be.
    _missing_rules: ClassVar[tuple[str, ...]] = MISSING_RULES

    _coding: Coding = learned()

    def _readable(self, X: Any) -> Any:
        check_choice("missing", self.missing, self._missing_rules)
        if issparse(X):
            self._refuse_for_sparse()
            self._coding = Coding(np.zeros(0, bool), {})
            return X
        self._coding = coding_of(X, self.categorical_features, "Input X")
        return self._coding.coded(X, "Input X")

    def _refuse_for_sparse(self) -> None:
        if self.categorical_features is not None or self.missing == "observed":
            raise InputError(
                "sparse samples are taken as numbers without gaps: categorical_features and "
                "missing='observed' need X.toarray()"
            )

    def _usable(self, X: Any, names: Any) -> Any:
        if issparse(X):
            return super()._usable(X, names)
        categorical = self._coding.categorical
        if not categorical.any() and self.missing != "observed" and not has_missing(X):
            return super()._usable(X, names)
        if self.missing == "error":
            check_finite(X, "Input X", names, "fill such cells, or use another rule than 'error'")
        check_not_infinite(X, "Input X", names)
        if not len(categorical):
            categorical = np.zeros(X.shape[1], dtype=bool)
        check_range(np.where(np.isnan(X), 0.0, X), "Input X", names)
        samples = mixed_samples(X, categorical, self._rule)
        self._constant = samples.spread == 0
        return samples

    @property
    def _rule(self) -> str:
        """How differences are taken; without gaps any rule will do."""
        return "hybrid" if self.missing == "error" else self.missing

    def _readable_queries(self, X: Any) -> Any:
        return X if issparse(X) else self._coding.coded(X, "Input X")

    def _usable_queries(self, X: Any, names: Any) -> Any:
        if issparse(X) or self.missing == "error":
            return super()._usable_queries(X, names)
        check_not_infinite(X, "Input X", names)
        check_largest(np.where(np.isnan(X), 0.0, X), "Input X", names)
        return X

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        if not isinstance(X, MixedSamples):
            return super()._checked(X, y)
        # Samples that were read before, as they are fitted again to other labels.
        self.n_features_in_, self._constant = X.shape[1], X.spread == 0
        return X, self._codes_of(np.asarray(y), X.shape[1])

    def _refittable(self) -> Any:
        # Samples that were kept know their categories, and have lost their names.
        again: Any = clone(self)
        return again.set_params(categorical_features=None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.categorical = True
        return tags
