"""Compiled loops over pairs of samples for one block of features.

A block is a C-contiguous (samples, features) matrix in float32 or float64. It is
visited in tiles that are copied together first: rows of a wide matrix lie a
power of two apart and would push each other out of the cache. All loops run
over the features of a tile, so that they use vector instructions, and release
the GIL, so that blocks can go to threads.
"""

import numpy as np

from convexfs.kernels import compiled
from convexfs.neighbors.kernels.vectors import wide_registers

#: Features per tile: a few hundred samples then stay in the L2 cache.
TILE = 128
#: Samples per panel that stays in the L2 cache while all others pass.
PANEL = 512

#: Pairs whose sum is held in the block's precision before it is added to `out`.
FEW_TERMS = 64

# Allow reordering of sums, but keep NaN.
_FAST = {"reassoc", "contract", "nsz"}


@compiled(fastmath=_FAST)
def add_distances(block, out):
    """Add the Manhattan distances between rows to the upper triangle of `out`.

    Of float32: each sum is of many short ones, which rounds less than adding term after term.
    """
    n, n_features = block.shape
    for first in range(0, n_features, TILE):
        tile = block[:, first : first + TILE].copy()
        width = tile.shape[1]
        even = n - n % 2
        for a in range(0, even, 2):
            x0, x1 = tile[a], tile[a + 1]
            between = block.dtype.type(0)
            for j in range(width):
                between += abs(x0[j] - x1[j])
            out[a, a + 1] += between
            # Process two rows against two, so that each loaded value serves two differences.
            for b in range(a + 2, even, 2):
                y0, y1 = tile[b], tile[b + 1]
                s00 = s01 = s10 = s11 = block.dtype.type(0)
                for j in range(width):
                    p, q, r, s = x0[j], x1[j], y0[j], y1[j]
                    s00 += abs(p - r)
                    s01 += abs(p - s)
                    s10 += abs(q - r)
                    s11 += abs(q - s)
                out[a, b] += s00
                out[a, b + 1] += s01
                out[a + 1, b] += s10
                out[a + 1, b + 1] += s11
        if even < n:
            y0 = tile[even]
            for a in range(even):
                x0 = tile[a]
                between = block.dtype.type(0)
                for j in range(width):
                    between += abs(x0[j] - y0[j])
                out[a, even] += between


@compiled(fastmath=_FAST)
def add_differences(tile, coefficient, start, stop, out):
    """``out[n, j] += sum_i coefficient[n, i] |tile[n, j] - tile[i, j]|``, i in [start, stop).

    With a `start` of 0 sums begin anew. An odd number of samples has a row of zeros after it.
    """
    wide_registers()
    n, width = len(coefficient), tile.shape[1]
    full = stop - (stop - start) % 4
    sums = np.empty((2, width), tile.dtype)
    total0, total1 = sums[0], sums[1]
    for row in range(0, n, 2):
        # Process two rows against four, so that each loaded value serves two differences.
        x0, x1, last = tile[row], tile[row + 1], min(row + 1, n - 1)
        a, b = coefficient[row], coefficient[last]
        for j in range(width):
            total0[j] = total1[j] = 0
        for i in range(start, full, 4):
            a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
            b0, b1, b2, b3 = b[i], b[i + 1], b[i + 2], b[i + 3]
            y0, y1, y2, y3 = tile[i], tile[i + 1], tile[i + 2], tile[i + 3]
            for j in range(width):
                v, w, p, q, r, s = x0[j], x1[j], y0[j], y1[j], y2[j], y3[j]
                total0[j] += (a0 * abs(v - p) + a1 * abs(v - q)) + (
                    a2 * abs(v - r) + a3 * abs(v - s)
                )
                total1[j] += (b0 * abs(w - p) + b1 * abs(w - q)) + (
                    b2 * abs(w - r) + b3 * abs(w - s)
                )
        for i in range(full, stop):
            ai, bi, y = a[i], b[i], tile[i]
            for j in range(width):
                total0[j] += ai * abs(x0[j] - y[j])
                total1[j] += bi * abs(x1[j] - y[j])
        for each in range(min(2, n - row)):
            for j in range(width):
                out[row + each, j] = sums[each, j] + (out[row + each, j] if start else 0.0)


@compiled(fastmath=_FAST)
def pair_sums(block, starts, others, weight, out):
    """``out[j] = sum over pairs of weight |block[n, j] - block[i, j]|``.

    The partners of row n are ``others[starts[n]:starts[n + 1]]``. Sums are kept in
    the block's precision for at most one row beyond FEW_TERMS pairs, then added
    to `out` in its own.
    """
    wide_registers()
    n, n_features = block.shape
    for first in range(0, n_features, TILE):
        tile = block[:, first : first + TILE].copy()
        width = tile.shape[1]
        total = np.zeros(width, block.dtype)
        terms = 0
        for j in range(width):
            out[first + j] = 0
        for row in range(n):
            start, stop = starts[row], starts[row + 1]
            x = tile[row]
            full = stop - (stop - start) % 8
            for k in range(start, full, 8):
                a0, a1, a2, a3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
                a4, a5, a6, a7 = weight[k + 4], weight[k + 5], weight[k + 6], weight[k + 7]
                y0, y1 = tile[others[k]], tile[others[k + 1]]
                y2, y3 = tile[others[k + 2]], tile[others[k + 3]]
                y4, y5 = tile[others[k + 4]], tile[others[k + 5]]
                y6, y7 = tile[others[k + 6]], tile[others[k + 7]]
                for j in range(width):
                    v = x[j]
                    low = (a0 * abs(v - y0[j]) + a1 * abs(v - y1[j])) + (
                        a2 * abs(v - y2[j]) + a3 * abs(v - y3[j])
                    )
                    high = (a4 * abs(v - y4[j]) + a5 * abs(v - y5[j])) + (
                        a6 * abs(v - y6[j]) + a7 * abs(v - y7[j])
                    )
                    total[j] += low + high
            for k in range(full, stop):
                ak, y = weight[k], tile[others[k]]
                for j in range(width):
                    total[j] += ak * abs(x[j] - y[j])
            terms += stop - start
            if terms > FEW_TERMS or row == n - 1:
                terms = 0
                for j in range(width):
                    out[first + j] += total[j]
                    total[j] = 0


@compiled(fastmath=_FAST)
def scaled_differences(block, rows, others, scale, out):
    """``out[k, j] = scale[k] |block[rows[k], j] - block[others[k], j]|``."""
    for k in range(len(rows)):
        x, y, by = block[rows[k]], block[others[k]], scale[k]
        for j in range(block.shape[1]):
            out[k, j] = by * abs(x[j] - y[j])
