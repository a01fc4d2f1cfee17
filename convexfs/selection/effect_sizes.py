"""Effect sizes of features: differences between class means, or correlations."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from convexfs.data.dataset import Dataset


def class_differences(data: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, per feature, the class of highest mean and a difference of means, in SD and as is.

    The difference is of two classes the mean of the second less that of the first, of several
    the highest mean less that of all other samples: first in standard deviations within classes,
    then in the units of the feature. Where means are equal no class is named (None); where
    classes do not vary the first difference is not a number. Missing values are left out,
    categories have neither, and sparse samples stay so.
    """
    present = [c for c in range(data.n_classes) if (data.y == c).any()]
    parts = [data.X[data.y == c] for c in present]
    sizes = np.array([_seen(part) for part in parts])
    means = np.array([_sums(part) for part in parts]) / np.maximum(sizes, 1)
    squares = sum(_about(part, mean) for part, mean in zip(parts, means, strict=True))
    spread = np.sqrt(squares / np.maximum(sizes.sum(axis=0) - len(parts), 1))
    ranked = np.where(sizes > 0, means, -np.inf)
    highest = ranked.argmax(axis=0)
    if len(present) == 2:
        apart = means[1] - means[0]
    else:
        top, own = ranked.max(axis=0), sizes[highest, np.arange(data.n_features)]
        top = np.where(np.isfinite(top), top, 0.0)
        apart = top - ((sizes * means).sum(axis=0) - own * top) / np.maximum(
            sizes.sum(axis=0) - own, 1
        )
    names = np.array([data.class_names[c] for c in present], dtype=object)[highest]
    unknown = (sizes == 0).any(axis=0)
    unknown[list(data.categories)] = True
    names[unknown | (np.ptp(means, axis=0) == 0)] = None
    apart = np.where(unknown, np.nan, apart)
    return names, _shares(apart, spread), apart


def class_means(data: Dataset) -> np.ndarray:
    """Return the mean of every feature in every class, one row per class, unscaled."""
    parts = [data.X[data.y == c] for c in range(data.n_classes)]
    return np.array([_sums(part) / np.maximum(_seen(part), 1) for part in parts])


def standardised_means(data: Dataset) -> np.ndarray:
    """Return class means (classes, features) in standard deviations from the mean of all samples.

    Features that do not vary have means of 0.
    """
    sizes = np.maximum(_seen(data.X), 1)
    centre = _sums(data.X) / sizes
    spread = np.sqrt(_about(data.X, centre) / sizes)
    return (class_means(data) - centre) / np.where(spread > 0, spread, 1.0)


def target_correlations(data: Dataset) -> np.ndarray:
    """Return Pearson's correlation of every feature with a numeric target.

    Not a number where either does not vary, or the feature is a category. Missing values are
    left out.
    """
    if issparse(data.X):
        target = data.y - data.y.mean()
        spread = np.sqrt(_about(data.X, data.X.mean(axis=0)) * (target @ target))
        return _shares(data.X.T @ target, spread)
    seen = ~np.isnan(data.X)
    count = np.maximum(seen.sum(axis=0), 1)
    X = np.where(seen, data.X, 0.0)
    X = np.where(seen, X - X.sum(axis=0) / count, 0.0)
    target = np.where(seen, data.y[:, None] - data.y @ seen / count, 0.0)
    found = _shares((X * target).sum(axis=0), np.sqrt((X**2).sum(axis=0) * (target**2).sum(axis=0)))
    found[list(data.categories)] = np.nan
    return found


def _seen(X: Any) -> np.ndarray:
    """Return the number of values of each feature that are not missing."""
    return np.full(X.shape[1], X.shape[0]) if issparse(X) else (~np.isnan(X)).sum(axis=0)


def _sums(X: Any) -> np.ndarray:
    return X.sum(axis=0) if issparse(X) else np.nansum(X, axis=0)


def _about(X: Any, means: np.ndarray) -> np.ndarray:
    """Return each feature's sum of squared deviations from its mean; sparse samples stay sparse."""
    if not issparse(X):
        return np.nansum((X - means) ** 2, axis=0)
    return np.maximum(X.power(2).sum(axis=0) - X.shape[0] * means**2, 0.0)


def _shares(values: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(wholes > 0, values / wholes, np.nan)
