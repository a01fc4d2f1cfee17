r"""Is a point an optimum? Its cost against a bound that nothing feasible can be below.

The point is judged on the stated problem (:mod:`feasibility`), the bound on a fresh
canonicalisation (:mod:`dual_bound`), with multipliers from whoever has some: the solver, or a
search in units in which a solver's tolerances mean the same for all columns. The gap is

.. math:: |p - L| / \max(|p|, |L|, 10^{-3} C),

p and L without the objective's constant, C the least of what cancels in the bound and of what
cancels in the objective: neither the point nor the multipliers alone can inflate it. A cost of
less than a millionth of what the data's units cost is taken for a zero, and judged by that unit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.linalg import eigsh

from convexfs.solving.branching import Tree, bound_by_branching
from convexfs.solving.cones import EPSILON
from convexfs.solving.dual_bound import Bound, best_bound
from convexfs.solving.search import Scaling, solved_again
from convexfs.solving.standard_form import StandardForm
from convexfs.solving.units import unit_of_objective, units_at

#: A gap below tol times this share of the cancelling terms counts as none.
CANCELLED = 1e-3
#: Costs below tol times this share of the data's unit of cost count as zero.
NIL = 1e-2
#: A bound this much better than needed ends the search.
AMPLE = 0.1
#: Side of a quadratic objective's matrix above which its lowest eigenvalue is only searched for.
LARGEST_DENSE = 1000
#: Eigenvalues above minus this, each row and column in its own unit, are rounding errors.
NEARLY_CONVEX = 1e-9


@dataclass
class Trial:
    """The search for a bound on the objective of `form` that is as high as `cost`.

    `point` holds the columns that the answer tells, `known` says which those are. `cost` is
    minimised, and contains the constant d. With `relative` the gap is judged as it is, for
    objectives that are logarithms. `full` are all columns, those of the best bound's point where
    the answer tells none.
    """

    form: StandardForm
    point: np.ndarray
    known: np.ndarray
    cost: float
    tol: float
    relative: bool = False
    best: Bound | None = None
    gap: float = np.inf
    scale: float = np.nan
    by: str = ""
    full: np.ndarray | None = None
    others: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unit = unit_of_objective(self.form)

    @property
    def value(self) -> float:
        """The cost without its constant."""
        return self.cost - self.form.d

    @property
    def bound(self) -> float:
        """The bound with the constant."""
        return -np.inf if self.best is None else self.best.value + self.form.d

    @property
    def lost(self) -> float:
        """What reduced costs take from the bound, in the gap's scale."""
        return 0.0 if self.best is None else float(self.best.loss.sum() / (self.scale or 1.0))

    def prove(self, multipliers: Iterator[tuple[np.ndarray, str]], search: bool) -> bool:
        """Try all multipliers that are offered, then those that a search finds."""
        if not self.form.q.any() and self.form.P is None:
            nothing = np.zeros(self.form.b.size)
            return self.attempt(nothing, self.point, "there is no objective")
        for y, by in multipliers:
            if self.attempt(y, self.point, by):
                return True
        return search and self._searched()

    def attempt(self, y: np.ndarray, w: np.ndarray, by: str) -> bool:
        """Keep the bound that y proves if it is the best; tell whether it is good enough."""
        full = np.where(self.known, self.point, w)
        size = max(abs(self.value), self.unit)
        units = units_at(self.form, full, size)
        found = best_bound(
            self.form, y, w, units, size, lambda b: self.judged(b, full)[0] <= AMPLE * self.tol
        )
        if self.best is None or found.value > self.best.value:
            self.best, self.by, self.full = found, by, full
            self.gap, self.scale = self.judged(found, full)
        return self.gap <= self.tol

    def judged(self, bound: Bound, full: np.ndarray) -> tuple[float, float]:
        """Return the gap to a bound and what it is relative to."""
        off = abs(self.value - bound.value) - 4 * EPSILON * (abs(self.cost) + abs(self.form.d))
        if self.relative:
            return max(off, 0.0), 1.0
        spread = np.abs(full)
        cancelling = float(np.abs(self.form.q) @ spread)
        if self.form.P is not None:
            cancelling += 0.5 * float(spread @ (abs(self.form.P) @ spread))
        cancelling = min(self.form.cancelling(bound.y), cancelling)
        scale = self.scale_for(bound.value, CANCELLED * cancelling)
        return (max(off, 0.0) / scale if scale > 0 else 0.0), scale

    def scale_for(self, bound: float, least: float = 0.0) -> float:
        """Return the size of a cost and a bound, or of the data's unit if the cost is zero."""
        scale = max(abs(self.value), abs(bound) if np.isfinite(bound) else 0.0, least)
        nil = abs(self.value) <= self.tol * NIL * self.unit
        return max(scale, NIL * self.unit) if nil else scale

    def _searched(self) -> bool:
        for scaling in self._scalings():
            found = solved_again(self.form, scaling)
            if found is None or found.contradicts:
                continue
            self.others.append(found.z)
            if self.attempt(found.y, found.z, "multipliers found here"):
                return True
        return False

    def _scalings(self) -> Iterator[Scaling]:
        """Yield equilibrated units, then those of the answer, then of the last point found."""
        yield Scaling.equilibrated(self.form)
        for known in (self.known, np.zeros_like(self.known), np.zeros_like(self.known)):
            if not self.others:
                return
            full = np.where(known, self.point, self.others[-1])
            size = abs(float(self.form.q @ full)) + abs(float(full @ self.form.curvature(full)))
            size = max(size, self.unit)
            yield Scaling.of(self.form, units_at(self.form, full, size), size)

    def branch(self, nodes: int) -> Tree:
        """Prove a bound on whole points by at most so many relaxations."""
        full = self.point
        if not self.known.all():
            relaxed = solved_again(self.form, Scaling.equilibrated(self.form))
            if relaxed is not None:
                full = np.where(self.known, self.point, relaxed.z)
        size = max(abs(self.value), self.unit)
        self.full, units = full, units_at(self.form, full, size)
        target = self.value - 0.5 * self.tol * self.scale_for(0.0)
        tree = bound_by_branching(self.form, units, size, target, nodes)
        # What is cut off is no better than the target; nothing more was asked of it.
        value = min(tree.value, self.value) if tree.value >= target else tree.value
        self.best = Bound(value, np.zeros(self.form.b.size), np.zeros(full.size))
        self.scale = self.scale_for(value)
        self.gap = abs(self.value - value) / self.scale if self.scale > 0 else 0.0
        self.by = f"branch and bound, {tree.nodes} nodes"
        return tree

    def worst_columns(self, number: int = 3) -> list[str]:
        """Say which columns cost the bound most."""
        if self.best is None or not self.scale > 0:
            return []
        loss = self.best.loss / self.scale
        order = np.argsort(-loss)[:number]
        return [
            f"{self.form.column_name(int(column))}: its reduced cost takes {loss[column]:.1e} "
            "from the bound"
            for column in order
            if loss[column] > AMPLE * self.tol
        ]


def is_convex(form: StandardForm) -> bool:
    """Whether P has no negative eigenvalue but for rounding; cvxpy can be told to assume it."""
    if form.P is None:
        return True
    diagonal = form.P.diagonal()
    if np.any(diagonal < 0):
        return False
    if form.P.nnz == np.count_nonzero(diagonal):
        return True
    units = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    used = np.flatnonzero(np.diff(form.P.indptr))
    matrix = form.P[used][:, used] * units[used][:, None] * units[used][None, :]
    if used.size <= LARGEST_DENSE:
        lowest = np.linalg.eigvalsh(matrix.toarray())[0]
    else:
        lowest = eigsh(matrix, k=1, which="SA", return_eigenvectors=False, tol=1e-3)[0]  # pyright: ignore[reportArgumentType]
    return bool(lowest >= -NEARLY_CONVEX)
