r"""Fixed points of convex steps: their proof, where to start, the damped loop, its cycles.

With T the convex step whose neighbours are taken at w, the loop is
:math:`w \leftarrow \delta w + (1 - \delta) T(w)`; Logo's paper has :math:`\delta = 0`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from convexfs.data.column_ranges import LARGEST
from convexfs.errors import InputError, check_number
from convexfs.records import VERDICTS, Certificate

#: Two final weight vectors are different fixed points if their relative distance exceeds this times
#: the tolerance.
_APART = 10.0
#: A start from RELIEF has at most this many weights, the highest; with all features distances
#: are expensive.
_HIGHEST = 100
#: Number of last iterates, including the newest, that are compared to detect a cycle.
LONGEST_CYCLE = 8


@dataclass(frozen=True, repr=False)
class FixedPointCertificate(Certificate):
    """Certificate that the last convex step is optimal over all features and reproduces its start.

    The gap is that of the last convex step, over every feature. A True ``ok``
    proves a fixed point over all features, not that it is the only one.

    Attributes
    ----------
    residual : float
        ``|T(w) - w| / |T(w)|``, T the convex step with neighbours taken at w.
    residual_tol : float
        Largest residual accepted.
    n_violated : int
        Features left out although their score exceeds the penalty.
    n_features : int
    n_found : int
        Fixed points that the starts tried have led to, this one included.
    """

    residual: float
    residual_tol: float
    n_violated: int
    n_features: int
    n_found: int = 1

    @property
    def ok(self) -> bool | None:
        fixed = self.residual <= self.residual_tol and self.n_violated == 0
        return super().ok if fixed else False

    def __str__(self) -> str:
        among = f", one of {self.n_found} found" if self.n_found > 1 else ""
        fixed = {True: "a fixed point", False: "not a fixed point", None: "perhaps a fixed point"}
        return f"{VERDICTS[self.ok]}: {fixed[self.ok]}{among} (gap {self.gap:.0e}, {self._found})"

    @property
    def _found(self) -> str:
        violated = f"{self.n_violated} of {self.n_features} features violated"
        return f"residual {self.residual:.0e}, {violated}"

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as a dict; its ``basis`` also describes the fixed point."""
        return super().as_dict() | {"basis": f"{self.basis}; claims a fixed point: {self._found}"}


@dataclass(frozen=True)
class End:
    """Result of a fit from one start: start's name, weights, objective, and whether certified.

    ``certified`` says whether this is a fixed point, with its proof.
    """

    start: str
    weights: np.ndarray
    objective: float
    certified: bool


def checked_start(start: Any, n_starts: Any, n_features: int) -> np.ndarray | None:
    """Return `start` as a float array (None if None); raise if it or `n_starts` is invalid."""
    check_number("n_starts", n_starts, 1, whole=True)
    if start is None:
        return None
    try:
        weights = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"start must be {n_features} numbers, one a feature") from None
    if weights.shape != (n_features,):
        shape = " x ".join(map(str, weights.shape)) or "a single number"
        raise InputError(f"start must be {n_features} numbers, one a feature, not {shape}")
    if not ((weights >= 0) & (weights <= LARGEST)).all() or not weights.any():
        raise InputError(
            f"start must be weights between 0 and {LARGEST:.0e}, not all of them 0: powers of "
            "larger ones overflow"
        )
    return weights


def best_of_starts(
    points: Iterable[tuple[str, np.ndarray | None]],
    fit: Callable[[np.ndarray | None], Any],
    objective: Callable[[Any], float],
    tol: float,
    until: float = np.inf,
) -> Any:
    """Fit from each start until time is up; return the best: certified, then least objective.

    No start is begun after `until`, by ``time.perf_counter``, but the first.
    """
    results, ends = [], []
    for name, weights in points:
        if results and time.perf_counter() > until:
            break
        result = fit(weights)
        results.append(result)
        ends.append(End(name, result.weights, objective(result), result.converged))
    best = min(range(len(ends)), key=lambda at: (not ends[at].certified, ends[at].objective))
    proof = replace(results[best].certificate, n_found=n_distinct(ends, tol))
    return replace(results[best], certificate=proof, starts=start_rows(ends, best, tol))


def starting_points(
    start: np.ndarray | None,
    n_starts: int,
    relief: Callable[[], np.ndarray],
    n_features: int,
    seed: Any,
) -> Iterator[tuple[str, np.ndarray | None]]:
    """Yield (name, weights) of up to `n_starts` starts; weights None mean the method's default.

    First `start`, then RELIEF's answer, then a random few of the features each.
    """
    yield ("ones", None) if start is None else ("given", start)
    rng = np.random.default_rng(seed)
    for number in range(1, n_starts):
        weights = relief() if number == 1 else _few(rng, n_features)
        if weights.any():
            yield ("relief" if number == 1 else "random"), weights


def relief_weights(margin: np.ndarray) -> np.ndarray:
    """Return starting weights: RELIEF's 100 largest positive margins, divided by the maximum."""
    positive = np.maximum(margin, 0.0)
    positive[np.argsort(-positive, kind="stable")[_HIGHEST:]] = 0.0
    return positive / max(positive.max(initial=0.0), np.finfo(float).tiny)


