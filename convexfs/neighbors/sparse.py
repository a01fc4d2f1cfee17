"""Sparse samples: passes over their nonzeros, and dense tiles of few columns.

Shifting a feature changes no difference, so nothing is centred and zeros stay zeros. See
:mod:`convexfs.neighbors.kernels.sparse_sums` for the sums of differences over nonzeros.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from convexfs.neighbors.distances import distances_of
from convexfs.neighbors.kernels import sparse_sums as kernels

if TYPE_CHECKING:
    from convexfs.neighbors.feature_blocks import Pairs

#: A matrix or column with at least this fraction of nonzeros is processed as dense tiles.
_DENSE = 0.2
#: Nonzeros per part of a pass, so that values and rows stay in the L2 cache.
_PART = 60_000
#: Most blocks per pass over all features; each has its own result to add.
_MOST_BLOCKS = 8


class SparseSamples:
    """A sparse matrix whose rows are samples, stored by columns.

    It has what they ask of an array: ``shape``, ``len``, ``copy``, and some columns by
    ``X[:, index]``, which come as a dense tile. ``size`` is the number of nonzeros.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array
        Copied: rows are put in order, repeated entries summed, stored zeros left out.
    """

    def __init__(self, matrix: Any):
        self.by_columns: Any = sparse.csc_array(matrix, dtype=np.float64, copy=True)
        self.by_columns.sum_duplicates()
        self.by_columns.eliminate_zeros()

    @cached_property
    def by_rows(self) -> Any:
        """Return the matrix in CSR format, with sorted columns; computed once."""
        return self.by_columns.tocsr()

    @property
    def shape(self) -> tuple[int, int]:
        return self.by_columns.shape

    @property
    def size(self) -> int:
        return self.by_columns.nnz

    @property
    def is_thin(self) -> bool:
        """Return whether under 20 % of entries are nonzero: passes over these are then faster."""
        return self.size < _DENSE * self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: tuple[slice, Any]) -> np.ndarray:
        # Row-major order: by columns, kernels would stride through the entire tile.
        return self.by_columns[key].toarray(order="C")

    def copy(self) -> "SparseSamples":
        """Return the samples themselves, which are never changed."""
        return self

    def columns(self, index: np.ndarray) -> "SparseSamples":
        """Return some columns as SparseSamples."""
        return SparseSamples(self.by_columns[:, index])

    def times(self, factor: np.ndarray) -> "SparseSamples":
        """Return samples with each column multiplied by its factor."""
        # A product with a diagonal matrix would leave the row indices unsorted.
        data = self.by_columns.data * np.repeat(factor, np.diff(self.by_columns.indptr))
        parts = (data, self.by_columns.indices, self.by_columns.indptr)
        return SparseSamples(sparse.csc_array(parts, shape=self.shape))

    def largest(self) -> np.ndarray:
        """Return the largest absolute value of each column."""
        return abs(self.by_columns).max(axis=0).toarray().ravel()

    @cached_property
    def split(self) -> "tuple[np.ndarray, np.ndarray, SparseSamples]":
        """Return a mask of columns over 20 % nonzero, these as a dense tile, others as sparse."""
        full = np.diff(self.by_columns.indptr) > _DENSE * len(self)
        if not full.any():
            return full, np.empty((len(self), 0)), self
        return full, self[:, full], self.columns(~full)

    def row_distances(self, start: int, stop: int, squared: bool) -> np.ndarray:
        """Return Manhattan or squared Euclidean distances of rows [start, stop) from all rows."""
        _, tile, thin = self.split
        rows, columns, mass = _parts(thin.by_rows), _parts(thin.by_columns), thin._row_mass(squared)
        out = kernels.row_overlaps(start, stop, *rows, *columns, squared)
        out *= -2.0
        out += mass[start:stop, None]
        out += mass
        np.maximum(out, 0.0, out=out)
        return out + distances_of(tile, start, stop, squared) if tile.size else out

    @property
    def matrix_work(self) -> float:
        """Return the number of pairs of nonzeros in the same column that :meth:`scores` visits."""
        return float((np.diff(self.by_columns.indptr).astype(np.float64) ** 2).sum() / 2)

    def signed_difference_sum(
        self, start: int, index: np.ndarray, coefficient: np.ndarray, squared: bool
    ) -> np.ndarray:
        """Return, per feature, the sum of coefficient * |x_row - x_neighbour| or of its square."""
        rows, width = _parts(self.by_rows), self.shape[1]
        return kernels.signed_difference_sum(*rows, width, start, index, coefficient, squared)

    def scores(self, upper: np.ndarray, map: Callable[..., Any] = map) -> np.ndarray:
        """Return the score ``sum_{n<i} upper[n, i] |x_nj - x_ij|`` of every column j."""
        mass = upper.sum(axis=0) + upper.sum(axis=1)
        parts = map(lambda block: block.matrix_scores(upper, mass), self.blocks())
        return np.concatenate(list(parts))

    def blocks(self) -> "list[SparseBlock]":
        """Return column ranges of about equal nonzeros, whatever the number of workers."""
        n_blocks = min(_MOST_BLOCKS, self.shape[1])
        cuts = _cuts(self.by_columns.indptr, -(-self.size // n_blocks))
        return [SparseBlock(self.by_columns[:, first:last]) for first, last in cuts]

    def _row_mass(self, squared: bool) -> np.ndarray:
        # Sum in the same order as overlaps, so that a copy of a row has distance 0.
        rows = self.by_rows
        each = np.repeat(np.arange(len(self)), np.diff(rows.indptr))
        mass = rows.data**2 if squared else np.abs(rows.data)
        return np.bincount(each, mass, minlength=len(self))


@dataclass(frozen=True)
class SparseBlock:
    """A range of columns of sparse samples."""

    columns: Any

    def distances(self) -> np.ndarray:
        """Return the rows' Manhattan distances over these columns, as an upper triangle (N, N)."""
        n, X = self.columns.shape[0], self.columns
        out = np.zeros((n, n))
        for first, last in _cuts(X.indptr, _PART):
            kernels.add_overlaps(X.indptr[first : last + 1], X.indices, X.data, out)
        mass = np.bincount(X.indices, np.abs(X.data), minlength=n)
        out *= -2.0
        out += mass[:, None]
        out += mass
        return np.triu(np.maximum(out, 0.0, out=out), 1)

    def scores(self, pairs: "Pairs") -> tuple[np.ndarray, np.ndarray]:
        """Return each column's score over the pairs, and a bound on the effect of dropped pairs."""
        X, n = self.columns, self.columns.shape[0]
        row = np.repeat(np.arange(n), np.diff(pairs.starts))
        mass = np.bincount(row, pairs.weight, minlength=n)
        mass += np.bincount(pairs.others, pairs.weight, minlength=n)
        # The list visits every partner of a nonzero's row, the matrix only those in its column.
        if len(pairs.weight) * X.shape[1] < X.nnz * n / 2:
            scores = np.empty(X.shape[1])
            listed = pairs.starts, pairs.others, pairs.weight
            kernels.pair_scores(*_parts(X), *listed, mass, scores)
        else:
            upper = np.zeros((n, n))
            upper[row, pairs.others] = pairs.weight
            scores = self.matrix_scores(upper, mass)
        return scores, (pairs.uncertainty @ abs(X)).astype(np.float32)

    def matrix_scores(self, upper: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the score ``sum_{n<i} upper[n, i] |x_nj - x_ij|`` of these columns."""
        by_rows, by_columns = _parts(self.columns.tocsr()), _parts(self.columns)
        return kernels.matrix_scores(*by_rows, *by_columns, upper, mass)


@dataclass(frozen=True)
class TileBlock:
    """A range of columns of sparse samples that is processed as a dense tile."""

    columns: Any

    def open(self) -> np.ndarray:
        return self.columns.toarray(order="C")


def _parts(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr, matrix.indices, matrix.data


def _cuts(indptr: np.ndarray, nonzeros: int) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, last) of columns with about this many nonzeros, at least a column."""
    first, end = 0, len(indptr) - 1
    while first < end:
        last = int(np.searchsorted(indptr, indptr[first] + nonzeros, "right")) - 1
        last = min(max(last, first + 1), end)
        yield first, last
        first = last
