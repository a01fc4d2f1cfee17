r"""Neighbours of samples that count for more or less than one.

A sample of weight s stands for s equal rows: its term counts s times, and so does it as a
neighbour of others. Its copies are not its neighbours: at a distance of 0 they would be
its nearest hits and carry no information. So weights of 2 have the effect of rows written twice
if copies do not count as neighbours of each other. Without weights, a row and its copy are two
samples, and neighbours.

The k nearest are those whose weights add up to k, the last of them counting with what is left.
"""

from dataclasses import dataclass

import numpy as np

from convexfs.neighbors.hits_misses import is_radius, is_share


@dataclass(frozen=True)
class SampleWeights:
    """Sample weights, and class weights if there are any.

    Attributes
    ----------
    rows : array (N,)
        How many equal rows each stands for.
    balanced : bool
        Whether the terms of every class count the same in all.
    classes : array (K,), optional
        How much more the terms of each class count.
    """

    rows: np.ndarray
    balanced: bool = False
    classes: np.ndarray | None = None

    def terms(self, codes: np.ndarray) -> np.ndarray:
        """Return each sample's weight in the sum over samples: sample weight times class weight."""
        if self.classes is not None:
            return self.rows * self.classes[codes]
        if not self.balanced:
            return self.rows
        totals = np.bincount(codes, self.rows)
        return self.rows * (self.rows.sum() / (len(totals) * totals))[codes]


def alike_pairs(codes: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Return weights of the samples' terms such that all pairs of classes count the same.

    It is 1 minus the share of the sample's class, scaled to a mean of 1. With misses weighted by
    class shares, class a then sees class b as heavily as b sees a, so that the spreads within the
    classes cancel where the classes do not differ (the energy statistic of several samples of
    Rizzo and Szekely 2010). With two classes both count the same.
    """
    totals = np.bincount(codes, rows)
    terms = (1.0 - totals / totals.sum())[codes]
    return terms / np.average(terms, weights=rows)


def counted_neighbors(
    distances: np.ndarray, codes: np.ndarray, rows: np.ndarray, n_neighbors: float | str, miss: str
) -> np.ndarray:
    """Return the signed neighbour weights of all pairs (N, N) for weighted samples.

    Parameters
    ----------
    distances : array (N, N)
    codes : int array (N,)
    rows : array (N,)
        How many equal rows each sample stands for.
    n_neighbors, miss
        As there.

    Returns
    -------
    array (N, N)
        In each row hits sum to -1 and misses to 1; all 0 for a sample without another hit.
    """
    n, classes = len(codes), np.arange(codes.max() + 1)
    totals = np.bincount(codes, rows)
    pooled = miss == "nearest" and not _shares(n_neighbors)
    share = _miss_shares(totals, miss)
    order = np.argsort(distances, axis=1, kind="stable")
    near = distances < _radii(distances, rows, n_neighbors) if is_radius(n_neighbors) else None
    signed = np.zeros((n, n))
    same, itself = np.equal.outer(codes, codes), np.eye(n, dtype=bool)
    groups = [~same] if pooled else [np.broadcast_to(codes == c, (n, n)) & ~same for c in classes]
    hits = same & ~itself
    for number, members in enumerate([hits, *groups]):
        there = np.where(members, rows, 0.0)
        if near is None:
            there = _nearest(there, order, _limits(n_neighbors, there))
        else:
            there = np.where(near, there, 0.0)
        total = there.sum(axis=1, keepdims=True)
        sign = -1.0 if number == 0 else 1.0 if pooled else share[codes, number - 1][:, None]
        signed += sign * np.divide(there, total, out=np.zeros((n, n)), where=total > 0)
    return signed * (np.where(hits, rows, 0.0).sum(axis=1) > 0)[:, None]


def _nearest(there: np.ndarray, order: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return the weights of each row's nearest samples, cut so that they sum to the row's limit."""
    sorted_rows = np.take_along_axis(there, order, axis=1)
    before = np.cumsum(sorted_rows, axis=1) - sorted_rows
    taken = np.clip(limits[:, None] - before, 0.0, sorted_rows)
    out = np.empty(there.shape)
    np.put_along_axis(out, order, taken, axis=1)
    return out


def _limits(n_neighbors: float | str, there: np.ndarray) -> np.ndarray:
    if not _shares(n_neighbors):
        return np.full(len(there), float(n_neighbors))
    return np.maximum(np.floor(float(n_neighbors) * there.sum(axis=1) + 0.5), 1.0)


def _shares(n_neighbors: float | str) -> bool:
    return not isinstance(n_neighbors, str) and is_share(n_neighbors)


def _miss_shares(totals: np.ndarray, miss: str) -> np.ndarray:
    """Return weights of miss classes, a row per own class: by totals, or equal if "uniform"."""
    weight = np.broadcast_to(totals > 0 if miss == "uniform" else totals, (len(totals),) * 2)
    weight = np.where(np.eye(len(totals), dtype=bool), 0.0, weight)
    return weight / np.maximum(weight.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _radii(distances: np.ndarray, rows: np.ndarray, radius: float | str) -> np.ndarray:
    if radius == "surf":
        return np.full((len(rows), 1), rows @ distances @ rows / rows.sum() ** 2)
    others = np.where(np.eye(len(rows), dtype=bool), 0.0, rows)
    total = others.sum(axis=1)
    mean = (others * distances).sum(axis=1) / total
    spread = np.sqrt((others * (distances - mean[:, None]) ** 2).sum(axis=1) / total)
    return (mean - spread / 2.0)[:, None]
