"""Predictions that come with the weights: the mean of those who are near."""

import numpy as np
from scipy.spatial.distance import cdist

from convexfs.neighbors.soft import softmin

#: Distances held at a time; 16 MB.
_BLOCK_CELLS = 2_000_000


def soft_means(new: np.ndarray, known: np.ndarray, y: np.ndarray, sigma: float) -> np.ndarray:
    r"""Expected target of each new sample's soft nearest neighbour.

    .. math:: \sum_i y_i P_i(x),\quad P_i(x) \propto \exp(-\|x - x_i\|_1 / \sigma)

    Parameters
    ----------
    new, known : arrays (M, J), (N, J)
        Weighted samples.
    y : array (N,)
        Of the known ones.
    sigma : float
    """
    step = max(1, _BLOCK_CELLS // len(known))
    blocks = []
    for start in range(0, len(new), step):
        distances = cdist(new[start : start + step], known, "cityblock")
        blocks.append(softmin(distances, np.ones(distances.shape, dtype=bool), sigma) @ y)
    return np.concatenate(blocks)
