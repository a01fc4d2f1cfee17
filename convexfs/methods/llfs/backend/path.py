"""LLFS's (6) and (7) along beta through any cvxpy backend: the outer loop.

U2 is replaced by tangents of its mean, which are valid for every beta; U1 by its tangent
at the iterate. For every beta a linear program searches and quadratic ones end the
search, or a bisection asks first. The betas are gone through upwards from the best single
feature, then downwards from the maximiser of (6), and the better answer stays. A stage
ends when one multiplier proves that a step could gain no more than a share `tol`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from convexfs.methods.llfs.backend.point import DUST, Place, Price
from convexfs.methods.llfs.backend.separation import SeparationSolver, Unsolved
from convexfs.methods.llfs.backend.subproblems import ASK, CURVED, LINEAR, RANK, RATIO
from convexfs.methods.llfs.native.local_path import LocalPath
from convexfs.methods.llfs.native.newton import KKT_TOL
from convexfs.methods.llfs.utility import utility

#: Most subproblems of one descent, and of one bisection.
MOST_STEPS, MOST_HALVINGS = 30, 30
#: Subproblems in a row without progress before a descent ends: with curvature, and without.
MOST_VAIN, MOST_VAIN_LINEAR = 6, 12
#: After a step without progress, subproblems are solved to full accuracy if the possible
#: relative gain is at most this.
NEAR = 1e-4
#: A second descent this close to the known solution, and not better, is abandoned.
SAME_ANSWER = 1e-2
FAILED, TIMEOUT = "failed", "timeout"


@dataclass(frozen=True)
class BackendPath(LocalPath):
    """Solutions along beta, as :class:`LocalPath`; some betas may have none.

    Attributes
    ----------
    failures : int array (B,)
        Programs without a point, all of which were tried again in other ways.
    ended : str array (B,)
        Empty, or why there is no answer: ``failed`` or ``timeout``; then f is NaN.
    """

    failures: np.ndarray
    ended: np.ndarray


@dataclass
class Answer:
    """The best f of a beta so far, its value, and the relative gain still possible.

    ``ended`` says why there is none; by default the time at the end of the path decides.
    """

    f: np.ndarray | None = None
    value: float = np.inf
    promise: float = np.inf
    ended: str = ""


class PathSolver(SeparationSolver):
    """Solve all stages of one point: (6), (7) at one level, and all betas."""

    # (7) from one starting point

    def descend(self, eps: float, start: np.ndarray, known: Answer | None = None) -> Answer:
        """Return the best point of a descent from `start` (U2 may be < eps); its f may be None."""
        at: np.ndarray = start
        best, kind, vain, exact = Answer(), self._first_kind, 0, False
        asks = 1 if self.form == "bisection" else 0
        if self.point.reaches(start, eps):
            best = Answer(start, self.value(start))
        price = None
        for _ in range(MOST_STEPS):
            place = self.point.at(at)
            if best.f is at:
                best.promise, price = self.promise(place, best.value, eps)
                self._mu, self._g2 = price.mu, place.g2
                if best.promise <= self.tol or self.late or _as_known(best, known):
                    break
                if self.form == RATIO or place.u2 - eps <= 1e-6 * eps:
                    self._tangents.add(place.g2, place.u2 - float(place.g2 @ at))
            else:
                self._g2 = place.g2
                cheapest = float(place.g1 @ place.g2 / max(place.g2 @ place.g2, 1e-300))
                self._mu = max(self._mu, cheapest)
                if self.late:
                    break
            if asks and best.f is at:
                kind, asks = ASK, asks - 1
            step = self._step(kind, place, price if best.f is at else None, best, eps, exact)
            gained = step is not None and self._take(step, place, best, eps)
            if gained and best.f is not None:
                at, vain, exact = best.f, 0, False
                kind = self._next_kind
                continue
            if best.f is None:
                break
            at, vain = best.f, vain + 1
            most = MOST_VAIN if self.programs.curved else MOST_VAIN_LINEAR
            if vain >= most:
                break
            # The remaining gain is small, or needs more than the usual accuracy.
            exact = exact or best.promise <= NEAR or 2 * vain >= most
            kind = self._first_kind if vain % 3 == 2 else self._next_kind
        if best.f is not None and not np.isfinite(best.promise):
            best.promise, _ = self.promise(self.point.at(best.f), best.value, eps)
        return best

    @property
    def _first_kind(self) -> str:
        return RATIO if self.form == RATIO else LINEAR

    @property
    def _next_kind(self) -> str:
        return CURVED if self.programs.curved else self._first_kind

    def _step(
        self, kind: str, place: Place, price: Price | None, best: Answer, eps: float, exact: bool
    ) -> np.ndarray | None:
        """Return a subproblem's solution at the iterate, or None; linear without a multiplier."""
        tangents, value = self._tangents, best.value
        slope = self._slope(place, value) if np.isfinite(value) else place.g1
        gain = best.promise if np.isfinite(best.promise) else 1e-2
        if price is None:
            value = self.value(place.f)
            if kind == CURVED:
                kind = self._first_kind
        if kind == ASK and price is not None:
            return self._by_bisection(place, best, eps)
        if kind == CURVED and price is not None:
            mu = price.mu + (value if self.form == RATIO else 0.0)
            R = self.point.curvature(place, price.reduced, mu, self.form != RATIO, RANK)
            numbers = {"c": slope, "R": R, "r": R @ place.f}
            numbers |= {"G": tangents.G, "h": eps - tangents.b}
        elif kind == RATIO:
            numbers = {"c": self._mean, "ratio": value, "eps": eps}
            numbers |= {"G": tangents.G, "b": tangents.b}
        else:
            kind = LINEAR
            numbers = {"c": slope, "G": tangents.G, "h": eps - tangents.b}
        return self._run(kind, place.f, eps, numbers, gain, exact)

    def _take(self, step: np.ndarray, place: Place, best: Answer, eps: float) -> bool:
        """Make a step feasible, store it in `best` if better; return whether it gained enough."""
        self._tangents.touch(step, eps)
        if self.form == RATIO or not self.point.reaches(step, eps):
            self._tangents.add(*self.point.cut(step))
        feasible, value = self._feasible_near(step, place, best, eps)
        promise, gain = best.promise, 1.0 - value / best.value
        if value < best.value:
            best.f, best.value, best.promise = feasible, value, np.inf
        return not gain < 1e-3 * min(promise, 1.0)

    def _feasible_near(
        self, step: np.ndarray, place: Place, best: Answer, eps: float
    ) -> tuple[np.ndarray, float]:
        """Return the best of some feasible points near a subproblem's solution, and its value."""
        point, widest, at = self.point, self.widest, place.f
        slope = self._slope(place, best.value) if best.f is not None else place.g1
        assert widest is not None
        goal = widest if best.f is None else best.f

        def least(points: list[np.ndarray]) -> tuple[np.ndarray, float]:
            tried = [each for f in points for each in point.repaired(f, eps, goal)]
            values = [self.value(each) for each in tried]
            i = int(np.argmin(values))
            return tried[i], values[i]

        if not point.free:
            return least([step])
        snapped = point.snapped(step)
        nearest, value = least([step] if np.array_equal(snapped, step) else [snapped, step])
        if best.f is not None and value < best.value:
            for t in (2.0, 4.0):  # Try longer steps while they improve.
                far = at + t * (step - at)
                if far.min() < -1e-9 or far.max() > 1.0 + 1e-9:
                    break
                further, lower = least([point.inside(far)])
                if lower >= value:
                    break
                nearest, value = further, lower
        elif best.f is not None:
            half, middle = least([at + 0.5 * (step - at)])
            t = _vertex(best.value, middle, value)
            nearer = [point.snapped(step, 1e-2), at + 0.1 * (step - at), at + t * (step - at)]
            for other, lower in ((half, middle), least(nearer)):
                if lower < value:
                    nearest, value = other, lower
        if value >= best.value:
            other = point.by_exchanges(snapped, eps, slope)
            lower = np.inf if other is None else self.value(other)
            if other is not None and lower < value:
                nearest, value = other, lower
        return nearest, value

    def _by_bisection(self, place: Place, best: Answer, eps: float) -> np.ndarray | None:
        """Bisect for the least tangent value of U1 at which U2 reaches eps; return f, or None."""
        point, f, slope = self.point, place.f, place.g1
        offset = best.value - float(slope @ f)
        low, high, lowest = best.value * (1.0 - min(best.promise, 1.0)), best.value, None
        for _ in range(MOST_HALVINGS):
            narrow = high - low <= 0.2 * (best.value - low) and lowest is not None
            if narrow or high - low <= 0.1 * self.tol * best.value or self.late:
                break
            middle = 0.5 * (low + high)
            numbers = {"c": slope, "level": middle - offset}
            numbers |= {"G": self._tangents.G, "b": self._tangents.b}
            answer = self._run(ASK, f, eps, numbers, best.promise)
            if answer is None:
                return lowest
            if float(np.min(self._tangents.G @ answer + self._tangents.b)) < eps * (1 - 1e-9):
                low = middle
                continue
            if not point.reaches(answer, eps):
                self._tangents.add(*point.cut(answer))
            for each in point.repaired(answer, eps, f):
                level = offset + float(slope @ each)
                if level < high:
                    high, lowest = level, each
        return f if lowest is None else lowest

    # All betas

    def path(self, betas: np.ndarray) -> BackendPath:
        """Solve (6), then betas upwards and, if not convex, downwards, until the deadline."""
        answers = [Answer() for _ in betas]
        programs, failures = np.zeros(len(betas), dtype=int), np.zeros(len(betas), dtype=int)
        try:
            self.separation()
            single = self._single()
        except Unsolved:
            return self.unsolved(betas)
        for b, start in self._visits(betas, answers, single):
            if self.late:
                break
            count, failed = self.programs.count, len(self.programs.failures)
            self._visit(betas[b], answers[b], start, single)
            if betas[b] < 1.0:
                self._end(betas[b], answers[b])
            programs[b] += self.programs.count - count
            failures[b] += len(self.programs.failures) - failed
        return self.summary(betas, answers, programs, failures)

    def unsolved(self, betas: np.ndarray) -> BackendPath:
        """Return a path without solutions, because (6) was not solved."""
        programs = np.full(len(betas), self.programs.count)
        failures = np.full(len(betas), len(self.programs.failures))
        return self.summary(betas, [Answer() for _ in betas], programs, failures)

    def _visits(
        self, betas: np.ndarray, answers: list[Answer], single: Answer
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield beta indices and starts: all upwards; then, if not convex, uncertain ones back.

        On the way down a proven solution on the face of its larger neighbour is not sought
        again: both lie on one branch of local optima, which leads back to it.
        """
        start = single.f
        for b in range(len(betas)):
            assert start is not None
            yield b, start
            start = answers[b].f if answers[b].f is not None else start
        if self.form == RATIO or self.point.s == 0.0:
            return  # The problem is (quasi-)convex and has one optimum.
        start = self.widest
        for b in reversed(range(len(betas))):
            assert start is not None
            if not (answers[b].promise <= self.tol and _on_one_face(answers[b].f, start)):
                yield b, start
            start = answers[b].f if answers[b].f is not None else start

    def _visit(self, beta: float, answer: Answer, start: np.ndarray, single: Answer) -> None:
        assert self.widest is not None
        eps = beta * self.eps_max
        if self.form != RATIO and single.f is not None and self.point.reaches(single.f, eps):
            answer.f, answer.value, answer.promise = single.f, single.value, single.promise
            return
        if beta >= 1.0:
            answer.f, answer.value = self.widest, self.value(self.widest)
            answer.promise = self.gap
            return
        self._improve(eps, answer, start)

    def _improve(self, eps: float, answer: Answer, start: np.ndarray) -> None:
        """Store a descent's result if it is better, or equally good with a better proof."""
        end = self.descend(eps, start, answer if answer.promise <= self.tol else None)
        better = end.value < answer.value * (1.0 - 1e-10)
        proven = end.promise < answer.promise and answer.promise > self.tol
        if better or (proven and end.value <= answer.value * (1.0 + 1e-9)):
            answer.f, answer.value, answer.promise = end.f, end.value, end.promise

    def _end(self, beta: float, answer: Answer) -> None:
        """Descend again from an unproven solution; if it stays unproven, by the solver "auto".

        Its help is recorded as the failure that it mends.
        """
        own = self.programs
        for lent in (False, True) if own.curved else (True,):
            if answer.f is None or not answer.promise > KKT_TOL or self.late:
                return
            if lent:
                self.programs = own.lent()
            self._improve(beta * self.eps_max, answer, answer.f)
            if lent:
                own.count += self.programs.count
                self.programs = own

    def _single(self) -> Answer:
        """Return the single feature of least U1; under changed constraints, the best f at level 0.

        U1 is concave, so least at a corner; under changed constraints a local optimum
        without a level takes its place, by way of the best single feature that is allowed.
        """
        point = self.point
        values = utility(point.a_same, point.s, point.lam).mean(axis=0)
        if not point.free:
            assert self.widest is not None
            starts = [self._allowed(point.at(self.widest).g1)]
            if self.singles is not None and self.singles.any():
                best = np.argmin(np.where(self.singles, values, np.inf))
                starts.append(np.eye(point.n_features)[best])
            return min((self.descend(0.0, f) for f in starts), key=lambda end: end.value)
        f = np.zeros(point.n_features)
        f[np.argmin(values)] = 1.0
        return Answer(f, self.value(f), 0.0)

    def summary(
        self, betas: np.ndarray, answers: list[Answer], programs: np.ndarray, failures: np.ndarray
    ) -> BackendPath:
        """Return the path of these answers, one per beta."""
        why = TIMEOUT if self.late else FAILED
        empty = np.full(self.point.n_features, np.nan)
        F = np.array([empty if answer.f is None else answer.f for answer in answers])
        solved = np.array([answer.f is not None for answer in answers])
        u1, u2 = (np.full(len(betas), np.inf) for _ in range(2))
        u1[solved] = [self.point.u1(f) for f in F[solved]]
        u2[solved] = [self.point.u2(f) for f in F[solved]]
        promise = np.array([answer.promise for answer in answers])
        ended = np.array(["" if each.f is not None else each.ended or why for each in answers])
        return BackendPath(
            betas, F, u1, u2, np.full(len(betas), np.nan), promise, programs, self.eps_max,
            self.gap, failures, ended,
        )  # fmt: skip


def _as_known(best: Answer, known: Answer | None) -> bool:
    if known is None or known.f is None or best.f is None:
        return False
    near = np.abs(best.f - known.f).max() <= SAME_ANSWER
    return bool(near and best.value >= known.value * (1.0 - 1e-9))


def _on_one_face(f: np.ndarray | None, other: np.ndarray) -> bool:
    """Return whether the same features are 0, fractional and 1 in both points."""
    return f is not None and np.array_equal(_bounds_met(f), _bounds_met(other))


def _bounds_met(f: np.ndarray) -> np.ndarray:
    return (f > 1.0 - DUST).astype(np.int8) - (f < DUST)


def _vertex(start: float, middle: float, end: float) -> float:
    """Return the minimiser in [0, 1] of the parabola through three values; 0.1 if not convex."""
    bend = start - 2.0 * middle + end
    if not bend > 0:
        return 0.1
    return min(max((3.0 * start - 4.0 * middle + end) / (4.0 * bend), 0.0), 1.0)
