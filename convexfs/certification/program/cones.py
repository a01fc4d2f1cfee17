"""The cones of convex problems: membership tests and the operations that proofs need.

Values are arrays with one row per cone. Methods with "surely" in their name allow for rounding
errors: True is proven (assuming numpy's exp, log and powers are accurate to a few last bits), False
proves nothing.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from convexfs.certification.rigorous.rounding import EPSILON, is_surely_semidefinite

SQRT2 = np.sqrt(2.0)
#: Second-order cones with more rows only get ball-shaped corrections: others need dense matrices.
LARGEST_DENSE = 64


class Cone(Protocol):
    """Protocol of a cone: its name, its number of rows, and the operations that proofs need."""

    kind: str
    curved: bool

    @property
    def size(self) -> int:
        """Return the number of rows."""
        ...

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Return an upper bound of each row's distance from the cone, 0 inside."""
        ...

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Move each row of `values` into the cone; a row near the cone moves little."""
        ...

    def surely_contains(self, values: np.ndarray, radii: np.ndarray) -> bool:
        """Return whether the boxes `values` +- `radii` surely lie in the cone."""
        ...

    def into_dual(self, values: np.ndarray, free: np.ndarray, room: float) -> np.ndarray:
        """Move each row of `values` surely into the dual cone; a row near it moves little.

        Entries that are `free` may change at no cost to any sum A'y, others had better not.
        `room` is a relative distance from the boundary that is added to curved cones.
        """
        ...

    def dual_factors(self, values: np.ndarray, ball: bool) -> np.ndarray:
        """Return factors G such that values + G v stay in the dual cone for norm(v) < 1.

        One number per row where G is diagonal, else one matrix per cone; 0 where no such
        factor is known. With `ball` multiples of the identity.
        """
        ...

    def dual_surely_contains(self, values: np.ndarray, factors: np.ndarray, eta: float) -> bool:
        """Whether values + G v surely stay in the dual cone for norm(v) <= eta < 1/2."""
        ...

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        """Return positive row scales, similar to `sizes`, by which the cone maps to itself."""
        ...

    def interior(self) -> np.ndarray:
        """Return a point well inside the cone and its dual."""
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
        """Return the block's entries of a vector, one row per cone."""
        return vector[self.rows].reshape(-1, self.cone.size)


def largest_of_each(sizes: np.ndarray) -> np.ndarray:
    """Return `sizes` (one row per cone) with all entries of a row set to its maximum."""
    return np.broadcast_to(sizes.max(axis=1, keepdims=True), sizes.shape)


class _Flat:
    """Base of the cones of one row: equalities and inequalities."""

    size = 1
    curved = False

    def dual_surely_contains(self, values: np.ndarray, factors: np.ndarray, eta: float) -> bool:
        return True  # Multipliers of equalities are free; others have themselves as factors.

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        return sizes


@dataclass(frozen=True)
class Equality(_Flat):
    """Rows that are 0; their multipliers are free."""

    kind = "equal to 0"

    def outside(self, values: np.ndarray) -> np.ndarray:
        return np.abs(values[:, 0])

    def inside(self, values: np.ndarray) -> np.ndarray:
        return np.zeros_like(values)

    def surely_contains(self, values: np.ndarray, radii: np.ndarray) -> bool:
        return not values.any() and not radii.any()

    def into_dual(self, values: np.ndarray, free: np.ndarray, room: float) -> np.ndarray:
        return values

    def dual_factors(self, values: np.ndarray, ball: bool) -> np.ndarray:
        return np.ones(len(values))

    def interior(self) -> np.ndarray:
        return np.zeros(1)


