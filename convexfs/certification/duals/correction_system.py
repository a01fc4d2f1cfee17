"""Linear systems that move multipliers so that reduced costs become exactly 0."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from convexfs.certification.auxiliary import Budget
from convexfs.certification.duals.dual_bound import Lagrangian, column_losses, total
from convexfs.certification.program.cones import Block, Equality, Semidefinite
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import Box
from convexfs.certification.rigorous.rounding import (
    EPSILON,
    is_surely_semidefinite,
    matrix_products,
)

#: Corrections v of at least this norm prove no bound; it is not tested whether multipliers stay in
#: their cones.
LARGEST_ETA = 0.45
#: The lowest eigenvalue of matrices with more rows is estimated by inverse iteration, else
#: computed.
ITERATED = 100
#: Ill-conditioned systems with at most this many rows and columns are solved by least squares,
#: larger ones by normal equations.
LARGEST_DENSE = 1500
#: Systems with more columns are solved by LSQR, and no dual bound of a correction is proven.
LARGEST_NORMAL = 1500
#: A's columns are stored densely if rows times columns are at most this many (first), or this many
#: if semidefinite cones fill them (second).
LARGEST_ARRAY, LARGEST_FILLED = 30_000, 1_000_000
#: Corrected multipliers of equations below this share of their natural size are set to 0.
NOISE = 1e-14
#: Assumed operations per second in congruences of semidefinite cones; a correction that would take
#: longer than the time left is not begun.
SPEED = 2e10


@dataclass(frozen=True)
class Goal:
    """The bound that a proof needs: `target`; corrections may cost up to about `budget`.

    `natural` are sizes of multipliers, row by row; see :func:`natural_multipliers`. A bound that
    holds for costs changed by `rounding` of their terms is enough. Corrections that take longer
    than `time` are not begun.
    """

    form: StandardForm
    box: Box
    target: float
    budget: float
    natural: np.ndarray
    rounding: float = 0.0
    time: Budget = field(default_factory=Budget)

    def has_time_for(self, columns: int) -> bool:
        """Return whether the congruences of a correction of some columns fit into the time left."""
        sides = sum(
            block.count * block.cone.side**3
            for block in self.form.blocks
            if isinstance(block.cone, Semidefinite)
        )
        return 8.0 * sides * columns / SPEED <= self.time.left


class Metric:
    """Matrix G of allowed multiplier changes Gv: block-diagonal; V -> L V L' for psd cones."""

    def __init__(self, form: StandardForm, y: np.ndarray, natural: np.ndarray, ball: bool):
        self.blocks: list[tuple[Block, np.ndarray]] = []
        rows, columns, entries = [], [], []
        for block in form.blocks:
            factors = block.cone.dual_factors(block.of(y), ball)
            if isinstance(block.cone, Equality):
                factors = natural[block.rows]
            self.blocks.append((block, factors))
            first = np.arange(block.rows.start, block.rows.stop)
            if factors.ndim == 1:
                rows.append(first)
                columns.append(first)
                entries.append(factors)
            elif not isinstance(block.cone, Semidefinite):
                own = first.reshape(-1, block.cone.size)
                rows.append(np.repeat(own, block.cone.size, axis=1).ravel())
                columns.append(np.tile(own, block.cone.size).ravel())
                entries.append(factors.ravel())
        shape = (form.b.size, form.b.size)
        places = tuple(np.concatenate([np.empty(0, int), *each]) for each in (rows, columns))
        self.sparse: Any = sp.csr_array((np.concatenate([np.empty(0), *entries]), places), shape)
        self.transposed: Any = sp.csr_array(self.sparse.T)

    @property
    def congruences(self) -> Iterator[tuple[Block, np.ndarray, Semidefinite]]:
        for block, factors in self.blocks:
            if isinstance(block.cone, Semidefinite) and factors.ndim == 3:
                yield block, factors, block.cone

    def into(self, A: Any) -> tuple[Any, np.ndarray]:
        """Return G'A, and the norms of its columns if no terms cancelled; sparse if A is."""
        product: Any = self.transposed @ A
        sizes = _squares(abs(self.transposed) @ abs(A))
        parts = []
        for block, factors, cone in self.congruences:
            for k, factor in enumerate(factors):
                first = block.rows.start + k * cone.size
                own = A[first : first + cone.size]
                used = np.flatnonzero(_counts(own))
                matrices = cone.matrices(_dense(own[:, used]).T)
                moved = cone.triangles(factor.T @ matrices @ factor).T
                largest = cone.triangles(np.abs(factor.T) @ np.abs(matrices) @ np.abs(factor))
                sizes[used] += np.sum(largest**2, axis=1)
                parts.append((moved, np.arange(first, first + cone.size), used))
        return _with_parts(product, parts), np.sqrt(sizes)

    def vector_into(self, vector: np.ndarray) -> np.ndarray:
        """Return G'v."""
        moved = self.transposed @ vector
        for block, factors, cone in self.congruences:
            inner = factors.transpose(0, 2, 1) @ cone.matrices(block.of(vector)) @ factors
            moved[block.rows] = cone.triangles(inner).ravel()
        return moved

    def out_of(self, vector: np.ndarray) -> np.ndarray:
        """Return Gv."""
        moved = self.sparse @ vector
        for block, factors, cone in self.congruences:
            outer = factors @ cone.matrices(block.of(vector)) @ factors.transpose(0, 2, 1)
            moved[block.rows] = cone.triangles(outer).ravel()
        return moved

    def keeps_inside(self, y: np.ndarray, eta: float) -> bool:
        """Return whether y + Gv surely stays in the dual cone for all norm(v) <= eta."""
        return all(
            block.cone.dual_surely_contains(block.of(y), factors, eta)
            for block, factors in self.blocks
        )


