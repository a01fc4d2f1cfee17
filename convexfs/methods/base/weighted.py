"""Estimators whose objective is a sum over samples, which may count for more or less than one."""

from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from convexfs.errors import InputError
from convexfs.methods.base.parameters import learned, parameters
from convexfs.methods.base.selector import MethodEstimator
from convexfs.neighbors.counted import SampleWeights

BALANCED = "balanced"


@parameters
class TakesWeights(MethodEstimator):
    """Weights of samples and classes; :mod:`convexfs.neighbors.counted` says what they mean.

    Parameters
    ----------
    class_weight : "balanced", optional
        Terms of samples count so that every class counts the same in all. Neighbours are what
        they are without it.
    """

    class_weight: str | None = None

    _sample_weight: np.ndarray | None = learned()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the samples `X` of classes `y`.

        Parameters
        ----------
        X, y : arrays
        sample_weight : array (n_samples,), optional
            How many equal rows a sample stands for, in the objective and as a neighbour of
            others; one of weight 0 is left out.
        """
        self._sample_weight = None
        if sample_weight is not None:
            X, y = self._counting(X, y, sample_weight)
        return super().fit(X, y)

    def _counting(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Samples and classes that count; their weights are kept."""
        try:
            weights = _check_sample_weight(
                sample_weight, np.empty((_num_samples(X), 1)), ensure_non_negative=True
            )
        except ValueError as error:
            raise InputError(f"sample_weight: {error}") from error
        counting = np.flatnonzero(weights)
        if not len(counting):
            raise InputError("sample_weight is 0 for all samples: some must count")
        self._sample_weight = weights[counting].astype(np.float64)
        if len(counting) < len(weights):
            X, y = _safe_indexing(X, counting), _safe_indexing(y, counting)
        return X, y

    def _weights_at(self, codes: np.ndarray) -> SampleWeights | None:
        return self._weights_of(len(codes), self._sample_weight)

    def _weights_of(self, number: int, sample_weight: np.ndarray | None) -> SampleWeights | None:
        """What so many samples count; None if all count 1."""
        rows = np.ones(number) if sample_weight is None else sample_weight
        if self.class_weight is None and (rows == 1).all():
            return None
        return SampleWeights(rows, self.class_weight == BALANCED)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        given = self.class_weight
        if given is not None and not (isinstance(given, str) and given == BALANCED):
            raise InputError(
                f"class_weight must be 'balanced' or None, not {self.class_weight!r}: other "
                "weights of classes go into sample_weight"
            )
