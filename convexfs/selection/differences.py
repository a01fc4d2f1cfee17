"""How features go with the target: the class in which they are higher, or a correlation."""

from typing import Any

import numpy as np

from convexfs.data.dataset import Dataset


def class_differences(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of the highest mean of every feature, and the difference of means.

    The difference is in standard deviations within classes: of two classes the mean of the
    second less that of the first, of several the highest mean less that of all other samples.
    Where means are equal no class is named (None); where classes do not vary the difference is
    not a number. Sparse samples stay so.
    """
    present = [c for c in range(data.n_classes) if (data.y == c).any()]
    parts = [data.X[data.y == c] for c in present]
    means = np.array([part.mean(axis=0) for part in parts])
    sizes = np.array([part.shape[0] for part in parts])
    squares = sum(_about(part, mean) for part, mean in zip(parts, means, strict=True))
    spread = np.sqrt(squares / max(int(sizes.sum()) - len(parts), 1))
    highest = means.argmax(axis=0)
    if len(present) == 2:
        apart = means[1] - means[0]
    else:
        top, own = means.max(axis=0), sizes[highest]
        rest = (sizes @ means - own * top) / np.maximum(sizes.sum() - own, 1)
        apart = top - rest
    names = np.array([data.class_names[c] for c in present], dtype=object)[highest]
    names[np.ptp(means, axis=0) == 0] = None
    return names, _shares(apart, spread)


def target_correlations(data: Dataset) -> np.ndarray:
    """Return Pearson's correlation of every feature with a target of numbers.

    Not a number where either does not vary.
    """
    target = data.y - data.y.mean()
    means = data.X.mean(axis=0)
    spread = np.sqrt(_about(data.X, means) * (target @ target))
    return _shares(data.X.T @ target, spread)


def _about(X: Any, means: np.ndarray) -> np.ndarray:
    """Sums of squares about the means, without making sparse samples dense."""
    if isinstance(X, np.ndarray):
        return ((X - means) ** 2).sum(axis=0)
    return np.maximum(X.power(2).sum(axis=0) - X.shape[0] * means**2, 0.0)


def _shares(values: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(wholes > 0, values / wholes, np.nan)