def _with_parts(
    product: Any, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> np.ndarray | sp.csc_array:
    """Return `product` with dense parts, given as (values, rows, columns), filled in."""
    if not sp.issparse(product):
        for values, rows, columns in parts:
            product[np.ix_(rows, columns)] = values
        return product
    if parts:
        entries = np.concatenate([values.ravel() for values, _, _ in parts])
        places = [np.meshgrid(rows, columns, indexing="ij") for _, rows, columns in parts]
        i, j = (np.concatenate([each[k].ravel() for each in places]) for k in (0, 1))
        product = product + sp.csr_array((entries, (i, j)), product.shape)
    return sp.csc_array(product)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def _over(matrix: Any, units: np.ndarray) -> Any:
    """Divide each column of a matrix by its entry of `units`."""
    if sp.issparse(matrix):
        return sp.csc_array(matrix @ sp.diags_array(1.0 / units))
    return matrix / units


def _counts(matrix: Any) -> np.ndarray:
    """Return the number of nonzero entries of each column of a dense or sparse matrix."""
    return matrix.count_nonzero(axis=0) if sp.issparse(matrix) else (matrix != 0).sum(axis=0)


def _squares(matrix: Any) -> np.ndarray:
    """Return the squared norms of the columns of a dense or sparse matrix."""
    if not sp.issparse(matrix):
        return np.einsum("ij,ij->j", matrix, matrix)
    return np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel()


class CorrectionSystem:
    """Linear system for the change of multipliers that corrects reduced costs of chosen columns."""

    def __init__(self, goal: Goal, at: Lagrangian, index: np.ndarray, ball: bool):
        self.goal, self.at, self.index = goal, at, index
        form = goal.form
        self.metric = Metric(form, at.y, goal.natural, ball)
        self.matrix, sizes = self.metric.into(self._columns(index))
        self.tau = 0.0
        if form.P is not None:
            largest = float(abs(form.P).sum(axis=1).max())
            self.tau = math.sqrt(max(goal.budget, 1e-300) / max(largest, 1e-300))
            P_F = -self.tau * sp.csc_array(form.P)[:, index]
            if sp.issparse(self.matrix):
                self.matrix = sp.csc_array(sp.vstack([self.matrix, P_F]))
            else:
                self.matrix = np.vstack([self.matrix, P_F.toarray()])
            sizes = np.sqrt(sizes**2 + _squares(P_F))
        self.norms = np.sqrt(_squares(self.matrix))
        self.used = self.norms > 0
        self.scaled: Any = _over(self.matrix[:, self.used], self.norms[self.used])
        # Cancellation in G'A: rounding errors of its entries are relative to these norms.
        shares = sizes[self.used] / self.norms[self.used]
        self.cancelled = float(np.max(shares, initial=1.0))
        self.unsafe, self.lacking = np.empty(0, dtype=int), np.empty(0)

    def _columns(self, index: np.ndarray) -> Any:
        """Return columns of A: dense if small (a larger limit if psd cones fill them), else CSC."""
        columns = sp.csc_array(self.goal.form.A)[:, index]
        most = LARGEST_FILLED if any(self.metric.congruences) else LARGEST_ARRAY
        small = columns.shape[0] * columns.shape[1] <= most
        return columns.toarray() if small else columns

    @cached_property
    def normal(self) -> np.ndarray:
        """The normal matrix N = A_F' G G' A_F, scaled to a diagonal of 1 (cached)."""
        return _dense(self.scaled.T @ self.scaled)

    def proven(self) -> Iterator[float]:
        """Yield the dual bound of an exact correction if one provably exists, else nothing."""
        if not 0 < self.index.size <= LARGEST_NORMAL:
            return
        residuals = np.abs(self.at.reduced[self.index]) + self.at.error[self.index]
        if np.any(residuals[~self.used] > 0):
            return
        if self.sigma is None:
            return
        scaled = residuals[self.used] / self.norms[self.used]
        eta = float(np.linalg.norm(scaled)) / math.sqrt(self.sigma) * (1.0 + 1e-9)
        if eta < LARGEST_ETA and self.metric.keeps_inside(self.at.y, eta):
            yield self._bound(eta)

    @cached_property
    def sigma(self) -> float | None:
        """Return a proven lower bound on the eigenvalues of `normal`; None if none is proven."""
        side = len(self.normal)
        if side == 0:
            return 1.0
        entries = int(_counts(self.matrix).max(initial=1))
        error = 2 * (entries + 12) * EPSILON * side * self.cancelled
        sigma = 0.5 * lowest_eigenvalue(self.normal)
        if not sigma > 2 * (error + 2 * (side + 3) * EPSILON * side):
            return None
        return sigma if is_surely_semidefinite(self.normal, sigma + error) else None

    def _bound(self, eta: float) -> float:
        """Return the dual bound for y + Gv with any norm(v) <= eta; set `unsafe` and `lacking`."""
        form, at = self.goal.form, self.at
        slack, error = matrix_products(form.A, at.w, form.b)
        error = error + 1e-13 * np.abs(slack)
        moved = np.linalg.norm(self.metric.vector_into(slack))
        moved += np.linalg.norm(abs(self.metric.transposed) @ error)
        for block, factors, cone in self.metric.congruences:
            sizes = np.abs(factors)
            sizes = sizes.transpose(0, 2, 1) @ np.abs(cone.matrices(block.of(error))) @ sizes
            moved += np.linalg.norm(sizes)
        paid = eta * float(moved) * (1.0 + 1e-9)
        others = np.setdiff1d(np.arange(form.q.size), self.index)
        product, sizes = self.metric.into(self._columns(others))
        change = np.sqrt(_squares(product)) + 1e-13 * sizes
        if form.P is not None:
            largest = float(abs(form.P).sum(axis=1).max())
            paid += 0.5 * (eta * self.tau) ** 2 * largest * (1.0 + 1e-9)
            change += self.tau * np.sqrt(_squares(sp.csc_array(form.P)[:, others]))
        box = Box(self.goal.box.lower[others], self.goal.box.upper[others])
        error = at.error[others] + eta * change * (1.0 + 1e-9)
        loss = column_losses(at.reduced[others], error, at.w[others], box)
        bad = ~np.isfinite(loss)
        self.unsafe, self.lacking = others[bad], error[bad]
        return total(at.centre - paid, loss)

    def _least_change(self, wanted: np.ndarray) -> np.ndarray | None:
        """Return the least-norm v with A_F'Gv = wanted, in floating point; None if that fails."""
        wanted = wanted[self.used] / self.norms[self.used]
        if wanted.size > LARGEST_NORMAL:
            return lsqr(self.scaled.T, wanted, atol=1e-15, btol=1e-15, iter_lim=1000)[0]
        try:
            if self.sigma is None and max(self.scaled.shape) <= LARGEST_DENSE:
                # Do not square the matrix: normal equations of ill-conditioned matrices lose half
                # the digits.
                rows = _dense(self.scaled).T
                found: Any = scipy.linalg.lstsq(rows, wanted, cond=1e-14, lapack_driver="gelsy")
                return found[0]
            lifted = self.normal + 1e-15 * wanted.size * np.eye(wanted.size)
            factor = scipy.linalg.cho_factor(lifted)
            x = scipy.linalg.cho_solve(factor, wanted)
            x += scipy.linalg.cho_solve(factor, wanted - self.normal @ x)
        except (np.linalg.LinAlgError, ValueError):
            return None
        return self.scaled @ x

    def moved(self, aims: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return (y, w) moved towards reduced costs `aims`, by a norm <= 0.9; None on failure."""
        change = self._least_change(self.at.reduced[self.index] - aims)
        if change is None or not np.isfinite(change).all():
            return None
        form = self.goal.form
        rows = form.b.size
        length = float(np.linalg.norm(change[:rows][~form.equalities]))
        share = 0.9 / length if length > 0.9 else 1.0
        y = self.at.y + share * self.metric.out_of(change[:rows])
        # Multipliers of equations that are 0 should stay 0, not become rounding errors.
        noise = form.equalities & (np.abs(y) <= NOISE * self.goal.natural)
        y = form.into_dual(np.where(noise, 0.0, y))
        w = self.at.w if form.P is None else self.at.w + share * self.tau * change[rows:]
        return y, w


def lowest_eigenvalue(matrix: np.ndarray) -> float:
    """Return the lowest eigenvalue, estimated if large; -1 if not finite or Cholesky fails."""
    side = len(matrix)
    if not np.isfinite(matrix).all():
        return -1.0
    if side <= ITERATED:
        return float(scipy.linalg.eigvalsh(matrix, subset_by_index=[0, 0])[0])
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True)
    except np.linalg.LinAlgError:
        return -1.0
    vector = np.random.default_rng(0).normal(size=side)
    lowest = -1.0
    for _ in range(12):
        vector /= np.linalg.norm(vector)
        vector = scipy.linalg.cho_solve(factor, vector)
        lowest = 1.0 / float(np.linalg.norm(vector))
    return lowest
