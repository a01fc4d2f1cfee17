"""How an estimator takes samples and their target: checked, and as its method wants them."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from convexfs.data.column_ranges import check_largest, check_range
from convexfs.data.sparse import check_sparse_finite
from convexfs.data.targets import are_codes, looks_measured, measured_error, regressors
from convexfs.data.validation import (
    as_labels,
    check_classes,
    check_finite,
    refuse_text,
    warn_constant_columns,
)
from convexfs.errors import InputError
from convexfs.estimators.ranking import Ranked
from convexfs.neighbors.sparse import SparseSamples

#: What to do about missing values, by methods that need all of them.
MISSING_CURE = (
    "fill such cells first, as by SimpleImputer in a pipeline, by --impute or impute= when data "
    "are read, or use Relief, IRelief or Logo, which take missing values"
)
#: How whole numbers of an array are said to be classes.
_INSIST = "give them as text, y.astype(str), or as codes 0 to K - 1"


class NotNumbers(InputError, TypeError):
    """Samples that cannot be converted to numbers; scikit-learn asks for a TypeError."""


class SampleTaker(Ranked):
    """An estimator that checks what it is given, and says which cell or class is wrong."""

    #: What `fit` wants samples to be, as scikit-learn's validation takes it.
    _layout: ClassVar[dict[str, Any]] = {"dtype": np.float64, "order": "C"}
    #: Whether sparse samples are fitted as they are.
    _takes_sparse: ClassVar[bool] = False

    classes_: np.ndarray
    #: Columns that had a single value in `fit`.
    _constant: np.ndarray

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Samples and class codes, or an error that names the bad cell or class."""
        X = self._readable(X)
        labels: Any = None if y is None else as_labels(y, "Input y")
        try:
            X, y = validate_data(
                self, X, labels, **self._taken, ensure_all_finite=False, ensure_min_samples=2
            )
        except (TypeError, OverflowError) as error:
            raise NotNumbers(f"Input X: {error}") from error
        names = getattr(self, "feature_names_in_", None)
        X = self._usable(X, names)
        codes = self._codes_of(y, X.shape[1])
        warn_constant_columns(self._constant, names)
        return X, codes

    def _codes_of(self, y: Any, n_features: int) -> np.ndarray:
        """The target; parameters are checked here too, after the samples."""
        codes = self._target(y)
        self._check_parameters(n_features)
        return codes

    def _target(self, y: np.ndarray) -> np.ndarray:
        """The target as the method takes it: class codes, whose labels are kept."""
        refuse_numbers(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_classes(codes, [str(label) for label in self.classes_])
        return codes.astype(np.int64)

    def _readable(self, X: Any) -> Any:
        """Samples as what scikit-learn converts to numbers."""
        refuse_text(X, "Input X")
        return X

    def _usable(self, X: np.ndarray, names: Any) -> Any:
        """Numbers as what the method takes; `_constant` is set."""
        _check_cells(X, names)
        self._constant = check_range(X, "Input X", names)
        return SparseSamples(X) if issparse(X) else X

    def _readable_queries(self, X: Any) -> Any:
        refuse_text(X, "Input X")
        return X

    def _usable_queries(self, X: Any, names: Any) -> Any:
        _check_cells(X, names)
        check_largest(X, "Input X", names)
        return SparseSamples(X) if issparse(X) else X

    def _queries(self, X: Any) -> np.ndarray:
        """Samples as they were in `fit`, of any classes."""
        check_is_fitted(self)
        X = self._readable_queries(X)
        X = validate_data(self, X, reset=False, **self._taken, ensure_all_finite=False)
        return self._usable_queries(X, getattr(self, "feature_names_in_", None))

    @property
    def _taken(self) -> dict[str, Any]:
        """What scikit-learn's validation is told of the samples."""
        return self._layout | {"accept_sparse": ("csr", "csc") if self._takes_sparse else False}

    def _check_parameters(self, n_features: int) -> None:
        """Raise for parameters that cannot be, of so many features."""
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._takes_sparse
        return tags


def _check_cells(X: Any, names: Any) -> None:
    if issparse(X):
        check_sparse_finite(X, "Input X", names)
    else:
        check_finite(X, "Input X", names, MISSING_CURE)


def refuse_numbers(y: np.ndarray) -> None:
    """Raise for a target of numbers, where classes are needed; name what takes numbers."""
    if type_of_target(y, input_name="Input y") not in ("binary", "multiclass"):
        raise InputError(
            f"Unknown label type: {type_of_target(y)} in Input y, where classes are needed; for "
            f"numbers there are {regressors()}"
        )
    if looks_measured(y) and not are_codes(y):
        raise measured_error(y, "Input y", _INSIST)