def period_of(iterates: Sequence[np.ndarray], same: float) -> int:
    """Return how many iterates ago (at least 2) the newest one nearly occurred; 0 if it did not.

    Coming back as near as a share `same` of the last move counts as a visit.
    """
    newest = iterates[-1]
    for period in range(2, len(iterates)):
        move = np.linalg.norm(newest - iterates[-2])
        if np.linalg.norm(newest - iterates[-1 - period]) <= same * move:
            return period
    return 0


def start_rows(ends: Sequence[End], best: int, tol: float) -> list[dict[str, Any]]:
    """Return one dict per start, for ``starts_``: objective, certified, distance from the best.

    ``elsewhere`` marks proven fixed points that are not the best's.
    """
    rows = []
    for end in ends:
        difference = apart(end.weights, ends[best].weights)
        rows.append({
            "start": end.start, "objective": end.objective, "certified": end.certified,
            "difference": difference, "elsewhere": end.certified and difference > _APART * tol,
        })  # fmt: skip
    return rows


def n_distinct(ends: Sequence[End], tol: float) -> int:
    """Count the fixed points among certified ends that differ by more than 10 `tol`, relatively."""
    different: list[np.ndarray] = []
    for end in ends:
        if end.certified and all(apart(end.weights, w) > _APART * tol for w in different):
            different.append(end.weights)
    return len(different)


def relative_change(before: np.ndarray, after: np.ndarray) -> float:
    """Return ``|after - before| / |after|``; 0 if they are equal, infinity if only `after` is 0."""
    move = float(np.linalg.norm(after - before))
    size = float(np.linalg.norm(after))
    if move == 0.0:
        return 0.0
    return move / size if size > 0 else np.inf


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Euclidean distance of two weight vectors over the larger norm; 0 if both are 0."""
    size = max(float(np.linalg.norm(one)), float(np.linalg.norm(other)))
    return float(np.linalg.norm(one - other)) / size if size > 0 else 0.0


def another_point(rows: Sequence[dict[str, Any]]) -> str:
    """Return a warning about the first start that ended at another fixed point; "" if none did."""
    others = [row for row in rows if row["elsewhere"]]
    if not others:
        return ""
    best = next(row for row in rows if row["difference"] == 0.0)
    nearest = others[0]
    return (
        f"the start {nearest['start']!r} ends at another fixed point (objective "
        f"{nearest['objective']:.6g} against {best['objective']:.6g}, relative difference "
        f"{nearest['difference']:.2g}): these weights are one of several answers; more n_starts "
        "look further and keep the best objective, start= chooses"
    )


def _few(rng: np.random.Generator, n_features: int) -> np.ndarray:
    """Draw exponential weights for sqrt(n_features) random features; the other weights are 0."""
    weights = np.zeros(n_features)
    chosen = rng.choice(n_features, max(1, round(n_features**0.5)), replace=False)
    weights[chosen] = rng.exponential(size=len(chosen))
    return weights


#: Weights below this fraction of the largest are set to 0 in a damped step, because damping alone
#: never reaches 0.
_NEGLIGIBLE = 1e-10
#: The loop is cycling if the newest iterate is this near to an earlier one, relative to the last
#: move.
_SAME = 0.02
#: A residual below this fraction of the least one so far counts as progress.
_PROGRESS = 0.9


@dataclass(frozen=True)
class LoopEnd:
    """End of the fixed-point loop: the last step, the weights it started from, and why it ended.

    ``answer`` is the solution of that step: its ``w``, ``value`` and ``gap``. ``period`` is that
    of the cycle the loop ended in, 0 if it did not; ``stalled`` says that it was ended because it
    came no nearer.
    """

    answer: Any
    before: np.ndarray
    residual: float
    converged: bool
    period: int = 0
    stalled: bool = False


@dataclass
class History:
    """The iteration history for ``history_``, one row per iteration.

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
        """Return whether the time limit is exceeded."""
        return time.perf_counter() > self.until

    def record(self, answer: Any, residual: float) -> None:
        """Add a row for the solution of a step: its weights `w`, `value` and `gap`."""
        before = self.rows[-1]["residual"] if self.rows else np.nan
        q = residual / before if 0 < before < np.inf else np.nan
        row = {
            "objective": answer.value, "gap": answer.gap, "residual": residual,
            "support": int(np.count_nonzero(answer.w)), "contraction": q,
            "error_bound": q / (1.0 - q) * residual if q < 1.0 else np.nan,
        }  # fmt: skip
        self.rows.append(row)
        if self.watch is not None:
            self.watch(
                f"iteration {len(self.rows)}: objective {answer.value:.6g}, "
                f"change {residual:.1e}, {row['support']} features"
            )


def iterate(
    step: Callable[[np.ndarray], Any],
    start: np.ndarray,
    history: History,
    *,
    tol: float,
    max_iter: int,
    damping: float,
    patience: int | None = None,
) -> LoopEnd:
    """Repeat damped steps until weights change by at most `tol`, cycle or stall, or a limit is met.

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
        # Accept a target of all zeros at once, because damping would never reach 0.
        return target
    mixed = damping * w + (1.0 - damping) * target
    mixed[mixed < _NEGLIGIBLE * mixed.max()] = 0.0
    return mixed


def _stalled(residuals: list[float], patience: int | None) -> bool:
    if patience is None or len(residuals) <= patience:
        return False
    return min(residuals[-patience:]) > _PROGRESS * min(residuals[:-patience])
