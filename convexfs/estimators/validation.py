"""Validation of samples and targets, and the kinds of input that estimators accept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from convexfs.data import targets
from convexfs.data.categorical import Coding, check_not_infinite, coding_of, has_missing
from convexfs.data.column_ranges import (
    check_columns,
    check_ends,
    check_largest,
    check_range,
    column_ends,
)
from convexfs.data.out_of_core import ColumnSource, SlicedColumns, column_source
from convexfs.data.sparse import check_sparse_finite
from convexfs.data.validation import (
    as_labels,
    as_pandas,
    check_classes,
    check_finite,
    refuse_text,
    require_two_classes,
)
from convexfs.errors import InputError, check_choice
from convexfs.estimators.sample_weight import check_class_weight
from convexfs.kernels import thread_map
from convexfs.neighbors.missing_values import MixedSamples, mixed_samples
from convexfs.neighbors.sparse import SparseSamples

#: Advice about missing values, for methods that do not accept them.
MISSING_CURE = (
    "fill such cells first, as by SimpleImputer in a pipeline, by --impute or impute= when data "
    "are read, or use Relief, IRelief or Logo, which take missing values"
)
#: Advice on how to pass class labels that look like measured numbers.
_INSIST = "give them as text, y.astype(str), or as codes 0 to K - 1"
#: Arrays with fewer bytes per number may be read by columns, not copied to float64.
_NARROW_BYTES = 4
#: Data types that are accepted without conversion; others are converted to the first.
AS_IT_IS = (
    np.float64, np.float32, np.float16, np.bool_, np.int8, np.uint8, np.int16, np.uint16,
    np.int32, np.uint32, np.int64, np.uint64,
)  # fmt: skip


class NotNumbers(InputError, TypeError):
    """Error for samples that cannot be converted to numbers; scikit-learn expects a TypeError."""


@dataclass(frozen=True)
class Accepts:
    """The kinds of input that an estimator's `fit` accepts.

    Attributes
    ----------
    sparse : bool
        Whether sparse samples are fitted as they are.
    missing : tuple of str
        Values of the parameter `missing`; empty if missing values and categories are refused.
    out_of_core : bool
        Whether columns that lie elsewhere are read from there.
    narrow : bool
        Whether arrays and memory maps of small numbers are read by columns too.
    sample_weight : bool
        Whether samples and classes may count for more or less than one.
    target : {"classes", "numbers"}
    dtype : data type or tuple of them
        What samples are converted to.
    lone_samples : bool
        Whether a class may have a single sample.
    """

    sparse: bool = False
    missing: tuple[str, ...] = ()
    out_of_core: bool = False
    narrow: bool = False
    sample_weight: bool = False
    target: str = targets.CLASSES
    dtype: Any = np.float64
    lone_samples: bool = True

    @property
    def layout(self) -> dict[str, Any]:
        """Return the arguments for scikit-learn's validation functions."""
        sparse = ("csr", "csc") if self.sparse else False
        order = {"order": "C"} if self.dtype is np.float64 else {}
        return {"dtype": self.dtype, "accept_sparse": sparse, "ensure_all_finite": False, **order}


@dataclass(frozen=True)
class Samples:
    """Validated samples and target.

    Attributes
    ----------
    X : array, SparseSamples, MixedSamples or ColumnSource
    y : array (n_samples,)
        Class codes, or numbers.
    classes : array or None
        The labels behind the codes.
    constant : bool array (n_features,)
        Columns of a single value.
    coding : Coding
        Categories and their codes.
    spread : array (n_features,) or None
        Ranges of the columns, where they were computed.
    """

    X: Any
    y: np.ndarray
    classes: np.ndarray | None
    constant: np.ndarray
    coding: Coding
    spread: np.ndarray | None = None


def validate(X: Any, y: Any, accepts: Accepts, estimator: Any) -> Samples:
    """Check samples and target, and convert them to types that the estimator's method accepts.

    As scikit-learn's ``validate_data`` does, it records the number of features and their names
    in `estimator`, whose parameters `missing`, `categorical_features` and `class_weight` are
    read where it accepts what these are about.

    Raises
    ------
    InputError
        It names the bad cell, class or parameter.
    """
    if accepts.missing:
        check_choice("missing", estimator.missing, accepts.missing)
    coding, spread = Coding(np.zeros(0, bool), {}), None
    # An array of numbers has neither text nor categories, and its columns are in memory.
    plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    # These samples were validated before and are fitted again to other labels.
    if isinstance(X, MixedSamples):
        estimator.n_features_in_, constant, y = X.shape[1], X.spread == 0, np.asarray(y)
    elif (
        accepts.out_of_core
        and (accepts.narrow or not plain)
        and (source := _columns(X, accepts, estimator)) is not None
    ):
        X, y, constant = _validated_columns(source, y, estimator)
    else:
        if not plain or getattr(estimator, "categorical_features", None) is not None:
            X, coding = _readable(X, accepts, estimator)
        X, y = _as_arrays(X, None if y is None else as_labels(y, "Input y"), accepts, estimator)
        X, constant, spread = _usable(X, accepts, estimator, coding.categorical)
    codes, classes = _target(y, accepts, estimator)
    return Samples(X, codes, classes, constant, coding, spread)


