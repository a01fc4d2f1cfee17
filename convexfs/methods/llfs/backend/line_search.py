"""Compiled loops over distances for LLFS's solution path by cvxpy solvers.

They are in a separate file, so that numba's cache detects every edit, and compile in a second.
"""

import numpy as np
from numba import njit

kernel = njit(nogil=True, cache=True, error_model="numpy")
#: Most Newton steps along a line; 3 to 6 are usual.
MOST_STEPS = 60


@kernel
def mean_and_slopes(z, s, lam, slope, bend):
    """Return the mean of G over the distances z; write dU/dz and -d2U/dz2."""
    share, total = 1.0 / z.size, 0.0
    for j in range(z.size):
        p = 1.0 / (1.0 + np.exp(-s * z[j]))
        total += p - 0.5 + lam * z[j]
        slope[j] = share * (s * p * (1.0 - p) + lam)
        bend[j] = share * s * s * p * (1.0 - p) * (2.0 * p - 1.0)
    return share * total


@kernel
def mean_of(z, s, lam):
    """Return the mean of G over the distances z."""
    total = 0.0
    for j in range(z.size):
        total += 1.0 / (1.0 + np.exp(-s * z[j])) - 0.5 + lam * z[j]
    return total / z.size


@kernel
def share_to_level(z, dz, eps, s, lam):
    """Return the least t in [0, 1] with U(z + t dz) >= eps, or 1 if there is none.

    U is concave along the line, so that Newton's steps from the left never pass the root
    but for a hair, added so that the level is truly reached.
    """
    t = 0.0
    for _ in range(MOST_STEPS):
        u, rise = 0.0, 0.0
        for j in range(z.size):
            x = z[j] + t * dz[j]
            p = 1.0 / (1.0 + np.exp(-s * x))
            u += p - 0.5 + lam * x
            rise += (s * p * (1.0 - p) + lam) * dz[j]
        gap = eps * z.size - u
        if gap <= 1e-13 * eps * z.size:
            return t
        if rise <= 0.0:
            return 1.0
        t += gap / rise * (1.0 + 1e-9) + 1e-15
        if t >= 1.0:
            return 1.0
    return t


@kernel
def best_share(z, dz, s, lam):
    """Find the t in [0, 1] that maximises U(z + t dz), by safeguarded Newton steps."""
    low, high, t = 0.0, 1.0, 1.0
    for _ in range(MOST_STEPS):
        rise, bend = 0.0, 0.0
        for j in range(z.size):
            p = 1.0 / (1.0 + np.exp(-s * (z[j] + t * dz[j])))
            rise += (s * p * (1.0 - p) + lam) * dz[j]
            bend += s * s * p * (1.0 - p) * (2.0 * p - 1.0) * dz[j] * dz[j]
        if rise >= 0.0:
            low = t
        else:
            high = t
        if low >= 1.0 or high - low <= 1e-14:
            break
        step = t + rise / bend if bend > 0.0 else 2.0
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - t) <= 1e-15:
            break
        t = step
    return low if low >= 1.0 else t
