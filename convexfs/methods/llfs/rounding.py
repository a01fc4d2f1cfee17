r"""Binary points: the best feasible rounding of a relaxed one, and the best of all sets.

Entries within SNAP of 0 or 1 are taken for it. Of the k others all 2^k roundings are
tried, or many random ones, each entry up with its own value as probability. What is
compared are means of :math:`G(z) = 1/(1+e^{-sz}) - 1/2 + \lambda z` over summed distances
z: least to one set of samples, at least `level` to the other (s = 0 is the linear case).

:func:`best_subset` solves the binary problem itself by depth-first search. Both utilities grow
with every feature added. So a branch ends when U1 reaches the best value known, and need not go
deeper when U2 reaches the level. The number of sets grows as :math:`M^\alpha`: small sizes only.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from convexfs.errors import check_choice
from convexfs.kernels import INNER, compiled

HOW = ("enumerate", "random")
SNAP = 1e-4
#: Up to this many fractional entries all roundings are tried; beyond, random ones.
MOST_ENUMERATED = 12
#: A level counts as reached if U2 is at most this below it; a swap must lower U1 by more.
_LEVEL_TOL = 1e-12

kernel = compiled()
#: Options of functions called by kernels only.
leaf = compiled(**INNER)


def best_rounding(
    f: np.ndarray,
    same: np.ndarray,
    other: np.ndarray,
    s: float,
    lam: float,
    level: float,
    max_features: int,
    how: str = "enumerate",
    n_draws: int = 1000,
    seed: Any = 0,
    allows: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray | None, float]:
    """Return the feasible rounding of f of least U1 and that U1; (None, infinity) if none.

    Parameters
    ----------
    f : array (M,)
    same, other : array (n, M)
        Distances by feature.
    s, lam, level : float
    max_features : int
    how : {"enumerate", "random"}
    n_draws, seed
        Of the random roundings.
    allows : callable, optional
        Takes an array of sets, one per row; returns which are allowed.

    Returns
    -------
    mask, value
        None and infinity if no rounding is feasible.
    """
    check_choice("rounding", how, HOW)
    open_ = np.flatnonzero((f > SNAP) & (f < 1.0 - SNAP))
    n_open = len(open_)
    if how == "enumerate" and n_open <= MOST_ENUMERATED:
        patterns = _all_patterns(n_open)
    else:
        draws = np.random.default_rng(seed).random((n_draws, n_open))
        patterns = np.unique(draws < f[open_], axis=0)
    mask = f >= 1.0 - SNAP
    if allows is not None:
        sets = np.repeat(mask[None], len(patterns), axis=0)
        sets[:, open_] = patterns
        patterns = patterns[allows(sets)]
    sums = _sum_of(same, mask), _sum_of(other, mask)
    value = _fill_in(mask, open_, patterns, same, other, *sums, s, lam, level, max_features)
    return (mask, value) if value < np.inf else (None, np.inf)


def swap_search(
    mask: np.ndarray,
    same: np.ndarray,
    other: np.ndarray,
    s: float,
    lam: float,
    level: float,
    max_features: int,
) -> tuple[np.ndarray, float]:
    """Make the best addition, removal or swap while U1 falls; return the mask and U1."""
    mask = mask.copy()
    value = np.inf
    while True:
        sums = _sum_of(same, mask), _sum_of(other, mask)
        out, into, lower = _best_change(mask, same, other, *sums, s, lam, level, max_features)
        if lower >= value - _LEVEL_TOL:
            return mask, float(value)
        value = lower
        if out >= 0:
            mask[out] = False
        if into >= 0:
            mask[into] = True


def best_subset(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: float,
    max_features: int,
    known: float = np.inf,
) -> tuple[np.ndarray | None, float, int]:
    """Return the set of least U1 below `known` (mask or None), its U1, and the sets visited.

    Features are tried from the least U1 upwards, which finds good sets early.
    """
    spread = a_same.mean(axis=0)
    order = np.argsort(spread, kind="stable")
    same = np.ascontiguousarray(a_same.T[order])
    other = np.ascontiguousarray(a_other.T[order])
    best, value, visited = _search(same, other, s, lam, eps, int(max_features), float(known))
    if best[0] < 0:
        return None, float(known), visited
    mask = np.zeros(a_same.shape[1], dtype=bool)
    mask[order[best[best >= 0]]] = True
    return mask, value, visited


def _sum_of(a: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Add up the columns of a set, one after the other."""
    z = np.zeros(len(a))
    for m in np.flatnonzero(mask):
        z += a[:, m]
    return z