def validate_queries(X: Any, accepts: Accepts, estimator: Any) -> Any:
    """Check new samples without labels, and return them converted as in `fit`."""
    check_is_fitted(estimator)
    X = as_pandas(X)
    if not accepts.missing:
        refuse_text(X, "Input X")
    elif not issparse(X):
        X = estimator._coding.coded(X, "Input X")
    X = validate_data(estimator, X, reset=False, **accepts.layout)
    names = getattr(estimator, "feature_names_in_", None)
    if accepts.missing and estimator.missing != "error" and not issparse(X):
        check_not_infinite(X, "Input X", names)
        check_largest(np.where(np.isnan(X), 0.0, X), "Input X", names)
        return X
    if issparse(X):
        check_sparse_finite(X, "Input X", names)
    else:
        check_finite(X, "Input X", names, MISSING_CURE)
    check_largest(X, "Input X", names)
    return SparseSamples(X) if issparse(X) else X


def _as_arrays(X: Any, labels: Any, accepts: Accepts, estimator: Any) -> tuple[Any, Any]:
    """Convert X and labels to arrays, as scikit-learn does; record number and names of features."""
    if _are_ready(X, labels):
        _record_nameless(estimator, X.shape[1])
        return X, labels
    try:
        return validate_data(estimator, X, labels, **accepts.layout, ensure_min_samples=2)  # type: ignore[arg-type]
    except (TypeError, OverflowError) as error:
        raise NotNumbers(f"Input X: {error}") from error


def _are_ready(X: Any, labels: Any) -> bool:
    """Return whether scikit-learn would accept X and labels without a change or a message."""
    return (
        type(X) is type(labels) is np.ndarray
        and X.ndim == 2
        and X.dtype == np.float64
        and X.flags.c_contiguous
        and X.shape[0] > 1
        and X.shape[1] > 0
        and labels.shape == X.shape[:1]
        and labels.dtype.kind in "biu"
    )


def _record_nameless(estimator: Any, n_features: int) -> None:
    estimator.n_features_in_ = n_features
    if hasattr(estimator, "feature_names_in_"):  # An earlier fit to a table has set these names.
        del estimator.feature_names_in_


def _readable(X: Any, accepts: Accepts, estimator: Any) -> tuple[Any, Coding]:
    """Return a table with its categories coded as numbers, and the coding; raise for other text."""
    X, coding = as_pandas(X), Coding(np.zeros(0, bool), {})
    if not accepts.missing:
        refuse_text(X, "Input X")
        return X, coding
    if not issparse(X):
        coding = coding_of(X, estimator.categorical_features, "Input X")
        return coding.coded(X, "Input X"), coding
    if estimator.categorical_features is not None or estimator.missing == "observed":
        raise InputError(
            "sparse samples are taken as numbers without gaps: categorical_features and "
            "missing='observed' need X.toarray()"
        )
    return X, coding


