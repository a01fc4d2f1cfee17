"""The data set class: labelled samples, with imputation and scaling fitted to training rows."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexfs.data.readers.options import IMPUTATIONS
from convexfs.data.sparse import content, divided
from convexfs.data.validation import how_to_drop
from convexfs.errors import InputError, did_you_mean


def fill_missing(
    X: np.ndarray,
    how: str,
    fit_rows: np.ndarray | None,
    where: str,
    names: Sequence[str],
    left: Sequence[int] = (),
) -> np.ndarray:
    """Return X with NaN imputed by medians or five nearest samples, except in columns `left`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    how : {"none", "median", "knn"}
    fit_rows : bool array (n_samples,), optional
        Rows that medians and neighbours come from; default: all.
    where : str
        What a message calls the data.
    names : sequence of str
        What it calls the features.
    left : sequence of int
        Features that are left as they are: codes of categories.
    """
    if how not in IMPUTATIONS:
        raise InputError(f"no imputation is called '{how}'; {did_you_mean(how, IMPUTATIONS)}")
    if how == "none" or not np.isnan(X).any():
        return X
    if len(left):
        categories = set(left)
        numbers = [j for j in range(X.shape[1]) if j not in categories]
        whole, named = X.copy(), [names[j] for j in numbers]
        whole[:, numbers] = fill_missing(X[:, numbers], how, fit_rows, where, named)
        return whole
    seen = X if fit_rows is None else X[fit_rows]
    empty = [names[j] for j in np.flatnonzero(np.isnan(seen).all(axis=0)).tolist()]
    if empty:
        raise InputError(
            f"{where} has no value at all in {len(empty)} of its features, such as '{empty[0]}', "
            f"to fill the others by; leave such columns out: {how_to_drop(empty)}"
        )
    from sklearn.impute import KNNImputer, SimpleImputer

    imputer = KNNImputer() if how == "knn" else SimpleImputer(strategy="median")
    return np.ascontiguousarray(imputer.fit(seen).transform(X))


def _root_mean_square(X: np.ndarray) -> np.ndarray:
    # einsum squares and sums in one pass, without a second matrix of X's size.
    return np.sqrt(np.einsum("ij,ij->j", X, X) / X.shape[0])


_Statistic = Callable[[np.ndarray], np.ndarray]
#: Per scaling, the functions that compute the shift and, after it, the divisor; None: unscaled.
SCALES: dict[str, tuple[_Statistic, _Statistic] | None] = {
    "zscore": (partial(np.mean, axis=0), _root_mean_square),
    "minmax": (partial(np.min, axis=0), partial(np.max, axis=0)),
    "none": None,
}


def rescaled(X: np.ndarray, how: str, fit: Any) -> np.ndarray:
    """Return X with columns shifted (unless sparse) and divided by statistics of rows `fit`.

    Missing values stay missing, and those that are there make the scale; see
    :meth:`convexfs.data.dataset.Dataset.scaled`.
    """
    statistics = SCALES[how]
    if statistics is None:
        return X
    if issparse(X):
        return divided(X, how, fit)
    Z = _shifted_and_divided(X, fit, *statistics)
    for j in np.flatnonzero(np.isnan(X.sum(axis=0))):
        known = np.zeros(len(X), dtype=bool)
        known[fit] = True
        known &= ~np.isnan(X[:, j])
        if known.any():
            Z[:, j : j + 1] = _shifted_and_divided(X[:, j : j + 1], known, *statistics)
    return Z


def _shifted_and_divided(
    X: np.ndarray, fit: Any, centre: _Statistic, width: _Statistic
) -> np.ndarray:
    seen = X[fit]
    shift = centre(seen)
    # The mean of equal values can be off by a rounding error, which scaling would amplify.
    constant = seen.min(axis=0) == seen.max(axis=0)
    shift[constant] = seen[0, constant]
    Z = X - shift
    span = width(Z[fit])
    span[constant | (span == 0)] = 1.0
    Z /= span
    return Z


#: Usual names, in lower case, of metadata columns with gene symbols.
_SYMBOLS = frozenset({
    "symbol", "symbols", "gene_symbol", "gene_symbols", "gene symbol", "hugo_symbol", "gene_name",
    "gene_short_name", "genename", "gene", "identifier", "feature_name", "name", "hgnc_symbol",
})  # fmt: skip
_SAME = "differences between samples are the same"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples X with classes or a numeric target y, names, ids, metadata and notes.

    Load them with :func:`convexfs.load`, or make them of arrays with
    :func:`convexfs.data.build.make_dataset`.

    Attributes
    ----------
    X : array of float64, shape (n_samples, n_features)
        C-contiguous; rows are samples. Not to be changed in place. NaN where a value is
        missing, codes where it is a category: only if the data were asked for as `mixed`. Or
        a sparse array by rows.
    y : array, shape (n_samples,)
        Class codes, integers that are positions in ``class_names``; or, where there are
        no classes, a target of numbers as float64.
    feature_names, class_names : tuple of str
    name : str
        The spec the data came from.
    target : str
        Name of the target: the column of a file.
    scale : str
        The scaling the data ask for: "zscore", "minmax" or "none".
    split : array of int, optional
        0 for training rows, 1 for test rows.
    relevant : tuple of int, optional
        The features that carry the classes, where a generator knows them.
    groups : array of int, optional
        Subclass of each row, where a generator knows it.
    ids : tuple of str, optional
        Name of each row.
    id_name : str
        What the ids are called: the column a file has them in.
    aside : dict of str to array
        Columns that are no features, as text, such as what subject or batch a row is of.
    told : tuple of str
        Notes on what was inferred when the data were read, in words.
    categories : dict of int to tuple of str
        By position of a feature that is a category, what its codes stand for.
    feature_metadata : dict of str to tuple of str
        Columns about the features, such as gene symbols, with one text per feature.
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
    feature_metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        what = "a numeric target" if self.numeric else f"{self.n_classes} classes"
        shape = f"{self.n_samples} samples x {self.n_features} features"
        return f"<Dataset {self.name}: {shape}, {what}>"

    @cached_property
    def is_mixed(self) -> bool:
        """Whether there are categorical columns or missing values, which few methods accept."""
        return bool(self.categories) or bool(np.isnan(self.X.sum(axis=0)).any())

    @property
    def n_samples(self) -> int:
        """Number of samples (rows of X)."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features (columns of X)."""
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        """Number of class names, 0 if the target is numeric; a subset may lack some classes."""
        return len(self.class_names)

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse array."""
        return issparse(self.X)

    def dense(self) -> "Dataset":
        """Return the data set with X as a dense array; itself if it is dense."""
        X: Any = self.X
        return replace(self, X=X.toarray(order="C")) if self.is_sparse else self

    @property
    def numeric(self) -> bool:
        """Whether the target is numeric (regression)."""
        return not self.class_names

    @property
    def symbols(self) -> tuple[str, ...] | None:
        """Gene symbols or other short names of the features from their metadata, or None."""
        name = symbol_column(self.feature_metadata)
        return None if name is None else self.feature_metadata[name]

    @cached_property
    def full_names(self) -> tuple[str, ...]:
        """Names of the features, each followed by its symbol in parentheses if that differs."""
        if self.symbols is None:
            return self.feature_names
        both = zip(self.feature_names, self.symbols, strict=True)
        return tuple(f"{name} ({s})" if s and s != name else name for name, s in both)

    @property
    def labels(self) -> np.ndarray:
        """Class name of each sample, or its number if the target is numeric."""
        return self.y if self.numeric else np.asarray(self.class_names)[self.y]

    @property
    def training(self) -> "Dataset":
        """The data set of the training rows; itself if there is no split."""
        return self if self.split is None else self.subset(self.split == 0)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of samples, target codes and split; names do not count.

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
        """Return the data with features shifted and divided by statistics of rows `fit_rows`.

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
        X = rescaled(self.X, how, fit)
        for code in self.categories:
            X[:, code] = self.X[:, code]
        return replace(self, X=X, scale="none", told=told)

    def subset(self, rows: Any) -> "Dataset":
        """Return the data of the given rows (indices or boolean mask), class codes unchanged."""
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
        """Return the data of the given features (indices or boolean mask), in this order."""
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
            categories={
                new: self.categories[old]
                for new, old in enumerate(positions.tolist())
                if old in self.categories
            },
            feature_metadata={
                name: tuple(values[j] for j in positions)
                for name, values in self.feature_metadata.items()
            },
        )

    def _fitting_rows(self, rows: Any) -> Any:
        if rows is None and self.split is not None:
            rows = self.split == 0
        # A slice is a view, so that fitting the scaling on all rows copies nothing.
        fit = slice(None) if rows is None else _positions(rows, self.n_samples, "fit_rows")
        if self.X[fit].shape[0] == 0:
            raise InputError(f"{self.name} has no rows to fit the scaling on; give some fit_rows")
        return fit


