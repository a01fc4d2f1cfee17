r"""RELIEF's margins from some of the samples, each with an interval that is proven.

The margin vector is a sum over the samples, :math:`z = \sum_n m_n`. Of a few *anchors*, drawn
without replacement, the neighbours among all samples are found and :math:`m_n` is computed
exactly; ``N`` times their mean estimates z. That takes distances of the anchors to all
samples instead of those of all pairs. What the mean of n drawn of N numbers between 0 and 1
says of the mean of all is :func:`mean_interval`: no distribution is assumed, only that the
draw is random.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from convexfs.data.out_of_core import ColumnSource, SlicedColumns, parts
from convexfs.errors import InputError, check_number
from convexfs.kernels import compiled
from convexfs.neighbors import bitpacked
from convexfs.neighbors.feature_blocks import Block, centred
from convexfs.neighbors.hits_misses import SignedNeighbors, _Groups, check_neighbors, is_share
from convexfs.neighbors.kernels import distance_sums, nearest

#: Columns looked at together, and features of a tile.
_READ, _TILE = 1024, 128
#: What a bet may lose of what there is: the more, the dearer is a large deviation.
_MOST_STAKE = 0.9
#: Means are found to this share of their distance from the mean of the draws, if so many
#: halvings get there.
_NEAR, _HALVINGS = 1e-3, 40
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
    # In the order of the draw, which the intervals go by.
    anchors = np.random.default_rng(seed).choice(len(source), n_anchors, replace=False)
    near = _neighbors(source, codes, anchors, n_neighbors, miss, map)
    found = source.gather(partial(_intervals, anchors=anchors, near=near, error=1.0 - level), map)
    means, low, high = (np.concatenate(own) for own in zip(*found, strict=True))
    size = len(source)
    return AnchoredMargin(means * size, low * size, high * size, n_anchors)


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
        index = nearest.first_in_groups(order, first, everyone, groups.number, groups.limits)
    else:
        index = nearest.nearest_in_groups(dist, first, everyone, groups.number, n_neighbors)
    return groups.signed(index, codes[anchors])


def _distances(block: Block, anchors: np.ndarray) -> np.ndarray:
    columns = block.open()
    total = np.zeros((len(anchors), columns.shape[0]))
    for part in parts(columns, _READ):
        words = bitpacked.packed(part)
        if words is not None:
            bitpacked.add_between(words[anchors], words, total)
        else:
            values = centred(part, np.float64)
            distance_sums.add_between(values[anchors], values, False, total)
    return total


def _intervals(
    block: Block, anchors: np.ndarray, near: SignedNeighbors, error: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the anchors' mean margins, and the ends of intervals of the mean of all samples."""
    index = near.index.reshape(len(anchors), -1)
    coefficient = near.coefficient.reshape(len(anchors), -1)
    found = []
    for part in parts(block.open(), _TILE):
        values = centred(part, np.float64)
        margins = margin_rows(values, anchors, index, coefficient)
        spread = np.ptp(values, axis=0)
        found.append((margins.mean(axis=0), *mean_interval(margins, spread, len(values), error)))
    means, low, high = (np.concatenate(own) for own in zip(*found, strict=True))
    return means, low, high


def mean_interval(
    drawn: np.ndarray, bound: np.ndarray, population: int, error: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Where the means of a finite population are, by numbers drawn without replacement.

    Scaled to [0, 1], a mean :math:`\mu` says of the t-th draw that it is :math:`c_t` on average,
    the mean of what is left. Who does not believe that bets on larger numbers, at stakes
    :math:`\lambda_t` in :math:`[0, 1 / c_t]` that the draws before the t-th determine, and has

    .. math::
        \prod_{s \le t} (1 + \lambda_s (x_s - c_s)),
        \qquad c_t = \frac{N \mu - \sum_{s<t} x_s}{N - t + 1}

    after t of them. If :math:`\mu` is the mean this is 1 on average and never negative, so that
    it ever is 2 / `error` with probability at most `error` / 2 (Ville's inequality). It falls
    with :math:`\mu`: the least one that it does not refute bounds the mean from below, as the
    same of 1 - x does from above (Waudby-Smith and Ramdas, "Estimating means of bounded random
    variables by betting", 2024). What was not drawn lies between the ends, which bounds the mean
    too.

    Parameters
    ----------
    drawn : array (n, K)
        Columns of numbers, in the order of the draw.
    bound : array (K,)
        All numbers of the population lie between ``-bound`` and ``bound``.
    population : int
        N.
    error : float
        Probability that an interval does not hold its mean.
    """
    n, total = len(drawn), drawn.sum(axis=0)
    unseen = (population - n) * bound
    low, high = (total - unseen) / population, (total + unseen) / population
    if n == population:
        return low, high
    width = np.where(bound > 0.0, 2.0 * bound, 1.0)
    scaled = (drawn + bound) / width
    least, most = np.empty_like(total), np.empty_like(total)
    least_means(scaled, population, 2.0 / error, least)
    least_means(1.0 - scaled, population, 2.0 / error, most)
    return (
        np.maximum(low, least * width - bound),
        np.minimum(high, (1.0 - most) * width - bound),
    )


@compiled()
def least_means(drawn, population, enough, out):
    """Write the least means that bets do not refute, of numbers in [0, 1]; see above."""
    n, n_columns = drawn.shape
    rarity = np.log(enough)
    stakes = np.empty(n)
    for j in range(n_columns):
        x = drawn[:, j].copy()
        # The stakes that win most from small deviations, as large as these were so far.
        total, squares = 0.0, 0.25
        for t in range(n):
            stakes[t] = np.sqrt(2.0 * rarity * (t + 1) / (n * squares))
            total += x[t]
            squares += (x[t] - (0.5 + total) / (t + 2)) ** 2
        # All that was not drawn is 0 at the one end; nobody asks beyond the mean of the draws.
        least, mean = total / population, total / n
        possible = mean
        for _ in range(_HALVINGS):
            if possible - least <= _NEAR * (mean - least):
                break
            tried = 0.5 * (least + possible)
            if is_refuted(tried, x, stakes, population, enough):
                least = tried
            else:
                possible = tried
        out[j] = least


@compiled()
def is_refuted(mean, drawn, stakes, population, enough):
    """Tell whether bets on numbers larger than this mean says ever won enough."""
    won, total = 1.0, 0.0
    for t in range(len(drawn)):
        expected = (population * mean - total) / (population - t)
        if expected <= 0.0:  # more was drawn than there is by this mean
            return True
        won *= 1.0 + min(stakes[t], _MOST_STAKE / expected) * (drawn[t] - expected)
        if won >= enough:
            return True
        total += drawn[t]
    return False


@compiled(fastmath=_FAST)
def margin_rows(tile, anchors, index, coefficient):
    """Return ``sum_i c_ai |x_a - x_i|`` of every anchor, for few features."""
    width = tile.shape[1]
    out = np.zeros((len(anchors), width))
    for a in range(len(anchors)):
        x, margin = tile[anchors[a]], out[a]
        for k in range(index.shape[1]):
            c = coefficient[a, k]
            if c != 0.0:
                y = tile[index[a, k]]
                for j in range(width):
                    margin[j] += c * abs(x[j] - y[j])
    return out
