"""Names for what a formula is made of: variables, parameters, constants."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from convexfs.inspection.nodes import (
    Identity,
    Node,
    Shape,
    Symbol,
    filled,
    number,
    times,
    transpose,
)

VARIABLE, PARAMETER, CONSTANT, POSITIONS = "variable", "parameter", "constant", "positions"


@dataclass(frozen=True)
class Declaration:
    """A symbol and what it stands for: a cvxpy leaf, or the array of a constant."""

    name: str
    kind: str
    shape: Shape
    stands_for: Any


class SymbolTable:
    """Gives every leaf of a problem one name, and equal constants the same.

    Parameters
    ----------
    problem : cvxpy.Problem
    names : mapping of str to array, optional
        Names of constants; the others are called ``c_1`` (vectors) and ``C_1``.
    like : SymbolTable, optional
        Of a problem to be compared with: a constant of both has one name.
    renamed : mapping of str to str, optional
        Other names for some of the leaves.
    """

    def __init__(
        self,
        problem: cp.Problem,
        names: Mapping[str, Any] | None = None,
        like: "SymbolTable | None" = None,
        renamed: Mapping[str, str] | None = None,
    ):
        self.declared: dict[str, Declaration] = {}
        self._leaves: dict[int, Symbol] = {}
        self._renamed = renamed or {}
        self._arrays: dict[str, Node] = {} if like is None else like._arrays
        self._taken: set[str] = set() if like is None else like._constant_names()
        self._name_leaves(problem)
        for name, value in (names or {}).items():
            if _is_array(value) and _digest(_as_numbers(value)) not in self._arrays:
                self._remember(value, self._free(name))

    def leaf(self, leaf: Any) -> Symbol:
        """Symbol of a variable or parameter."""
        if leaf.id not in self._leaves:
            self._name_leaf(leaf)
        symbol = self._leaves[leaf.id]
        kind = PARAMETER if isinstance(leaf, cp.Parameter) else VARIABLE
        self.declared[symbol.name] = Declaration(symbol.name, kind, leaf.shape, leaf)
        return symbol

    def constant(self, constant: cp.Constant) -> Node:
        """A constant as a number, as ones, zeros or the identity, or as a symbol."""
        value: Any = constant.value
        if constant.shape == ():
            return number(_scalar(value))
        plain = _recognised(value, constant.shape)
        if plain is not None:
            return plain
        digest = _digest(_as_numbers(value))
        if digest not in self._arrays:
            own = getattr(constant, "_name", None)
            stem = "c" if np.ndim(value) == 1 else "C"
            self._remember(value, self._free(own) if own else self._numbered(stem))
        node = self._arrays[digest]
        symbol = node if isinstance(node, Symbol) else node.body  # type: ignore[attr-defined]
        stored = value if node is symbol else value.T
        self.declared[symbol.name] = Declaration(symbol.name, CONSTANT, symbol.shape, stored)
        return node

    def positions(self, part: np.ndarray) -> Symbol:
        """A symbol for a long list of positions, or a mask."""
        digest = _digest(part)
        if digest not in self._arrays:
            self._arrays[digest] = Symbol(part.shape, self._numbered("I"))
        symbol = self._arrays[digest]
        assert isinstance(symbol, Symbol)
        self.declared[symbol.name] = Declaration(symbol.name, POSITIONS, part.shape, part)
        return symbol

    def _constant_names(self) -> set[str]:
        nodes = self._arrays.values()
        return {node.name for node in nodes if isinstance(node, Symbol)}

    def _name_leaves(self, problem: cp.Problem) -> None:
        for leaf in [*problem.variables(), *problem.parameters()]:
            if not unnamed(leaf):
                self._name_leaf(leaf)

    def _name_leaf(self, leaf: Any) -> None:
        # cvxpy's own names count every leaf ever made, so they change between runs.
        if unnamed(leaf):
            stem = "p" if isinstance(leaf, cp.Parameter) else "x"
        else:
            stem = " ".join(leaf.name().split())
        self._leaves[leaf.id] = Symbol(leaf.shape, self._free(self._renamed.get(stem, stem)))

    def _numbered(self, stem: str) -> str:
        name = next(name for k in count(1) if (name := f"{stem}_{k}") not in self._taken)
        self._taken.add(name)
        return name

    def _free(self, stem: str) -> str:
        name, k = stem, 1
        while name in self._taken:
            k += 1
            name = f"{stem}_{k}"
        self._taken.add(name)
        return name

    def _remember(self, value: Any, name: str) -> None:
        self._taken.add(name)
        value = _as_numbers(value)
        symbol = Symbol(value.shape, name)
        self._arrays.setdefault(_digest(value), symbol)
        if value.ndim == 2:
            self._arrays.setdefault(_digest(value.T), transpose(symbol))


def _is_array(value: Any) -> bool:
    if sparse.issparse(value):
        return True
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind in "biufc"


def _as_numbers(value: Any) -> Any:
    """An array as cvxpy keeps it, so that the two can be recognised as one."""
    if sparse.issparse(value):
        return value
    return np.asarray(value, dtype=complex if np.iscomplexobj(value) else float)


def unnamed(leaf: Any) -> bool:
    """Whether a leaf has only the name that cvxpy gives by counting."""
    return leaf.name().strip() in ("", f"var{leaf.id}", f"param{leaf.id}")


def _scalar(value: Any) -> complex:
    value = np.asarray(value.toarray() if sparse.issparse(value) else value).item()
    return value if isinstance(value, complex) and value.imag else float(np.real(value))


def _recognised(value: Any, shape: Shape) -> Node | None:
    """An array of one number, or a multiple of the identity."""
    if sparse.issparse(value):
        if value.count_nonzero() == 0:
            return filled(0.0, shape)
    elif value.size and (value == value.flat[0]).all():
        return filled(_scalar(value.flat[0]), shape)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        return None
    scale = value.diagonal()[0]
    rest = value - scale * sparse.eye_array(shape[0])
    if (rest.count_nonzero() if sparse.issparse(rest) else np.count_nonzero(rest)) > 0:
        return None
    return times(number(_scalar(scale)), Identity(shape))


def _digest(value: Any) -> str:
    digest = hashlib.sha1(f"{value.shape}{value.dtype}".encode())
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        rows.sum_duplicates()
        parts = [rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)]
    else:
        parts = [np.asarray(value)]
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
