r"""Logo's outer loop: neighbours from weights, weights from a convex problem, again.

With T the convex step whose neighbours are taken at w, the loop is
:math:`w \leftarrow \delta w + (1 - \delta) T(w)`; the paper's has :math:`\delta = 0`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from convexfs.methods.base.fixed_point import LONGEST_CYCLE, period_of, relative_change

#: Weights below this share of the largest are 0: what damping leaves of old features.
_NEGLIGIBLE = 1e-10
#: Coming back this near, relative to the last move, is going round in a circle.
_SAME = 0.02
#: Residuals must fall below this share of the least before to count as progress.
_PROGRESS = 0.9


class StepAnswer(Protocol):
    """One solved convex step."""

    @property
    def w(self) -> np.ndarray: ...
    @property
    def value(self) -> float: ...
    @property
    def gap(self) -> float: ...


Answer = TypeVar("Answer", bound=StepAnswer)


@dataclass(frozen=True)
class LoopEnd(Generic[Answer]):
    """Where the loop ended: the last step, and the weights it started from.

    ``period`` is that of the cycle the loop ended in, 0 if it did not; ``stalled``
    says that it was ended because it came no nearer.
    """

    answer: Answer
    before: np.ndarray
    residual: float
    converged: bool
    period: int = 0
    stalled: bool = False


@dataclass
class History:
    """One row an iteration, for ``history_``.

    ``contraction`` estimates the factor q of Theorem 2 by the ratio of successive
    residuals, ``error_bound`` is then q / (1 - q) times the last move (eq. 19),
    relative to the weights; both are NaN where the loop does not contract. ``until``
    is when the loop must end, by ``time.perf_counter``; ``watch`` receives each row.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    until: float = np.inf
    watch: Callable[[str], Any] | None = None

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self.until

    def record(self, answer: StepAnswer, residual: float) -> None:
        before = self.rows[-1]["residual"] if self.rows else np.nan
        q = residual / before if 0 < before < np.inf else np.nan
        row = {
            "objective": answer.value,
            "gap": answer.gap,
            "residual": residual,
            "support": int(np.count_nonzero(answer.w)),
            "contraction": q,
            "error_bound": q / (1.0 - q) * residual if q < 1.0 else np.nan,
        }
        self.rows.append(row)
        if self.watch is not None:
            self.watch(
                f"iteration {len(self.rows)}: objective {answer.value:.6g}, "
                f"change {residual:.1e}, {row['support']} features"
            )


def iterate(
    step: Callable[[np.ndarray], Answer],
    start: np.ndarray,
    history: History,
    *,
    tol: float,
    max_iter: int,
    damping: float,
    patience: int | None = None,
) -> LoopEnd[Answer]:
    """Apply damped steps until one leads back to its start, to a relative change of `tol`.

    At least one step is taken. A loop that goes round in a circle is ended, and
    with `patience` one whose residual has not fallen for that many steps; also when
    the history's time is up.
    """
    w, past, residuals = start, [], []
    while True:
        answer = step(w)
        residual = relative_change(w, answer.w)
        history.record(answer, residual)
        if residual <= tol:
            return LoopEnd(answer, w, residual, converged=True)
        past = [*past[1 - LONGEST_CYCLE :], w]
        residuals.append(residual)
        period, stalled = period_of(past, _SAME), _stalled(residuals, patience)
        if period or stalled or len(residuals) >= max_iter or history.over:
            return LoopEnd(answer, w, residual, False, period, stalled)
        w = _damped(w, answer.w, damping)


def _damped(w: np.ndarray, target: np.ndarray, damping: float) -> np.ndarray:
    if damping == 0.0 or not target.any():
        # Halving towards 0 would never arrive.
        return target
    mixed = damping * w + (1.0 - damping) * target
    mixed[mixed < _NEGLIGIBLE * mixed.max()] = 0.0
    return mixed


def _stalled(residuals: list[float], patience: int | None) -> bool:
    if patience is None or len(residuals) <= patience:
        return False
    return min(residuals[-patience:]) > _PROGRESS * min(residuals[:-patience])
