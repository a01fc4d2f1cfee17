"""Check samples and labels, and combine them to a data set."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexfs.data.categorical import mixed_table
from convexfs.data.dataset import Dataset, check_length, fill_missing
from convexfs.data.readers.options import IMPUTATIONS
from convexfs.data.sparse import check_sparse_finite, sparse_matrix
from convexfs.data.targets import CLASSES, NUMBERS, as_numbers, check_kind
from convexfs.data.validation import (
    as_matrix,
    as_table,
    check_finite,
    check_unique,
    encode_labels,
    near_column,
    require_two_classes,
)
from convexfs.errors import InputError

_DROP = "drop such cells first"
_FILL = (
    "drop such cells, have them filled (--impute median or knn, from Python impute=), or use a "
    "method that takes them"
)


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
    mixed: bool = False,
    categorical: Sequence[str] = (),
) -> Dataset:
    """Check, encode and impute samples and labels, and return them as a Dataset.

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
        As in :class:`convexfs.Dataset`.
    drop : iterable of str
        Features to leave out, whatever they hold.
    impute : {"none", "median", "knn"}
        What fills missing cells: the feature's median, or the mean of near samples.
    target_kind : {"classes", "numbers"}, optional
        What ``y`` holds. By default classes, but many different integers are refused.
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
    if issparse(X):
        matrix, mixed = sparse_matrix(X, name, feature_names), False
    elif mixed:
        matrix, categories, noticed = mixed_table(X, feature_names, categorical, name)
        told += noticed
    else:
        matrix = as_matrix(X, name, feature_names)
    names = _feature_names(feature_names, matrix.shape[1], name)
    where = f"target '{target}' of {name}"
    codes, classes = _encoded(y, class_names, where, target_kind)
    check_length(codes, matrix.shape[0], where)
    if classes:
        require_two_classes(codes, classes, where)
    split = None if split is None else _checked_split(split, codes.size, name)
    seen = None if split is None else split == 0
    if issparse(matrix):
        check_sparse_finite(matrix, name, names, _DROP)
    else:
        before, matrix = matrix, fill_missing(matrix, impute, seen, name, names, list(categories))
        imputed = 0 if matrix is before else int((np.isnan(before) & ~np.isnan(matrix)).sum())
        if imputed:
            share = f"{imputed:,} of {matrix.size:,} values"
            told.append(f"{share} are missing, and filled by {IMPUTATIONS[impute]}")
    if not mixed and not issparse(matrix):
        check_finite(matrix, name, names, _FILL if impute == "none" else _DROP)
    if ids is not None:
        check_length(np.asarray(ids, dtype=object), codes.size, f"ids of {name}")
    columns = {key: np.asarray(values).astype(str) for key, values in (aside or {}).items()}
    for key, values in columns.items():
        check_length(values, codes.size, f"'{key}' of {name}")
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
    """Return the indices of features not in ``drop``; raise if one is unknown or none is left."""
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
            f"{where} must hold integers from 0 to {len(class_names) - 1}, "
            "the positions of the class names; leave class_names out for other labels"
        )
    present, codes = np.unique(codes, return_inverse=True)
    return codes, tuple(str(class_names[code]) for code in present)


def _checked_split(split: Any, count: int, where: str) -> np.ndarray:
    split = np.asarray(split).ravel()
    check_length(split, count, f"split of {where}")
    if not np.isin(split, (0, 1)).all() or split.all():
        raise InputError(
            f"split of {where} must be 0 for training rows and 1 for test rows, "
            "with at least one training row"
        )
    return split.astype(np.int64)
