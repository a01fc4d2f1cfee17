"""Hash a cvxpy problem so that the hash is the same in every process.

cvxpy numbers variables, parameters and constraints by a counter of the process. The hash covers
what the problem states: atoms, constants, attributes, user-defined names, and the positions of
variables and parameters.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import cloudpickle
import numpy as np
from scipy.sparse import coo_array, issparse


def problem_digest(problem: Any, free: Collection[str] = ()) -> str:
    """Return a problem's hash, equal in every process; values of `free` parameters don't count."""
    digest = hashlib.sha256()
    for token in _Writer(problem, free).problem(problem):
        digest.update(b"%d:" % len(token) + token)
    return digest.hexdigest()


class _Writer:
    """Converter of a problem into bytes to hash, independent of cvxpy's ids."""

    def __init__(self, problem: Any, free: Collection[str]):
        leaves = [*problem.variables(), *problem.parameters()]
        self._positions = {leaf.id: position for position, leaf in enumerate(leaves)}
        self._free = free

    def problem(self, problem: Any) -> Iterator[bytes]:
        yield type(problem.objective).__name__.encode()
        yield from self._node(problem.objective.args[0])
        for constraint in problem.constraints:
            yield repr(getattr(constraint, "label", None)).encode()
            yield from self._node(constraint)

    def _node(self, node: Any) -> Iterator[bytes]:
        yield f"{type(node).__name__} {getattr(node, 'shape', ())}".encode()
        if hasattr(node, "attributes") or not node.args:
            yield from self._leaf(node)
            return
        # The data of a constraint contain its id, which differs between processes.
        own = getattr(node, "id", None)
        yield from self._value([each for each in node.get_data() or () if each is not own])
        yield b"%d" % len(node.args)
        for argument in node.args:
            yield from self._node(argument)

    def _leaf(self, leaf: Any) -> Iterator[bytes]:
        position = self._positions.get(getattr(leaf, "id", None))
        if position is None:  # The leaf is a constant.
            yield from self._value(leaf.value)
            return
        given = leaf.name()
        yield f"{position} {'' if given.endswith(str(leaf.id)) else given}".encode()
        yield from self._value(leaf.attributes)
        is_parameter = not leaf.variables()
        if is_parameter and given not in self._free:
            yield from self._value(leaf.value)

    def _value(self, value: Any) -> Iterator[bytes]:
        """Yield bytes of a number, array, container or expression; else the value's pickle."""
        yield type(value).__name__.encode()
        if value is None or isinstance(value, bool | int | float | complex | str | slice):
            yield repr(value).encode()
        elif issparse(value):
            matrix = coo_array(value)
            for part in (np.array(matrix.shape), *matrix.coords, matrix.data):
                yield from self._value(part)
        elif isinstance(value, np.ndarray | np.generic):
            yield f"{np.shape(value)} {value.dtype.str}".encode()
            yield np.ascontiguousarray(value).tobytes()
        elif isinstance(value, Mapping):
            for name in sorted(value, key=str):
                yield str(name).encode()
                yield from self._value(value[name])
        elif isinstance(value, list | tuple):
            yield b"%d" % len(value)
            for part in value:
                yield from self._value(part)
        elif hasattr(value, "args"):
            yield from self._node(value)
        else:
            yield cloudpickle.dumps(value)
