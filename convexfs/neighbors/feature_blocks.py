"""Passes over all features, block by block, of a matrix that may be wider than memory.

A pass is a ``map`` over blocks of columns: threads, processes or a cluster can
carry it, and the answer is the same. A block of a memory-mapped file travels as
the file's name and a range of columns, and is read where it is worked on.

Passes compute in float32 on centred columns. Where that matters the error is
returned too, as a proven bound per feature. Distances of binary data and genotypes
(int8, uint8 or bool of nothing but 0, 1 and 2) are counted in bits, exactly.

A matrix whose columns lie elsewhere is a :class:`~convexfs.data.out_of_core.ColumnSource`,
which carries the passes itself.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dsyrk, ssyrk  # type: ignore[attr-defined]

from convexfs.data.out_of_core import ColumnSource, parts, ranges
from convexfs.errors import InputError
from convexfs.neighbors import bitpacked, distances
from convexfs.neighbors.kernels import feature_sums as kernels
from convexfs.neighbors.kernels import pair_weights
from convexfs.neighbors.sparse import SparseBlock, SparseSamples, TileBlock

#: Features per block; a few megabytes with a few hundred samples.
_READ = 1024
#: Pairs whose differences are held in memory at a time.
_PAIRS = 1024
#: Unit roundoff of float32.
_ROUNDOFF = 2.0**-24


@dataclass(frozen=True)
class ArrayBlock:
    """Range of columns of a matrix in memory."""

    values: np.ndarray

    def open(self) -> np.ndarray:
        return self.values


@dataclass(frozen=True)
class FileBlock:
    """Range of columns of a matrix in a binary file, read when it is opened."""

    path: str
    offset: int
    dtype: str
    n_rows: int
    strides: tuple[int, ...]
    start: int
    stop: int

    def open(self) -> np.ndarray:
        raw = np.memmap(self.path, np.uint8, "r", self.offset)
        shape = (self.n_rows, self.stop - self.start)
        return np.ndarray(shape, self.dtype, raw, self.start * self.strides[1], self.strides)


class Block(Protocol):
    """Protocol of a range of columns that is sent as a description and read where it is opened."""

    def open(self) -> Any:
        """Return the columns as an array, or as a window to be read in parts."""


@dataclass(frozen=True)
class Pairs:
    """Weighted pairs of samples as lists of partners; pairs of negligible weight are left out.

    Attributes
    ----------
    starts, others, weight : arrays
        The partners of sample n, all after it, are ``others[starts[n]:starts[n + 1]]``.
    uncertainty : array (N,)
        R_n with ``|error_j| <= sum_n R_n |x_nj - m|`` for a float32 sum over these
        pairs instead of an exact one over all, whatever the centre m.
    """

    starts: np.ndarray
    others: np.ndarray
    weight: np.ndarray
    uncertainty: np.ndarray


def feature_blocks(X: Any) -> Sequence[Block | SparseBlock]:
    """Return blocks of columns for a pass over all features, whatever the number of workers."""
    cuts = ranges(X.shape[1])
    if isinstance(X, SparseSamples):
        if X.is_thin:
            return X.blocks()
        return [TileBlock(X.by_columns[:, start:stop]) for start, stop in cuts]
    file = _backing_file(X)
    if file is None:
        return [ArrayBlock(X[:, start:stop]) for start, stop in cuts]
    offset = file.offset + X.ctypes.data - file.ctypes.data
    layout = (str(file.filename), offset, X.dtype.str, len(X), X.strides)
    return [FileBlock(*layout, start, stop) for start, stop in cuts]


def all_distances(X: np.ndarray, map: Callable[..., Any] = map) -> np.ndarray:
    """Return Manhattan distances (N, N) between all rows of `X`, computed in float32."""
    return distances_in(X, np.float32, map)


def distances_in(
    X: np.ndarray | ColumnSource, dtype: Any, map: Callable[..., Any] = map
) -> np.ndarray:
    """Return Manhattan distances (N, N) between all rows, computed in float32 or float64."""
    of_block = partial(_distances, dtype=dtype)
    if isinstance(X, ColumnSource):
        total = X.reduce(of_block, map)
    else:
        total = np.zeros((len(X), len(X)))
        for part in map(of_block, feature_blocks(X)):
            total += part
    return _require_finite(total + total.T)


def weighted_distances(columns: np.ndarray, weights: np.ndarray, dtype: Any = float) -> np.ndarray:
    """Return ``d_ni = sum_j w_j |x_nj - x_ij|`` in float64 or float32, for few features."""
    scaled = np.ascontiguousarray(columns * weights, dtype=dtype)
    return distances.rough_distances(scaled) if dtype == np.float32 else distances.distances(scaled)


def margin_columns(columns: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """Return ``z_nj = sum_i A_ni |x_nj - x_ij|`` in the precision of A, for few features."""
    n, n_features = columns.shape
    Z = np.empty(columns.shape)
    # Twice as many features in float32 take the same memory, and a quarter less time.
    width = kernels.TILE if signed.dtype == np.float64 else 2 * kernels.TILE
    for first in range(0, n_features, width):
        part = columns[:, first : first + width]
        tile = np.zeros((n + n % 2, part.shape[1]), signed.dtype)
        tile[:n] = part
        for start in range(0, n, kernels.PANEL):
            stop, out = min(start + kernels.PANEL, n), Z[:, first : first + width]
            kernels.add_differences(tile, signed, start, stop, out)
    return Z


def take_columns(X: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return some columns as a float64 matrix, minus their means."""
    return centred(X[:, index], np.float64)


