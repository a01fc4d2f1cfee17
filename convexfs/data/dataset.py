"""A set of labelled samples, checked once and scaled without looking at test rows."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexfs.data.checks import (
    as_matrix,
    as_table,
    check_finite,
    check_unique,
    encode_labels,
    near_column,
    require_two_classes,
)
from convexfs.data.holes import filled
from convexfs.data.reading import CLASSES, NUMBERS, check_kind
from convexfs.data.scaling import SCALES, rescaled
from convexfs.data.sparse import check_sparse_finite, content, sparse_matrix
from convexfs.data.targets import as_numbers
from convexfs.errors import InputError, did_you_mean

_DROP = "drop such cells first"
_SAME = "differences between samples are the same"
_FILL = "drop such cells, or have them filled: --impute median or knn, from Python impute="


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled samples; make one with :func:`make_dataset` or :func:`convexfs.load`.

    Attributes
    ----------
    X : array of float64, shape (n_samples, n_features)
        C-contiguous; rows are samples. Not to be changed in place. Or a sparse array by rows.
    y : array, shape (n_samples,)
        Class codes, whole numbers that are positions in ``class_names``; or, where there are
        no classes, a target of numbers as float64.
    feature_names, class_names : tuple of str
    name : str
        The spec the data came from.
    target : str
        What the classes are called: the column a file has them in.
    scale : str
        The scaling the data ask for: "zscore", "minmax" or "none".
    split : array of int, optional
        0 for training rows, 1 for test rows.
    relevant : tuple of int, optional
        The features that carry the classes, where a generator knows them.
    groups : array of int, optional
        Subclass of each row, where a generator knows it.
    ids : tuple of str, optional
        What each row is called.
    id_name : str
        What the ids are called: the column a file has them in.
    aside : dict of str to array
        Columns that are no features, as text, such as what subject or batch a row is of.
    told : tuple of str
        What was recognised when the data were read, in words.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    name: str = "data"
    target: str = "y"
    scale: str = "zscore"
    split: np.ndarray | None = None
    relevant: tuple[int, ...] | None = None
    groups: np.ndarray | None = None
    ids: tuple[str, ...] | None = None
    id_name: str = "id"
    aside: Mapping[str, np.ndarray] = field(default_factory=dict)
    told: tuple[str, ...] = ()

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        """Number of class names; a subset may lack samples of some."""
        return len(self.class_names)

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse array."""
        return issparse(self.X)

    def dense(self) -> "Dataset":
        """The same with a dense X."""
        X: Any = self.X
        return replace(self, X=X.toarray(order="C")) if self.is_sparse else self

    @property
    def numeric(self) -> bool:
        """Whether the target is a number and no class."""
        return not self.class_names

    @property
    def labels(self) -> np.ndarray:
        """Class name of each row, or its number."""
        return self.y if self.numeric else np.asarray(self.class_names)[self.y]

    @property
    def training(self) -> "Dataset":
        """The training rows; all of them if there is no split."""
        return self if self.split is None else self.subset(self.split == 0)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of samples, class codes and split, wherever they were read from.

        Names do not count, nor does a split without test rows: no result depends on them.
        """
        split = self.split if self.split is not None and self.split.any() else None
        digest = hashlib.sha256(json.dumps([self.X.shape, split is not None]).encode())
        digest.update(content(self.X) if self.is_sparse else self.X.data)
        for codes in (self.y, split):
            if codes is not None:
                kind = "<f8" if codes.dtype.kind == "f" else "<i8"
                digest.update(np.ascontiguousarray(codes, dtype=kind).data)
        return digest.hexdigest()

    def scaled(self, how: str | None = None, fit_rows: Any = None) -> "Dataset":
        """Shift and divide each feature by what the fitting rows show.

        With mean m and standard deviation s (divisor n), or minimum a and maximum b,
        of a feature over the fitting rows::

            zscore: (x - m) / s        minmax: (x - a) / (b - a)

        A feature that is constant there is only shifted. Sparse features are only divided, so
        that their zeros stay: differences between samples, and distances, are the same.

        Parameters
        ----------
        how : {"zscore", "minmax", "none"}, optional
            Default: what the data ask for.
        fit_rows : indices or boolean mask, optional
            Default: the training rows if there is a split, otherwise all.

        Returns
        -------
        Dataset
            Asking for no further scaling.
        """
        how = self.scale if how is None else how
        if how not in SCALES:
            raise InputError(f"no scaling is called '{how}'; {did_you_mean(str(how), SCALES)}")
        if SCALES[how] is None:
            return replace(self, scale="none")
        fit = self._fitting_rows(fit_rows)
        told = self.told
        if self.is_sparse:
            what = "standard deviation" if how == "zscore" else "largest minus their least value"
            told += (f"sparse features are divided by their {what} and not shifted: {_SAME}",)
        return replace(self, X=rescaled(self.X, how, fit), scale="none", told=told)

    def subset(self, rows: Any) -> "Dataset":
        """Keep the given rows (indices or boolean mask), class codes unchanged."""
        positions = _positions(rows, self.n_samples, "rows")
        return replace(
            self,
            X=self.X[positions],
            y=self.y[positions],
            split=None if self.split is None else self.split[positions],
            groups=None if self.groups is None else self.groups[positions],
            ids=None if self.ids is None else tuple(self.ids[i] for i in positions),
            aside={name: values[positions] for name, values in self.aside.items()},
        )

    def select(self, features: Any) -> "Dataset":
        """Keep the given features (column indices or boolean mask), in the given order."""
        positions = _positions(features, self.n_features, "features")
        X = self.X[:, positions]
        relevant = None
        if self.relevant is not None:
            relevant = tuple(np.flatnonzero(np.isin(positions, self.relevant)).tolist())
        return replace(
            self,
            X=X if self.is_sparse else np.ascontiguousarray(X),
            feature_names=tuple(self.feature_names[j] for j in positions),
            relevant=relevant,
        )

    def _fitting_rows(self, rows: Any) -> Any:
        if rows is None and self.split is not None:
            rows = self.split == 0
        # a slice is a view: scaling on all rows copies nothing
        fit = slice(None) if rows is None else _positions(rows, self.n_samples, "fit_rows")
        if self.X[fit].shape[0] == 0:
            raise InputError(f"{self.name} has no rows to fit the scaling on; give some fit_rows")
        return fit


def make_dataset(
    X: Any,
    y: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    name: str = "data",
    *,
    target: str = "y",
    scale: str = "zscore",
    split: Any = None,
    relevant: Sequence[int] | None = None,
    groups: Any = None,
    drop: Iterable[str] = (),
    ids: Sequence[Any] | None = None,
    id_name: str = "id",
    aside: Mapping[str, Any] | None = None,
    impute: str = "none",
    told: Iterable[str] = (),
    target_kind: str | None = None,
) -> Dataset:
    """Check samples and labels and put them together.

    Parameters
    ----------
    X : array-like, pandas.DataFrame or sparse matrix of shape (n_samples, n_features)
        Finite numbers, or NaN that `impute` fills; booleans count as 0 and 1. What is sparse
        stays so.
    y : array-like of shape (n_samples,)
        Labels; with ``class_names``, positions in it.
    feature_names : sequence of str, optional
        Default: the columns of a DataFrame, otherwise x1, x2, ...
    class_names : sequence of str, optional
        Default: the sorted labels. Names without samples are dropped.
    name : str
        The data's name in messages and reports.
    target, scale, split, relevant, groups, ids, id_name, aside, told
        As in :class:`Dataset`.
    drop : iterable of str
        Features to leave out, whatever they hold.
    impute : {"none", "median", "knn"}
        What fills missing cells: the feature's median, or the mean of near samples.
    target_kind : {"classes", "numbers"}, optional
        What ``y`` holds. By default classes, but many different whole numbers are asked about.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If anything makes the data unusable, naming place and cure.
    """
    if feature_names is None and hasattr(X, "columns"):
        feature_names = X.columns
    if feature_names is not None:
        feature_names = [str(feature) for feature in feature_names]
    if drop:
        X, feature_names = _without(drop, X, feature_names, name, target)
    is_sparse = issparse(X)
    matrix = (sparse_matrix if is_sparse else as_matrix)(X, name, feature_names)
    names = _feature_names(feature_names, matrix.shape[1], name)
    where = f"target '{target}' of {name}"
    codes, classes = _encoded(y, class_names, where, target_kind)
    _check_length(codes, matrix.shape[0], where)
    if classes:
        require_two_classes(codes, classes, where)
    split = None if split is None else _checked_split(split, codes.size, name)
    if not is_sparse:
        matrix = filled(matrix, impute, None if split is None else split == 0, name)
    check = check_sparse_finite if is_sparse else check_finite
    check(matrix, name, names, _FILL if impute == "none" and not is_sparse else _DROP)
    if ids is not None:
        _check_length(np.asarray(ids, dtype=object), codes.size, f"ids of {name}")
    columns = {key: np.asarray(values).astype(str) for key, values in (aside or {}).items()}
    for key, values in columns.items():
        _check_length(values, codes.size, f"'{key}' of {name}")
    return Dataset(
        X=matrix,
        y=codes,
        feature_names=names,
        class_names=classes,
        name=name,
        target=target,
        scale=scale,
        split=split,
        relevant=None if relevant is None else tuple(relevant),
        groups=None if groups is None else np.asarray(groups),
        ids=None if ids is None else tuple(str(value) for value in ids),
        id_name=id_name,
        aside=columns,
        told=tuple(told),
    )


def kept_features(drop: Iterable[str], names: Sequence[str], where: str, target: str) -> list[int]:
    """Return the positions of the features that are left without those named in ``drop``."""
    dropped, known = [drop] if isinstance(drop, str) else list(drop), set(names)
    for name in dropped:
        if name == target and name not in known:
            raise InputError(f"'{name}' is the target of {where}; keep it, or name another target")
        if name not in known:
            raise InputError(f"{where} has no column '{name}' to drop; {near_column(name, names)}")
    positions = [j for j, name in enumerate(names) if name not in dropped]
    if not positions:
        raise InputError(f"{where} has no feature left when all are dropped; keep at least one")
    return positions


def _without(
    drop: Iterable[str], X: Any, names: Sequence[str] | None, where: str, target: str
) -> tuple[Any, list[str]]:
    table = X.tocsc() if issparse(X) else as_table(X, where, names)
    if names is None:
        raise InputError(f"{where} has no column names to drop by; save it with names, as csv has")
    positions = kept_features(drop, names, where, target)
    columns = table.iloc if hasattr(table, "iloc") else table
    return columns[:, positions], [names[j] for j in positions]


def _positions(chosen: Any, count: int, what: str) -> np.ndarray:
    positions = np.atleast_1d(np.asarray(chosen))
    if positions.dtype == bool:
        _check_length(positions, count, f"the mask for {what}", what)
        return np.flatnonzero(positions)
    if positions.size == 0:
        return positions.astype(np.intp)
    if positions.dtype.kind not in "iu" or positions.ndim != 1:
        raise InputError(f"{what} must be a list of positions or a boolean mask")
    if positions.min() < -count or positions.max() >= count:
        raise InputError(f"{what} must lie between 0 and {count - 1}")
    return positions % count


def _feature_names(names: Sequence[str] | None, count: int, where: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{j}" for j in range(1, count + 1))
    check_unique(names, where)
    return tuple(names)


def _encoded(
    y: Any, class_names: Sequence[str] | None, where: str, kind: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    check_kind(kind)
    if kind == NUMBERS:
        return as_numbers(y, where), ()
    if class_names is None:
        return encode_labels(y, where, insisted=kind == CLASSES)
    codes = np.asarray(y).ravel()
    if codes.dtype.kind not in "iu" or not np.isin(codes, np.arange(len(class_names))).all():
        raise InputError(
            f"{where} must hold whole numbers from 0 to {len(class_names) - 1}, "
            "the positions of the class names; leave class_names out for other labels"
        )
    present, codes = np.unique(codes, return_inverse=True)
    return codes, tuple(str(class_names[code]) for code in present)


def _checked_split(split: Any, count: int, where: str) -> np.ndarray:
    split = np.asarray(split).ravel()
    _check_length(split, count, f"split of {where}")
    if not np.isin(split, (0, 1)).all() or split.all():
        raise InputError(
            f"split of {where} must be 0 for training rows and 1 for test rows, "
            "with at least one training row"
        )
    return split.astype(np.int64)


def _check_length(values: np.ndarray, count: int, where: str, of: str = "rows") -> None:
    if values.shape[0] != count:
        raise InputError(f"{where} has {values.shape[0]} values for {count} {of}; give one each")
