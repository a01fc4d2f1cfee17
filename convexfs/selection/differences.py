"""In which class a feature is higher, and by how much."""

import numpy as np

from convexfs.data.dataset import Dataset


def class_differences(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of the highest mean of every feature, and the difference of means.

    The difference is in standard deviations within classes: of two classes the mean of the
    second less that of the first, of several the highest mean less that of all other samples.
    Where means are equal no class is named (None); where classes do not vary the difference is
    not a number.
    """
    present = [c for c in range(data.n_classes) if (data.y == c).any()]
    means = np.array([data.X[data.y == c].mean(axis=0) for c in present])
    sizes = np.array([(data.y == c).sum() for c in present])
    spread = _within(data.X, data.y)
    highest = means.argmax(axis=0)
    if len(present) == 2:
        apart = means[1] - means[0]
    else:
        top, own = means.max(axis=0), sizes[highest]
        rest = (sizes @ means - own * top) / np.maximum(sizes.sum() - own, 1)
        apart = top - rest
    names = np.array([data.class_names[c] for c in present], dtype=object)[highest]
    names[np.ptp(means, axis=0) == 0] = None
    with np.errstate(divide="ignore", invalid="ignore"):
        return names, np.where(spread > 0, apart / spread, np.nan)


def _within(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Pooled standard deviation within the classes."""
    squares, freedom = np.zeros(X.shape[1]), 0
    for c in np.unique(codes):
        own = X[codes == c]
        squares += ((own - own.mean(axis=0)) ** 2).sum(axis=0)
        freedom += len(own) - 1
    return np.sqrt(squares / max(freedom, 1))
