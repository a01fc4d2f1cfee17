"""Compute the data of I-RELIEF's step from samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp

from convexfs.data.out_of_core import ColumnSource
from convexfs.errors import check_number
from convexfs.neighbors import out_of_core
from convexfs.neighbors.feature_blocks import score_pairs
from convexfs.neighbors.hits_misses import all_pairs, sample_distances
from convexfs.neighbors.margins import margin_vector
from convexfs.neighbors.missing_values import MixedSamples, NeighborLists, of_classes
from convexfs.neighbors.sample_weight import SampleWeights
from convexfs.neighbors.samples import as_samples
from convexfs.neighbors.soft import has_hit, signed_probabilities
from convexfs.neighbors.sparse import SparseSamples


def irelief(
    X: np.ndarray | MixedSamples | ColumnSource,
    codes: np.ndarray,
    *,
    sigma: float,
    map: Callable[..., Any] = map,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the data of the first step: the margin vector nu at equal weights, and lam = 0."""
    check_number("sigma", sigma, 0, open_ends=True)
    n_features = X.shape[1]
    start = np.full(n_features, n_features**-0.5)
    return {"z": soft_margin(of_classes(X, codes), codes, start, sigma, map)}, {"lam": 0.0}


def soft_margin(
    X: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    sigma: float,
    map: Callable[..., Any] = map,
    counted: SampleWeights | None = None,
) -> np.ndarray:
    """Return I-RELIEF's margin vector, one entry per feature, at these weights; N x N memory."""
    if isinstance(X, MixedSamples):
        used = np.flatnonzero(weights)
        d = X[:, used].distances(weights[used], map)
        return X.margin_sum(NeighborLists.of(_trusted(d, codes, sigma, counted)), map)
    X = as_samples(X)
    if isinstance(X, ColumnSource):
        d = out_of_core.weighted_distances(X, weights, map)
        signed = _trusted(d, codes, sigma, counted)
        return out_of_core.pair_sums(X, score_pairs(signed, np.ones(len(X))), map)
    sparse = isinstance(X, SparseSamples)
    d = sample_distances(X.times(weights) if sparse else X * weights, map=map)
    signed = _trusted(d, codes, sigma, counted)
    # Pairs (n, i) and (i, n) have the same difference, so visit each pair once.
    upper = np.triu(signed + signed.T, 1)
    return X.scores(upper, map) if sparse else margin_vector(X, all_pairs(upper), map=map)


def _trusted(
    d: np.ndarray, codes: np.ndarray, sigma: float, counted: SampleWeights | None
) -> np.ndarray:
    """Return signed neighbour probabilities times each row's inlier probability and weight."""
    if counted is None:
        trust = inlier_probability(d, codes, sigma) / len(codes)
        return trust[:, None] * signed_probabilities(d, codes, sigma)
    terms = counted.terms(codes)
    share = terms / terms.sum()
    trust = inlier_probability(d, codes, sigma, counted.rows) * share
    return trust[:, None] * signed_probabilities(d, codes, sigma, counted.rows)


def inlier_probability(
    d: np.ndarray, codes: np.ndarray, sigma: float, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return gamma per sample: kernel sum over hits / over all other samples; 0 without hits."""
    same = np.equal.outer(codes, codes)
    hits, misses = same & ~np.eye(len(codes), dtype=bool), ~same
    if rows is not None:
        hits, misses = hits * rows, misses * rows
    # Use logarithms, because a small sigma may underflow all kernel values of a row.
    with np.errstate(divide="ignore"):
        near = np.asarray(logsumexp(-d / sigma, axis=1, b=hits))
        far = np.asarray(logsumexp(-d / sigma, axis=1, b=misses))
    return np.where(has_hit(codes), expit(near - far), 0.0)
