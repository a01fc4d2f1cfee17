"""Compiled loops over Manhattan distances in float32, and the nearest samples by them.

For any two numbers ``|a - b| = a + b - 2 min(a, b)``: two instructions a term instead of three.
Samples are rows of a C-contiguous matrix in float32, whose width is a multiple of `LANES`. Sums
are of vectors of `LANES` numbers, so that few roundings enter each. All loops release the GIL, and
share one file with what they call because numba's cache does not notice an edit in another one.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from convexfs.kernels import INNER, compiled

#: Numbers per vector: one register of AVX-512; other processors take several.
LANES = 16
#: Most features whose terms are summed before they are added to the total.
FEATURES = 512
#: Samples whose distances from as many others are summed at once.
GROUP = 4
#: Samples that stay in the cache while others pass, and distances that are compared at once with
#: the farthest neighbour.
_SIDE, _FEW = 128, 32


class Vector(types.Type):
    """Type of `LANES` numbers in float32, which numba itself lacks."""


_VECTOR = Vector(f"Vector({LANES})")
_FLOATS, _INDICES = (ir.VectorType(kind, LANES) for kind in (ir.FloatType(), ir.IntType(32)))


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, _FLOATS)


def _address(context: Any, builder: Any, kind: Any, array: Any, place: Any, vector: Any) -> Any:
    """Return a pointer to the vector from a place on of a C-contiguous array of numbers."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _shuffled(builder: Any, one: Any, two: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(one, two, mask)


def _filled(builder: Any, number: Any, vector: Any) -> Any:
    single = builder.insert_element(
        ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0)
    )
    return _shuffled(builder, single, single, [0] * LANES)


def _loading(typing: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, place = arguments
        address = _address(context, builder, signature.args[0], array, place, _FLOATS)
        return builder.load(address, align=4)

    return _VECTOR(array, types.int64), generate


def _nothing(typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(_FLOATS, [0.0] * LANES)

    return _VECTOR(), generate


def _adding_least(typing: Any, total: Any, one: Any, two: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, x, y = arguments
        least = builder.select(builder.fcmp_ordered("<", x, y), x, y)
        return builder.fadd(total, least)

    return _VECTOR(_VECTOR, _VECTOR, _VECTOR), generate


def _summing(typing: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (left,), width = arguments, LANES
        while width > 1:
            width //= 2
            halves = [list(range(start, start + width)) for start in (0, width)]
            left = builder.fadd(*(_shuffled(builder, left, left, half) for half in halves))
        return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))

    return types.float32(_VECTOR), generate


def _inserting(
    typing: Any, near: Any, known: Any, at: Any, below: Any, number: Any, d: Any, i: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        near, known, at, below, number, d, i = arguments
        near = _address(context, builder, signature.args[0], near, at, _FLOATS)
        known = _address(context, builder, signature.args[1], known, at, _INDICES)
        old, old_numbers = builder.load(near, align=4), builder.load(known, align=4)
        # The lanes of both moved up by one.
        up = [LANES, *range(LANES - 1)]
        moved = _shuffled(builder, old, _filled(builder, below, _FLOATS), up)
        moved_numbers = _shuffled(builder, old_numbers, _filled(builder, number, _INDICES), up)
        new, new_number = _filled(builder, d, _FLOATS), _filled(builder, i, _INDICES)
        later = builder.fcmp_ordered(">", old, new)
        farther = builder.fcmp_ordered(">", moved, new)
        inserted = builder.select(farther, moved, new)
        inserted_number = builder.select(farther, moved_numbers, new_number)
        builder.store(builder.select(later, inserted, old), near, align=4)
        builder.store(builder.select(later, inserted_number, old_numbers), known, align=4)
        return context.get_dummy_value()

    float32, int32, int64 = types.float32, types.int32, types.int64
    return types.void(near, known, int64, float32, int32, float32, int32), generate


_load: Any = intrinsic(_loading)
_zeros: Any = intrinsic(_nothing)
_plus_least: Any = intrinsic(_adding_least)
_sum: Any = intrinsic(_summing)
_insert_among: Any = intrinsic(_inserting)


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
                    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = _zeros()
                    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = _zeros()
                    for j in range(first, last, LANES):
                        u0, u1, u2, u3 = _load(x0, j), _load(x1, j), _load(x2, j), _load(x3, j)
                        v = _load(y0, j)
                        s00, s10 = _plus_least(s00, u0, v), _plus_least(s10, u1, v)
                        s20, s30 = _plus_least(s20, u2, v), _plus_least(s30, u3, v)
                        v = _load(y1, j)
                        s01, s11 = _plus_least(s01, u0, v), _plus_least(s11, u1, v)
                        s21, s31 = _plus_least(s21, u2, v), _plus_least(s31, u3, v)
                        v = _load(y2, j)
                        s02, s12 = _plus_least(s02, u0, v), _plus_least(s12, u1, v)
                        s22, s32 = _plus_least(s22, u2, v), _plus_least(s32, u3, v)
                        v = _load(y3, j)
                        s03, s13 = _plus_least(s03, u0, v), _plus_least(s13, u1, v)
                        s23, s33 = _plus_least(s23, u2, v), _plus_least(s33, u3, v)
                    put_sums(out, a, c, first, _sum(s00), _sum(s01), _sum(s02), _sum(s03))
                    put_sums(out, a + 1, c, first, _sum(s10), _sum(s11), _sum(s12), _sum(s13))
                    put_sums(out, a + 2, c, first, _sum(s20), _sum(s21), _sum(s22), _sum(s23))
                    put_sums(out, a + 3, c, first, _sum(s30), _sum(s31), _sum(s32), _sum(s33))
                    if last == n_features:
                        for d in range(a, a + GROUP):
                            for e in range(max(c, d) if same else c, c + GROUP):
                                ends, least = some_sums[d] + row_sums[e], np.float64(out[d, e])
                                out[d, e] = across[e, d] = ends - 2.0 * least


@compiled(**INNER)
def put_sums(out, row, column, first, s0, s1, s2, s3):
    """Add sums to four entries of a row, or set them if these are the `first` features."""
    line = out[row]
    if first == 0:
        line[column], line[column + 1], line[column + 2], line[column + 3] = s0, s1, s2, s3
    else:
        line[column] += s0
        line[column + 1] += s1
        line[column + 2] += s2
        line[column + 3] += s3


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
        _insert_among(near, known, at, below, number, d, i)
        if below <= d:
            return
    # Nothing is below the first vector.
    _insert_among(near, known, 0, np.float32(-np.inf), np.int32(-1), d, i)
