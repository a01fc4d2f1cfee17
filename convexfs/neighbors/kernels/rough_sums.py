"""Compiled loops over Manhattan distances in float32, and the nearest samples by them.

For any two numbers ``|a - b| = a + b - 2 min(a, b)``: two instructions a term instead of three.
Samples are rows of a C-contiguous matrix in float32, whose width is a multiple of `LANES`. Sums
are of vectors of `LANES` numbers, so that few roundings enter each. All loops release the GIL, and
share one file because numba's cache does not notice an edit in another one.
"""

import numpy as np

from convexfs.kernels import INNER, compiled
from convexfs.neighbors.kernels.vectors import (
    LANES,
    insert_among,
    load,
    plus_least,
    sum_of,
    zeros,
)

#: Most features whose terms are summed before they are added to the total.
FEATURES = 512
#: Samples whose distances from as many others are summed at once.
GROUP = 4
#: Samples that stay in the cache while others pass, and distances that are compared at once with
#: the farthest neighbour.
_SIDE, _FEW = 128, 32


@compiled(fastmath={"reassoc", "contract", "nsz"})
def centre(X, centres, values, sums, sizes):
    """Fill `values` with rows less `centres`; set their sums, and the sums of absolute values."""
    for row in range(len(X)):
        x, out = X[row], values[row]
        total = size = 0.0
        for j in range(len(centres)):
            value = np.float32(x[j] - centres[j])
            out[j] = value
            total += np.float64(value)
            size += np.float64(abs(value))
        sums[row], sizes[row] = total, size


@compiled()
def distances_between(some, rows, n_features, some_sums, row_sums, same, out, across):
    """Fill `out` with Manhattan distances of some rows from others, `across` with its transpose.

    The numbers of rows are multiples of `GROUP`; sums of rows are in float64. With `same` the
    rows are the same, each pair is visited once, and `across` is `out`.
    """
    n, m, blocks = len(some), len(rows), (n_features + FEATURES - 1) // FEATURES
    step = LANES * ((n_features + blocks * LANES - 1) // (blocks * LANES))
    for first in range(0, n_features, step):
        last = min(first + step, n_features)
        for start in range(0, m, _SIDE):
            stop = min(start + _SIDE, m)
            for a in range(0, min(n, stop) if same else n, GROUP):
                x0, x1, x2, x3 = some[a], some[a + 1], some[a + 2], some[a + 3]
                # Process four rows against four, so that each loaded value serves four sums.
                for c in range(max(start, a) if same else start, stop, GROUP):
                    y0, y1, y2, y3 = rows[c], rows[c + 1], rows[c + 2], rows[c + 3]
                    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zeros()
                    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zeros()
                    for j in range(first, last, LANES):
                        u0, u1, u2, u3 = load(x0, j), load(x1, j), load(x2, j), load(x3, j)
                        v = load(y0, j)
                        s00, s10 = plus_least(s00, u0, v), plus_least(s10, u1, v)
                        s20, s30 = plus_least(s20, u2, v), plus_least(s30, u3, v)
                        v = load(y1, j)
                        s01, s11 = plus_least(s01, u0, v), plus_least(s11, u1, v)
                        s21, s31 = plus_least(s21, u2, v), plus_least(s31, u3, v)
                        v = load(y2, j)
                        s02, s12 = plus_least(s02, u0, v), plus_least(s12, u1, v)
                        s22, s32 = plus_least(s22, u2, v), plus_least(s32, u3, v)
                        v = load(y3, j)
                        s03, s13 = plus_least(s03, u0, v), plus_least(s13, u1, v)
                        s23, s33 = plus_least(s23, u2, v), plus_least(s33, u3, v)
                    put_sums(out[a], c, first, s00, s01, s02, s03)
                    put_sums(out[a + 1], c, first, s10, s11, s12, s13)
                    put_sums(out[a + 2], c, first, s20, s21, s22, s23)
                    put_sums(out[a + 3], c, first, s30, s31, s32, s33)
                    if last == n_features:
                        for d in range(a, a + GROUP):
                            for e in range(max(c, d) if same else c, c + GROUP):
                                ends, least = some_sums[d] + row_sums[e], np.float64(out[d, e])
                                out[d, e] = across[e, d] = ends - 2.0 * least


@compiled(**INNER)
def put_sums(line, column, first, s0, s1, s2, s3):
    """Add the sums of vectors to four entries of a row, or set them if `first` is 0."""
    if first == 0:
        for c in range(column, column + GROUP):
            line[c] = 0.0
    line[column] += sum_of(s0)
    line[column + 1] += sum_of(s1)
    line[column + 2] += sum_of(s2)
    line[column + 3] += sum_of(s3)


@compiled()
def take_nearer(dist, start, first, codes, pooled, best, index):
    """Do as :func:`convexfs.neighbors.kernels.nearest.take_nearer` does, without its branches.

    Lists have a multiple of `LANES` entries, distances are in float32 and indices in int32.
    """
    groups, last = best.shape[1], best.shape[2] - 1
    for row in range(len(dist)):
        own, line = codes[start + row], dist[row]
        for few in range(0, len(line), _FEW):
            farthest = best[row, 0, last]
            for group in range(1, groups):
                farthest = max(farthest, best[row, group, last])
            nearer, part = 0, line[few : few + _FEW]
            for column in range(len(part)):
                nearer += part[column] < farthest
            if nearer == 0:
                continue
            for column in range(len(part)):
                d, i = part[column], first + few + column
                if d >= farthest or i == start + row:
                    continue
                group = (0 if codes[i] == own else 1) if pooled else codes[i]
                insert(best[row, group], index[row, group], d, np.int32(i))


@compiled(**INNER)
def insert(near, known, d, i):
    """Insert sample i at distance d into a sorted list, after equal distances."""
    for at in range(len(near) - LANES, 0, -LANES):
        below, number = near[at - 1], known[at - 1]
        insert_among(near, known, at, below, number, d, i)
        if below <= d:
            return
    # Nothing is below the first vector.
    insert_among(near, known, 0, np.float32(-np.inf), np.int32(-1), d, i)
