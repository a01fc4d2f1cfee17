"""Neighbours and margins of samples, as functions of the feature weights."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexfs.methods.logo.newton import Loss
from convexfs.neighbors import feature_blocks
from convexfs.neighbors.missing_gradients import pairs_of
from convexfs.neighbors.missing_values import MixedSamples, of_classes
from convexfs.neighbors.sample_weight import SampleWeights
from convexfs.neighbors.soft import has_hit, signed_probabilities

#: With at most this many columns, unweighted distances are computed from a float64 copy of the
#: data; with more, in float32, block by block.
MOST_COLUMNS = 1000
#: Fewest samples for passes over pairs of them in float32.
_MANY = 300
#: RELIEF's sigma, as a fraction of the largest distance: so small that only the nearest count.
_NEAREST = 1e-9


@dataclass(frozen=True)
class Locality:
    """Samples, labels and sigma, with methods that compute neighbours and margins from weights.

    :func:`convexfs.methods.logo.margins.locality_of` makes one of samples of any kind.

    Attributes
    ----------
    X : array (N, J)
        Any real dtype, in memory or memory-mapped.
    codes : int array (N,)
    sigma : float
    map : callable
        Carries passes over blocks of features.
    known : array (N, N), optional
        Distances with all weights 1, if they are known already.
    weights : SampleWeights, optional
        How much samples count.
    dtype : type
        In which passes over all pairs of samples are computed: float64, or float32 on the way.
    """

    X: Any
    codes: np.ndarray
    sigma: float
    map: Callable[..., Any] = map
    known: np.ndarray | None = None
    weights: SampleWeights | None = None
    dtype: Any = float

    @cached_property
    def plain_distances(self) -> np.ndarray:
        """Return the N x N distances with all feature weights 1; computed once."""
        if self.known is not None:
            return self.known
        if self.X.shape[1] <= MOST_COLUMNS:
            columns = feature_blocks.take_columns(self.X, np.arange(self.X.shape[1]))
            return feature_blocks.weighted_distances(columns, np.ones(self.X.shape[1]), self.dtype)
        return feature_blocks.all_distances(self.X, self.map)

    @property
    def rough(self) -> "Locality":
        """Return a copy that computes in float32 if there are many samples, otherwise itself.

        With infinite sigma one step suffices, because neighbours do not depend on the weights.
        """
        suits = type(self) is Locality and self.sigma < np.inf and len(self.codes) >= _MANY
        return replace(self, dtype=np.float32) if suits else self

    def at_labels(self, codes: np.ndarray) -> "Locality":
        """Return a copy with other labels that reuses the unweighted distances."""
        return replace(self, codes=codes, map=map, known=self.plain_distances)

    @cached_property
    def rows(self) -> np.ndarray:
        """Return the indices of samples that have a margin: another sample shares their class."""
        return np.flatnonzero(has_hit(self.codes))

    def take(self, index: np.ndarray) -> Any:
        """Return some columns of X in the form that `signed` and `margins` need."""
        return feature_blocks.take_columns(self.X, index)

    def signed(self, columns: Any, w: np.ndarray) -> np.ndarray:
        """Return N x N neighbour probabilities at weights w: misses positive, hits negative."""
        used = np.flatnonzero(w)
        return self.signed_at(self.distances(columns[:, used], w[used]))

    def distances(self, columns: Any, w: np.ndarray) -> np.ndarray:
        """Return the N x N distances over a few columns, weighted by w."""
        return feature_blocks.weighted_distances(columns, w, self.dtype)

    def signed_at(self, distances: np.ndarray) -> np.ndarray:
        rows = None if self.weights is None else self.weights.rows
        return signed_probabilities(distances, self.codes, self.sigma, rows)

    def soft_margins(self, distances: np.ndarray, signed: np.ndarray) -> np.ndarray:
        r"""Return each margin's distance to the soft nearest miss minus that to the hit.

        A soft nearest distance is :math:`-\sigma \ln \frac{1}{m} \sum_i e^{-d_i/\sigma}` over m
        samples. It is :math:`d_i + \sigma \ln (m P_i)` at each of them, and taken at the likeliest.
        """
        own, rows = self.rows, np.ones(len(self.codes))
        if self.weights is not None:
            rows = self.weights.rows
        same = np.bincount(self.codes, weights=rows)[self.codes[own]]
        soft = []
        for shares, number in ((signed[own], rows.sum() - same), (-signed[own], same - rows[own])):
            at = shares.argmax(axis=1)
            likely = shares[np.arange(len(own)), at] * number / rows[at]
            soft.append(distances[own, at] + self.sigma * np.log(likely))
        return soft[0] - soft[1]

    @cached_property
    def counts(self) -> np.ndarray | None:
        """Return the loss weights of the samples that have a margin; None if all are 1."""
        return None if self.weights is None else self.weights.terms(self.codes)[self.rows]

    def hit_shares(self, distances: np.ndarray, signed: np.ndarray) -> np.ndarray:
        """Return the probabilities of hits, which `signed` has with a minus."""
        return np.maximum(-signed, 0.0)

    def margins(self, columns: Any, signed: np.ndarray) -> np.ndarray:
        """Return the margin matrix Z of a few columns, one row per sample with a margin."""
        return feature_blocks.margin_columns(columns, signed)[self.rows]

    def seen_from(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return signed neighbour probabilities and margins ``Zw`` at weights of all features."""
        used = np.flatnonzero(w)
        columns = self.take(used)
        signed = self.signed(columns, w[used])
        return signed, self.margins(columns, signed) @ w[used]

    def scores(
        self, signed: np.ndarray, p: np.ndarray, dropped: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the score ``Z'p`` of every feature without computing Z, and an error bound each.

        Pairs of a total mass `dropped` may be left out.
        """
        pairs = feature_blocks.score_pairs(signed, p, dropped)
        return feature_blocks.feature_scores(self.X, pairs, self.map)

    def exact_scores(self, index: np.ndarray, signed: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the scores ``Z'p`` of some features in float64 over all pairs of samples."""
        return feature_blocks.exact_scores(self.X, index, feature_blocks.score_pairs(signed, p))

    def turning(
        self,
        columns: Any,
        w: np.ndarray,
        distances: np.ndarray,
        signed: np.ndarray,
        Z: np.ndarray,
        p: np.ndarray,
        dropped_share: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""Return two sums of margin derivatives in w, as neighbour probabilities depend on w.

        With :math:`t_{njk} = -\sigma \, dz_{nj}/dw_k`, Z the margins and p the pulls of the samples
        that have a margin. The lightest pairs, of this share of the mass, may be left out of what
        is curved.

        Returns
        -------
        curved : array (J, J)
            ``sum_n p_n t_njk``.
        moved : array (n, J)
            ``sum_j w_j t_njk``.
        """
        curved = self.products(columns, signed, p, dropped_share)
        moved = self.margins(columns, signed * distances)
        hits = self.margins(columns, self.hit_shares(distances, signed))
        # Subtract the products of the means: of misses, and with a minus of hits.
        for sign, mean in ((1.0, Z + hits), (-1.0, hits)):
            curved = curved - sign * (mean * p[:, None]).T @ mean
            moved = moved - sign * (mean @ w)[:, None] * mean
        return curved, moved

    def products(
        self, columns: Any, signed: np.ndarray, p: np.ndarray, dropped_share: float
    ) -> np.ndarray:
        """Return ``sum_n p_n sum_i A_ni d d'`` with ``d = |x_n - x_i|``, in these columns."""
        dropped = dropped_share * 2.0 * p.sum()
        pairs = feature_blocks.score_pairs(signed, self.on_all_samples(p), dropped)
        return feature_blocks.pair_products(columns, pairs, self.dtype)

    def on_all_samples(self, p: np.ndarray) -> np.ndarray:
        full = np.zeros(len(self.codes))
        full[self.rows] = p
        return full


def lam_max(locality: Locality) -> float:
    """Return the least lam at which w = 0 is a fixed point: ``max_j sum_n zbar_n(j) / 2``."""
    return float(np.max(entry_scores(locality), initial=0.0))


def entry_scores(locality: Locality) -> np.ndarray:
    """Return the lam below which each feature gets weight at w = 0: ``sum_n zbar_n(j) / 2``."""
    signed = locality.signed_at(np.zeros((len(locality.codes), len(locality.codes))))
    half = np.full(len(locality.rows), 0.5) if locality.counts is None else 0.5 * locality.counts
    return locality.scores(signed, locality.on_all_samples(half))[0]


def relief_margin(locality: Locality) -> np.ndarray:
    """Return RELIEF's margin vector: summed differences to nearest misses minus those to hits."""
    distances = locality.plain_distances
    width = _NEAREST * max(float(distances.max()), np.finfo(float).tiny)
    signed = replace(locality, sigma=width).signed_at(distances)
    once = np.ones(len(locality.codes))
    if locality.weights is not None:
        once = locality.weights.terms(locality.codes)
    return locality.scores(signed, once)[0]


def entry_prices(locality: Locality, w: np.ndarray) -> np.ndarray:
    r"""Return the lam below which each feature would get weight, with neighbours at w.

    :math:`\sum_n \bar z_n(j) / (1 + \exp(w^T \bar z_n))`: at a fixed point it is lam where w is
    positive and at most that elsewhere, so it ranks features of weight zero too.
    """
    signed, margins = locality.seen_from(w)
    pulls = locality.on_all_samples(Loss(counts=locality.counts).pull(margins))
    return locality.exact_scores(np.arange(locality.X.shape[1]), signed, pulls)


class MixedLocality(Locality):
    """Locality of samples in memory with missing values or categorical features."""

    X: MixedSamples

    @cached_property
    def plain_distances(self) -> np.ndarray:
        """Return the N x N distances with all feature weights 1; computed once."""
        return self.X.distances(map=self.map) if self.known is None else self.known

    def at_labels(self, codes: np.ndarray) -> Locality:
        if self.X.rule != "class":
            return super().at_labels(codes)
        return locality_of(self.X, codes, self.sigma, map, weights=self.weights)

    def take(self, index: np.ndarray) -> MixedSamples:
        return self.X[:, index]

    def distances(self, columns: MixedSamples, w: np.ndarray) -> np.ndarray:
        return columns.distances(w)

    def margins(self, columns: MixedSamples, signed: np.ndarray) -> np.ndarray:
        return columns.margins(signed)[self.rows]

    def scores(
        self, signed: np.ndarray, p: np.ndarray, dropped: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.X.scores(signed, p, self.map), np.zeros(self.X.shape[1])

    def exact_scores(self, index: np.ndarray, signed: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self.X[:, index].scores(signed, p, self.map)

    def turning(
        self,
        columns: MixedSamples,
        w: np.ndarray,
        distances: np.ndarray,
        signed: np.ndarray,
        Z: np.ndarray,
        p: np.ndarray,
        dropped_share: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        pulls = self.on_all_samples(p)
        curved, moved = np.zeros((len(w), len(w))), np.zeros(columns.shape)
        for block in columns.row_blocks(columns.size):
            rows = slice(*block)
            pairs = pairs_of(columns, rows, w)
            off = pairs.deviations(signed[rows])
            moved[rows] = ((off @ w)[:, None] @ pairs.slope)[:, 0]
            pulled = (off * pulls[rows, None, None]).reshape(-1, len(w))
            curved += pulled.T @ pairs.slope.reshape(-1, len(w))
        return curved, moved[self.rows]


def locality_of(
    X: Any,
    codes: np.ndarray,
    sigma: float,
    map: Callable[..., Any] = map,
    weights: SampleWeights | None = None,
) -> Locality:
    """Return the Locality of samples, a MixedLocality if they have missing values or categories."""
    kind = MixedLocality if isinstance(X, MixedSamples) else Locality
    return kind(of_classes(X, codes), codes, sigma, map, weights=weights)


#: Number of features that may enter at w = 0 per permutation of the labels, on average.
_ALLOWED = 1
#: The penalty is at least this fraction of the highest score, which matters with few features.
_LEAST = 0.1


def null_penalty(labels: np.ndarray, entry: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the penalty at which one feature per permutation enters on average, or a floor.

    No fit is needed: a feature enters the weights w = 0 if its score is above the penalty.
    Correlated features take each other's place, so that a fit selects about as many or fewer.

    Parameters
    ----------
    labels : array (B, N)
        Permuted labels.
    entry : callable
        From labels to the score of every feature at w = 0.
    """
    number = _ALLOWED * len(labels)
    largest = np.empty(0)
    for row in labels:
        largest = np.append(largest, entry(row))
        if len(largest) > number + 1:
            largest = np.partition(largest, -number - 1)[-number - 1 :]
    highest = max(float(largest.max(initial=0.0)), 0.0)
    allowed = float(largest.min()) if len(largest) > number else 0.0
    # Scores have single precision; round, so that all kinds of samples give equal penalties.
    return float(f"{max(allowed, _LEAST * highest):.4g}") or 1.0
