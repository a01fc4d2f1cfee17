"""Compiled loops over the nonzeros of samples.

For any two numbers ``|a - b| = |a| + |b| - 2 o(a, b)`` with ``o(a, b) = min(|a|, |b|)`` if they
have one sign, else 0; and ``(a - b)^2 = a^2 + b^2 - 2 ab``. What two samples share is 0 unless
both are nonzero, so that a column of k nonzeros costs k^2 / 2 pairs whatever N is.

Rows of a column, and columns of a row, must be sorted and without copies. All loops release the
GIL. They share one file because numba's cache does not notice an edit in another one.
"""

import numpy as np

from convexfs.kernels import compiled


@compiled()
def row_overlaps(start, stop, indptr, indices, data, colptr, rows, values, squared):
    """Return overlaps of rows [start, stop) with all: sums of ``ab``, or of ``min(|a|, |b|)``.

    The minimum counts only if a and b have the same sign.
    """
    out = np.zeros((stop - start, len(indptr) - 1))
    for a in range(start, stop):
        target = out[a - start]
        for p in range(indptr[a], indptr[a + 1]):
            j, v = indices[p], data[p]
            if squared:
                for q in range(colptr[j], colptr[j + 1]):
                    target[rows[q]] += v * values[q]
            elif v > 0:
                for q in range(colptr[j], colptr[j + 1]):
                    target[rows[q]] += max(min(v, values[q]), 0.0)
            else:
                for q in range(colptr[j], colptr[j + 1]):
                    target[rows[q]] += max(min(-v, -values[q]), 0.0)
    return out


@compiled()
def add_overlaps(colptr, rows, values, out):
    """Add overlaps of rows, sums of ``min(|a|, |b|)`` if signs agree, to `out`'s upper triangle."""
    for j in range(len(colptr) - 1):
        stop = colptr[j + 1]
        for k in range(colptr[j], stop):
            target, v = out[rows[k]], values[k]
            if v > 0:
                for q in range(k + 1, stop):
                    target[rows[q]] += max(min(v, values[q]), 0.0)
            else:
                for q in range(k + 1, stop):
                    target[rows[q]] += max(min(-v, -values[q]), 0.0)


@compiled()
def matrix_scores(indptr, indices, data, colptr, rows, values, upper, mass):
    """Return ``out[j] = sum_{n<i} upper[n, i] |x_nj - x_ij|``; `mass` has sums per sample.

    It goes by rows, so that a row of `upper` stays in the cache.
    """
    out, later = np.zeros(len(colptr) - 1), colptr[:-1].copy()
    for n in range(len(indptr) - 1):
        line = upper[n]
        for p in range(indptr[n], indptr[n + 1]):
            j, v = indices[p], data[p]
            later[j] += 1  # Skip row n itself.
            sign = 1.0 if v > 0 else -1.0
            v = abs(v)
            shared = 0.0
            for q in range(later[j], colptr[j + 1]):
                shared += line[rows[q]] * max(min(v, sign * values[q]), 0.0)
            out[j] += mass[n] * v - 2.0 * shared
    return out


@compiled()
def fill_upper(starts, stops, others, weight):
    """Return the weights of listed pairs (n, i > n) as an upper triangular matrix."""
    n = len(starts)
    out = np.zeros((n, n))
    for row in range(n):
        for k in range(starts[row], stops[row]):
            out[row, others[k]] = weight[k]
    return out


@compiled()
def pair_scores(colptr, rows, values, starts, others, weight, mass, out):
    """Set ``out[j]`` to j's score over pairs of n and ``others[starts[n]:starts[n + 1]]``."""
    x = np.zeros(len(mass))
    for j in range(len(colptr) - 1):
        first, stop = colptr[j], colptr[j + 1]
        for k in range(first, stop):
            x[rows[k]] = values[k]
        total = 0.0
        for k in range(first, stop):
            n, v = rows[k], values[k]
            sign = 1.0 if v > 0 else -1.0
            v = abs(v)
            shared = 0.0
            for q in range(starts[n], starts[n + 1]):
                shared += weight[q] * max(min(v, sign * x[others[q]]), 0.0)
            total += mass[n] * v - 2.0 * shared
        for k in range(first, stop):
            x[rows[k]] = 0.0
        out[j] = total


@compiled()
def signed_difference_sum(indptr, indices, data, n_features, start, index, coefficient, squared):
    """Return, per feature, the sum of coefficient * |x_row - x_neighbour| or of its square."""
    n_rows, groups, n_neighbors = index.shape
    z, x = np.zeros(n_features), np.zeros(n_features)
    for row in range(n_rows):
        n, mass = start + row, 0.0
        for p in range(indptr[n], indptr[n + 1]):
            x[indices[p]] = data[p]
        for group in range(groups):
            for m in range(n_neighbors):
                c = coefficient[row, group, m]
                if c == 0.0:
                    continue
                mass += c
                i = index[row, group, m]
                for p in range(indptr[i], indptr[i + 1]):
                    j, v = indices[p], data[p]
                    u = x[j]
                    if squared:
                        z[j] += c * (v * v - 2.0 * u * v)
                    elif v > 0:
                        z[j] += c * (v - 2.0 * max(min(v, u), 0.0))
                    else:
                        z[j] += c * (-v - 2.0 * max(min(-v, -u), 0.0))
        for p in range(indptr[n], indptr[n + 1]):
            v = data[p]
            z[indices[p]] += mass * (v * v if squared else abs(v))
            x[indices[p]] = 0.0
    return z
