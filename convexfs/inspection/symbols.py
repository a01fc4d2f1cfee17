"""Names of variables, parameters and constants in a formula."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from convexfs.inspection.tree import Node, Shape, filled, make, negate, number, times, transpose

VARIABLE, PARAMETER, CONSTANT, POSITIONS = "variable", "parameter", "constant", "positions"


@dataclass(frozen=True)
class Declaration:
    """A symbol and its meaning: a cvxpy leaf, or the array of a constant.

    One that is indexed by k stands for a list of `count` arrays.
    """

    name: str
    kind: str
    shape: Shape
    stands_for: Any
    count: int = 0


class SymbolTable:
    """Assign one name to every leaf of a problem; equal constants share a name.

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
        self._leaves: dict[int, Node] = {}
        self._renamed = renamed or {}
        self._nodes: dict[str, Node] = {} if like is None else like._nodes
        self._arrays: dict[str, Any] = {} if like is None else like._arrays
        self._taken: set[str] = set(self._arrays)
        for leaf in [*problem.variables(), *problem.parameters()]:
            if not unnamed(leaf):
                self._name_leaf(leaf)
        for name, value in (names or {}).items():
            if _is_array(value) and _digest(_as_numbers(value))[1] not in self._nodes:
                self._remember(value, self.free(name))

    def leaf(self, leaf: Any) -> Node:
        """Return the symbol of a variable or parameter, and declare it."""
        if leaf.id not in self._leaves:
            self._name_leaf(leaf)
        symbol = self._leaves[leaf.id]
        kind = PARAMETER if isinstance(leaf, cp.Parameter) else VARIABLE
        self.declared[symbol.name] = Declaration(symbol.name, kind, leaf.shape, leaf)
        return symbol

    def constant(self, constant: cp.Constant) -> Node:
        """Return a constant as a number, as ones, zeros or the identity, or as a symbol."""
        value: Any = constant.value
        if constant.shape == ():
            return number(_scalar(value))
        plain = _recognised(value, constant.shape)
        if plain is not None:
            return plain
        sign, digest = _digest(_as_numbers(value))
        if digest not in self._nodes:
            own = getattr(constant, "_name", None)
            stem = "c" if np.ndim(value) == 1 else "C"
            self._remember(value, self.free(own) if own else self.numbered(stem))
        node = self._declared(self._nodes[digest], CONSTANT)
        return node if sign > 0 else negate(node)

    def positions(self, part: np.ndarray) -> Node:
        """Return a symbol for a long list of positions in an index, and declare it."""
        _, digest = _digest(part)
        if digest not in self._nodes:
            name = self.numbered("I")
            self._nodes[digest], self._arrays[name] = _symbol(part.shape, name), part
        return self._declared(self._nodes[digest], POSITIONS)

    def _declared(self, node: Node, kind: str) -> Node:
        symbol = next(each for each in node.all() if each.kind == "symbol")
        array = self._arrays[symbol.name]
        self.declared[symbol.name] = Declaration(symbol.name, kind, symbol.shape, array)
        return node

    def _name_leaf(self, leaf: Any) -> None:
        # cvxpy's default names count all leaves ever made, so they differ between runs.
        if unnamed(leaf):
            stem = "p" if isinstance(leaf, cp.Parameter) else "x"
        else:
            stem = " ".join(leaf.name().split())
        self._leaves[leaf.id] = _symbol(leaf.shape, self.free(self._renamed.get(stem, stem)))

    def numbered(self, stem: str) -> str:
        """Return a new name: a stem with the first free number."""
        return self._taking(f"{stem}_{k}" for k in count(1))

    def letter(self, letters: str) -> str:
        """Return the first of `letters` that is not a symbol yet, or else the first of all."""
        return next((letter for letter in letters if letter not in self._taken), letters[0])

    def indexed(self, stems: str, letter: str) -> str:
        """Return a new name: the first stem that is free with `letter` as its index."""
        names = [f"{stem}_{letter}" for stem in stems if stem not in self._taken]
        name = next((name for name in names if name not in self._taken), f"{stems}_{letter}")
        return self.free(name)

    def free(self, stem: str) -> str:
        """Return a new name: the stem, numbered if it is taken."""
        return self._taking(chain([stem], (f"{stem}_{k}" for k in count(2))))

    def _taking(self, names: Iterable[str]) -> str:
        """Return the first of these names that is not a symbol yet, which it becomes."""
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name

    def _remember(self, value: Any, name: str) -> None:
        """Store the name of an array and of its transpose; negatives use the same name."""
        self._taken.add(name)
        value = _as_numbers(value)
        self._arrays[name], symbol = value, _symbol(value.shape, name)
        turned = [(value, symbol)]
        if value.ndim == 2:
            turned.append((value.T, transpose(symbol)))
        for array, node in turned:
            sign, digest = _digest(array)
            self._nodes.setdefault(digest, node if sign > 0 else negate(node))


def _symbol(shape: Shape, name: str) -> Node:
    return make("symbol", shape, name=name)


def _is_array(value: Any) -> bool:
    if sparse.issparse(value):
        return True
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind in "biufc"


def _as_numbers(value: Any) -> Any:
    """Return an array as cvxpy stores it, so that both have the same digest."""
    if sparse.issparse(value):
        return value
    return np.asarray(value, dtype=complex if np.iscomplexobj(value) else float)


def unnamed(leaf: Any) -> bool:
    """Return whether a leaf has only cvxpy's default name."""
    return leaf.name().strip() in ("", f"var{leaf.id}", f"param{leaf.id}")


def _scalar(value: Any) -> complex:
    value = np.asarray(value.toarray() if sparse.issparse(value) else value).item()
    return value if isinstance(value, complex) and value.imag else float(np.real(value))


def _recognised(value: Any, shape: Shape) -> Node | None:
    """Return an array of one number, or a multiple of the identity, as a node; else None."""
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
    return times(number(_scalar(scale)), make("identity", shape))


def _digest(value: Any) -> tuple[int, str]:
    """Return a sign, and a hash that an array shares with its negative."""
    digest = hashlib.sha1(f"{value.shape}{value.dtype}".encode())
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        rows.sum_duplicates()
        entries, places = rows.data, (rows.indices, rows.indptr)
    else:
        entries, places = np.ascontiguousarray(value), ()
    flat = entries.ravel()
    leading = complex(flat[np.argmax(flat != 0)]) if flat.size else 0j
    sign = -1 if (leading.real or leading.imag) < 0 else 1
    # Adding 0 turns negative zeros into plain ones.
    for part in (sign * entries + 0, *(index.astype(np.int64) for index in places)):
        digest.update(part.data)
    return sign, digest.hexdigest()