@dataclass(frozen=True)
class NonNegative(_Flat):
    """Rows that are at least 0, as are their multipliers."""

    kind = "at least 0"

    def outside(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(-values[:, 0], 0.0)

    def inside(self, values: np.ndarray) -> np.ndarray:
        return np.maximum(values, 0.0)

    def surely_contains(self, values: np.ndarray, radii: np.ndarray) -> bool:
        return bool(np.all(values - radii >= 0))

    def into_dual(self, values: np.ndarray, free: np.ndarray, room: float) -> np.ndarray:
        return np.maximum(values, 0.0)

    def dual_factors(self, values: np.ndarray, ball: bool) -> np.ndarray:
        return np.maximum(values[:, 0], 0.0)

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

    def inside(self, values: np.ndarray) -> np.ndarray:
        return self.into_dual(values, np.zeros_like(values), 0.0)

    def surely_contains(self, values: np.ndarray, radii: np.ndarray) -> bool:
        norms = np.linalg.norm(np.abs(values[:, 1:]) + radii[:, 1:], axis=1)
        least = values[:, 0] - radii[:, 0]
        return bool(np.all(least >= norms * (1.0 + 4 * (self.size + 4) * EPSILON)))

    def into_dual(self, values: np.ndarray, free: np.ndarray, room: float) -> np.ndarray:
        moved = values.copy()
        least = np.linalg.norm(values[:, 1:], axis=1) * (1.0 + 2 * (self.size + 4) * EPSILON + room)
        moved[:, 0] = np.maximum(values[:, 0], least)
        return moved

    def _eigenvalues(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        norms = np.linalg.norm(values[:, 1:], axis=1)
        return values[:, 0] - norms, values[:, 0] + norms

    def dual_factors(self, values: np.ndarray, ball: bool) -> np.ndarray:
        """Return P(sqrt(values)) / sqrt(2), P the quadratic representation; diagonals if `ball`."""
        low, high = self._eigenvalues(values)
        inside = low > 1e-13 * high
        if ball or self.size > LARGEST_DENSE:
            return np.repeat(np.where(inside, 0.7 * low, 0.0), self.size)
        roots = np.sqrt(np.where(inside, low, 1.0)), np.sqrt(np.where(inside, high, 1.0))
        norms = np.linalg.norm(values[:, 1:], axis=1, keepdims=True)
        direction = values[:, 1:] / np.where(norms > 0, norms, 1.0)
        root = np.column_stack(
            [0.5 * (roots[0] + roots[1]), (roots[1] - roots[0])[:, None] * 0.5 * direction]
        )
        reflection = np.diag(np.append(1.0, -np.ones(self.size - 1)))
        products = 2 * root[:, :, None] * root[:, None, :]
        factors = (products - (roots[0] * roots[1])[:, None, None] * reflection) / SQRT2
        return np.where(inside[:, None, None], factors, 0.0)

    def dual_surely_contains(self, values: np.ndarray, factors: np.ndarray, eta: float) -> bool:
        low, high = self._eigenvalues(values)
        used = factors.reshape(len(values), -1).any(axis=1)
        return not np.any(used & (low * (1.0 - 1.5 * eta) < 1e-14 * self.size * high))

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        return largest_of_each(sizes)

    def interior(self) -> np.ndarray:
        return np.eye(1, self.size)[0]


@dataclass(frozen=True)
class Semidefinite:
    """Matrices without negative eigenvalues; rows are the upper triangle, column by column.

    Entries off the diagonal are multiplied by the square root of 2, so that inner products
    are those of matrices and the cone is its own dual.
    """

    side: int
    kind = "psd matrix"
    curved = True

    @property
    def size(self) -> int:
        return self.side * (self.side + 1) // 2

    def outside(self, values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            return np.full(len(values), np.inf)
        return np.maximum(-np.linalg.eigvalsh(self.matrices(values))[:, 0], 0.0)

    def inside(self, values: np.ndarray) -> np.ndarray:
        return self.into_dual(values, np.zeros_like(values), 0.0)

    def surely_contains(self, values: np.ndarray, radii: np.ndarray) -> bool:
        shifts = np.linalg.norm(radii, axis=1) * (1.0 + 1e-9)
        return all(map(is_surely_semidefinite, self.matrices(values), shifts))

    def into_dual(self, values: np.ndarray, free: np.ndarray, room: float) -> np.ndarray:
        """Drop negative eigenvalues after scaling the diagonal to 1; add `room` to the diagonal."""
        matrices = self.matrices(values)
        if not room and all(map(is_surely_semidefinite, matrices)):
            return values
        diagonals = np.einsum("kii->ki", matrices)
        largest = diagonals.max(axis=1, keepdims=True, initial=0.0)
        units = np.sqrt(np.maximum(diagonals, np.where(largest > 0, 1e-18 * largest, 1.0)))
        across = units[:, :, None] * units[:, None, :]
        eigenvalues, vectors = np.linalg.eigh(matrices / across)
        positive = np.maximum(eigenvalues, 0.0)
        # Leave room for the rounding errors of this product.
        positive += 4 * self.side * EPSILON * positive[:, -1:]
        moved = (vectors * positive[:, None, :]) @ vectors.transpose(0, 2, 1) * across
        traces = np.einsum("kii->k", moved)
        moved += (room / self.side * traces)[:, None, None] * np.eye(self.side)
        for matrix, trace in zip(moved, traces, strict=True):
            for attempt in range(12):
                if trace <= 0 or is_surely_semidefinite((matrix + matrix.T) / 2):
                    break
                matrix += 4**attempt * 3 * (self.side + 3) * EPSILON * trace * np.eye(self.side)
        return self.triangles(moved)

    def dual_factors(self, values: np.ndarray, ball: bool) -> np.ndarray:
        """Return Cholesky factors L, which act by L V L' (0 if not psd); diagonals if `ball`."""
        finite = np.isfinite(values).all(axis=1, keepdims=True)
        matrices = self.matrices(np.where(finite, values, 0.0))
        traces = np.einsum("kii->k", matrices)
        if ball:
            lowest = np.linalg.eigvalsh(matrices)[:, 0]
            lowest -= 4 * (self.side + 3) * EPSILON * np.abs(traces)
            return np.repeat(np.maximum(lowest, 0.0), self.size)
        factors = np.zeros_like(matrices)
        for factor, matrix in zip(factors, matrices, strict=True):
            try:
                factor[:] = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                continue  # the factor 0 moves nothing
        return factors

    def dual_surely_contains(self, values: np.ndarray, factors: np.ndarray, eta: float) -> bool:
        matrices = self.matrices(values)
        if factors.ndim == 1:
            products = factors.reshape(len(values), -1)[:, :1, None] * np.eye(self.side)
        else:
            products = factors @ factors.transpose(0, 2, 1)
        margins = 4 * (self.side + 3) * EPSILON * np.abs(np.einsum("kii->k", matrices))
        return all(
            not product.any() or is_surely_semidefinite(matrix - eta * product, margin)
            for matrix, product, margin in zip(matrices, products, margins, strict=True)
        )

    def scales(self, sizes: np.ndarray) -> np.ndarray:
        """Return scales of entries ij: geometric means of the sizes of entries ii and jj."""
        i, j = np.tril_indices(self.side)
        roots = np.sqrt(sizes[:, i == j])
        return roots[:, i] * roots[:, j]

    def interior(self) -> np.ndarray:
        return self.triangles(np.eye(self.side)[None])[0]

    def matrices(self, values: np.ndarray) -> np.ndarray:
        """Unpack scaled triangles, one per row, into symmetric matrices."""
        i, j = np.tril_indices(self.side)  # row-major lower is column-major upper
        matrices = np.empty((len(values), self.side, self.side))
        matrices[:, i, j] = matrices[:, j, i] = values / np.where(i == j, 1.0, SQRT2)
        return matrices

    def triangles(self, matrices: np.ndarray) -> np.ndarray:
        """Pack matrices, symmetrised, into triangles; off-diagonal entries times sqrt(2)."""
        i, j = np.tril_indices(self.side)
        return 0.5 * (matrices[:, i, j] + matrices[:, j, i]) * np.where(i == j, 1.0, SQRT2)
