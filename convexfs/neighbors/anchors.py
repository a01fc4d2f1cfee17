r"""RELIEF's margins from some of the samples, each with an interval that is proven.

The margin vector is a sum over the samples, :math:`z = \sum_n m_n`. Of a few *anchors*, drawn
without replacement, the neighbours among all samples are found and :math:`m_n` is computed
exactly; ``N`` times their mean estimates z. That takes distances of the anchors to all
samples instead of those of all pairs. What a mean of n of N numbers between a and b says of
the mean of all is known without further assumptions: the smaller is taken of Serfling's
bound and of the empirical Bernstein-Serfling bound (Bardenet and Maillard, "Concentration
inequalities for sampling without replacement", Bernoulli 21 (2015), Cor. 2.5 and Th. 4.3).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from convexfs.compiling import compiled
from convexfs.data.columns import ColumnSource, SlicedColumns, parts
from convexfs.errors import InputError, check_number
from convexfs.neighbors import bits, kernels
from convexfs.neighbors.feature_passes import Block, centred
from convexfs.neighbors.hits_misses import SignedNeighbors, _Groups, check_neighbors, is_share

#: Columns looked at together, and features of a tile.
_READ, _TILE = 1024, 128
#: Of the empirical Bernstein-Serfling bound.
_KAPPA = 7.0 / 3.0 + 3.0 / np.sqrt(2.0)
# Sums may be reordered; NaN stays NaN.
_FAST = {"reassoc", "contract", "nsz"}


@dataclass(frozen=True)
class AnchoredMargin:
    """An estimate of RELIEF's margin vector z, and where z is.

    Attributes
    ----------
    margin, low, high : arrays (J,)
        Each interval holds its z with the probability asked for, by itself.
    n_anchors : int
    """

    margin: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_anchors: int


def anchored_margin(
    X: np.ndarray | ColumnSource,
    codes: np.ndarray,
    n_anchors: int,
    *,
    n_neighbors: float = 1,
    miss: str = "nearest",
    level: float = 0.95,
    seed: Any = None,
    map: Callable[..., Any] = map,
) -> AnchoredMargin:
    """Estimate z of :func:`convexfs.neighbors.hits_misses.margin_vector` from some samples.

    Parameters
    ----------
    X : array (N, J) or ColumnSource
        Distances are Manhattan; ``8 n_anchors N`` bytes hold them.
    codes : int array (N,)
    n_anchors : int
        Samples drawn; all of them give z itself.
    n_neighbors, miss
        As for RELIEF: neighbours are sought among all samples.
    level : float
        Probability that an interval holds its z.
    seed
        For the draw; as :func:`numpy.random.default_rng` takes it.
    """
    source = X if isinstance(X, ColumnSource) else SlicedColumns(X)
    check_number(f"n_anchors, of {len(source)} samples,", n_anchors, 2, len(source), whole=True)
    check_number("level", level, 0, 1, open_ends=True)
    check_neighbors(len(source), n_neighbors, "manhattan", miss)
    drawn = np.random.default_rng(seed).choice(len(source), n_anchors, replace=False)
    anchors = np.sort(drawn)
    near = _neighbors(source, codes, anchors, n_neighbors, miss, map)
    moments = source.gather(partial(_moments, anchors=anchors, near=near), map)
    total, squares, spread = (np.concatenate(own) for own in zip(*moments, strict=True))
    mean = total / n_anchors
    deviation = np.sqrt(np.maximum(squares / n_anchors - mean**2, 0.0))
    radius = interval_radius(deviation, 2.0 * spread, n_anchors, len(source), 1.0 - level)
    margin, radius = mean * len(source), radius * len(source)
    return AnchoredMargin(margin, margin - radius, margin + radius, n_anchors)


def interval_radius(
    deviation: np.ndarray, width: np.ndarray, n: int, population: int, error: float
) -> np.ndarray:
    """How far the mean of all may be from that of `n` drawn of them, but for `error`.

    Parameters
    ----------
    deviation : array
        Standard deviations of those drawn.
    width : array
        b - a, where all numbers are between a and b.
    error : float
        Probability that the mean of all is farther away, on either side.
    """
    if n == population:
        return np.zeros_like(width)
    left = 1.0 - (n - 1) / population
    if 2 * n > population:
        left = (1.0 - n / population) * (1.0 + 1.0 / n)
    # Half of the error for each bound, and half of that for each side; the second is of
    # five events.
    hoeffding = width * np.sqrt(left * np.log(4.0 / error) / (2.0 * n))
    rare = np.log(20.0 / error)
    bernstein = deviation * np.sqrt(2.0 * left * rare / n) + _KAPPA * width * rare / n
    return np.minimum(hoeffding, bernstein)


def _neighbors(
    source: ColumnSource,
    codes: np.ndarray,
    anchors: np.ndarray,
    n_neighbors: float,
    miss: str,
    map: Callable[..., Any],
) -> SignedNeighbors:
    """Return hits and misses of the anchors among all samples."""
    dist = source.reduce(partial(_distances, anchors=anchors), map)
    if not np.isfinite(dist.max()):
        raise InputError("distances overflow: scale the features to ordinary sizes first")
    rows = np.arange(len(anchors))
    dist[rows, anchors] = np.inf  # nobody is a neighbour of oneself
    groups = _Groups.of(codes, n_neighbors, miss)
    # The anchors' classes stand behind those of all samples, where no sample has its row.
    everyone, first = np.concatenate([codes, codes[anchors]]), len(codes)
    if is_share(n_neighbors):
        order = np.argsort(dist, axis=1, kind="stable")
        index = kernels.first_in_groups(order, first, everyone, groups.number, groups.limits)
    else:
        index = kernels.nearest_in_groups(dist, first, everyone, groups.number, n_neighbors)
    return groups.signed(index, codes[anchors])


def _distances(block: Block, anchors: np.ndarray) -> np.ndarray:
    columns = block.open()
    total = np.zeros((len(anchors), columns.shape[0]))
    for part in parts(columns, _READ):
        words = bits.packed(part)
        if words is not None:
            bits.add_between(words[anchors], words, total)
        else:
            values = centred(part, np.float64)
            add_between(values[anchors], values, total)
    return total


def _moments(
    block: Block, anchors: np.ndarray, near: SignedNeighbors
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sums of the anchors' margins and of their squares, and how far columns spread."""
    found = []
    index = near.index.reshape(len(anchors), -1)
    coefficient = near.coefficient.reshape(len(anchors), -1)
    for part in parts(block.open(), _READ):
        values = centred(part, np.float64)
        sums, squares = np.zeros(values.shape[1]), np.zeros(values.shape[1])
        margin_moments(values, anchors, index, coefficient, sums, squares)
        found.append((sums, squares, np.ptp(values, axis=0)))
    sums, squares, spreads = (np.concatenate(own) for own in zip(*found, strict=True))
    return sums, squares, spreads


