"""Classifiers that come with the weights: who is nearest in the weighted space."""

import numpy as np

from convexfs.neighbors.differences import MixedSamples
from convexfs.neighbors.new_samples import distances_to
from convexfs.neighbors.soft import expected_distances

#: Distances held at a time; 16 MB.
_BLOCK_CELLS = 2_000_000


def class_distances(
    new: np.ndarray,
    known: np.ndarray | MixedSamples,
    codes: np.ndarray,
    weights: np.ndarray,
    sigma: float,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    r"""Expected distance of each new sample to its soft nearest neighbour in each class.

    .. math::
        E_c(x) = \sum_{i \in c} P_i(x)\, d_w(x, x_i),\quad
        P_i(x) \propto \exp(-d_w(x, x_i) / \sigma),\quad
        d_w(x, x_i) = \sum_j w_j |x_j - x_{ij}|

    The margin of x between two classes is the difference of their E (Sun,
    Todorovic and Goodison 2010, eq. 3); the class of least E is the nearest.

    Parameters
    ----------
    new : array (M, J)
    known : array (N, J), or MixedSamples
        Training samples.
    codes : int array (N,)
        Their classes, 0 to K - 1.
    weights : array (J,)
    sigma : float
    rows : array (N,), optional
        How many equal rows each training sample stands for.

    Returns
    -------
    array (M, K)
    """
    distances = distances_to(known, weights)
    step = max(1, _BLOCK_CELLS // len(known))
    cuts = (slice(start, start + step) for start in range(0, len(new), step))
    blocks = (expected_distances(distances(new[cut]), codes, sigma, rows) for cut in cuts)
    return np.concatenate(list(blocks))
