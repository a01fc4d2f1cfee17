"""Matrices that can be sliced by columns and do nothing else."""

import numpy as np


class Slices:
    """An object with a shape and slices, which notes the most it was asked for at a time."""

    def __init__(self, values, chunk=None):
        self._values, self.shape, self.most, self.asked = values, values.shape, 0, []
        if chunk is not None:
            self.chunks = (values.shape[0], chunk)

    def __getitem__(self, key):
        rows, columns = key
        assert rows == slice(None)
        assert isinstance(columns, slice)
        found = self._values[:, columns]
        self.most = max(self.most, found.size)
        self.asked.append((columns.start, columns.stop))
        return found


def two_classes(n=40, j=2500, dtype: type = np.float32, seed=0):
    """Samples of two classes that the first five features tell apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, j))
    X[:, :5] += 1.5 * y[:, None]
    return X.astype(dtype), y


def genotypes(n=40, j=2500, seed=0):
    """Genotypes 0, 1 and 2, of which the first five follow the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    share = np.full((n, j), 0.3)
    share[:, :5] += 0.5 * y[:, None]
    return rng.binomial(2, share).astype(np.int8), y