def symbol_column(names: Iterable[str]) -> str | None:
    """Return the first of these names that is usual for gene symbols, or None."""
    return next((name for name in names if name.lower() in _SYMBOLS), None)


def _positions(chosen: Any, count: int, what: str) -> np.ndarray:
    positions = np.atleast_1d(np.asarray(chosen))
    if positions.dtype == bool:
        check_length(positions, count, f"the mask for {what}", what)
        return np.flatnonzero(positions)
    if positions.size == 0:
        return positions.astype(np.intp)
    if positions.dtype.kind not in "iu" or positions.ndim != 1:
        raise InputError(f"{what} must be a list of positions or a boolean mask")
    if positions.min() < -count or positions.max() >= count:
        raise InputError(f"{what} must lie between 0 and {count - 1}")
    return positions % count


def check_length(values: np.ndarray, count: int, where: str, of: str = "rows") -> None:
    """Raise InputError unless `values` has `count` entries; the message names `where`."""
    if values.shape[0] != count:
        raise InputError(f"{where} has {values.shape[0]} values for {count} {of}; give one each")


def feature_frame(data: Dataset) -> Any:
    """Return X as a DataFrame with category names instead of codes; a sparse X unchanged."""
    import pandas as pd

    if data.is_sparse:
        return data.X
    frame = pd.DataFrame(data.X, columns=list(data.feature_names), copy=bool(data.categories))
    for j, values in data.categories.items():
        codes = np.nan_to_num(data.X[:, j], nan=-1.0).astype(int)
        frame[data.feature_names[j]] = pd.Categorical.from_codes(codes, pd.Index(values))
    return frame
