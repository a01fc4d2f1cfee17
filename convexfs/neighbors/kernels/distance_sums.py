"""Compiled loops that add up distances between samples, Manhattan or squared Euclidean.

A vector instruction takes one feature of many samples. Hence a distance is the sum of its terms
in the order of the features, 128 at a time, and no other: it is the same number on every
processor, whatever rows stand around it, and equal samples are equally far from any other.
Matrices (samples, features) are C-contiguous, in float64. All loops release the GIL, and share
one file because numba's cache does not notice an edit in another one.

:func:`rough_between` computes in float32 in any order, about twice as fast, with a known bound;
:mod:`.rough_sums` is faster still, but errs relative to the sizes of the samples.
"""

import numpy as np

from convexfs.kernels import compiled
from convexfs.neighbors.kernels.vectors import DOUBLES, filled, load, plus_term, store

#: Features whose terms are summed before they are added to the total.
FEATURES = 128
#: Rows and columns of a tile of distances that stays in the L2 cache.
SIDE = 128
#: Features per sweep: the running sum is loaded and stored once per sweep.
SWEEP = 4
#: Features per float32 sum in any order, and float32 numbers per register.
ROUGH_FEATURES = 512
_REGISTER = 16
#: Samples whose float32 distances from as many others are summed at once.
GROUP = 4


@compiled()
def add_tiles(values, others, start, same, squared, sums, out):
    """Add the distances of samples, from number `start` on, from all others to the rows of `out`.

    Samples are columns, padded to a multiple of `DOUBLES`; the number of features is a multiple
    of `SWEEP`. With `same` both are the same samples, and only distances from later ones are
    added. `squared` is True or None: only the used branch is compiled. `sums` is scratch, a
    matrix of `SIDE` rows and columns.
    """
    height, width = out.shape
    for row in range(0, height, SIDE):
        last_row = min(SIDE, height - row)
        for column in range(start + row if same else 0, width, SIDE):
            half, last = same and column == start + row, min(SIDE, width - column)
            for j in range(0, len(values), SWEEP):
                v0, v1, v2, v3 = values[j], values[j + 1], values[j + 2], values[j + 3]
                o0, o1, o2, o3 = others[j], others[j + 1], others[j + 2], others[j + 3]
                for a in range(last_row):
                    n, line = start + row + a, sums[a]
                    x0, x1 = filled(v0[n]), filled(v1[n])
                    x2, x3 = filled(v2[n]), filled(v3[n])
                    for b in range(a - a % DOUBLES if half else 0, last, DOUBLES):
                        at = column + b
                        total = load(line, b) if j else filled(0.0)
                        total = plus_term(total, x0, load(o0, at), squared)
                        total = plus_term(total, x1, load(o1, at), squared)
                        total = plus_term(total, x2, load(o2, at), squared)
                        store(line, b, plus_term(total, x3, load(o3, at), squared))
            for a in range(last_row):
                line, total = out[row + a], sums[a]
                for b in range(a + 1 if half else 0, last):
                    line[column + b] += total[b]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def rough_between(some, rows, same, out, across):
    """Fill `out` with float32 Manhattan distances of some rows from others, `across` transposed.

    At most ``ROUGH_FEATURES + n_features / ROUGH_FEATURES + 2`` roundings enter a distance. Both
    arrays have room for multiples of `GROUP` samples; `out` comes filled with zeros. With `same`
    the rows are the same, each pair is visited once, and `across` is `out`.
    """
    n, m, n_features = len(some), len(rows), some.shape[1]
    for first in range(0, n_features, ROUGH_FEATURES):
        last = min(first + ROUGH_FEATURES, n_features)
        width = last - first + (first - last) % _REGISTER
        left = np.zeros((out.shape[0], width), np.float32)
        for a in range(n):
            for j in range(last - first):
                left[a, j] = some[a, first + j]
        for start in range(0, m, SIDE):
            few = rows[start : start + SIDE, first:last]
            right = np.zeros((SIDE, width), np.float32)
            for c in range(len(few)):
                for j in range(last - first):
                    right[c, j] = few[c, j]
            for a in range(0, min(n, start + SIDE) if same else n, GROUP):
                x0, x1, x2, x3 = left[a], left[a + 1], left[a + 2], left[a + 3]
                # Process four rows against four, so that each loaded value serves four differences.
                for c in range(max(a - start, 0) if same else 0, len(few), GROUP):
                    y0, y1, y2, y3 = right[c], right[c + 1], right[c + 2], right[c + 3]
                    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = np.float32(0)
                    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = np.float32(0)
                    for j in range(width):
                        v, w, p, q = y0[j], y1[j], y2[j], y3[j]
                        s00 += abs(x0[j] - v)
                        s01 += abs(x0[j] - w)
                        s02 += abs(x0[j] - p)
                        s03 += abs(x0[j] - q)
                        s10 += abs(x1[j] - v)
                        s11 += abs(x1[j] - w)
                        s12 += abs(x1[j] - p)
                        s13 += abs(x1[j] - q)
                        s20 += abs(x2[j] - v)
                        s21 += abs(x2[j] - w)
                        s22 += abs(x2[j] - p)
                        s23 += abs(x2[j] - q)
                        s30 += abs(x3[j] - v)
                        s31 += abs(x3[j] - w)
                        s32 += abs(x3[j] - p)
                        s33 += abs(x3[j] - q)
                    lines = out[a : a + GROUP, start + c : start + c + GROUP]
                    lines[0, 0] += s00
                    lines[0, 1] += s01
                    lines[0, 2] += s02
                    lines[0, 3] += s03
                    lines[1, 0] += s10
                    lines[1, 1] += s11
                    lines[1, 2] += s12
                    lines[1, 3] += s13
                    lines[2, 0] += s20
                    lines[2, 1] += s21
                    lines[2, 2] += s22
                    lines[2, 3] += s23
                    lines[3, 0] += s30
                    lines[3, 1] += s31
                    lines[3, 2] += s32
                    lines[3, 3] += s33
                    if last == n_features:
                        for d in range(GROUP):
                            for e in range(GROUP):
                                across[start + c + e, a + d] = lines[d, e]
