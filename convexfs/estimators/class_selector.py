"""Selectors of classes that take weights, missing values and columns from where they lie."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from convexfs.data.imputation import MISSING_RULES
from convexfs.data.out_of_core import column_source
from convexfs.errors import InputError
from convexfs.estimators.sample_weight import BALANCED, weighted_rows
from convexfs.estimators.selector import MissingParameters, WeightSelector
from convexfs.estimators.validation import Accepts
from convexfs.methods.base.parameters import learned, parameters
from convexfs.neighbors.sample_weight import SampleWeights

#: What RELIEF, I-RELIEF and Logo take.
ANY_SAMPLES = Accepts(sparse=True, missing=MISSING_RULES, out_of_core=True, sample_weight=True)


@parameters
class ClassSelector(MissingParameters, WeightSelector):
    """Base of the selectors that need nothing of samples but their differences.

    ``fit`` takes any matrix that can be sliced by columns, without a copy. That is an array of
    h5py, zarr or dask (its blocks stay on the workers of a ``distributed`` client, where there
    is one), the X of a backed AnnData, an ``open_bed`` of bed-reader, or any object with a
    ``shape`` and slices ``[:, start:stop]``. ``transform`` of one reads the selected columns
    alone. :mod:`convexfs.neighbors.sample_weight` says what weights mean.

    Parameters
    ----------
    class_weight : "balanced" or dict of label to number, optional
        How much more the terms of samples of a class count, 1 if it is not named; "balanced":
        so that every class counts the same in all. Neighbours are what they are without it.
    """

    class_weight: str | Mapping[Any, float] | None = None

    _accepts: ClassVar[Accepts] = ANY_SAMPLES

    _sample_weight: np.ndarray | None = learned()

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        blocks: Any = None,
        **unknown: Any,
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
        **unknown
            Refused by name.
        """
        self._sample_weight = None
        if sample_weight is not None:
            found = weighted_rows(sample_weight, X, y, groups, blocks)
            self._sample_weight, X, y, groups, blocks = found
        return super().fit(X, y, groups=groups, blocks=blocks, **unknown)

    def _weights_of(self, number: int, sample_weight: np.ndarray | None) -> SampleWeights | None:
        rows = np.ones(number) if sample_weight is None else sample_weight
        if self.class_weight is None and (rows == 1).all():
            return None
        if not isinstance(self.class_weight, Mapping):
            return SampleWeights(rows, self.class_weight == BALANCED)
        classes = [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
        return SampleWeights(rows, classes=np.array(classes))

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features."""
        source = column_source(X)
        if source is None:
            return super().transform(X)
        check_is_fitted(self)
        if source.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {source.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return source.take(np.flatnonzero(self._get_support_mask()))
