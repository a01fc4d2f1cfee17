r"""How much two samples differ in a feature, where values are missing or are categories.

All that the RELIEF family needs of samples are differences :math:`\phi_j(n, i) \ge 0`:
distances :math:`d_{ni} = \sum_j w_j \phi_j(n, i)` and margins
:math:`z_{nj} = \sum_i A_{ni} \phi_j(n, i)`, with A > 0 for misses and < 0 for hits. Whatever
they are, the problems in w stay what they are, and as convex.

Of two values that are there, :math:`\phi = |x - x'|`, of categories :math:`[x \ne x']`. Where
one is missing, or both, a rule says what stands for it. With V, V' drawn from the values of
the feature that are there:

========== =========================================== ====================================
rule       in distances                                in margins
========== =========================================== ====================================
hybrid     E|x - V|, both missing E|V - V'|            means over the neighbours seen, which
                                                       count by the share that is seen
class      the same, V of the class of the sample      as in distances
           that lacks it (Kononenko 1994)
observed   mean over the features both have, times     means over the neighbours seen, hits
           their number                                and misses each for themselves
========== =========================================== ====================================

Under "hybrid" a missing value neither attracts nor repels. The mean difference from the misses
minus that from the hits is multiplied by the harmonic mean of the shares seen of either: the
variance of a difference of two means goes by the sum of their inverses, so that a margin of
which little is seen counts little. Without this, margins of noise that is missing by class
scatter more than at permuted labels, and a test takes them for a signal. With it RELIEF-F found
something at 5 % in 5.8 ± 1.2 % of 400 sets of noise (120 samples, 40 features, in five of which
one class lacked 70 % and the other 10 %), by "observed" in 7.5 ± 1.3 %; "class" reads the labels
and finds such columns all the same (``bench_missing.py --rules hybrid observed``). Logo's
test of the whole found something in 23 of 400 such sets, and in 10 of 83 tried before: 6.8 ± 1.1 %
together (``--null-logo 400``).

Scale: with "observed" a number is divided by its range. Otherwise numbers are taken as they
are, unless there are categories: then every feature is divided by its mean difference
``E|V - V'|``, so that two random samples differ by 1 in each, number or category.

With "observed" RELIEF's margins, divided by the number of samples, are the scores of
scikit-rebate (0.8.4) for two classes of numbers or of categories, with or without missing
values, and those of categories beside numbers where values are missing. It departs from itself
elsewhere, and is not followed there:

- Numbers and categories without a missing value: its distance counts a category as often as
  features go into categories; one missing cell, and it counts once.
- A number that is constant has a score of NaN; here 0.
- Beside a category a number's difference above its deviation counts as 1; alone it does not.
- SURF's mean distance takes in a triangle of zeros as soon as a value is missing, which halves
  the radius.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convexfs.neighbors.kernels import missing_sums as kernels

#: Most numbers of an array that is processed at a time; 16 MB.
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True)
class Expected:
    """Expected differences of a value from a missing one, and of two missing ones.

    Attributes
    ----------
    groups : int array (N,)
        The group that a sample's missing values are drawn from.
    one : array (K, N, J)
        Of a value from those of each group; 0 where the value is itself missing.
    both : array (K, K, J)
        Of two values of two groups.
    """

    groups: np.ndarray
    one: np.ndarray
    both: np.ndarray

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> "Expected":
        """Return an instance without groups, for the rule "observed", which needs none."""
        return cls(np.zeros(shape[0], np.int64), np.empty((0, *shape)), np.empty((0, 0, shape[1])))

    def columns(self, index: Any) -> "Expected":
        return Expected(self.groups, self.one[:, :, index], self.both[:, :, index])


@dataclass(frozen=True)
class NeighborLists:
    """Signed weights of pairs: the neighbours of n are ``others[starts[n]:starts[n + 1]]``."""

    starts: np.ndarray
    others: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, signed: np.ndarray, index: np.ndarray | None = None) -> "NeighborLists":
        """Make lists from a matrix (N, N), or from neighbours ``index`` (N, M) with weights."""
        row, place = np.nonzero(signed)
        others = place if index is None else index[row, place]
        starts = np.searchsorted(row, np.arange(len(signed) + 1))
        return cls(starts, others.astype(np.int64), np.ascontiguousarray(signed[row, place]))

    def matrix(self, start: int, stop: int) -> Any:
        """Return the weights of rows [start, stop) as a sparse matrix (stop - start, N)."""
        from scipy.sparse import csr_array

        first, last = self.starts[start], self.starts[stop]
        starts = self.starts[start : stop + 1] - first
        shape = (stop - start, len(self.starts) - 1)
        return csr_array((self.weight[first:last], self.others[first:last], starts), shape=shape)


@dataclass(frozen=True, eq=False)
class MixedSamples:
    """Samples with missing values or categories; make them with :func:`mixed_samples`.

    They stand where the matrix of samples stands otherwise, and are not to be changed.

    Attributes
    ----------
    x : array (N, J)
        Values on their common scale, codes of categories too; 0 where they are missing.
    seen : array (N, J)
        1 where there is a value, 0 where it is missing.
    cap : array (J,)
        Largest difference: of a category its scale, of a number infinite.
    centre, scale : arrays (J,)
        What was taken off the values, which were then multiplied.
    rule : str
        One of :data:`convexfs.data.dataset.MISSING_RULES`.
    expected : Expected
    """

    x: np.ndarray
    seen: np.ndarray
    cap: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    rule: str
    expected: Expected

    @property
    def shape(self) -> tuple[int, int]:
        return self.x.shape  # type: ignore[return-value]

    @property
    def size(self) -> int:
        return self.x.size

    def __len__(self) -> int:
        return len(self.x)

    def copy(self) -> "MixedSamples":
        """Return the samples themselves, which are never changed."""
        return self

    def __getitem__(self, key: tuple[slice, Any]) -> "MixedSamples":
        """Return the samples restricted to some features, by ``samples[:, index]``."""
        index = key[1]
        x, seen = (np.ascontiguousarray(whole[:, index]) for whole in (self.x, self.seen))
        cap, centre, scale = (whole[index] for whole in (self.cap, self.centre, self.scale))
        expected = self.expected.columns(index)
        return MixedSamples(x, seen, cap, centre, scale, self.rule, expected)

    @property
    def spread(self) -> np.ndarray:
        """Return each feature's range over the observed values; at most the cap of a category."""
        low = np.where(self.seen > 0, self.x, np.inf).min(axis=0)
        high = np.where(self.seen > 0, self.x, -np.inf).max(axis=0)
        return np.minimum(np.maximum(high - low, 0.0), self.cap)

    def distances(
        self, weights: np.ndarray | None = None, map: Callable[..., Any] = map
    ) -> np.ndarray:
        """Return ``d_ni = sum_j w_j phi_j(n, i)`` between all samples; weights default to 1."""
        w = np.ones(self.shape[1]) if weights is None else weights
        x, cap = np.where(self.seen > 0, self.x * w, np.nan), _times(self.cap, w)
        d = np.zeros((len(self), len(self)))

        def add(block: tuple[int, int]) -> None:
            kernels.add_seen_distances(x, cap, *block, d)

        list(map(add, self.row_blocks(len(self))))
        d += d.T
        if self.rule == "observed":
            return as_if_all_seen(d, (self.seen * w) @ self.seen.T, float(w.sum()))
        return self._with_expected_distances(d, w)

    def _with_expected_distances(self, d: np.ndarray, w: np.ndarray) -> np.ndarray:
        incomplete = self._incomplete
        if not len(incomplete):
            return d
        gone, expected = 1.0 - self.seen[:, incomplete], self.expected.columns(incomplete)
        for group, one in enumerate(expected.one):
            of_group = np.flatnonzero(expected.groups == group)
            half = (one * w[incomplete]) @ gone[of_group].T
            d[:, of_group] += half
            d[of_group] += half.T
            for other, both in enumerate(expected.both[group]):
                with_other = np.flatnonzero(expected.groups == other)
                lacking = (gone[of_group] * (w[incomplete] * both)) @ gone[with_other].T
                d[np.ix_(of_group, with_other)] += lacking
        np.fill_diagonal(d, 0.0)
        return d

    def margins(self, signed: "np.ndarray | NeighborLists") -> np.ndarray:
        """Return the margins ``z_nj = sum_i A_ni phi_j(n, i)``, array (N, J)."""
        lists = signed if isinstance(signed, NeighborLists) else NeighborLists.of(signed)
        return self._margin_rows((0, len(self)), lists)

    def margin_sum(self, lists: NeighborLists, map: Callable[..., Any] = map) -> np.ndarray:
        """Return the margin vector ``sum_n z_nj``, one number per feature."""

        def partial_sum(block: tuple[int, int]) -> np.ndarray:
            return self._margin_rows(block, lists).sum(axis=0)

        return np.sum(list(map(partial_sum, self.row_blocks(self.shape[1]))), axis=0)

    def scores(
        self, signed: np.ndarray, p: np.ndarray, map: Callable[..., Any] = map
    ) -> np.ndarray:
        """Return the scores ``c_j = sum_n p_n z_nj``, one number per feature."""
        lists = NeighborLists.of(signed)
        step = max(1, _BLOCK_CELLS // len(self))
        cuts = [slice(start, start + step) for start in range(0, self.shape[1], step)]
        parts = map(partial(self._block_scores, lists=lists, p=p), cuts)
        return np.concatenate([np.empty(0), *parts])

    def _block_scores(self, cut: slice, lists: NeighborLists, p: np.ndarray) -> np.ndarray:
        return p @ self[:, cut].margins(lists)

    def _margin_rows(self, block: tuple[int, int], lists: NeighborLists) -> np.ndarray:
        z = np.zeros((block[1] - block[0], self.shape[1]))
        given = (self.x, self.seen, self.cap, lists.starts, lists.others, lists.weight, block[0])
        if self.rule == "class":
            kernels.seen_sums(*given, z)
            self._add_expected_margins(z, block, lists)
        else:
            kernels.seen_means(*given, self.rule == "hybrid", z)
        return z

    def _add_expected_margins(
        self, z: np.ndarray, block: tuple[int, int], lists: NeighborLists
    ) -> None:
        incomplete = self._incomplete
        if not len(incomplete):
            return
        rows, signed = slice(*block), lists.matrix(*block)
        gone, expected = 1.0 - self.seen[:, incomplete], self.expected.columns(incomplete)
        lacking, own = gone[rows], expected.groups[rows]
        more = np.zeros(lacking.shape)
        for group, one in enumerate(expected.one):
            of_group = expected.groups == group
            lacked = signed @ np.where(of_group[:, None], gone, 0.0)
            more += one[rows] * lacked + lacking * expected.both[own, group] * lacked
            mine = own == group
            more[mine] += (lacking * (signed @ one))[mine]
        z[:, incomplete] += more

    @property
    def _incomplete(self) -> np.ndarray:
        """Return the indices of the features with a missing value."""
        return np.flatnonzero(self.seen.min(axis=0) == 0)

    def row_blocks(self, width: int) -> list[tuple[int, int]]:
        """Return ranges (start, stop) of rows of which `width` numbers each fit a small buffer."""
        step = max(1, _BLOCK_CELLS // max(width, 1))
        return [(start, min(start + step, len(self))) for start in range(0, len(self), step)]


def mixed_samples(values: np.ndarray, categorical: np.ndarray, rule: str) -> MixedSamples:
    """Make samples: centre values; scale them if the rule is "observed" or if there are categories.

    Parameters
    ----------
    values : array (N, J)
        Numbers, and integers as codes of categories; NaN where one is missing.
    categorical : bool array (J,)
    rule : {"hybrid", "class", "observed"}
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    gone = np.isnan(values)
    seen = np.ascontiguousarray(1.0 - gone)
    count = np.maximum(seen.sum(axis=0), 1.0)
    # Centring leaves differences unchanged; rounding is then relative to the spread.
    centre = np.where(categorical, 0.0, np.where(gone, 0.0, values).sum(axis=0) / count)
    x = np.where(gone, 0.0, values - centre)
    cap = np.where(categorical, 1.0, np.inf)
    none = np.ones(x.shape[1])
    expected = Expected.nothing(x.shape) if rule == "observed" else _expected(x, seen, cap)
    unscaled = MixedSamples(x, seen, cap, centre, none, rule, expected)
    if rule == "observed":
        size = np.where(categorical, 1.0, unscaled.spread)
    elif categorical.any():
        size = expected.both[0, 0]
    else:
        return unscaled
    scale = 1.0 / np.where(size > 0, size, 1.0)
    x, cap = x * scale, np.where(categorical, scale, np.inf)
    expected = Expected(expected.groups, expected.one * scale, expected.both * scale)
    return MixedSamples(x, seen, cap, centre, scale, rule, expected)


def of_classes(X: Any, codes: np.ndarray) -> Any:
    """Return samples with expectations by class if their rule is "class"; else return `X` as is."""
    if not isinstance(X, MixedSamples) or X.rule != "class":
        return X
    return replace(X, expected=_expected(X.x, X.seen, X.cap, codes))


def _expected(
    x: np.ndarray, seen: np.ndarray, cap: np.ndarray, codes: np.ndarray | None = None
) -> Expected:
    """Return expected differences from the observed values, by class if class labels are given."""
    everyone = np.zeros(len(x), np.int64)
    groups = everyone if codes is None else codes
    one = _from_others(x, seen, cap, groups)
    if np.isnan(one).any():
        # A class without an observed value uses the values of all classes.
        one = np.nan_to_num(np.where(np.isnan(one), _from_others(x, seen, cap, everyone), one))
    member = np.eye(len(one))[groups].T
    count = member @ seen
    # Samples that lack the feature add nothing, because `one` is 0 there.
    mean = one.sum(axis=1) / np.maximum(seen.sum(axis=0), 1.0)
    both = np.where(count > 0, (member @ one) / np.maximum(count, 1.0), mean[:, None])
    return Expected(groups, one, np.ascontiguousarray(both.swapaxes(0, 1)))


def _from_others(
    x: np.ndarray, seen: np.ndarray, cap: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Return each value's mean difference from the others of each group, (K, N, J); NaN without."""
    by_feature = np.ascontiguousarray(x.T)
    order = np.argsort(np.where(seen.T > 0, by_feature, np.inf), axis=1)
    one = np.zeros((int(groups.max()) + 1, *by_feature.shape))
    kernels.mean_differences(by_feature, order, seen.sum(axis=0).astype(np.int64), groups, one)
    one = np.ascontiguousarray(one.swapaxes(1, 2))
    for j in np.flatnonzero(np.isfinite(cap)):
        one[:, :, j] = cap[j] * _shares_of_others(x[:, j], seen[:, j] > 0, groups)
    return one


def _shares_of_others(x: np.ndarray, seen: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the fraction of each group's other samples with another category, array (K, N)."""
    values, codes = np.unique(x, return_inverse=True)
    table = np.zeros((groups.max() + 1, len(values)))
    np.add.at(table, (groups[seen], codes[seen]), 1.0)
    own = groups == np.arange(len(table))[:, None]
    others = table.sum(axis=1)[:, None] - own
    differing = table.sum(axis=1)[:, None] - table[:, codes]
    share = np.divide(differing, others, out=np.full(own.shape, np.nan), where=others > 0)
    return np.where(seen, share, 0.0)


def as_if_all_seen(d: np.ndarray, seen: np.ndarray, all_seen: float) -> np.ndarray:
    """Scale distances from observed to total weight; pairs with none observed get the largest."""
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = np.where(seen > 0, d / seen, np.nan)
    farthest = np.nanmax(whole) if np.isfinite(whole).any() else 0.0
    return np.where(np.isnan(whole), farthest, whole) * all_seen


def _times(cap: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return caps times weights; infinite caps stay infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(cap), np.inf, cap * w)
