"""Sums and matrices whose rounding errors are known."""

import math
from typing import Any

import numpy as np

#: Relative distance between adjacent doubles.
EPSILON = 2.0**-52
#: Each product below this size, whose error may underflow, adds this size to the error bound.
_TINY = 1e-270
#: math.fsum is used only if all numbers are below this size, so that no sum overflows.
_HUGE = 1e300
#: Dot products of up to this many parts are summed by math.fsum, longer ones by segment_sums.
_FEW = 500
#: Splits a double into two halves of 26 bits (Dekker).
_SPLITTER = 134217729.0


def two_products(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x * y and its rounding error, which add up to the exact product (Dekker)."""
    product = x * y
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _two_sums(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def segment_sums(values: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of each segment of `values` (bounds `indptr`), and bounds of the errors.

    Leading bits are extracted three times and added without error (Rump, Ogita and Oishi
    2008), so that a sum which cancels to 0 is 0, and the sign of any other is right.
    """
    counts = np.diff(indptr)
    sums, errors = np.zeros(counts.size), np.zeros(counts.size)
    used = np.flatnonzero(counts)
    if not used.size:
        return sums, errors
    starts, counts = indptr[:-1][used], counts[used]
    owner = np.repeat(np.arange(used.size), counts)
    rest = values[indptr[0] : indptr[-1]].copy()
    starts = starts - indptr[0]
    bits = np.ceil(np.log2(counts + 2.0)) + 1.0
    total, low = np.zeros(used.size), np.zeros(used.size)
    for _ in range(3):
        largest = np.maximum.reduceat(np.abs(rest), starts)
        if not largest.any():
            break
        _, exponent = np.frexp(largest)
        # Beyond the largest exponent nothing can be extracted: infinite sums stay infinite.
        shift = np.where(largest > 0, np.exp2(np.minimum(exponent + bits, 1023.0)), 0.0)[owner]
        leading = (shift + rest) - shift
        rest = rest - leading
        total, error = _two_sums(total, np.add.reduceat(leading, starts))
        low = low + error
    left, sizes = np.add.reduceat(rest, starts), np.add.reduceat(np.abs(rest), starts)
    total, error = _two_sums(total, left)
    low = low + error
    sums[used] = total + low
    errors[used] = (
        EPSILON * np.abs(sums[used]) + 8 * EPSILON * np.abs(low) + counts * EPSILON * sizes
    )
    errors[used] = np.where((low == 0) & (sizes == 0), 0.0, errors[used])
    return sums, errors


def matrix_products(
    matrix: Any, vector: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return matrix @ vector + offsets for a CSR matrix, and error bounds per row."""
    rows, counts = matrix.shape[0], np.diff(matrix.indptr)
    products, errors = two_products(matrix.data, vector[matrix.indices])
    # The segment of a row: its products, their rounding errors, its offset.
    indptr = 2 * matrix.indptr + np.arange(rows + 1)
    values = np.empty(indptr[-1])
    owner = np.repeat(np.arange(rows), counts)
    place = indptr[owner] + (np.arange(matrix.nnz) - matrix.indptr[owner])
    values[place], values[place + counts[owner]] = products, errors
    values[indptr[1:] - 1] = offsets
    sums, bounds = segment_sums(values, indptr)
    tiny = (np.abs(products) < _TINY) & (matrix.data != 0) & (vector[matrix.indices] != 0)
    if tiny.any():
        bounds += _TINY * np.bincount(owner, tiny, rows)
    bad = ~np.isfinite(sums)
    return sums, np.where(bad, np.inf, bounds)


def dot(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return x'y and a bound on its rounding error."""
    products, rest = two_products(x, y)
    lost = _TINY * np.count_nonzero((np.abs(products) < _TINY) & (x != 0) & (y != 0))
    values = np.concatenate([products, rest])
    if values.size <= _FEW and np.abs(values).max(initial=0.0) < _HUGE:
        total = math.fsum(values.tolist())  # correctly rounded (Shewchuk 1997)
        return total, EPSILON * abs(total) + lost
    totals, errors = segment_sums(values, np.array([0, values.size]))
    return float(totals[0]), float(errors[0]) + lost if np.isfinite(totals[0]) else np.inf


def is_surely_semidefinite(matrix: np.ndarray, shift: float = 0.0) -> bool:
    """Return whether a Cholesky factorisation proves matrix - shift * I positive semidefinite.

    The factorisation of a matrix lowered by its rounding errors succeeds only for a positive
    semidefinite one (Rump 2006). False proves nothing.
    """
    if not np.isfinite(matrix).all():
        return False
    if not shift:
        used = matrix.any(axis=1)  # Leave out rows of zeros, whose eigenvalues are 0.
        matrix = matrix[np.ix_(used, used)]
    side = len(matrix)
    if side == 0:
        return True
    margin = 2 * (side + 3) * EPSILON * max(float(np.trace(matrix)), 0.0) + shift + 1e-300
    try:
        np.linalg.cholesky(matrix - margin * np.eye(side))
    except np.linalg.LinAlgError:
        return False
    return True
