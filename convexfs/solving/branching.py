"""Bounds on the optimum of integer problems, by a small branch and bound.

Every node is a relaxation whose bound is proven as any other (see :mod:`dual_bound`), so that
what is cut off is cut off rightly, whatever the search did. Points farther than `reach` units
are not compared with, for between whole points there are no others.
"""

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from convexfs.solving.dual_bound import ROUNDING, best_bound, repaired
from convexfs.solving.search import Found, Scaling, solved_again
from convexfs.solving.standard_form import StandardForm
from convexfs.solving.units import Units

#: A number this near to a whole one is taken for it.
WHOLE = 1e-6
#: Number of units within which whole points are compared.
FAR = 1e6


@dataclass(frozen=True)
class Tree:
    """What branching proved: a bound (infinite if nothing is feasible), and after how many nodes.

    `complete` tells whether more nodes could not have changed the verdict.
    """

    value: float
    nodes: int
    complete: bool


@dataclass(frozen=True)
class _Node:
    value: float
    lower: np.ndarray
    upper: np.ndarray
    point: np.ndarray


@dataclass(frozen=True)
class _Branching:
    """The relaxation with a lower and an upper row for every integer column, the last rows."""

    form: StandardForm
    units: Units
    cost: float
    target: float
    reach: float

    def node(self, lower: np.ndarray, upper: np.ndarray, parent: _Node | None) -> _Node:
        known = -np.inf if parent is None else parent.value
        point = np.zeros(self.form.q.size) if parent is None else parent.point
        if np.any(lower > upper):
            return _Node(np.inf, lower, upper, point)
        b = self.form.b.copy()
        b[b.size - 2 * lower.size :] = np.concatenate([-lower, upper])
        form = self.form.with_offsets(b)
        found = solved_again(form, Scaling.of(form, self.units, self.cost))
        if found is None:
            return _Node(known, lower, upper, point)
        if found.contradicts:
            return _Node(np.inf if self._is_empty(form, found) else known, lower, upper, point)
        bound = best_bound(
            form, found.y, found.z, self.units, self.cost,
            lambda best: best.value >= self.target, self.reach,
        )  # fmt: skip
        return _Node(max(bound.value, known), lower, upper, found.z)

    def _is_empty(self, form: StandardForm, found: Found) -> bool:
        nothing = np.zeros(form.q.size)
        y = found.y / max(float(np.abs(form.b) @ np.abs(found.y)), 1e-300)
        for candidate in repaired(form, y, nothing, self.units, 1.0):
            left = np.abs(form.transposed @ candidate)
            left += ROUNDING * (form.transposed_sizes @ np.abs(candidate))
            rounding = ROUNDING * float(np.abs(form.b) @ np.abs(candidate))
            if -form.b @ candidate > self.reach * float(left @ self.units.columns) + rounding:
                return True
        return False


def bound_by_branching(
    form: StandardForm, units: Units, cost: float, target: float, nodes: int, reach: float = FAR
) -> Tree:
    """Prove a bound on whole points, as good as `target` if `nodes` are enough for that."""
    columns = form.integer
    lower, upper = _box(form, units, reach)
    sides = sp.csr_array(sp.eye_array(form.q.size))[columns]
    boxed = form.with_rows(sp.vstack([sides, -sides]), np.concatenate([-lower, upper]))
    branching = _Branching(boxed, _with_rows_of(units, columns), cost, target, reach)
    order = itertools.count()
    root = branching.node(lower, upper, None)
    heap = [(root.value, next(order), root)]
    leaves, used = np.inf, 1
    while heap and heap[0][0] < target and used < nodes:
        _, _, node = heapq.heappop(heap)
        values = node.point[columns]
        values = np.clip(values, node.lower, node.upper)
        off = np.where(node.lower < node.upper, np.abs(values - np.round(values)), 0.0)
        if off.max(initial=0.0) <= WHOLE:
            split = _undecided(node, off)
            if split is None:  # a whole point is as cheap as this bound
                leaves = min(leaves, node.value)
                continue
        else:
            split = int(np.argmax(off))
        for side in _halves(node, split, values[split]):
            child = branching.node(*side, node)
            used += 1
            if child.value < np.inf:
                heapq.heappush(heap, (child.value, next(order), child))
    open_bound = heap[0][0] if heap else np.inf
    return Tree(min(open_bound, leaves), used, not heap or open_bound >= min(target, leaves))


def _undecided(node: _Node, off: np.ndarray) -> int | None:
    """Where to split a node without a bound although its point looks whole."""
    if np.isfinite(node.value):
        return None
    wide = np.flatnonzero(node.lower < node.upper)
    return int(wide[0]) if wide.size else None


def _halves(node: _Node, split: int, value: float) -> list[tuple[np.ndarray, np.ndarray]]:
    down = min(np.floor(value), node.upper[split] - 1.0)
    below, above = node.upper.copy(), node.lower.copy()
    below[split], above[split] = down, down + 1.0
    return [(node.lower, below), (above, node.upper)]


def _box(form: StandardForm, units: Units, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest whole values of the integer columns."""
    upper = np.ceil(reach * units.columns)
    lower = -upper
    (low, low_rows, low_entries), (high, high_rows, high_entries) = form.bounds
    lower[low] = np.maximum(lower[low], -form.b[low_rows] / low_entries)
    upper[high] = np.minimum(upper[high], -form.b[high_rows] / high_entries)
    columns = form.integer
    return np.ceil(lower[columns] - WHOLE), np.floor(upper[columns] + WHOLE)


def _with_rows_of(units: Units, columns: np.ndarray) -> Units:
    more = np.maximum(units.columns[columns], 1.0)
    return Units(np.concatenate([units.rows, more, more]), units.columns)