def score_pairs(signed: np.ndarray, p: np.ndarray, budget: float = 0.0) -> Pairs:
    r"""Return the pairs whose weighted differences sum to ``c = Z'p``, all but the lightest.

    .. math::
        c_j = \sum_n p_n z_{nj} = \sum_{n<i} S_{ni} |x_{nj} - x_{ij}|,\qquad
        S = \mathrm{diag}(p) A + A^T \mathrm{diag}(p)

    The lightest pairs are left out up to a total mass `budget`. Since
    :math:`|x_{nj} - x_{ij}| \le |x_{nj} - m| + |x_{ij} - m|`, what they and the
    rounding of a sum of k terms (at most k + 8 roundoffs of its mass) can change
    is bounded by the mass at each sample.
    """
    least = _least_size(signed, p, budget) if budget > 0 else 0.0
    starts, mass, dropped = np.zeros(len(p) + 1, np.int64), np.zeros(len(p)), np.zeros(len(p))
    pair_weights.count_pairs(signed, p, least, starts, mass, dropped)
    others, weight = np.empty(starts[-1], np.int32), np.empty(starts[-1])
    pair_weights.list_pairs(signed, p, least, starts, others, weight)
    terms = kernels.FEW_TERMS + int(np.diff(starts).max(initial=0)) + 8
    return Pairs(starts, others, weight, dropped + _ROUNDOFF * terms * mass)


def feature_scores(
    X: np.ndarray, pairs: Pairs, map: Callable[..., Any] = map
) -> tuple[np.ndarray, np.ndarray]:
    """Return the score ``c_j`` of every feature over the given pairs, and an error bound each."""
    of_block = partial(_scores, pairs=pairs)
    if isinstance(X, ColumnSource):
        found = X.gather(of_block, map)
    else:
        found = list(map(of_block, feature_blocks(X)))
    scores, errors = (np.concatenate(column) for column in zip(*found, strict=True))
    return _require_finite(scores), errors


