"""A set of labelled samples, checked once and scaled without looking at test rows."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

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
from convexfs.data.kinds import mixed_table
from convexfs.data.scaling import SCALES, rescaled
from convexfs.errors import InputError, did_you_mean

_DROP = "drop such cells first"
_FILL = (
    "drop such cells, have them filled (--impute median or knn, from Python impute=), or use a "
    "method that takes them"
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled samples; make one with :func:`make_dataset` or :func:`convexfs.load`.

    Attributes
    ----------
    X : array of float64, shape (n_samples, n_features)
        C-contiguous; rows are samples. Not to be changed in place. NaN where a value is
        missing, codes where it is a category: only if the data were asked for as `mixed`.
    y : array of int, shape (n_samples,)
        Class codes, positions in ``class_names``.
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
    categories : dict of int to tuple of str
        By position of a feature that is a category, what its codes stand for.
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
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def is_mixed(self) -> bool:
        """Whether there are categories or missing values, which few methods take."""
        return bool(self.categories) or bool(np.isnan(self.X.sum(axis=0)).any())

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
    def labels(self) -> np.ndarray:
        """Class name of each row."""
        return np.asarray(self.class_names)[self.y]

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
        digest.update(self.X.data)
        for codes in (self.y, split):
            if codes is not None:
                digest.update(np.ascontiguousarray(codes, dtype="<i8").data)
        return digest.hexdigest()

    def scaled(self, how: str | None = None, fit_rows: Any = None) -> "Dataset":
        """Shift and divide each feature by what the fitting rows show.

        With mean m and standard deviation s (divisor n), or minimum a and maximum b,
        of a feature over the fitting rows::

            zscore: (x - m) / s        minmax: (x - a) / (b - a)

        A feature that is constant there is only shifted.

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
        X = rescaled(self.X, how, self._fitting_rows(fit_rows))
        codes = list(self.categories)
        X[:, codes] = self.X[:, codes]
        return replace(self, X=X, scale="none")

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
        relevant = None
        if self.relevant is not None:
            relevant = tuple(np.flatnonzero(np.isin(positions, self.relevant)).tolist())
        return replace(
            self,
            X=np.ascontiguousarray(self.X[:, positions]),
            feature_names=tuple(self.feature_names[j] for j in positions),
            relevant=relevant,
            categories={
                new: self.categories[old]
                for new, old in enumerate(positions.tolist())
                if old in self.categories
            },
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
    mixed: bool = False,
    categorical: Sequence[str] = (),
) -> Dataset:
    """Check samples and labels and put them together.

    Parameters
    ----------
    X : array-like or pandas.DataFrame of shape (n_samples, n_features)
        Finite numbers, or NaN that `impute` fills; booleans count as 0 and 1.
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
    mixed : bool
        Whether missing values, and columns of text that have few values, are kept.
    categorical : sequence of str
        Columns that are categories, whatever they hold, if data are `mixed`.

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
    told, categories = list(told), {}
    if mixed:
        matrix, categories, noticed = mixed_table(X, feature_names, categorical, name)
        told += noticed
    else:
        matrix = as_matrix(X, name, feature_names)
    names = _feature_names(feature_names, matrix.shape[1], name)
    where = f"target '{target}' of {name}"
    codes, classes = _encoded(y, class_names, where)
    _check_length(codes, matrix.shape[0], where)
    require_two_classes(codes, classes, where)
    split = None if split is None else _checked_split(split, codes.size, name)
    seen = None if split is None else split == 0
    matrix = filled(matrix, impute, seen, name, list(categories))
    if not mixed:
        check_finite(matrix, name, names, _FILL if impute == "none" else _DROP)
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
        categories=categories,
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
    table = as_table(X, where, names)
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
    y: Any, class_names: Sequence[str] | None, where: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    if class_names is None:
        return encode_labels(y, where)
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
