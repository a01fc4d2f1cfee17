"""Estimators whose objective is a sum over samples, which may count for more or less than one."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from convexfs.errors import InputError, check_number, did_you_mean
from convexfs.estimators.selector import WeightSelector
from convexfs.methods.base.parameters import learned, parameters
from convexfs.neighbors.sample_weight import SampleWeights

BALANCED = "balanced"
#: Integer weights of a larger sum are relative too: no table has so many rows.
_MOST_ROWS = 2.0**40


@parameters
class TakesWeights(WeightSelector):
    """Weights of samples and classes; :mod:`convexfs.neighbors.sample_weight` says what they mean.

    Parameters
    ----------
    class_weight : "balanced" or dict of label to number, optional
        How much more the terms of samples of a class count, 1 if it is not named; "balanced":
        so that every class counts the same in all. Neighbours are what they are without it.
    """

    class_weight: str | Mapping[Any, float] | None = None

    _sample_weight: np.ndarray | None = learned()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, blocks: Any = None
    ) -> Self:
        """Learn from the samples `X` of classes `y`.

        Parameters
        ----------
        X, y : arrays
        sample_weight : array (n_samples,), optional
            Weights of the samples, in the objective and as neighbours of others. Integers are
            counts: a sample of weight 2 stands for two equal rows. Other weights are relative
            and scaled to a mean of 1, so that weights of 1 / n equal none. Samples of weight 0
            are left out.
        groups : array (n_samples,), optional
            Rows that belong together, such as replicates of a subject. The test of the features
            permutes whole groups, and ``n_features_to_select="auto"`` holds them out together.
        blocks : array (n_samples,), optional
            Batches. The test of the features permutes rows within a block only.
        """
        self._sample_weight = None
        if sample_weight is not None:
            X, y, groups, blocks = self._counting(X, y, sample_weight, groups, blocks)
        return super().fit(X, y, groups=groups, blocks=blocks)

    def _counting(self, X: Any, y: Any, sample_weight: Any, *units: Any) -> tuple[Any, ...]:
        """Return the samples and targets of positive weight; the weights are stored."""
        try:
            weights = _check_sample_weight(
                sample_weight, np.empty((_num_samples(X), 1)), ensure_non_negative=True
            )
        except ValueError as error:
            raise InputError(f"sample_weight: {error}") from error
        counting = np.flatnonzero(weights)
        if not len(counting):
            raise InputError("sample_weight is 0 for all samples: some must count")
        self._sample_weight = _counts(weights[counting].astype(np.float64))
        if len(counting) < len(weights):
            X, y = _safe_indexing(X, counting), _safe_indexing(y, counting)
            units = tuple(None if u is None else _safe_indexing(u, counting) for u in units)
        return X, y, *units

    def _weights_at(self, codes: np.ndarray) -> SampleWeights | None:
        return self._weights_of(len(codes), getattr(self, "_sample_weight", None))

    def _weights_of(self, number: int, sample_weight: np.ndarray | None) -> SampleWeights | None:
        """What so many samples count; None if all count 1."""
        rows = np.ones(number) if sample_weight is None else sample_weight
        if self.class_weight is None and (rows == 1).all():
            return None
        if not isinstance(self.class_weight, Mapping):
            return SampleWeights(rows, self.class_weight == BALANCED)
        classes = [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
        return SampleWeights(rows, classes=np.array(classes))

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        given = self.class_weight
        if isinstance(given, Mapping):
            self._check_class_weights(given)
        elif given is not None and not (isinstance(given, str) and given == BALANCED):
            raise InputError(
                "class_weight must be 'balanced', None or a dict of labels to numbers, such as "
                f"{{{self.classes_.tolist()[0]!r}: 2.0}}, not {given!r}"
            )

    def _check_class_weights(self, given: Mapping[Any, float]) -> None:
        labels = self.classes_.tolist()
        for label, weight in given.items():
            check_number(f"class_weight of {label!r}", weight, 0)
        unknown = [label for label in given if label not in labels]
        # A fold may lack a class: it is a mistake only where another class is not named.
        if unknown and not all(label in given for label in labels):
            raise InputError(
                f"class_weight names {unknown[0]!r}, which is no class: "
                f"{did_you_mean(str(unknown[0]), [str(label) for label in labels])}"
            )
        if not any(given.get(label, 1.0) for label in labels):
            raise InputError("class_weight is 0 for all classes: some must count")


def _counts(weights: np.ndarray) -> np.ndarray:
    """Return positive weights as numbers of rows: integers as they are, others of mean 1."""
    with np.errstate(over="ignore"):
        if weights.sum() <= _MOST_ROWS and (weights == np.round(weights)).all():
            return weights
    relative = weights / weights.max()
    # Smaller shares than this are lost in every sum of distances, and overflow as divisors.
    return np.maximum(relative / relative.mean(), np.finfo(float).eps)
