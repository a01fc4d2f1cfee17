"""Vectors of numbers as a type of numba: what a few instructions of the processor compute at once.

LLVM vectorises loops by itself, but with half of the registers' width on processors with AVX-512,
after checks of overlap, and in seconds of compilation. Functions here are compiled into the kernels
that call them; clear numba's cache after editing them.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import types
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

_WIDE = get_host_cpu_features().get("avx512f", False)
#: Numbers in float32 and in float64 per vector. Without AVX-512 it takes two registers or more.
LANES = 16 if _WIDE else 8
DOUBLES = 8
#: Decorator of what is compiled into its caller; type checkers would see its generator.
inlined: Any = intrinsic
_INT, _INTS = ir.IntType(32), ir.VectorType(ir.IntType(32), LANES)


class Vector(types.Type):
    """Type of several numbers of one data type, which numba itself lacks."""

    def __init__(self, number: Any):
        self.number, self.lanes = number, LANES if number == types.float32 else DOUBLES
        kind = ir.FloatType() if number == types.float32 else ir.DoubleType()
        self.parts = ir.VectorType(kind, self.lanes)
        super().__init__(f"Vector({number}, {self.lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, kind.parts)


def _computing(result: Any, arguments: tuple[Any, ...], compute: Callable[..., Any]) -> Any:
    """Return what an intrinsic returns: its signature, and a function that generates its code."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return compute(builder, *values)

    return result(*arguments), generate


def _address(context: Any, builder: Any, kind: Any, array: Any, place: Any, parts: Any) -> Any:
    """Return a pointer to the vector from a place on of a C-contiguous array of numbers."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), parts.as_pointer())


def _shuffled(builder: Any, one: Any, two: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
    return builder.shuffle_vector(one, two, mask)


def _filled(builder: Any, number: Any, parts: Any) -> Any:
    first = builder.insert_element(ir.Constant(parts, ir.Undefined), number, ir.Constant(_INT, 0))
    return _shuffled(builder, first, first, [0] * parts.count)


def _absolute(builder: Any, number: Any) -> Any:
    """Clear the sign bits of a double or a vector of doubles."""
    bits, parts = ir.IntType(64), number.type
    if isinstance(parts, ir.VectorType):
        kind = ir.VectorType(bits, parts.count)
        mask = ir.Constant(kind, [2**63 - 1] * parts.count)
    else:
        kind, mask = bits, ir.Constant(bits, 2**63 - 1)
    return builder.bitcast(builder.and_(builder.bitcast(number, kind), mask), parts)


@inlined
def wide_registers(typing: Any) -> Any:
    """Let LLVM use the full width of AVX-512 registers in the kernel that calls this.

    That suits loops without sums over their own index: the order of no sum changes.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        # llvmlite knows no attributes with values, but writes what the set holds.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


@inlined
def load(typing: Any, array: Any, place: Any) -> Any:
    """Return the numbers of an array from a place on."""
    vector = Vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array, place = values
        address = _address(context, builder, signature.args[0], array, place, vector.parts)
        return builder.load(address, align=4)

    return vector(array, types.int64), generate


@inlined
def store(typing: Any, array: Any, place: Any, vector: Any) -> Any:
    """Write a vector into an array from a place on."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array, place, numbers = values
        address = _address(context, builder, signature.args[0], array, place, numbers.type)
        builder.store(numbers, address, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), generate


@inlined
def zeros(typing: Any) -> Any:
    """Return a vector of zeros in float32."""
    vector = Vector(types.float32)
    return _computing(vector, (), lambda builder: ir.Constant(vector.parts, [0.0] * LANES))


@inlined
def filled(typing: Any, number: Any) -> Any:
    """Return a vector of one number in float64."""
    vector = Vector(types.float64)
    return _computing(vector, (number,), lambda b, value: _filled(b, value, vector.parts))


@inlined
def plus_least(typing: Any, total: Any, one: Any, two: Any) -> Any:
    """Return the total plus the lesser of two numbers, in each place."""

    def compute(builder: Any, total: Any, x: Any, y: Any) -> Any:
        least = builder.select(builder.fcmp_ordered("<", x, y), x, y)
        return builder.fadd(total, least)

    return _computing(total, (total, one, two), compute)


@inlined
def plus_term(typing: Any, total: Any, one: Any, two: Any, squared: Any) -> Any:
    """Return the total plus the absolute difference of two numbers, or plus its square.

    `squared` is None or a boolean, of which only the type counts. Numbers are doubles or vectors.
    """

    def compute(builder: Any, total: Any, x: Any, y: Any, squared: Any) -> Any:
        d = builder.fsub(x, y)
        term = _absolute(builder, d) if plain else builder.fmul(d, d)
        return builder.fadd(total, term)

    plain = isinstance(squared, types.NoneType)
    return _computing(total, (total, one, two, squared), compute)


@inlined
def plus_weighted(typing: Any, total: Any, weight: Any, one: Any, two: Any, squared: Any) -> Any:
    """Return the total plus a weight times the term of :func:`plus_term`, from left to right."""

    def compute(builder: Any, total: Any, c: Any, x: Any, y: Any, squared: Any) -> Any:
        d = builder.fsub(x, y)
        if plain:
            return builder.fadd(total, builder.fmul(c, _absolute(builder, d)))
        return builder.fadd(total, builder.fmul(builder.fmul(c, d), d))

    plain = isinstance(squared, types.NoneType)
    return _computing(total, (total, weight, one, two, squared), compute)


@inlined
def sum_of(typing: Any, vector: Any) -> Any:
    """Return the sum of a vector's numbers, of halves of it that are added."""

    def compute(builder: Any, left: Any) -> Any:
        width = vector.lanes
        while width > 1:
            width //= 2
            halves = [list(range(start, start + width)) for start in (0, width)]
            left = builder.fadd(*(_shuffled(builder, left, left, half) for half in halves))
        return builder.extract_element(left, ir.Constant(_INT, 0))

    return _computing(vector.number, (vector,), compute)


@inlined
def insert_among(
    typing: Any, near: Any, known: Any, at: Any, below: Any, number: Any, d: Any, i: Any
) -> Any:
    """Insert distance d of sample i into `LANES` entries of a sorted list, after equal distances.

    The entries of `near` (float32) and `known` (int32) from `at` on that are farther move up by
    one, and the last drops out. Before them are the distance `below` and the sample `number`.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        near, known, at, below, number, d, i = values
        floats = Vector(types.float32).parts
        near = _address(context, builder, signature.args[0], near, at, floats)
        known = _address(context, builder, signature.args[1], known, at, _INTS)
        old, old_numbers = builder.load(near, align=4), builder.load(known, align=4)
        up = [LANES, *range(LANES - 1)]
        moved = _shuffled(builder, old, _filled(builder, below, floats), up)
        moved_numbers = _shuffled(builder, old_numbers, _filled(builder, number, _INTS), up)
        new, new_number = _filled(builder, d, floats), _filled(builder, i, _INTS)
        later = builder.fcmp_ordered(">", old, new)
        farther = builder.fcmp_ordered(">", moved, new)
        inserted = builder.select(farther, moved, new)
        inserted_number = builder.select(farther, moved_numbers, new_number)
        builder.store(builder.select(later, inserted, old), near, align=4)
        builder.store(builder.select(later, inserted_number, old_numbers), known, align=4)
        return context.get_dummy_value()

    float32, int32, int64 = types.float32, types.int32, types.int64
    return types.void(near, known, int64, float32, int32, float32, int32), generate
