"""Features chosen without the classes, as representatives of clusters."""

from typing import Any

import numpy as np

from convexfs.errors import check_number
from papers.baselines.checks import checked


def mitra(X: Any, y: Any, n_neighbors: int = 2) -> np.ndarray:
    r"""Unsupervised selection by feature similarity (Mitra, Murthy and Pal 2002).

    Features are as far apart as their maximal information compression index, the
    smaller eigenvalue of their joint covariance,

    .. math::
        2 \lambda_2 = v_x + v_y - \sqrt{(v_x + v_y)^2 - 4 v_x v_y (1 - \rho^2)}.

    The feature whose k-th nearest is nearest stays and its k nearest go; k
    shrinks until that distance is no larger than at first; and so on. Of two that
    are each other's nearest the one of larger variance stays. The score is how
    early a feature was kept, 0 if it went, the same for those that no other is
    near to at the end: the classes play no part.
    """
    X, _ = checked(X, y)
    check_number("n_neighbors", n_neighbors, 1, whole=True)
    distance = _compression_index(X)
    left, k, reach = np.arange(X.shape[1]), n_neighbors, None
    variance = X.var(axis=0)
    kept: list[np.ndarray] = []
    while len(left):
        k = min(k, len(left) - 1)
        by_distance = np.sort(distance[np.ix_(left, left)], axis=1)
        reach = by_distance[:, k].min() if reach is None else reach
        while k > 0 and by_distance[:, k].min() > reach:
            k -= 1
        if k == 0:
            kept.append(left)
            break
        nearest = by_distance[:, k].min()  # of copies a hair below 0
        tied = left[by_distance[:, k] <= nearest + 1e-12 * abs(nearest)]
        stays = tied[variance[tied].argmax()]
        near = left[np.argsort(distance[stays, left], kind="stable")]
        gone = near[near != stays][:k]
        kept.append(np.array([stays]))
        left = np.setdiff1d(left, [stays, *gone])
    scores = np.zeros(X.shape[1])
    for early, features in enumerate(reversed(kept), start=1):
        scores[features] = early
    return scores


def _compression_index(X: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0)
    covariance = centred.T @ centred / len(X)
    v = covariance.diagonal()
    total, determinant = np.add.outer(v, v), np.outer(v, v) - covariance**2
    index = total - np.sqrt(np.maximum(total**2 - 4.0 * determinant, 0.0))
    np.fill_diagonal(index, -np.inf)
    return index
