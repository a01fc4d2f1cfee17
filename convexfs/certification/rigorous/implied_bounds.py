r"""Bounds of all columns that the constraints imply, by outward-rounded interval arithmetic.

Every row :math:`s_i = \sum_j a_{ij} z_j + b_i` has an interval from the bounds of its columns,
a second one from its cone (a psd matrix has :math:`s_{ij}^2 \le s_{ii} s_{jj}`), and what is
left of both bounds each of its columns in turn. No feasible point is ever lost: every step is
rounded outwards. An empty box proves that nothing is feasible. Two rows whose sum has one column
left, as :math:`t \pm x \ge 0` have, bound that column: :math:`t \ge 0`.

Rows with several columns are loosened by a few last bits of the problem's own magnitude, because
data such as 1.1e-16 in the place of 0 make problems infeasible in doubles that nobody meant.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from convexfs.certification.program.cones import (
    Block,
    Equality,
    NonNegative,
    SecondOrder,
    Semidefinite,
)
from convexfs.certification.program.exponential_and_power import FUNCTIONS, Exponential, Power
from convexfs.certification.program.standard_form import StandardForm, once
from convexfs.certification.rigorous.rounding import EPSILON

#: Largest number of propagation rounds; they end when no interval shrinks by this share.
ROUNDS, SHRINKING = 30, 0.1
#: Relative amount by which results of a multiplication, division or root are rounded outward.
OUTWARD = 8 * EPSILON
#: Bounds larger than this count as infinite.
NO_BOUND = 1e100
#: Bounds of integer columns are rounded inward after widening by this: an absolute amount, plus
#: this share of the bound.
INTEGER_SLACK, INTEGER_SHARE = 1e-9, 1e-12
#: Side of psd matrices above which their entries are not compared with the diagonal.
LARGEST_MATRIX = 200


@dataclass(frozen=True)
class Box:
    """Lower and upper bound of every column; `empty` if no point is feasible."""

    lower: np.ndarray
    upper: np.ndarray
    empty: bool = False

    @classmethod
    def everything(cls, size: int) -> "Box":
        return cls(np.full(size, -np.inf), np.full(size, np.inf))

    @property
    def magnitude(self) -> np.ndarray:
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def bounded(self) -> np.ndarray:
        return np.isfinite(self.lower) & np.isfinite(self.upper)


class BoundPropagation:
    """Narrows bounds of columns by the rows of `form` (and cost <= `cutoff`, if given).

    Rows of flat cones are `loosened` by this share of their data's size.
    """

    def __init__(self, form: StandardForm, cutoff: float | None = None, loosened: float = 0.0):
        self.form, self.cutoff = form, cutoff
        low, high = _cone_intervals(form)
        slack = _loosening(form, loosened)
        low, high = low - slack, high + slack
        A, pairs = _propagated_rows(form)
        one, other = pairs.T
        # Quadratic terms are at least 0, so that q'z alone is at most the cutoff.
        limit, least = 0.0, -np.inf
        if cutoff is not None and form.q.any():
            limit, least = cutoff, 0.0
        error = 2 * EPSILON * (np.abs(form.b[one]) + np.abs(form.b[other]))
        none = np.full(one.size, np.inf)
        self.b = np.concatenate([form.b, [limit], form.b[one] + form.b[other]])
        self.low = np.concatenate([low, [least], low[one] + low[other] - error])
        self.high = np.concatenate([high, [np.inf], none])
        self.entries, self.columns, self.counts = A.data, A.indices, np.diff(A.indptr)
        self.rows = np.repeat(np.arange(self.counts.size), self.counts)
        self.filled = np.flatnonzero(self.counts)
        self.starts = A.indptr[:-1][self.filled]
        self.by_column = np.argsort(A.indices, kind="stable")
        ordered = A.indices[self.by_column]
        self.used, self.column_starts = np.unique(ordered, return_index=True)
        self.bend = _separable_curvature(form) if cutoff is not None else None

    def run(self, box: Box | None = None, rounds: int = ROUNDS) -> Box:
        """Return the bounds that follow from `box` (default: none) and the constraints."""
        box = Box.everything(self.form.q.size) if box is None else box
        with np.errstate(all="ignore"):
            for _ in range(rounds):
                narrowed = self._round(box)
                if narrowed.empty:
                    return narrowed
                before, after = box.upper - box.lower, narrowed.upper - narrowed.lower
                new = np.isfinite(narrowed.lower) & ~np.isfinite(box.lower)
                new |= np.isfinite(narrowed.upper) & ~np.isfinite(box.upper)
                box = narrowed
                if not np.any(new | (after < (1.0 - SHRINKING) * before)):
                    break
        lower = np.where(np.abs(box.lower) > NO_BOUND, -np.inf, box.lower)
        return Box(lower, np.where(np.abs(box.upper) > NO_BOUND, np.inf, box.upper))

    def _round(self, box: Box) -> Box:
        least, most = self._term_intervals(box)
        low, high, size = self._activities(least, most)
        low, high = np.maximum(self.low, low), np.minimum(self.high, high)
        if np.any(low > high):
            return replace(box, empty=True)
        for block in self.form.blocks:
            _apply_cone(block, low, high)
        if np.any(low > high):
            return replace(box, empty=True)
        lower, upper = self._columns_from_rows(box, least, most, low, high, size)
        if self.bend is not None:
            self._from_curvature(lower, upper)
        integer = self.form.integer
        if integer.size:
            lower[integer] = np.ceil(lower[integer] - _integer_slack(lower[integer]))
            upper[integer] = np.floor(upper[integer] + _integer_slack(upper[integer]))
        return Box(lower, upper, bool(np.any(lower > upper)))

    def _term_intervals(self, box: Box) -> tuple[np.ndarray, np.ndarray]:
        positive = self.entries > 0
        low, high = box.lower[self.columns], box.upper[self.columns]
        ends = np.where(positive, low, high), np.where(positive, high, low)
        return self.entries * ends[0], self.entries * ends[1]

    def _sums(self, terms: np.ndarray) -> np.ndarray:
        sums = np.zeros(self.b.size)
        if terms.size:
            sums[self.filled] = np.add.reduceat(terms, self.starts)
        return sums

    def _activities(
        self, least: np.ndarray, most: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return lower and upper bounds of the rows' values, and the sums of their finite terms."""
        self.known = np.isfinite(least), np.isfinite(most)
        finite = np.where(self.known[0], least, 0.0), np.where(self.known[1], most, 0.0)
        self.open = self._sums(1.0 * ~self.known[0]), self._sums(1.0 * ~self.known[1])
        self.sums = self._sums(finite[0]), self._sums(finite[1])
        self.finite = finite
        size = self._sums(np.maximum(np.abs(finite[0]), np.abs(finite[1])))
        error = (self.counts + 4) * EPSILON * (size + np.abs(self.b))
        low = np.where(self.open[0] > 0, -np.inf, self.sums[0] + self.b - error)
        high = np.where(self.open[1] > 0, np.inf, self.sums[1] + self.b + error)
        return low, high, size

    def _columns_from_rows(
        self,
        box: Box,
        least: np.ndarray,
        most: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        size: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds of all columns, narrowed by each row they occur in."""
        i, b = self.rows, self.b[self.rows]
        rest = [
            np.where(
                self.open[side][i] - ~self.known[side] > 0,
                infinite,
                self.sums[side][i] - self.finite[side],
            )
            for side, infinite in ((0, -np.inf), (1, np.inf))
        ]
        single = self.counts[i] == 1
        terms = np.where(single, 0.0, (self.counts[i] + 6.0) * (size[i] + np.abs(b)))
        ends = []
        for end, other, sign in ((low[i], rest[1], -1.0), (high[i], rest[0], 1.0)):
            # A single column with an interval that ends at 0 has -b as its end, exactly.
            inexact = np.where(single, 2 * (np.abs(b) + np.abs(end)), 6 * np.abs(end))
            inexact = np.where((end == 0) | ~np.isfinite(end), 0.0, inexact)
            ends.append(end - b - other + sign * EPSILON * (terms + inexact))
        positive = self.entries > 0
        lower = np.where(positive, ends[0], ends[1]) / self.entries
        upper = np.where(positive, ends[1], ends[0]) / self.entries
        lower = np.where(np.isnan(lower), -np.inf, lower - 2 * EPSILON * np.abs(lower))
        upper = np.where(np.isnan(upper), np.inf, upper + 2 * EPSILON * np.abs(upper))
        narrowed = box.lower.copy(), box.upper.copy()
        if self.used.size:
            order, starts = self.by_column, self.column_starts
            best = np.maximum.reduceat(lower[order], starts)
            narrowed[0][self.used] = np.maximum(narrowed[0][self.used], best)
            best = np.minimum.reduceat(upper[order], starts)
            narrowed[1][self.used] = np.minimum(narrowed[1][self.used], best)
        return narrowed

    def _from_curvature(self, lower: np.ndarray, upper: np.ndarray) -> None:
        """Narrow, in place, columns whose (separable) quadratic cost would exceed the cutoff."""
        assert self.bend is not None
        assert self.cutoff is not None
        q, bend = self.form.q, self.bend
        curved = bend > 0
        middle = np.clip(-q / np.where(curved, bend, 1.0), lower, upper)
        flat = np.where(q > 0, q * lower, np.where(q < 0, q * upper, 0.0))
        least = np.where(curved, q * middle + 0.5 * bend * middle**2, flat)
        if not np.isfinite(least).all():
            return
        terms = np.abs(least).sum() + abs(self.cutoff)
        room = self.cutoff - least.sum() + least + 8 * (q.size + 4) * EPSILON * terms
        q, bend = q[curved], bend[curved]
        root = np.sqrt(np.maximum(q**2 + 2 * bend * room[curved], 0.0)) * (1.0 + OUTWARD)
        outward = OUTWARD * (np.abs(q) + root) / bend
        lower[curved] = np.maximum(lower[curved], (-q - root) / bend - outward)
        upper[curved] = np.minimum(upper[curved], (-q + root) / bend + outward)


def implied_box(form: StandardForm, cutoff: float | None = None, box: Box | None = None) -> Box:
    """Return the bounds of columns that `form` (and cost <= `cutoff`, if given) implies."""
    return BoundPropagation(form, cutoff).run(box)


@once
def _propagated_rows(form: StandardForm) -> tuple[sp.csr_array, np.ndarray]:
    """Return all rows that bounds propagate through, the last ones sums of pairs; and the pairs."""
    pairs = _rows_that_cancel(form)
    parts = [form.A, -sp.csr_array(form.q[None])]
    if pairs.size:
        sums = sp.csr_array(form.A[pairs[:, 0]] + form.A[pairs[:, 1]])
        sums.eliminate_zeros()
        parts.append(sums)
    return sp.csr_array(sp.vstack(parts, format="csr")), pairs


def _integer_slack(ends: np.ndarray) -> np.ndarray:
    return INTEGER_SLACK + INTEGER_SHARE * np.where(np.isfinite(ends), np.abs(ends), 0.0)


def _rows_that_cancel(form: StandardForm) -> np.ndarray:
    """Return index pairs of inequalities in whose sum all columns but one cancel."""
    A, found, known = form.A, [], {}
    counts = np.diff(A.indptr)
    for row in np.flatnonzero((counts > 1) & ~form.curved & ~form.equalities):
        entries = slice(A.indptr[row], A.indptr[row + 1])
        key = A.indices[entries].tobytes(), np.abs(A.data[entries]).tobytes()
        other = known.pop(key, None)
        if other is None:
            known[key] = row
            continue
        opposite = A.data[entries] != A.data[A.indptr[other] : A.indptr[other + 1]]
        if np.count_nonzero(~opposite) == 1:
            found.append((other, row))
    return np.array(found, dtype=int).reshape(-1, 2)


def _cone_intervals(form: StandardForm) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper limit of each row's value that its cone sets."""
    low, high = np.full(form.b.size, -np.inf), np.full(form.b.size, np.inf)
    for block in form.blocks:
        own = block.of(low)
        match block.cone:
            case Equality():
                own[:] = 0.0
                high[block.rows] = 0.0
            case NonNegative():
                own[:] = 0.0
            case SecondOrder():
                own[:, 0] = 0.0
            case Semidefinite(side):
                i, j = np.tril_indices(side)
                own[:, i == j] = 0.0
            case Exponential():
                own[:, 1:] = 0.0
            case Power():
                own[:, :-1] = 0.0
        low[block.rows] = own.ravel()
    return low, high


def _loosening(form: StandardForm, share: float) -> np.ndarray:
    largest = form.largest_entries
    sizes = np.divide(np.abs(form.b), largest, out=np.zeros_like(largest), where=largest > 0)
    slack = max(share, 4 * EPSILON) * (np.abs(form.b) + largest * sizes.max(initial=0.0))
    loose = (np.diff(form.A.indptr) > 1) | (share > 0)
    return np.where(loose & ~form.curved, slack, 0.0)


def _separable_curvature(form: StandardForm) -> np.ndarray | None:
    """Return the diagonal of P if P is diagonal, else None."""
    if form.P is None:
        return None
    diagonal = form.P.diagonal()
    return diagonal if form.P.count_nonzero() == np.count_nonzero(diagonal) else None


def _apply_cone(block: Block, low: np.ndarray, high: np.ndarray) -> None:
    """Narrow rows' intervals, in place, by other rows of their cone; skip large psd cones."""
    least, most = block.of(low), block.of(high)
    match block.cone:
        case SecondOrder():
            _second_order(least, most)
        case Semidefinite(side) if side <= LARGEST_MATRIX:
            _semidefinite(least, most, side)
        case Exponential():
            _exponential(least, most)
        case Power(exponents):
            limit = np.prod(np.maximum(most[:, :-1], 0.0) ** np.array(exponents), axis=1)
            limit = np.where(np.isnan(limit), np.inf, limit * (1.0 + FUNCTIONS))
            most[:, -1] = np.minimum(most[:, -1], limit)
            least[:, -1] = np.maximum(least[:, -1], -limit)
        case _:
            return
    low[block.rows], high[block.rows] = least.ravel(), most.ravel()


def _second_order(least: np.ndarray, most: np.ndarray) -> None:
    limit = most[:, :1] * (1.0 + OUTWARD)
    most[:, 1:] = np.minimum(most[:, 1:], limit)
    least[:, 1:] = np.maximum(least[:, 1:], -limit)
    away = np.maximum(least[:, 1:], -most[:, 1:]).max(axis=1, initial=0.0)
    least[:, 0] = np.maximum(least[:, 0], np.maximum(away, 0.0) * (1.0 - OUTWARD))


def _semidefinite(least: np.ndarray, most: np.ndarray, side: int) -> None:
    i, j = np.tril_indices(side)
    beside = i != j
    roots = np.sqrt(np.maximum(most[:, i == j], 0.0))
    limit = np.sqrt(2.0) * roots[:, i[beside]] * roots[:, j[beside]] * (1.0 + OUTWARD)
    limit = np.nan_to_num(limit, nan=0.0, posinf=np.inf)  # 0 * inf: a zero diagonal, a zero row
    most[:, beside] = np.minimum(most[:, beside], limit)
    least[:, beside] = np.maximum(least[:, beside], -limit)


def _exponential(least: np.ndarray, most: np.ndarray) -> None:
    fixed = (least[:, 1] == most[:, 1]) & (most[:, 1] > 0)
    y = np.where(fixed, most[:, 1], 1.0)
    # y exp(x / y) >= e x for all y > 0.
    x_limit = np.where(fixed, y * np.log(most[:, 2] / y), most[:, 2] / np.e)
    error = FUNCTIONS * (np.abs(x_limit) + y)
    x_limit = np.where(np.isfinite(x_limit), x_limit + error, np.inf)
    most[:, 0] = np.minimum(most[:, 0], x_limit)
    exponent = np.minimum(np.where(np.isfinite(least[:, 0]), least[:, 0], -np.inf) / y, 600.0)
    z_limit = np.where(fixed, y * np.exp(exponent) * (1.0 - FUNCTIONS), 0.0)
    # y exp(x / y) >= x + y.
    sums = least[:, 0] + least[:, 1]
    sums -= FUNCTIONS * (np.abs(least[:, 0]) + np.abs(least[:, 1]))
    least[:, 2] = np.maximum(least[:, 2], np.fmax(z_limit, np.where(np.isfinite(sums), sums, 0.0)))
    y_limit = most[:, 2] - least[:, 0]
    y_limit += FUNCTIONS * (np.abs(most[:, 2]) + np.abs(least[:, 0]))
    most[:, 1] = np.minimum(most[:, 1], np.where(np.isfinite(y_limit), y_limit, np.inf))
