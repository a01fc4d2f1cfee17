"""Soft nearest neighbours: every sample is the nearest hit or miss with some probability."""

from typing import Any

import numpy as np

from convexfs.errors import check_number
from convexfs.neighbors.kernels import pair_weights


def check_sigma(sigma: Any) -> None:
    """Raise unless `sigma` is positive; infinity, allowed, makes all samples equally near."""
    if not (isinstance(sigma, float) and sigma == np.inf):
        check_number("sigma", sigma, 0, open_ends=True)


def neighbor_probabilities(
    distances: np.ndarray, codes: np.ndarray, sigma: float, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the probabilities (N, N) of i to be n's nearest hit, and those of its nearest miss.

    .. math::
        P(x_i = NH(x_n)) = \frac{\exp(-d_{ni}/\sigma)}{\sum_{k \in H_n} \exp(-d_{nk}/\sigma)}

    over the hits H_n of n (its class without itself), and the same over its
    misses (Sun, Todorovic and Goodison 2010, eq. 4-5; with many classes all
    others are pooled, eq. 20). Distances are measured from the nearest one
    first, so that nothing underflows.

    Parameters
    ----------
    distances : array (N, N)
    codes : int array (N,)
        Classes.
    sigma : float
        Kernel width; infinity makes all hits, and all misses, equally probable.
    rows : array (N,), optional
        How many equal rows each sample stands for: so much more probable is it.

    Returns
    -------
    hit, miss : arrays (N, N)
        Rows sum to 1, or to 0 where a sample has no hit.
    """
    same = np.equal.outer(codes, codes)
    hits = same.copy()
    np.fill_diagonal(hits, False)
    return softmin(distances, hits, sigma, rows), softmin(distances, ~same, sigma, rows)


def signed_probabilities(
    distances: np.ndarray, codes: np.ndarray, sigma: float, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return ``A = P_miss - P_hit`` (N, N), so that ``zbar_n = sum_i A_ni |x_n - x_i|`` (eq. 3).

    The row of a sample without a hit is 0: it has no margin.
    """
    if rows is not None:
        hit, miss = neighbor_probabilities(distances, codes, sigma, rows)
        return (miss - hit) * has_hit(codes)[:, None]
    share = np.empty(distances.shape, distances.dtype)
    pair_weights.nearer_by(distances, codes, share)
    # Division by a tiny sigma may overflow to infinity: probability 0.
    with np.errstate(over="ignore", invalid="ignore"):
        share /= max(sigma, np.finfo(share.dtype).tiny)
    # inf / inf is undefined here: no sample is its own neighbour.
    np.fill_diagonal(share, -np.inf)
    # A sample without a hit has no nearest one to compare with: infinity becomes 0.
    np.minimum(share, 0.0, out=share)
    np.exp(share, out=share)
    pair_weights.sign_and_normalise(codes, np.bincount(codes), share)
    return share


def expected_distances(
    distances: np.ndarray, codes: np.ndarray, sigma: float, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return each row's expected distance to its soft nearest neighbour in each class.

    Parameters
    ----------
    distances : array (M, N)
        Of M new samples to N known ones.
    codes : int array (N,)
        Classes of the known samples, 0 to K - 1.
    rows : array (N,), optional
        How many equal rows each known sample stands for.

    Returns
    -------
    array (M, K)
    """
    members = (codes == code for code in range(int(codes.max()) + 1))
    allowed = (np.broadcast_to(own, distances.shape) for own in members)
    shares = (softmin(distances, own, sigma, rows) for own in allowed)
    return np.column_stack([(share * distances).sum(axis=1) for share in shares])


def has_hit(codes: np.ndarray) -> np.ndarray:
    """Return a boolean mask of the samples that share their class with another sample."""
    return np.bincount(codes)[codes] > 1


def softmin(
    distances: np.ndarray, allowed: np.ndarray, sigma: float, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return ``exp(-d / sigma)`` over each row's allowed entries, scaled to sum 1; 0 if none."""
    if rows is not None:
        allowed = allowed & (rows > 0)
    share = np.where(allowed, distances, np.inf)
    nearest = share.min(axis=1, keepdims=True)
    np.subtract(share, nearest, out=share, where=np.isfinite(nearest))
    # Division by a tiny sigma may overflow to infinity: probability 0.
    with np.errstate(over="ignore", invalid="ignore"):
        share /= -sigma
    # inf / inf is undefined only in entries that are not allowed.
    np.exp(share, out=share)
    share[~allowed] = 0.0
    if rows is not None:
        share *= rows
    total = share.sum(axis=1, keepdims=True)
    return np.divide(share, total, out=share, where=total > 0)
