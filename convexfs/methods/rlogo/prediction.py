"""Predictions that come with the weights: the mean of those who are near."""

import numpy as np

from convexfs.neighbors.differences import MixedSamples
from convexfs.neighbors.new_samples import distances_to
from convexfs.neighbors.soft import softmin

#: Distances held at a time; 16 MB.
_BLOCK_CELLS = 2_000_000


def soft_means(
    new: np.ndarray,
    known: np.ndarray | MixedSamples,
    y: np.ndarray,
    weights: np.ndarray,
    sigma: float,
) -> np.ndarray:
    r"""Expected target of each new sample's soft nearest neighbour.

    .. math:: \sum_i y_i P_i(x),\quad P_i(x) \propto \exp(-d_w(x, x_i) / \sigma)

    Parameters
    ----------
    new : array (M, J)
    known : array (N, J), or MixedSamples
    y : array (N,)
        Of the known ones.
    weights : array (J,)
    sigma : float
    """
    step, distances_of = max(1, _BLOCK_CELLS // len(known)), distances_to(known, weights)
    blocks = []
    for start in range(0, len(new), step):
        distances = distances_of(new[start : start + step])
        blocks.append(softmin(distances, np.ones(distances.shape, dtype=bool), sigma) @ y)
    return np.concatenate(blocks)