def _usable(
    X: Any, accepts: Accepts, estimator: Any, categorical: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Check X and convert it to samples for the method.

    Also return a mask of constant columns and, for dense numbers, the ranges of the columns.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if issparse(X):
        check_sparse_finite(X, "Input X", names)
        return SparseSamples(X), check_range(X, "Input X", names), None
    low, high = column_ends(X)
    finite = np.isfinite(low).all() and np.isfinite(high).all()
    rule = estimator.missing if accepts.missing else "error"
    gaps = bool(accepts.missing) and not finite and has_missing(X)
    if not categorical.any() and rule != "observed" and not gaps:
        if not finite:
            check_finite(X, "Input X", names, MISSING_CURE)
        return X, check_ends(low, high, "Input X", names), high.astype(np.float64) - low
    if rule == "error":
        check_finite(X, "Input X", names, "fill such cells, or use another rule than 'error'")
        rule = "hybrid"  # Without missing values all rules give the same result.
    check_not_infinite(X, "Input X", names)
    check_range(np.where(np.isnan(X), 0.0, X), "Input X", names)
    if accepts.target == targets.NUMBERS:
        rule = "class"  # With a numeric target, all samples are of one class.
    kinds = categorical if len(categorical) else np.zeros(X.shape[1], dtype=bool)
    samples = mixed_samples(X, kinds, rule)
    return samples, samples.spread == 0, None


def _columns(X: Any, accepts: Accepts, estimator: Any) -> ColumnSource | None:
    """Return samples that are read column by column from their storage; None for other types."""
    source = None if isinstance(X, np.ndarray) else column_source(X)
    plain = estimator.categorical_features is None and estimator.missing != "observed"
    if source is not None and not plain:
        raise InputError(
            "columns that lie elsewhere are taken as numbers without gaps: categorical_features"
            " and missing='observed' need an array in memory"
        )
    if accepts.narrow and plain and isinstance(X, np.ndarray) and _is_narrow(X):
        return SlicedColumns(X)
    return source


def _is_narrow(X: np.ndarray) -> bool:
    """Return whether to read X by columns: bytes, or a wide array of short or mapped numbers."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or min(X.shape) == 0:
        return False
    small = X.dtype.itemsize < _NARROW_BYTES
    if not (small or (isinstance(X, np.memmap) and X.dtype != np.float64)):
        return False
    wide = X.dtype.itemsize == 1 or X.shape[0] <= X.shape[1]
    return wide and not (X.dtype.kind == "f" and np.isnan(X).any())


def _validated_columns(
    X: ColumnSource, y: Any, estimator: Any
) -> tuple[ColumnSource, np.ndarray, np.ndarray]:
    """Check columns and labels; return them with a mask of constant columns."""
    n_samples, n_features = X.shape
    _record_nameless(estimator, n_features)
    if y is None:
        raise InputError("Input y is missing: give the class of each sample")
    labels = np.ravel(np.asarray(as_labels(y, "Input y")))
    if len(labels) != n_samples:
        raise InputError(f"Input X has {n_samples} samples and Input y {len(labels)} classes")
    if n_samples < 2:
        raise InputError("Input X has one sample; at least 2 are needed")
    with thread_map(estimator.n_jobs) as map:
        return X, labels, check_columns(X, "Input X", map)


def _target(
    y: np.ndarray, accepts: Accepts, estimator: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a numeric target and None, or class codes and class labels."""
    if accepts.target == targets.NUMBERS:
        return targets.as_numbers(y, "Input y"), None
    if y.ndim == 1 and y.dtype.kind in "biu":
        classes, codes = np.unique(y, return_inverse=True)
        refuse_numbers(y, len(classes))
    else:
        refuse_numbers(y)
        classes, codes = np.unique(y, return_inverse=True)
    names = [str(label) for label in classes]
    if accepts.lone_samples:
        check_classes(codes, names)
    else:
        require_two_classes(codes, names)
        _refuse_lone_samples(codes, names, type(estimator).__name__)
    if accepts.sample_weight and estimator.class_weight is not None:
        check_class_weight(estimator.class_weight, classes.tolist())
    return codes.astype(np.int64), classes


def refuse_numbers(y: np.ndarray, n_different: int | None = None) -> None:
    """Raise if a classification target looks like measured numbers, and name the regressors.

    `n_different` is the number of distinct values, if they are integers and were counted.
    """
    # Integers are classes for scikit-learn too, which warns if most of them are different.
    integers = n_different is not None and 2 * n_different <= len(y)
    if not integers and type_of_target(y, input_name="Input y") not in ("binary", "multiclass"):
        raise InputError(
            f"Unknown label type: {type_of_target(y)} in Input y, where classes are needed; for "
            f"numbers there are {targets.regressors()}"
        )
    if targets.looks_measured(y, n_different) and not targets.are_codes(y):
        raise targets.measured_error(y, "Input y", _INSIST)


def _refuse_lone_samples(codes: np.ndarray, names: list[str], method: str) -> None:
    alone = np.flatnonzero(np.bincount(codes) == 1)
    if len(alone):
        row = int(np.flatnonzero(codes == alone[0])[0]) + 1
        raise InputError(
            f"class {names[alone[0]]!r} has one sample only, at data row {row}: {method} needs "
            "two of each; leave it out or join classes"
        )


class UnknownArgument(InputError, TypeError):
    """Error for an argument that `fit` does not take."""


def refuse_unknown(estimator: Any, unknown: Mapping[str, Any]) -> None:
    """Raise for arguments that the `fit` of an estimator does not take."""
    called = type(estimator).__name__
    for name, value in unknown.items():
        if name != "sample_weight":
            raise UnknownArgument(f"{called}.fit() got an unexpected keyword argument {name!r}")
        if value is not None:
            raise UnknownArgument(
                f"{called} takes no sample_weight: use Relief, IRelief or Logo, or repeat rows"
            )
