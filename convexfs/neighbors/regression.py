r"""Hits and misses where the target is a number: every sample is some of both.

One number a pair is all that takes the place of the classes: :math:`\delta_{ni}` in [0, 1] says
how different the targets of two samples are. The nearest miss and hit of sample n are i with

.. math::
    P_{miss}(i|n) \propto \delta_{ni} e^{-d_{ni}/\sigma},\qquad
    P_{hit}(i|n) \propto (1 - \delta_{ni}) e^{-d_{ni}/\sigma},

and :math:`\delta_{ni} = [y_n \ne y_i]` gives those of classes (:mod:`convexfs.neighbors.soft`).
"""

from typing import Any

import numpy as np

from convexfs.errors import check_choice, check_number, warn
from convexfs.neighbors.hits_misses import SignedNeighbors, is_share
from convexfs.neighbors.soft import softmin

DIFFERENCES = ("rank", "range")


def check_difference(how: Any) -> None:
    """Raise unless `how` is "rank" or "range"."""
    check_choice("difference of targets", how, DIFFERENCES)


def target_difference(y: np.ndarray, how: str = "rank") -> np.ndarray:
    """Return the targets' differences (N, N), from 0 to 1: as ranks, or as shares of the range.

    Parameters
    ----------
    y : array (N,)
    how : {"rank", "range"}
        The share of the other samples that are nearer in y than i is to n, ties counting half;
        or ``|y_n - y_i|`` over the range of y.
    """
    apart = np.abs(y[:, None] - y)
    if how == "range":
        return apart / max(float(apart.max()), np.finfo(float).tiny)
    from scipy.stats import rankdata

    np.fill_diagonal(apart, -1.0)  # A sample comes first in its own order, before copies of it.
    delta = (rankdata(apart, axis=1) - 2.0) / max(len(y) - 2, 1)
    np.fill_diagonal(delta, 0.0)
    return delta


def has_both(delta: np.ndarray) -> np.ndarray:
    """Return a boolean mask of the samples that have both a hit and a miss of positive weight."""
    others = ~np.eye(len(delta), dtype=bool)
    misses, hits = np.where(others, delta, 0.0), np.where(others, 1.0 - delta, 0.0)
    return (misses.max(axis=1) > 0) & (hits.max(axis=1) > 0)


def soft_shares(
    distances: np.ndarray, delta: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities (N, N) of i to be n's nearest miss, and those of its nearest hit.

    Rows sum to 1, or to 0 where a sample has no hit or no miss: it has no margin.
    """
    usable = has_both(delta)[:, None]
    return tuple(_shared(distances, part * usable, sigma) for part in (delta, 1.0 - delta))  # type: ignore[return-value]


def signed_shares(distances: np.ndarray, delta: np.ndarray, sigma: float) -> np.ndarray:
    """Return ``A = P_miss - P_hit`` (N, N), so that ``zbar_n = sum_i A_ni |x_n - x_i|``."""
    miss, hit = soft_shares(distances, delta, sigma)
    return miss - hit


def _shared(distances: np.ndarray, part: np.ndarray, sigma: float) -> np.ndarray:
    allowed = part > 0
    np.fill_diagonal(allowed, False)
    share = softmin(distances, allowed, sigma) * part
    total = share.sum(axis=1, keepdims=True)
    return np.divide(share, total, out=share, where=total > 0)


def neighbor_influence(
    n_samples: int, n_neighbors: float, spread: float | None = None
) -> np.ndarray:
    """Return the weights, which sum to 1, of the nearest, second nearest, ... sample in RReliefF.

    Parameters
    ----------
    n_samples : int
    n_neighbors : int, or float below 1
        A number, of which those there are count, or a share of the other samples.
    spread : float, optional
        The neighbour of rank r counts ``exp(-(r / spread)^2)``; by default all count alike.

    Returns
    -------
    array (k,)
        Sums to 1.
    """
    if spread is not None:
        check_number("spread", spread, 0, open_ends=True)
    others = n_samples - 1
    if is_share(n_neighbors):
        number = max(1, round(n_neighbors * others))
    else:
        check_number("n_neighbors", n_neighbors, 1, whole=True)
        number = int(n_neighbors)
    if number > others:
        warn(f"n_neighbors={number}, but there are only {others} other samples: those count")
        number = others
    ranks = np.arange(1, number + 1)
    influence = np.ones(number) if spread is None else np.exp(-((ranks / spread) ** 2))
    return influence / influence.sum()


def rrelief_neighbors(index: np.ndarray, influence: np.ndarray, y: np.ndarray) -> SignedNeighbors:
    r"""Build the signed graph whose margin vector is RReliefF's weights.

    .. math::
        W_j = \frac{N_{dC\&dA}(j)}{N_{dC}} - \frac{N_{dA}(j) - N_{dC\&dA}(j)}{m - N_{dC}}
            = \sum_{ni} K_{ni} \Big(\frac{\delta_{ni}}{N_{dC}}
              - \frac{1 - \delta_{ni}}{m - N_{dC}}\Big) |x_{nj} - x_{ij}|

    (Robnik-Sikonja and Kononenko 2003, Fig. 3), with K the influence of the neighbours,
    :math:`\delta` the difference of targets over their range and :math:`N_{dC}` the sum of
    :math:`K \delta` over the m samples.
    """
    span = max(float(np.ptp(y)), np.finfo(float).tiny)
    delta = np.abs(y[:, None] - y[index]) / span
    different, alike = influence * delta, influence * (1.0 - delta)
    tiny = np.finfo(float).tiny
    signed = different / max(different.sum(), tiny) - alike / max(alike.sum(), tiny)
    return SignedNeighbors(index[:, None, :], signed[:, None, :])
