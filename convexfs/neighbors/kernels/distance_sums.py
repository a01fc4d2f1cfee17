"""Compiled loops that add up distances between samples, Manhattan or squared Euclidean.

A vector instruction takes one feature of many samples. Hence a distance is the sum of its terms
in the order of the features, 128 at a time, and no other: it is the same number on every
processor, whatever rows stand around it, and equal samples are equally far from any other.
Matrices (samples, features) are C-contiguous, in float64. All loops release the GIL, and share
one file because numba's cache does not notice an edit in another one.

:func:`rough_between` computes in float32 in any order, about twice as fast, with a known bound.
"""

import numpy as np

from convexfs.kernels import compiled

#: Features whose terms are summed before they are added to those of others.
FEATURES = 128
#: Rows and columns of a tile of distances, which then stays in the L2 cache.
_SIDE = 128
#: Features a sweep: the running sum is loaded and stored once for them.
SWEEP = 4
#: Samples whose values lie in one line of the cache.
_LINE = 8
#: Features per float32 sum in any order, and float32 numbers per register.
ROUGH_FEATURES = 512
_REGISTER = 16


@compiled()
def add_tiles(values, others, start, same, squared, out):
    """Add the distances of samples from `start` on from all others to the rows of `out`.

    Samples are columns; the number of features is a multiple of `SWEEP`. With `same` both are
    the same samples, and only distances from later ones are added. `squared` is True or None:
    only the used branch is compiled.
    """
    # The compiler must see the allocation, to know that sums overlap with no values.
    sums = np.empty((_SIDE, _SIDE))
    for row in range(0, len(out), _SIDE):
        height = min(_SIDE, len(out) - row)
        for column in range(start + row if same else 0, others.shape[1], _SIDE):
            half, stop = same and column == start + row, min(column + _SIDE, others.shape[1])
            for a in range(height):
                sums[a] = 0.0
            for j in range(0, len(values), SWEEP):
                v0, v1, v2, v3 = values[j], values[j + 1], values[j + 2], values[j + 3]
                o0, o1, o2, o3 = others[j], others[j + 1], others[j + 2], others[j + 3]
                for a in range(height):
                    first = column + (a - a % _LINE if half else 0)
                    n = start + row + a
                    x0, x1, x2, x3 = v0[n], v1[n], v2[n], v3[n]
                    y0, y1, y2, y3 = o0[first:stop], o1[first:stop], o2[first:stop], o3[first:stop]
                    total = sums[a, first - column : stop - column]
                    for b in range(len(total)):
                        d0, d1, d2, d3 = x0 - y0[b], x1 - y1[b], x2 - y2[b], x3 - y3[b]
                        if squared is None:
                            total[b] = total[b] + abs(d0) + abs(d1) + abs(d2) + abs(d3)
                        else:
                            total[b] = total[b] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
            for a in range(height):
                first = a + 1 if half else 0
                line, total = out[row + a, column + first : stop], sums[a, first:]
                for b in range(len(line)):
                    line[b] += total[b]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def rough_between(some, rows, same):
    """Return Manhattan distances between some rows and other rows, computed in float32.

    At most ``ROUGH_FEATURES + n_features / ROUGH_FEATURES + 2`` roundings enter a distance. With
    `same` both are the same rows, and each pair is visited once.
    """
    n, m, n_features = len(some), len(rows), some.shape[1]
    out = np.zeros((n + n % 2, m + m % 2), np.float32)
    for first in range(0, n_features, ROUGH_FEATURES):
        last = min(first + ROUGH_FEATURES, n_features)
        width = last - first + (first - last) % _REGISTER
        left = np.zeros((out.shape[0], width), np.float32)
        right = np.zeros((out.shape[1], width), np.float32)
        for a in range(n):
            for j in range(last - first):
                left[a, j] = some[a, first + j]
        for b in range(m):
            for j in range(last - first):
                right[b, j] = rows[b, first + j]
        for a in range(0, n, 2):
            x0, x1, line0, line1 = left[a], left[a + 1], out[a], out[a + 1]
            # Process two rows against two, so that each loaded value serves two differences.
            for b in range(a if same else 0, m, 2):
                y0, y1 = right[b], right[b + 1]
                s00 = s01 = s10 = s11 = np.float32(0)
                for j in range(width):
                    s00 += abs(x0[j] - y0[j])
                    s01 += abs(x0[j] - y1[j])
                    s10 += abs(x1[j] - y0[j])
                    s11 += abs(x1[j] - y1[j])
                line0[b] += s00
                line0[b + 1] += s01
                line1[b] += s10
                line1[b + 1] += s11
    if same:
        for a in range(n):
            for b in range(a):
                out[a, b] = out[b, a]
    return out[:n, :m]
