"""A problem as proofs need it: ``minimise 1/2 z'Pz + q'z + d subject to Az + b in K``.

The rows of a cone are contiguous and bounds are rows too. Multipliers in cvxpy's row order can be
converted to this order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from itertools import groupby
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, PowConeND, SvecPSD, Zero

from convexfs.certification.program.cone_program import ConeProgram
from convexfs.certification.program.cones import (
    SQRT2,
    Block,
    Cone,
    Equality,
    NonNegative,
    SecondOrder,
    Semidefinite,
)
from convexfs.certification.program.exponential_and_power import Exponential, Power
from convexfs.errors import InputError

Value = TypeVar("Value")


def once(function: Callable[["StandardForm"], Value]) -> Callable[["StandardForm"], Value]:
    """Decorate a function of a StandardForm: store its result on the form, to compute it once."""

    @wraps(function)
    def remembered(form: "StandardForm") -> Value:
        kept = form.__dict__
        if function.__name__ not in kept:
            kept[function.__name__] = function(form)
        return kept[function.__name__]

    return remembered


@dataclass(frozen=True)
class StandardForm:
    """The program ``minimise 1/2 z'Pz + q'z + d subject to Az + b in K``, rows sorted by cone.

    `columns` are the columns of each of the problem's own variables, by its id; `names` those
    of all variables by name; `parts` the variables that hold parts of complex ones, by id.
    """

    P: Any
    q: np.ndarray
    d: float
    A: Any
    b: np.ndarray
    blocks: tuple[Block, ...]
    columns: dict[int, slice]
    names: dict[str, tuple[int, int]]
    integer: np.ndarray
    constraints: tuple[Any, ...]
    parts: dict[int, tuple[cp.Variable | None, cp.Variable | None]]
    memory: dict[str, Any]

    @classmethod
    def of(cls, problem: cp.Problem) -> "StandardForm":
        """Compile `problem` for verification, with bounds as rows, and sort the rows by cone."""
        program = ConeProgram.verified(problem)
        constraints = tuple(each for each in program.constraints if each.size)
        cones, layout = _ordered(constraints, UPPER, program.memory)
        A: Any = sp.csr_array(program.A)
        b = program.b
        if layout is not None:
            A, b = layout @ A, layout @ b
        low, high = np.isfinite(program.lower), np.isfinite(program.upper)
        if low.any() or high.any():
            side = sp.csr_array(sp.eye_array(program.q.size))
            A = sp.vstack([A, side[low], -side[high]], format="csr")
            b = np.concatenate([b, -program.lower[low], program.upper[high]])
            cones = [*cones, (NonNegative(), int(low.sum() + high.sum()))]
        A.sum_duplicates()
        A.eliminate_zeros()
        return cls(
            P=None if program.P is None or not program.P.nnz else sp.csr_array(program.P),
            q=program.q.astype(float),
            d=program.d,
            A=A,
            b=b.astype(float),
            blocks=tuple(_blocks(cones)),
            columns=_own_columns(problem, program),
            names=program.columns,
            integer=program.integer,
            constraints=constraints,
            parts=program.parts,
            memory=program.memory,
        )

    def multipliers(self, y: np.ndarray) -> Iterator[np.ndarray]:
        """Yield `y` converted from cvxpy's row order to this one, in each layout of its size.

        Solvers differ in which triangle of a semidefinite matrix they have. Rows of bounds that
        a solver takes apart come first or last, with multipliers of 0: reduced costs replace them.
        """
        packed = any(isinstance(each, SvecPSD) for each in self.constraints)
        for triangle in TRIANGLES if packed else TRIANGLES[:1]:
            _, layout = _ordered(self.constraints, triangle, self.memory)
            rows = sum(each.size for each in self.constraints)
            spare = (rows if layout is None else layout.shape[1]) - y.size
            padded = [y] if spare == 0 else []
            if spare > 0 and int((~self.equalities & ~self.curved).sum()) >= spare:
                zeros = np.zeros(spare)
                padded = [np.concatenate([zeros, y]), np.concatenate([y, zeros])]
            for each in padded:
                own = each if layout is None else layout @ each
                yield np.concatenate([own, np.zeros(self.b.size - own.size)])

    @cached_property
    def entry_rows(self) -> np.ndarray:
        """Row index of each stored entry of A."""
        return np.repeat(np.arange(self.b.size), np.diff(self.A.indptr))

    @cached_property
    def largest_entries(self) -> np.ndarray:
        """The largest absolute value of each row of A; 0 where it has no entries."""
        return reduce_rows(self.sizes, self.sizes.data, np.maximum, 0.0)

    @cached_property
    def sizes(self) -> Any:
        """Sparse matrix of the absolute values of A."""
        A = self.A
        return sp.csr_array((np.abs(A.data), A.indices, A.indptr), shape=A.shape)

    @cached_property
    def transposed(self) -> Any:
        return sp.csr_array(self.A.T)

    @cached_property
    def transposed_sizes(self) -> Any:
        return sp.csr_array(self.sizes.T)

    @cached_property
    def gradients(self) -> Any:
        """The matrix ``[A', P]``."""
        return sp.csr_array(sp.hstack([self.transposed, self.P]))

    @cached_property
    def single_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the inequalities with one column only, and of those columns."""
        rows = np.flatnonzero((np.diff(self.A.indptr) == 1) & ~self.equalities & ~self.curved)
        return rows, self.A.indices[self.A.indptr[rows]]

    @cached_property
    def equalities(self) -> np.ndarray:
        """Mask of the rows that are equations."""
        return self._where(lambda cone: isinstance(cone, Equality))

    @cached_property
    def curved(self) -> np.ndarray:
        """Mask of the rows that belong to curved cones."""
        return self._where(lambda cone: cone.curved)

    @cached_property
    def constant(self) -> np.ndarray:
        """Mask of the rows that contain no variable."""
        return np.diff(self.A.indptr) == 0

    def _where(self, holds: Callable[[Cone], bool]) -> np.ndarray:
        mask = np.zeros(self.b.size, dtype=bool)
        for block in self.blocks:
            mask[block.rows] = holds(block.cone)
        return mask

    @cached_property
    def _cones(self) -> tuple[np.ndarray, np.ndarray]:
        """Index of the first row of every cone, and for every row the number of its cone."""
        starts = [
            np.arange(each.rows.start, each.rows.stop, each.cone.size) for each in self.blocks
        ]
        first = np.concatenate(starts) if starts else np.empty(0, dtype=int)
        owner = np.zeros(self.b.size, dtype=int)
        owner[first[1:]] = 1
        return first, np.cumsum(owner)

    @property
    def first_rows(self) -> np.ndarray:
        """For each row, the index of the first row of its cone."""
        first, owner = self._cones
        return first[owner]

    def with_rows(self, A: Any, b: np.ndarray) -> "StandardForm":
        """Return the program with inequalities Az + b >= 0 added below its rows."""
        rows = slice(self.b.size, self.b.size + b.size)
        return replace(
            self,
            A=sp.csr_array(sp.vstack([self.A, A])),
            b=np.concatenate([self.b, b]),
            blocks=(*self.blocks, Block(NonNegative(), rows)) if b.size else self.blocks,
        )

    def with_columns(self, A: Any, q: np.ndarray) -> "StandardForm":
        """Return the continuous program with columns A of cost q added; other costs become 0."""
        return replace(
            self,
            A=sp.csr_array(sp.hstack([self.A, A])),
            q=np.concatenate([np.zeros_like(self.q), q]),
            P=None,
            integer=np.empty(0, dtype=int),
        )

    def with_slacks(self, A: Any, q: np.ndarray) -> "StandardForm":
        """Return the continuous program with nonnegative columns A of cost q added."""
        sides = sp.hstack([sp.csr_array((q.size, self.q.size)), sp.eye_array(q.size)])
        return self.with_columns(A, q).with_rows(sp.csr_array(sides), np.zeros(q.size))

    def restricted(self, rows: np.ndarray, columns: np.ndarray) -> "StandardForm":
        """Return the continuous program of these rows (a mask of entire cones) and columns."""
        blocks, start = [], 0
        for block in self.blocks:
            number = int(rows[block.rows].sum())
            if number:
                blocks.append(Block(block.cone, slice(start, start := start + number)))
        P = None if self.P is None else sp.csr_array(self.P)[columns][:, columns]
        return replace(
            self,
            A=sp.csr_array(sp.csr_array(self.A)[rows][:, columns]),
            b=self.b[rows],
            q=self.q[columns],
            P=None if P is None or not P.nnz else sp.csr_array(P),
            blocks=tuple(blocks),
            integer=np.empty(0, dtype=int),
        )

    def without_objective(self) -> "StandardForm":
        """Return the program with all costs set to 0."""
        return replace(self, q=np.zeros_like(self.q), P=None)

    def together(self, values: np.ndarray) -> np.ndarray:
        """Return, for every row, the largest value among the rows of its cone."""
        first, owner = self._cones
        return np.maximum.reduceat(values, first)[owner] if values.size else values

    def curvature(self, z: np.ndarray) -> np.ndarray:
        return np.zeros_like(z) if self.P is None else self.P @ z

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        """Return positive row scales, similar to `sizes`, by which all cones map to themselves."""
        factors = np.empty_like(sizes)
        for block in self.blocks:
            factors[block.rows] = block.cone.scales(block.of(sizes)).ravel()
        return factors

    def into_dual(self, y: np.ndarray, room: float = 0.0) -> np.ndarray:
        """Return y moved surely into the dual cones; see :meth:`Cone.into_dual`."""
        moved = np.empty_like(y)
        for block in self.blocks:
            free = block.of(self.constant)
            moved[block.rows] = block.cone.into_dual(block.of(y), free, room).ravel()
        return moved

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return, for each row, a bound of the distance of its cone's values from the cone."""
        beyond = np.empty_like(rows)
        for block in self.blocks:
            beyond[block.rows] = np.repeat(block.cone.outside(block.of(rows)), block.cone.size)
        return beyond

    def interior(self) -> np.ndarray:
        """Return a vector inside every cone; 0 in equations."""
        parts = [np.tile(each.cone.interior(), each.count) for each in self.blocks]
        return np.concatenate([np.empty(0), *parts])

    def column_name(self, column: int) -> str:
        """Return the name of a column, such as ``x[3]``."""
        for name, (start, size) in self.names.items():
            if start <= column < start + size:
                return name if size == 1 else f"{name}[{column - start}]"
        return f"column {column}"


def reduce_rows(entries: Any, values: np.ndarray, reduce: np.ufunc, none: float) -> np.ndarray:
    """Apply a ufunc as np.maximum to `values` (one per entry), row by row; empty rows: `none`."""
    starts = entries.indptr[:-1]
    filled = np.diff(entries.indptr) > 0
    if filled.all() and starts.size:
        return reduce.reduceat(values, starts)
    reduced = np.full(starts.size, none)
    if filled.any():
        reduced[filled] = reduce.reduceat(values, starts[filled])
    return reduced


def _own_columns(problem: cp.Problem, program: ConeProgram) -> dict[int, slice]:
    ends = np.array(sorted({*program.starts.values(), program.q.size}))
    own = {}
    parts = (each for pair in program.parts.values() for each in pair if each is not None)
    for variable in (*problem.variables(), *parts):
        start = program.starts.get(variable.id)
        if start is not None and start < program.q.size:
            own[variable.id] = slice(start, int(ends[np.searchsorted(ends, start) + 1]))
    return own


def _blocks(cones: list[tuple[Cone, int]]) -> Iterator[Block]:
    """Yield blocks of rows: adjacent cones of equal kind and size are joined."""
    start = 0
    for cone, members in groupby(cones, key=lambda each: each[0]):
        rows = cone.size * sum(number for _, number in members)
        if rows:
            yield Block(cone, slice(start, start := start + rows))


#: Which entries of a psd matrix are rows: upper or lower triangle, by columns, or all.
UPPER, LOWER, FULL = TRIANGLES = ("upper", "lower", "full")


def _ordered(
    constraints: tuple[Any, ...], triangle: str, memory: dict[str, Any]
) -> tuple[list[tuple[Cone, int]], Any]:
    """Return the cones of all constraints, and the matrix that sorts rows by cone; cached.

    The matrix is None where they are in order already.
    """
    if triangle not in memory:
        ordered = [_in_order(each, triangle) for each in constraints]
        flat = all(isinstance(each, Zero | NonNeg) for each in constraints)
        layout = None if flat else sp.csr_array(sp.block_diag([part for _, part in ordered]))
        memory[triangle] = [cone for cones, _ in ordered for cone in cones], layout
    return memory[triangle]


def _in_order(constraint: Any, triangle: str) -> tuple[list[tuple[Cone, int]], Any]:
    """Return the cones of one constraint, and the matrix that sorts its rows by cone."""
    size = constraint.size
    match constraint:
        case Zero():
            return [(Equality(), size)], sp.eye_array(size)
        case NonNeg():
            return [(NonNegative(), size)], sp.eye_array(size)
        case SOC():
            # cvxpy puts all t first, then X cone by cone.
            each = constraint.cone_sizes()[0]
            t = np.arange(size // each)
            X = np.arange(t.size, size).reshape(t.size, each - 1)
            return [(SecondOrder(each), t.size)], _chosen(np.column_stack([t, X]))
        case ExpCone():
            # cvxpy puts all first entries first, then all second, then all third.
            return [(Exponential(), size // 3)], _chosen(np.arange(size).reshape(3, -1).T)
        case PowCone3D():
            first = np.ravel(np.asarray(constraint.alpha.value, dtype=float))
            powers = _powers(np.column_stack([first, 1.0 - first]))
            return powers, _chosen(np.arange(size).reshape(3, -1).T)
        case PowConeND():
            exponents = np.atleast_2d(np.asarray(constraint.alpha.value, dtype=float).T)
            W = np.arange(exponents.size).reshape(exponents.shape)
            z = exponents.size + np.arange(len(exponents))
            return _powers(exponents), _chosen(np.column_stack([W, z]))
        case PSD():
            side = constraint.args[0].shape[-1]
            number = size // side**2
            return [(Semidefinite(side), number)], sp.block_diag([triangle_of(side)] * number)
        case SvecPSD():
            cone = Semidefinite(constraint._n)
            rows = np.arange(size).reshape(-1, cone.size)
            if triangle == FULL:
                return [(cone, len(rows))], sp.block_diag([triangle_of(cone.side)] * len(rows))
            return [(cone, len(rows))], _chosen(rows[:, _upper_order(cone.side, triangle)])
    raise InputError(f"constraints of the kind {type(constraint).__name__} are not verified")


def _chosen(rows: np.ndarray) -> Any:
    """Return the permutation matrix that puts rows into this order."""
    order = rows.ravel()
    return sp.csr_array((np.ones(order.size), order, np.arange(order.size + 1)))


def _powers(exponents: np.ndarray) -> list[tuple[Cone, int]]:
    return [(Power(tuple(float(each) for each in row)), 1) for row in exponents]


def _upper_order(side: int, triangle: str) -> np.ndarray:
    """Return the position of each entry of the column-major upper triangle in `triangle`."""
    if triangle != LOWER:
        return np.arange(side * (side + 1) // 2)
    position = np.empty((side, side), dtype=int)
    i, j = np.triu_indices(side)  # row-major upper is column-major lower
    position[i, j] = position[j, i] = np.arange(i.size)
    return position[np.tril_indices(side)]


def triangle_of(side: int) -> Any:
    """Return the matrix that maps a full matrix, by columns, to its scaled upper triangle."""
    i, j = np.tril_indices(side)
    entries = np.concatenate([i * side + j, j * side + i])
    weights = np.tile(np.where(i == j, 0.5, 1.0 / SQRT2), 2)
    return sp.csr_array((weights, (np.tile(np.arange(i.size), 2), entries)))
