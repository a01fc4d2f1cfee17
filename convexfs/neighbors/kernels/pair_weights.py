"""Compiled loops over matrices of pairs: soft neighbours, and pairs of relevant weight.

Each replaces several passes over (N, N) arrays, most of them temporary.
"""

import math

import numpy as np

from convexfs.kernels import compiled

#: Bound on the binary exponents of float64.
POWERS = 1100


@compiled()
def nearer_by(distances, codes, out):
    """Set ``out[n, i]`` to the distance of n's nearest hit (for hits i) or miss minus that of i.

    Written as a number of at most 0; minus infinity on the diagonal.
    """
    n = len(codes)
    for row in range(n):
        far, own, line = distances[row], codes[row], out[row]
        hit = miss = np.inf
        for i in range(n):
            if codes[i] != own:
                miss = min(miss, far[i])
            elif i != row:
                hit = min(hit, far[i])
        for i in range(n):
            line[i] = (hit if codes[i] == own else miss) - far[i]
        line[row] = -np.inf


@compiled()
def sign_and_normalise(codes, counts, shares):
    """Normalise rows in place: hits sum to -1, misses to 1; all 0 for singleton classes."""
    n = len(codes)
    for row in range(n):
        own, line = codes[row], shares[row]
        hits = misses = 0.0
        for i in range(n):
            if codes[i] == own:
                hits += line[i]
            else:
                misses += line[i]
        for i in range(n):
            if counts[own] < 2:
                line[i] = 0.0
            elif codes[i] == own:
                line[i] = -line[i] / hits
            else:
                line[i] = line[i] / misses


@compiled(inline="always")
def _weight(signed, p, n, i):
    return p[n] * signed[n, i] + p[i] * signed[i, n]


@compiled()
def mass_by_power(signed, p, mass):
    """Add the absolute weights of all pairs of samples to `mass`, by their binary exponent."""
    for n in range(len(p)):
        for i in range(n + 1, len(p)):
            weight = _weight(signed, p, n, i)
            mass[math.frexp(weight)[1] + POWERS] += abs(weight)


@compiled()
def count_pairs(signed, p, least, starts, mass, dropped):
    """Count each sample's pairs of sufficient weight in `starts`; sum all and dropped weights.

    Pairs are those of a weight other than 0 and of a size of at least `least`. The arrays
    come filled with zeros.
    """
    for n in range(len(p)):
        starts[n + 1] = starts[n]
        for i in range(n + 1, len(p)):
            weight = _weight(signed, p, n, i)
            size = abs(weight)
            mass[n] += size
            mass[i] += size
            if weight != 0.0 and size >= least:
                starts[n + 1] += 1
            else:
                dropped[n] += size
                dropped[i] += size


@compiled()
def list_pairs(signed, p, least, starts, others, weights):
    """Write the partners and weights of the pairs that :func:`count_pairs` counted."""
    for n in range(len(p)):
        at = starts[n]
        for i in range(n + 1, len(p)):
            weight = _weight(signed, p, n, i)
            if weight != 0.0 and abs(weight) >= least:
                others[at], weights[at] = i, weight
                at += 1