@compiled(fastmath=_FAST)
def add_between(some, rows, out):
    """Add the Manhattan distances of some rows from all rows to `out`."""
    n, n_features = rows.shape
    even = n - n % 4
    for first in range(0, n_features, _TILE):
        tile = rows[:, first : first + _TILE].copy()
        width = tile.shape[1]
        for a in range(some.shape[0]):
            x = some[a, first : first + _TILE].copy()
            # Four rows a sweep: each value of the one row serves four differences.
            for b in range(0, even, 4):
                y0, y1, y2, y3 = tile[b], tile[b + 1], tile[b + 2], tile[b + 3]
                s0 = s1 = s2 = s3 = 0.0
                for j in range(width):
                    v = x[j]
                    s0 += abs(v - y0[j])
                    s1 += abs(v - y1[j])
                    s2 += abs(v - y2[j])
                    s3 += abs(v - y3[j])
                out[a, b] += s0
                out[a, b + 1] += s1
                out[a, b + 2] += s2
                out[a, b + 3] += s3
            for b in range(even, n):
                y0 = tile[b]
                s0 = 0.0
                for j in range(width):
                    s0 += abs(x[j] - y0[j])
                out[a, b] += s0


@compiled(fastmath=_FAST)
def margin_moments(values, anchors, index, coefficient, sums, squares):
    """Add ``sum_i c_ai |x_a - x_i|`` of every anchor to `sums`, and its square to `squares`."""
    n_features = values.shape[1]
    for first in range(0, n_features, _TILE):
        tile = values[:, first : first + _TILE].copy()
        width = tile.shape[1]
        margin = np.empty(width)
        for a in range(len(anchors)):
            x = tile[anchors[a]]
            margin[:] = 0.0
            for k in range(index.shape[1]):
                c = coefficient[a, k]
                if c == 0.0:
                    continue
                y = tile[index[a, k]]
                for j in range(width):
                    margin[j] += c * abs(x[j] - y[j])
            for j in range(width):
                sums[first + j] += margin[j]
                squares[first + j] += margin[j] * margin[j]
