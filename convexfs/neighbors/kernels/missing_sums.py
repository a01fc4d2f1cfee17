"""Compiled loops over pairs of samples of which some values are missing.

A difference is ``seen_n seen_i min(|x_n - x_i|, cap)``: `seen` is 1 where a value is there and
0 where it is not, and the cap of a category, whose codes are one scale apart or more, makes
any two of them differ alike; that of a number is infinite.
"""

import numpy as np

from convexfs.kernels import compiled

#: Features processed together, whose sums stay in the L1 cache.
_TILE = 256

# Allow reordering of sums for vector instructions, but keep NaN.
_FAST = {"reassoc", "contract", "nsz"}


@compiled(fastmath=_FAST)
def add_seen_distances(x, cap, start, stop, out):
    """Add the distances of rows [start, stop) from later rows, over observed values, to `out`.

    Here x is NaN where a value is missing: nothing else need be looked up.
    """
    n, n_features = x.shape
    for first in range(0, n_features, _TILE):
        tile, most = x[:, first : first + _TILE].copy(), cap[first : first + _TILE].copy()
        width = len(most)
        for a in range(start, stop):
            xa = tile[a]
            for b in range(a + 1, n):
                xb = tile[b]
                total = 0.0
                for t in range(width):
                    apart = abs(xa[t] - xb[t])
                    # Comparisons with NaN are false, so that a missing value adds 0.
                    apart = most[t] if apart > most[t] else apart
                    total += apart if apart >= 0.0 else 0.0
                out[a, b] += total


@compiled(fastmath=_FAST)
def seen_sums(x, seen, cap, starts, others, weight, first_row, out):
    """``out[r, j] = sum_i weight_ni difference_j(n, i)`` with n = first_row + r."""
    n_features = x.shape[1]
    for first in range(0, n_features, _TILE):
        tile, there = x[:, first : first + _TILE].copy(), seen[:, first : first + _TILE].copy()
        most = cap[first : first + _TILE].copy()
        width = len(most)
        total = np.empty(width)
        for row in range(len(out)):
            n = first_row + row
            xn, own = tile[n], there[n]
            total[:] = 0.0
            for k in range(starts[n], starts[n + 1]):
                xi, other, a = tile[others[k]], there[others[k]], weight[k]
                for t in range(width):
                    total[t] += a * own[t] * other[t] * min(abs(xn[t] - xi[t]), most[t])
            for t in range(width):
                out[row, first + t] = total[t]


@compiled(fastmath=_FAST)
def seen_means(x, seen, cap, starts, others, weight, first_row, by_share, out):
    """Set ``out[r, j]`` to the mean difference from misses minus that from hits, both observed.

    A side counts as much as its weights add up to, seen or not, and is 0 without any. With
    `by_share` a margin is multiplied by the harmonic mean of the shares seen of both sides.
    """
    n_features = x.shape[1]
    for first in range(0, n_features, _TILE):
        tile, there = x[:, first : first + _TILE].copy(), seen[:, first : first + _TILE].copy()
        most = cap[first : first + _TILE].copy()
        width = len(most)
        sums, masses, whole = np.empty((2, width)), np.empty((2, width)), np.empty(2)
        for row in range(len(out)):
            n = first_row + row
            xn, own = tile[n], there[n]
            sums[:], masses[:], whole[:] = 0.0, 0.0, 0.0
            for k in range(starts[n], starts[n + 1]):
                xi, other, a = tile[others[k]], there[others[k]], abs(weight[k])
                side = 0 if weight[k] < 0 else 1
                total, mass = sums[side], masses[side]
                whole[side] += a
                for t in range(width):
                    both = a * own[t] * other[t]
                    total[t] += both * min(abs(xn[t] - xi[t]), most[t])
                    mass[t] += both
            for t in range(width):
                hits, misses = masses[0, t], masses[1, t]
                near = whole[0] * sums[0, t] / hits if hits > 0 else 0.0
                far = whole[1] * sums[1, t] / misses if misses > 0 else 0.0
                counts = 1.0
                if by_share:
                    # Multiply by the harmonic mean of both fractions, or by 0 if one is 0.
                    either = hits * whole[1] + misses * whole[0]
                    counts = 2.0 * hits * misses / either if either > 0 else 0.0
                out[row, first + t] = counts * (far - near)


@compiled(fastmath=_FAST)
def mean_differences(x, order, count, groups, out):
    """``out[k, j, i]``: mean difference of ``x[j, i]`` from all other values of group k.

    Those with a value are ``order[j, : count[j]]``, in its order; NaN where group k has no other.
    """
    n_groups = len(out)
    number, total = np.empty(n_groups), np.empty(n_groups)
    below, sums = np.empty(n_groups), np.empty(n_groups)
    for j in range(len(x)):
        number[:], total[:], below[:], sums[:] = 0.0, 0.0, 0.0, 0.0
        for i in order[j, : count[j]]:
            number[groups[i]] += 1.0
            total[groups[i]] += x[j, i]
        for i in order[j, : count[j]]:
            value, own = x[j, i], groups[i]
            below[own] += 1.0
            sums[own] += value
            for k in range(n_groups):
                others = number[k] - 1.0 if k == own else number[k]
                apart = value * (2.0 * below[k] - number[k]) - 2.0 * sums[k] + total[k]
                out[k, j, i] = apart / others if others > 0.0 else np.nan
