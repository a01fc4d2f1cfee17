"""What a step of I-RELIEF is made of, computed from samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from convexfs.errors import check_number
from convexfs.neighbors.hits_misses import (
    SignedNeighbors,
    margin_vector,
    row_blocks,
    row_distances,
)
from convexfs.neighbors.soft import has_hit, signed_probabilities
from convexfs.neighbors.sparse_samples import SparseSamples


def irelief(
    X: np.ndarray, codes: np.ndarray, *, sigma: float, map: Callable[..., Any] = map
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the numeric half of the first step: nu at equal weights of length 1."""
    check_number("sigma", sigma, 0, open_ends=True)
    n_features = X.shape[1]
    start = np.full(n_features, n_features**-0.5)
    return {"z": soft_margin(X, codes, start, sigma, map)}, {"lam": 0.0}


def soft_margin(
    X: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    sigma: float,
    map: Callable[..., Any] = map,
) -> np.ndarray:
    """The margin vector of :func:`irelief` at the given weights; no array beyond N x N is made."""
    sparse = isinstance(X, SparseSamples)
    if not sparse:
        X = np.ascontiguousarray(X, dtype=np.float64)
    scaled = X.times(weights) if sparse else X * weights

    def rows(block: tuple[int, int]) -> np.ndarray:
        return row_distances(scaled, block[0], block[1])

    d = np.concatenate(list(map(rows, row_blocks(len(X)))))
    trust = inlier_probability(d, codes, sigma) / len(X)
    signed = trust[:, None] * signed_probabilities(d, codes, sigma)
    # |x_n - x_i| is that of i and n too: each pair is visited once.
    upper = np.triu(signed + signed.T, 1)
    if sparse:
        return X.scores(upper, map)
    coefficient = upper[:, None, :]
    index = np.broadcast_to(np.arange(len(X)), coefficient.shape)
    return margin_vector(X, SignedNeighbors(np.ascontiguousarray(index), coefficient), map=map)


def inlier_probability(d: np.ndarray, codes: np.ndarray, sigma: float) -> np.ndarray:
    """gamma: the share of a sample's kernel mass that its hits have; 0 without hits."""
    same = np.equal.outer(codes, codes)
    hits = same & ~np.eye(len(codes), dtype=bool)
    # From logarithms: with a small sigma every kernel value of a row may underflow.
    with np.errstate(divide="ignore"):
        near = np.asarray(logsumexp(-d / sigma, axis=1, b=hits))
        far = np.asarray(logsumexp(-d / sigma, axis=1, b=~same))
    return np.where(has_hit(codes), expit(near - far), 0.0)
