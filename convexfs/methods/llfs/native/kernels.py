"""Small kernels of LLFS's Newton method: utilities, sums, a linear system, free features.

numba caches compiled callers by their own files: clear the cache after editing these functions.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from convexfs.kernels import INNER, compiled

#: Numbers are finite here, so sums may be reordered, and divisions need no check, which would
#: prevent vectorisation. Nothing else is assumed.
FINITE: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}
kernel = compiled(**FINITE)
#: A leaf is called by kernels only. A part is inlined into its one caller, which avoids a second
#: compilation, but takes time quadratic in its length.
leaf, part = compiled(**FINITE, **INNER), compiled(**FINITE, inline="always")

#: Distances (feature, sample) with the own class first and the slack feature last; number of
#: samples of the own class; steepness and slope of G; upper bounds.
Point = namedtuple("Point", "D own s lam upper")
#: ln 2 in two parts, and the number at which a double has no fraction bits left.
LN2_HIGH, LN2_LOW, WHOLE = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.5 * 2.0**52


@compiled(error_model="numpy", fastmath={"contract"})
def exp(x):
    """Return exp(x) for -700 < x <= 0, accurate to three units in the last place.

    Unlike the library's it can be vectorised, which halves the time of a path:
    ``2^n`` times the Taylor polynomial of the rest, at most ln(2)/2 in size. Its sums
    must not be reordered.
    """
    shifted = x * 1.4426950408889634 + WHOLE
    n = shifted - WHOLE
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (np.float64(shifted).view(np.int64) + 1023) << 52
    return p * np.int64(power).view(np.float64)


@leaf
def utility(s, lam, z, slope, bend):
    """Return the mean of G over the distances z; write dU/dz and -d2U/dz2."""
    share, total = 1.0 / z.size, 0.0
    for j in range(z.size):
        x = -s * z[j]
        p = 1.0 / (1.0 + exp(x if x > -700.0 else -700.0))
        variance = share * p * (1.0 - p)
        slope[j] = s * variance + share * lam
        bend[j] = s * s * variance * (2.0 * p - 1.0)
        total += p - 0.5 + lam * z[j]
    return share * total


@kernel
def utilities(point, z, slope, bend):
    """Return U1 and U2 at the distances z; write dU/dz and -d2U/dz2."""
    own, s, lam = point.own, point.s, point.lam
    u1 = utility(s, lam, z[:own], slope[:own], bend[:own])
    return u1, utility(s, lam, z[own:], slope[own:], bend[own:])


@leaf
def dot(a, b, n):
    """Return the inner product of the first n entries."""
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@leaf
def add_scaled(z, t, step, out):
    """Compute ``out = z + t step``."""
    for j in range(z.size):
        out[j] = z[j] + t * step[j]


@kernel
def solve_linear(K, x, n):
    """Solve K y = x into x, overwriting K; return whether K is regular."""
    for c in range(n):
        r = c
        for i in range(c + 1, n):
            if abs(K[i, c]) > abs(K[r, c]):
                r = i
        if abs(K[r, c]) < 1e-200:
            return False
        for j in range(c, n):
            swapped = K[c, j]
            K[c, j] = K[r, j]
            K[r, j] = swapped
        swapped = x[c]
        x[c] = x[r]
        x[r] = swapped
        for i in range(c + 1, n):
            factor = K[i, c] / K[c, c]
            for j in range(c, n):
                K[i, j] -= factor * K[c, j]
            x[i] -= factor * x[c]
    for c in range(n - 1, -1, -1):
        for j in range(c + 1, n):
            x[c] -= K[c, j] * x[j]
        x[c] /= K[c, c]
    return True


@leaf
def steepest_exchange(r, f, upper):
    """Return the features to raise and to lower that reduce r'f fastest; -1 if there is none."""
    up = down = -1
    for m in range(f.size):
        if f[m] < upper[m] and (up < 0 or r[m] < r[up]):
            up = m
        if f[m] > 0.0 and (down < 0 or r[m] > r[down]):
            down = m
    return up, down


@part
def longest_step(upper, free, f, k, x):
    """Return the longest step, at most 1, within bounds, and its blocking index in `free` or -1."""
    t, block = 1.0, -1
    for a in range(k):
        m = free[a]
        room = upper[m] - f[m] if x[a] > 0.0 else f[m]
        if x[a] != 0.0 and t * abs(x[a]) >= room:
            t, block = room / abs(x[a]), a
    return t, block


@leaf
def admit(work, k, feature):
    """Add a feature to the free set unless it is in it; return the new size."""
    if work.is_free[feature]:
        return k
    work.free[k] = feature
    work.is_free[feature] = True
    return k + 1


@leaf
def put(f, row, F, table, b):
    """Copy f into row b of F, and `row` into row b of table."""
    for m in range(f.size):
        F[b, m] = f[m]
    for c in range(row.size):
        table[b, c] = row[c]