@leaf
def _mean_utility(z, s, lam):
    total = 0.0
    for j in range(z.size):
        total += 1.0 / (1.0 + np.exp(-s * z[j])) - 0.5 + lam * z[j]
    return total / z.size


@leaf
def _utility_with(base, a, features, pattern, s, lam):
    """Return the mean utility after adding a pattern's features to the sums `base`."""
    total = 0.0
    for j in range(base.size):
        z = 0.0
        for q in range(features.size):
            if pattern[q]:
                z += a[j, features[q]]
        z += base[j]
        total += 1.0 / (1.0 + np.exp(-s * z)) - 0.5 + lam * z
    return total / base.size


@kernel
def _fill_in(
    mask, features, patterns, same, other, base_same, base_other, s, lam, level, max_features
):
    """Write the best feasible of `patterns` into mask; return its U1, infinity if none."""
    whole = 0
    for m in range(mask.size):
        whole += mask[m]
    best, least = -1, np.inf
    for p in range(patterns.shape[0]):
        size = whole
        for q in range(features.size):
            size += patterns[p, q]
        if size < 1 or size > max_features:
            continue
        value = _utility_with(base_same, same, features, patterns[p], s, lam)
        if value >= least:
            continue
        reached = _utility_with(base_other, other, features, patterns[p], s, lam)
        if reached >= level - _LEVEL_TOL:
            best, least = p, value
    if best >= 0:
        for q in range(features.size):
            mask[features[q]] = patterns[best, q]
    return least


@kernel
def _best_change(mask, same, other, z_same, z_other, s, lam, level, max_features):
    """Return the features to drop and to add (-1: none), and the value after the change."""
    chosen = np.flatnonzero(mask)
    best_out = best_in = -1
    least = _mean_utility(z_same, s, lam)
    for o in range(-1, chosen.size):
        out = -1 if o < 0 else chosen[o]
        for into in range(-1, mask.size):
            size = chosen.size - (out >= 0) + (into >= 0)
            if (into >= 0 and mask[into]) or not 1 <= size <= max_features:
                continue
            new_same, new_other = z_same.copy(), z_other.copy()
            if out >= 0:
                new_same -= same[:, out]
                new_other -= other[:, out]
            if into >= 0:
                new_same += same[:, into]
                new_other += other[:, into]
            value = _mean_utility(new_same, s, lam)
            if value < least and _mean_utility(new_other, s, lam) >= level - _LEVEL_TOL:
                best_out, best_in, least = out, into, value
    return best_out, best_in, least


@kernel
def _search(same, other, s, lam, eps, max_features, known):
    """Return the best set's features (-1 pads), its U1 or `known`, and how many sets were tried."""
    n_features = same.shape[0]
    z1 = np.zeros((max_features + 1, same.shape[1]))
    z2 = np.zeros((max_features + 1, other.shape[1]))
    chosen = np.full(max_features, -1)
    best = np.full(max_features, -1)
    depth = visited = 0
    while depth >= 0:
        chosen[depth] += 1
        m = chosen[depth]
        if m >= n_features:
            depth -= 1
            continue
        visited += 1
        z1[depth + 1] = z1[depth] + same[m]
        u1 = _mean_utility(z1[depth + 1], s, lam)
        if u1 >= known:
            continue
        z2[depth + 1] = z2[depth] + other[m]
        if _mean_utility(z2[depth + 1], s, lam) >= eps - _LEVEL_TOL:
            known = u1
            best[:] = -1
            best[: depth + 1] = chosen[: depth + 1]
        elif depth + 1 < max_features:
            depth += 1
            chosen[depth] = m
    return best, known, visited


@lru_cache(maxsize=MOST_ENUMERATED + 1)
def _all_patterns(k: int) -> np.ndarray:
    return (np.arange(1 << k)[:, None] >> np.arange(k)) & 1 == 1
