"""Compiled loops over pairs of samples of which some values are missing.

A difference is ``seen_n seen_i min(|x_n - x_i|, cap)``: `seen` is 1 where a value is there and
0 where it is not, and the cap of a category, whose codes are one scale apart or more, makes
any two of them differ alike; that of a number is infinite.
"""

import numpy as np

from convexfs.compiling import compiled

#: Features visited together: their sums then stay in the L1 cache.
_TILE = 256

# Sums may be reordered, so that they use vector instructions; NaN stays NaN.
_FAST = {"reassoc", "contract", "nsz"}


@compiled(fastmath=_FAST)
def add_seen_distances(x, seen, cap, start, stop, out):
    """Add the summed differences of rows [start, stop) to later rows to `out`."""
    n, n_features = x.shape
    for first in range(0, n_features, _TILE):
        last = min(first + _TILE, n_features)
        for a in range(start, stop):
            for b in range(a + 1, n):
                total = 0.0
                for j in range(first, last):
                    both = seen[a, j] * seen[b, j]
                    total += both * min(abs(x[a, j] - x[b, j]), cap[j])
                out[a, b] += total


@compiled(fastmath=_FAST)
def seen_sums(x, seen, cap, starts, others, weight, first_row, out):
    """``out[r, j] = sum_i weight_ni difference_j(n, i)`` with n = first_row + r."""
    n_features = x.shape[1]
    for row in range(len(out)):
        n = first_row + row
        for k in range(starts[n], starts[n + 1]):
            i, a = others[k], weight[k]
            for j in range(n_features):
                both = seen[n, j] * seen[i, j]
                out[row, j] += a * both * min(abs(x[n, j] - x[i, j]), cap[j])


@compiled(fastmath=_FAST)
def seen_means(x, seen, cap, starts, others, weight, first_row, least, out):
    """Mean difference from the misses minus that from the hits, over pairs both seen.

    A side counts as much as its weights add up to, seen or not. With ``least >= 0`` a margin
    is 0 unless more than this share of the weight of either side is seen; otherwise a side
    without any is 0 by itself.
    """
    n_features = x.shape[1]
    sums = np.empty((4, _TILE))
    for row in range(len(out)):
        n = first_row + row
        hits = misses = 0.0
        for k in range(starts[n], starts[n + 1]):
            if weight[k] < 0:
                hits -= weight[k]
            else:
                misses += weight[k]
        for first in range(0, n_features, _TILE):
            width = min(_TILE, n_features - first)
            sums[:] = 0.0
            for k in range(starts[n], starts[n + 1]):
                i, a = others[k], abs(weight[k])
                side = 0 if weight[k] < 0 else 2
                for t in range(width):
                    j = first + t
                    both = a * seen[n, j] * seen[i, j]
                    sums[side, t] += both * min(abs(x[n, j] - x[i, j]), cap[j])
                    sums[side + 1, t] += both
            for t in range(width):
                near = sums[0, t] * hits / sums[1, t] if sums[1, t] > 0 else 0.0
                far = sums[2, t] * misses / sums[3, t] if sums[3, t] > 0 else 0.0
                few = sums[1, t] <= least * hits or sums[3, t] <= least * misses
                out[row, first + t] = 0.0 if least >= 0 and few else far - near
