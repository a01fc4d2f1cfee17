"""Compiled loops that add up distances between samples, Manhattan or squared Euclidean.

A vector instruction takes one feature of many samples. Hence a distance is the sum of its terms
in the order of the features, 128 at a time, and no other: it is the same number on every
processor, whatever rows stand around it, and equal samples are equally far from any other.
Matrices (samples, features) are C-contiguous, in float64. All loops release the GIL, and share
one file because numba's cache does not notice an edit in another one.

:func:`rough_between` computes in float32 in any order, about twice as fast, with a known bound.
"""

import numpy as np

from convexfs.kernels import INNER, compiled

#: Features whose terms are summed before they are added to the total.
_FEATURES = 128
#: Rows and columns of a tile of distances that stays in the L2 cache.
_SIDE = 128
#: Features per sweep: the running sum is loaded and stored once per sweep.
_SWEEP = 4
#: Samples whose values fit one cache line.
_LINE = 8
#: Features per float32 sum in any order, and float32 numbers per register.
ROUGH_FEATURES = 512
_REGISTER = 16


@compiled()
def add_later(X, start, stop, squared, out):
    """Add the distances of rows [start, stop) from later rows to the upper triangle of `out`."""
    n, n_features = X.shape
    for first in range(0, n_features, _FEATURES):
        values = by_feature(X[:, first : first + _FEATURES])
        for row in range(start, stop, _SIDE):
            lines = out[row : min(row + _SIDE, stop)]
            for column in range(row, n, _SIDE):
                add_tile(values, row, values, column, squared, row == column, lines)


@compiled()
def add_between(some, rows, squared, out):
    """Add the distances between some rows and other rows to `out`."""
    for first in range(0, some.shape[1], _FEATURES):
        values = by_feature(some[:, first : first + _FEATURES])
        others = by_feature(rows[:, first : first + _FEATURES])
        for row in range(0, len(some), _SIDE):
            lines = out[row : row + _SIDE]
            for column in range(0, len(rows), _SIDE):
                add_tile(values, row, others, column, squared, False, lines)


@compiled()
def mirror(out):
    """Copy the upper triangle to the lower one."""
    n = len(out)
    for row in range(0, n, _SIDE):
        for column in range(0, row + _SIDE, _SIDE):
            for a in range(row, min(row + _SIDE, n)):
                for b in range(column, min(column + _SIDE, a)):
                    out[a, b] = out[b, a]


@compiled(**INNER)
def by_feature(rows):
    """Transpose to one row per feature, padded with zeros to full sweeps."""
    n, width = rows.shape
    out = np.zeros((width + -width % _SWEEP, n))
    for first in range(0, n, _LINE):
        few = rows[first : first + _LINE]
        for j in range(width):
            line = out[j, first : first + _LINE]
            for a in range(len(line)):
                line[a] = few[a, j]
    return out


@compiled(**INNER)
def add_tile(values, row, others, column, squared, half, lines):
    """Add the distances of samples from `row` on to samples from `column` on to `lines`.

    With `half` they are the same samples, and only the distances from later ones are added.
    """
    height, stop = len(lines), min(column + _SIDE, others.shape[1])
    sums = np.zeros((height, stop - column))
    for j in range(0, len(values), _SWEEP):
        for a in range(height):
            skipped = a - a % _LINE if half else 0
            x0, x1 = values[j, row + a], values[j + 1, row + a]
            x2, x3 = values[j + 2, row + a], values[j + 3, row + a]
            y0, y1 = others[j, column + skipped : stop], others[j + 1, column + skipped : stop]
            y2, y3 = others[j + 2, column + skipped : stop], others[j + 3, column + skipped : stop]
            total = sums[a, skipped:]
            if squared:
                for b in range(len(total)):
                    d0, d1, d2, d3 = x0 - y0[b], x1 - y1[b], x2 - y2[b], x3 - y3[b]
                    total[b] = total[b] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
            else:
                for b in range(len(total)):
                    d0, d1, d2, d3 = x0 - y0[b], x1 - y1[b], x2 - y2[b], x3 - y3[b]
                    total[b] = total[b] + abs(d0) + abs(d1) + abs(d2) + abs(d3)
    for a in range(height):
        first = a + 1 if half else 0
        line, total = lines[a, column + first : stop], sums[a, first:]
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
