"""Hash a function that changes a problem; stored results are valid while the hash is the same.

The hash covers the function's source without docstrings and comments, and everything that the
source refers to: defaults, values of enclosing and global names, and functions among them. Modules
count by their names.
"""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from convexfs.batch.code_hash import statement_hashes
from convexfs.errors import InputError

_CURE = "put it into a problem file, and give that as formulation"


def callable_sha256(function: Callable[..., Any]) -> str:
    """Return a hash of a function's source without comments, and of the values it refers to.

    Raises
    ------
    InputError
        If there is no source, or if a value that it refers to cannot be hashed.
    """
    digest = hashlib.sha256()
    for part in _parts(function, set()):
        digest.update(f"{len(part)}:".encode() + part)
    return digest.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    """Yield bytes to hash that are the same for equal values; raise for unknown types."""
    yield type(value).__name__.encode()
    if isinstance(value, partial):
        yield from _parts([value.func, list(value.args), value.keywords], seen)
    elif isinstance(value, FunctionType):
        if id(value) not in seen:
            yield from _function_parts(value, seen | {id(value)})
    elif isinstance(value, ModuleType | type | BuiltinFunctionType | np.ufunc):
        yield getattr(value, "__qualname__", value.__name__).encode()
        yield str(getattr(value, "__module__", "")).encode()
    elif isinstance(value, dict):
        for name in sorted(value, key=repr):
            yield from _parts(name, seen)
            yield from _parts(value[name], seen)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _parts(entry, seen)
    elif isinstance(value, set | frozenset):
        yield from _parts(sorted(value, key=repr), seen)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufcSU":
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif value is None or isinstance(value, bool | int | float | complex | str | bytes):
        yield repr(value).encode()
    else:
        raise InputError(
            f"the change refers to a value of type {type(value).__name__}, which cannot be "
            f"part of the key of a stored result: {_CURE}"
        )


def _function_parts(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    for statement in statement_hashes(_source(function)):
        yield statement.encode()
    yield from _parts([function.__defaults__, function.__kwdefaults__], seen)
    names = inspect.getclosurevars(function)
    for kind in (names.nonlocals, names.globals):
        for name in sorted(kind):
            yield name.encode()
            yield from _parts(kind[name], seen)


def _source(function: FunctionType) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        if function.__name__ != "<lambda>":
            ast.parse(source)
            return source
        return ast.unparse(_only_lambda(source))
    except (OSError, TypeError, SyntaxError, ValueError) as error:
        raise InputError(
            f"the source of {function.__name__} cannot be read ({error}), so a stored "
            f"result could belong to another change: {_CURE}"
        ) from error


def _only_lambda(source: str) -> ast.Lambda:
    """Return the one lambda in some source lines; raise ValueError if there is none or several."""
    for lines in (source, f"({source.strip().rstrip(',')})", f"_({source.strip()}"):
        try:
            tree = ast.parse(lines)
        except SyntaxError:
            continue
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        if len(found) == 1:
            return found[0]
        break
    raise ValueError("its lines hold no lambda, or several: give it a name by def")
