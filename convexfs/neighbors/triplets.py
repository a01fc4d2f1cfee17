"""Triplets of sample, target neighbour and impostor, over which Lmba's loss is a sum.

A triplet (i, j, p) is a sample, one of its target neighbours (nearest hits) and
one sample of another class. There are about k N^2 of them. Their distances are
entries of N x N matrices, and their sums over features need no list of differences.
"""

from dataclasses import dataclass

import numpy as np

from convexfs.errors import check_number
from convexfs.neighbors.hits_misses import signed_neighbors


@dataclass(frozen=True)
class Targets:
    """Target neighbours and margins, measured with all weights 1.

    Attributes
    ----------
    index : int array (N, k)
        Nearest hits, closest first; -1 where a class has fewer.
    theta : array (N,)
        ``| |x - nearest miss|^2 - |x - nearest hit|^2 |``; 0 without hits.
    """

    index: np.ndarray
    theta: np.ndarray


def target_neighbors(X: np.ndarray, codes: np.ndarray, n_neighbors: int) -> Targets:
    """Return each sample's nearest hits in Euclidean distance (-1 pads), and its margin theta."""
    # RELIEF's other values, fractions and radii, have no single nearest miss.
    check_number("n_neighbors", n_neighbors, 1, whole=True)
    nearest = signed_neighbors(X, codes, n_neighbors, "sqeuclidean").index
    hit, miss = nearest[:, 0, 0], nearest[:, 1, 0]
    rows = np.arange(len(X))
    near = ((X - X[hit]) ** 2).sum(axis=1)
    far = ((X - X[miss]) ** 2).sum(axis=1)
    # Index -1 would mean the last sample: a sample without a hit has no margin.
    theta = np.where(nearest[rows, 0, 0] >= 0, np.abs(far - near), 0.0)
    return Targets(nearest[:, 0, :], theta)


def pair_distances(X: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return ``d_ip = sum_f u_f (x_if - x_pf)^2`` for all pairs (N, N); u may have either sign."""
    weighted = X * u
    norms = np.einsum("if,if->i", weighted, X)
    d = norms[:, None] + norms - 2.0 * (weighted @ X.T)
    np.fill_diagonal(d, 0.0)
    return d


def pair_sums(X: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return ``sum_ip C_ip (x_if - x_pf)^2`` for every feature f."""
    squares = X**2
    crossed = np.einsum("if,if->f", C @ X, X)
    return C.sum(axis=1) @ squares + C.sum(axis=0) @ squares - 2.0 * crossed


def target_sum(X: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return ``A_f``: the sum of squared differences of all samples from their targets."""
    i, rank = np.nonzero(targets >= 0)
    return ((X[i] - X[targets[i, rank]]) ** 2).sum(axis=0)


def list_triplets(codes: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all target pairs (i, j) and all impostor pairs (i, p) as rows.

    Returns
    -------
    target_pairs, impostor_pairs : int arrays (P, 2), (Q, 2)
    """
    i, rank = np.nonzero(targets >= 0)
    target_pairs = np.column_stack([i, targets[i, rank]])
    return target_pairs, np.argwhere(np.not_equal.outer(codes, codes))


def join_triplets(
    target_pairs: np.ndarray, impostor_pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Join pairs of the same sample; return each triplet's rows in target and impostor pairs."""
    counts = np.bincount(impostor_pairs[:, 0], minlength=target_pairs[:, 0].max(initial=0) + 1)
    first = np.concatenate([[0], np.cumsum(counts)])
    of_sample = target_pairs[:, 0]
    target_row = np.repeat(np.arange(len(target_pairs)), counts[of_sample])
    # Entries of a target's block are in the order of the sample's impostors.
    block_start = np.repeat(np.cumsum(counts[of_sample]) - counts[of_sample], counts[of_sample])
    impostor_row = first[of_sample][target_row] + np.arange(len(target_row)) - block_start
    return target_row, impostor_row
