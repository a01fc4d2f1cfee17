"""The cones that constraints are made of, in numpy: distances from them, ways into their duals.

Rows of one kind and size stand together in a :class:`Block`; functions take an array with a
row a cone. Dual cones are those of the inner product, so that y'(Az + b) >= 0 for every y of
the dual and Az + b of the cone.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

EPSILON = float(np.finfo(float).eps)
#: How far inside a curved dual cone multipliers are put, relative to their size.
ROOM = 1e-13
SQRT2 = float(np.sqrt(2.0))


class Cone(Protocol):
    """One cone: its name, its number of rows, and what judging needs to know of it."""

    kind: str
    curved: bool

    @property
    def size(self) -> int:
        """Number of its rows."""
        ...

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Bound the distance of each row of `values` from the cone."""
        ...

    def into_dual(self, values: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Move each row of `values` into the dual cone, by little if it is near.

        Entries that are `free` may change at no cost to any sum A'y, others had better not.
        """
        ...

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        """Return factors of the rows, near to their sizes, that take the cone to itself."""
        ...

    def interior(self) -> np.ndarray:
        """Return a point well inside the cone."""
        ...

    def terms(self, values: np.ndarray, offsets: np.ndarray) -> float:
        """Add up what cancels in the inner products of dual `values` with `offsets`."""
        ...


@dataclass(frozen=True)
class Block:
    """Some cones of one kind in consecutive rows."""

    cone: Cone
    rows: slice

    @property
    def count(self) -> int:
        return (self.rows.stop - self.rows.start) // self.cone.size

    def of(self, vector: np.ndarray) -> np.ndarray:
        """Return the block's entries of a vector, a row a cone."""
        return vector[self.rows].reshape(-1, self.cone.size)


def _largest(sizes: np.ndarray) -> np.ndarray:
    return np.broadcast_to(sizes.max(axis=1, keepdims=True), sizes.shape)


def _products(values: np.ndarray, offsets: np.ndarray) -> float:
    return float(np.abs(values).ravel() @ np.abs(offsets).ravel())


class _Flat:
    """What cones of a single row have in common."""

    size = 1
    curved = False

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        return sizes

    def terms(self, values: np.ndarray, offsets: np.ndarray) -> float:
        return _products(values, offsets)


@dataclass(frozen=True)
class Equality(_Flat):
    """Rows that are 0; their multipliers may be anything."""

    kind = "equal to 0"

    def outside(self, values: np.ndarray) -> np.ndarray:
        return np.abs(values[:, 0])

    def into_dual(self, values: np.ndarray, free: np.ndarray) -> np.ndarray:
        return values

    def interior(self) -> np.ndarray:
        return np.zeros(1)


@dataclass(frozen=True)
class NonNegative(_Flat):
    """Rows that are at least 0, as are their multipliers."""

    kind = "at least 0"

    def outside(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(-values[:, 0], 0.0)

    def into_dual(self, values: np.ndarray, free: np.ndarray) -> np.ndarray:
        return np.maximum(values, 0.0)

    def interior(self) -> np.ndarray:
        return np.ones(1)


@dataclass(frozen=True)
class SecondOrder:
    """Rows (t, x) with norm(x) <= t; the cone is its own dual."""

    size: int
    kind = "second-order cone"
    curved = True

    def outside(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(np.linalg.norm(values[:, 1:], axis=1) - values[:, 0], 0.0)

    def into_dual(self, values: np.ndarray, free: np.ndarray) -> np.ndarray:
        moved = values.copy()
        least = np.linalg.norm(values[:, 1:], axis=1) * (1.0 + ROOM)
        moved[:, 0] = np.maximum(values[:, 0], least)
        return moved

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        return _largest(sizes)

    def interior(self) -> np.ndarray:
        return np.eye(1, self.size)[0]

    def terms(self, values: np.ndarray, offsets: np.ndarray) -> float:
        return float(np.abs(values[:, 0]) @ np.linalg.norm(offsets, axis=1))


@dataclass(frozen=True)
class Semidefinite:
    """Matrices without negative eigenvalues; rows are the upper triangle, column by column.

    What is not on the diagonal is multiplied by the square root of 2, so that inner products
    are those of matrices and the cone is its own dual.
    """

    side: int
    kind = "psd matrix"
    curved = True

    @property
    def size(self) -> int:
        return self.side * (self.side + 1) // 2

    def outside(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(-np.linalg.eigvalsh(self.matrices(values))[:, 0], 0.0)

    def into_dual(self, values: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Drop negative eigenvalues, every row and column in the unit of its diagonal."""
        matrices = self.matrices(values)
        diagonals = np.einsum("kii->ki", matrices)
        largest = diagonals.max(axis=1, keepdims=True, initial=0.0)
        units = np.sqrt(np.maximum(diagonals, np.where(largest > 0, 1e-18 * largest, 1.0)))
        across = units[:, :, None] * units[:, None, :]
        eigenvalues, vectors = np.linalg.eigh(matrices / across)
        positive = np.maximum(eigenvalues, 0.0)
        # Room for the rounding errors of this very product.
        positive += 4 * self.side * EPSILON * positive[:, -1:]
        moved = (vectors * positive[:, None, :]) @ vectors.transpose(0, 2, 1)
        return self.triangles(moved * across)

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        """Multiply row and column i of the matrix by the root of its diagonal's size."""
        i, j = np.tril_indices(self.side)
        roots = np.sqrt(sizes[:, i == j])
        return roots[:, i] * roots[:, j]

    def interior(self) -> np.ndarray:
        return self.triangles(np.eye(self.side)[None])[0]

    def terms(self, values: np.ndarray, offsets: np.ndarray) -> float:
        diagonals = np.einsum("kii->ki", self.matrices(values))
        roots, sizes = np.sqrt(np.abs(diagonals)), np.abs(self.matrices(offsets))
        return float(np.einsum("ki,kij,kj->", roots, sizes, roots))

    def matrices(self, values: np.ndarray) -> np.ndarray:
        """Unpack triangles into symmetric matrices."""
        i, j = np.tril_indices(self.side)  # row-major lower is column-major upper
        matrices = np.empty((len(values), self.side, self.side))
        matrices[:, i, j] = matrices[:, j, i] = values / np.where(i == j, 1.0, SQRT2)
        return matrices

    def triangles(self, matrices: np.ndarray) -> np.ndarray:
        """Pack symmetric matrices; of others, their symmetric part."""
        i, j = np.tril_indices(self.side)
        return 0.5 * (matrices[:, i, j] + matrices[:, j, i]) * np.where(i == j, 1.0, SQRT2)


@dataclass(frozen=True)
class Exponential:
    """Rows (x, y, z) with y exp(x / y) <= z, y > 0, and the closure."""

    kind = "exponential cone"
    size = 3
    curved = True

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Return what x must lose or z must gain; or the way to the face y = 0, x <= 0, z >= 0."""
        x, y, z = values.T
        with np.errstate(all="ignore"):
            by_x = np.where((y > 0) & (z > 0), x - y * np.log(z / y), np.inf)
            by_z = np.where(y > 0, y * np.exp(x / y) - z, np.inf)
        to_face = np.maximum.reduce([np.abs(y), x, -z])
        return np.fmin.reduce(np.maximum([by_x, by_z, to_face], 0.0))

    def into_dual(self, values: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Raise w or v, the free one or the one that needs less: -u exp(v / u - 1) <= w, u <= 0."""
        u, v, w = np.minimum(values[:, 0], 0.0), values[:, 1], np.maximum(values[:, 2], 0.0)
        room = 1.0 + 64.0 * ROOM
        with np.errstate(all="ignore"):
            least_w = np.where(u < 0, -u * np.exp(v / u - 1.0) * room, 0.0)
            least_v = np.where(u < 0, u * (1.0 + np.log(w / (-u * room))), 0.0)
        less = np.where(free[:, 1] == free[:, 2], least_v - v < least_w - w, free[:, 1])
        by_v = (u == 0) | (less & np.isfinite(least_v))
        v = np.where(by_v, np.maximum(v, least_v), v)
        return np.column_stack([u, v, np.where(by_v, w, np.maximum(w, least_w))])

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        return _largest(sizes)

    def interior(self) -> np.ndarray:
        # The central ray of the cone and its dual.
        return np.array([-1.051383945322714, 0.556409619469370, 1.258967884768947])

    def terms(self, values: np.ndarray, offsets: np.ndarray) -> float:
        return _products(values, offsets)


@dataclass(frozen=True)
class Power:
    """Rows (u, z) with u >= 0 and the product of u ** exponents at least abs(z)."""

    exponents: tuple[float, ...]
    kind = "power cone"
    curved = True

    @property
    def size(self) -> int:
        return len(self.exponents) + 1

    def outside(self, values: np.ndarray) -> np.ndarray:
        u, z = values[:, :-1], values[:, -1]
        short = np.abs(z) - np.prod(np.maximum(u, 0.0) ** self.exponents, axis=1)
        return np.maximum.reduce([short, np.max(-u, axis=1), np.zeros(len(z))])

    def into_dual(self, values: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Raise a free u, or lower abs(w), to w <= the product of (u / exponents) ** exponents."""
        u, w = np.maximum(values[:, :-1], 0.0), values[:, -1]
        exponents = np.array(self.exponents)
        for k in np.flatnonzero(free[0, :-1] & ~free[0, -1])[:1]:
            others = np.delete((u / exponents) ** exponents, k, axis=1).prod(axis=1)
            with np.errstate(all="ignore"):
                least = exponents[k] * (np.abs(w) / others) ** (1.0 / exponents[k])
            least = np.where(np.isfinite(least), least * (1.0 + 64.0 * ROOM), 0.0)
            u[:, k] = np.maximum(u[:, k], least)
        most = np.prod((u / exponents) ** exponents, axis=1) * (1.0 - ROOM)
        return np.column_stack([u, np.clip(w, -most, most)])

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        """Multiply every u by its own size, and z by what that makes of the product."""
        product = np.prod(sizes[:, :-1] ** self.exponents, axis=1)
        return np.column_stack([sizes[:, :-1], product])

    def interior(self) -> np.ndarray:
        return np.append(np.ones(len(self.exponents)), 0.0)

    def terms(self, values: np.ndarray, offsets: np.ndarray) -> float:
        return _products(values, offsets)