def exact_scores(X: np.ndarray, index: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return the scores ``c_j`` of some features over the given pairs, in float64."""
    scores = np.empty(len(index))
    for start in range(0, len(index), _READ):
        chosen = slice(start, start + _READ)
        block = take_columns(X, index[chosen])
        kernels.pair_sums(block, pairs.starts, pairs.others, pairs.weight, scores[chosen])
    return scores


def pair_products(columns: np.ndarray, pairs: Pairs, dtype: Any = float) -> np.ndarray:
    """Return ``sum of weight d d'`` over the pairs with ``d = |x_n - x_i|``, for few features.

    Pairs of positive and of negative weight apart, since a square root of it goes to either d:
    a symmetric product then takes half the work of another.
    """
    n_features, columns = columns.shape[1], np.ascontiguousarray(columns, dtype=dtype)
    total = np.zeros((n_features, n_features), dtype, "F")
    add = ssyrk if dtype == np.float32 else dsyrk
    rows = np.repeat(np.arange(len(columns)), np.diff(pairs.starts))
    buffer = np.empty((_PAIRS, n_features), dtype)
    for sign in (1.0, -1.0):
        chosen = np.flatnonzero(sign * pairs.weight > 0)
        for first in range(0, len(chosen), _PAIRS):
            few = chosen[first : first + _PAIRS]
            root = np.sqrt(np.abs(pairs.weight[few])).astype(dtype, copy=False)
            part = buffer[: len(few)]
            kernels.scaled_differences(columns, rows[few], pairs.others[few], root, part)
            add(sign, part.T, beta=1.0, c=total, overwrite_c=True)
    return np.asarray(total + np.triu(total, 1).T, dtype=float)


def _distances(block: Any, dtype: Any) -> np.ndarray:
    if isinstance(block, SparseBlock):
        return block.distances()
    columns = block.open()
    total = np.zeros((columns.shape[0], columns.shape[0]))
    for part in parts(columns, _READ):
        words = bitpacked.packed(part)
        if words is not None:
            bitpacked.add_distances(words, total)
        else:
            add_distances(centred(part, dtype), total)
    return total


def add_distances(block: np.ndarray, total: np.ndarray) -> None:
    """Add the Manhattan distances between rows to the upper triangle of `total`."""
    if block.dtype == np.float32:
        kernels.add_distances(block, total)
    else:
        distances.add_later(block, total)


def _scores(block: Any, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(block, SparseBlock):
        return block.scores(pairs)
    columns = block.open()
    scores, errors = np.empty(columns.shape[1]), np.empty(columns.shape[1], np.float32)
    weight = pairs.weight.astype(np.float32)
    # A thousandth more covers the rounding of the bound itself.
    uncertainty = (1.001 * pairs.uncertainty).astype(np.float32)
    start = 0
    for raw in parts(columns, _READ):
        part = centred(raw, np.float32)
        covered = slice(start, start + part.shape[1])
        kernels.pair_sums(part, pairs.starts, pairs.others, weight, scores[covered])
        errors[covered] = uncertainty @ np.abs(part, out=part)
        start = covered.stop
    return scores, errors


def centred(columns: np.ndarray, dtype: Any) -> np.ndarray:
    """Return a C-contiguous copy in `dtype` with the column means subtracted.

    Differences stay what they are, but their rounding is then relative to a
    feature's spread and not to its offset.
    """
    exact = np.can_cast(columns.dtype, np.float32)
    work = np.float32 if dtype == np.float32 and exact else np.float64
    centred = np.empty(columns.shape, dtype)
    # Values that overflow float32 become infinite here and raise after the pass.
    with np.errstate(over="ignore", invalid="ignore"):
        centre = columns.mean(axis=0, dtype=work)
        return np.subtract(columns, centre, out=centred, dtype=work, casting="same_kind")


def _require_finite(result: np.ndarray) -> np.ndarray:
    if not np.isfinite(result).all():
        raise InputError(
            "some feature values differ by more than float32 can add up (1e38): "
            "scale the features first"
        )
    return result


def _least_size(signed: np.ndarray, p: np.ndarray, budget: float) -> float:
    """Return the power of two below which weights may be dropped, as they sum to at most `budget`.

    Powers are compared, because sorting all pairs takes longer than their sums.
    """
    mass = np.zeros(2 * pair_weights.POWERS)
    pair_weights.mass_by_power(signed, p, mass)
    first = int(np.searchsorted(np.cumsum(mass), budget, side="right"))
    return math.inf if first == len(mass) else math.ldexp(0.5, first - pair_weights.POWERS)


def _backing_file(X: np.ndarray) -> np.memmap | None:
    """Return the memory map that `X` is a view of; None if no file has its columns."""
    base: Any = X
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    if base is None or base.filename is None or min(X.strides) < 0:
        return None
    # A slice of a memory map keeps the offset of the original, so measure from the original.
    while isinstance(base.base, np.memmap):
        base = base.base
    return base
