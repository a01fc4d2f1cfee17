"""Estimators that take columns from where they lie."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from convexfs.data.column_ranges import check_columns
from convexfs.data.out_of_core import ColumnSource, SlicedColumns, column_source
from convexfs.data.validation import as_labels, warn_constant_columns
from convexfs.errors import InputError, check_choice
from convexfs.estimators.missing_values import TakesMissing
from convexfs.estimators.selector import WeightSelector, thread_map
from convexfs.methods.base.parameters import parameters
from convexfs.neighbors.missing_values import MISSING_RULES, MixedSamples

#: Numbers of fewer bytes are not converted to larger ones.
_NARROW_BYTES = 4


@parameters
class TakesColumns(TakesMissing, WeightSelector):
    """Selector whose ``fit`` takes any matrix that can be sliced by columns, without a copy.

    That is an array of h5py, zarr or dask (its blocks stay on the workers of a
    ``distributed`` client, where there is one), the X of a backed AnnData, an ``open_bed``
    of bed-reader, or any object with a ``shape`` and slices ``[:, start:stop]``.
    ``transform`` of one reads the selected columns alone.
    """

    #: Whether arrays in memory or memory maps of narrow numbers are read by columns too.
    _narrow: ClassVar[bool] = False

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        source = self._source(X)
        return super()._checked(X, y) if source is None else self._checked_columns(source, y)

    def _source(self, X: Any) -> ColumnSource | None:
        check_choice("missing", self.missing, MISSING_RULES)
        if isinstance(X, MixedSamples):  # fitted again, to other labels
            return None
        source = column_source(X)
        plain = self.categorical_features is None and self.missing != "observed"
        if source is not None and not plain:
            raise InputError(
                "columns that lie elsewhere are taken as numbers without gaps: categorical_features"
                " and missing='observed' need an array in memory"
            )
        if self._narrow and plain and isinstance(X, np.ndarray) and _is_narrow(X):
            return SlicedColumns(X)
        return source

    def _checked_columns(self, X: ColumnSource, y: Any) -> tuple[ColumnSource, np.ndarray]:
        n_samples, self.n_features_in_ = X.shape
        if hasattr(self, "feature_names_in_"):  # of an earlier fit to a table
            delattr(self, "feature_names_in_")
        if y is None:
            raise InputError("Input y is missing: give the class of each sample")
        labels = np.ravel(np.asarray(as_labels(y, "Input y")))
        if len(labels) != n_samples:
            raise InputError(f"Input X has {n_samples} samples and Input y {len(labels)} classes")
        if n_samples < 2:
            raise InputError("Input X has one sample; at least 2 are needed")
        with thread_map(self.n_jobs) as map:
            self._constant = check_columns(X, "Input X", map)
        codes = self._codes_of(labels, self.n_features_in_)
        warn_constant_columns(self._constant)
        return X, codes

    def _remember(self, X: Any, codes: np.ndarray) -> None:
        held = getattr(X, "in_memory", None)
        super()._remember(X if held is None else held, codes)

    def _samples(self) -> Any:
        held = super()._samples()
        if isinstance(held.X, ColumnSource):
            raise InputError(
                "columns that lie elsewhere can be neither tested nor held out: pass "
                "n_features_to_select=k or 'relative', or fit an array in memory"
            )
        return held

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


def _is_narrow(X: np.ndarray) -> bool:
    """Whether a float64 copy would be larger than what passes over columns hold."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or min(X.shape) == 0:
        return False
    small = X.dtype.itemsize < _NARROW_BYTES
    if X.dtype.kind == "f" and np.isnan(X).any():
        return False
    return (small or (isinstance(X, np.memmap) and X.dtype != np.float64)) and (
        X.dtype.itemsize == 1 or X.shape[0] <= X.shape[1]
    )
