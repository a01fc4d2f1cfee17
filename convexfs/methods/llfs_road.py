"""LLFS's (6) and (7) along beta through any cvxpy backend: the outer loop.

U2 is replaced by tangents of its mean, which are valid for every beta; U1 by its tangent
at the iterate. For every beta a linear program searches and quadratic ones end the
search, or a bisection asks first. The betas are gone through upwards from the best single
feature, then downwards from the maximiser of (6), and the better answer stays. A stage
ends when one price proves that a step could gain no more than a share `tol`.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.formulations.llfs_utility import utility
from convexfs.methods.llfs_road_point import Place, Price, RoadPoint
from convexfs.methods.llfs_road_programs import (
    ASK,
    CURVED,
    LINEAR,
    MOST_TANGENTS,
    RANK,
    RATIO,
    RoadPrograms,
)
from convexfs.native.llfs_path import LocalPath

#: Programs one descent, (6), and one question of a bisection may take.
MOST_STEPS, MOST_SEPARATIONS, MOST_HALVINGS = 30, 150, 30
#: (6) is solved to this gap, relatively: an error in it moves every level.
SEPARATION_TOL = 1e-8
#: Programs that gain nothing before a descent gives up: with curvature, and without.
MOST_VAIN, MOST_VAIN_LINEAR = 2, 8
#: A second descent this close to the known answer, and not better, need not end.
SAME_ANSWER = 1e-2
#: Features of a program: at least so many, and so many times the budget.
WORKING_SET, PER_FEATURE = 40, 4
FAILED, TIMEOUT = "failed", "timeout"


@dataclass(frozen=True)
class RoadPath(LocalPath):
    """As :class:`LocalPath`; iterations are programs, and some betas may have no answer.

    Attributes
    ----------
    failures : int array (B,)
        Programs without a point, all of which were tried again in other ways.
    ended : str array (B,)
        Empty, or why there is no answer: ``failed`` or ``timeout``; then f is NaN.
    """

    failures: np.ndarray
    ended: np.ndarray


@dataclass(frozen=True)
class Step:
    """One program of the road: its numbers, where it was stated, and what came of it."""

    kind: str
    level: float
    iterate: np.ndarray
    numbers: dict[str, Any]
    answer: np.ndarray | None


@dataclass
class Answer:
    """The best f of a beta so far, its value, and what a step could still gain, relatively."""

    f: np.ndarray | None = None
    value: float = np.inf
    promise: float = np.inf


class Tangents:
    """Tangents of U2; the one that has been slack for longest makes room."""

    def __init__(self, n_tangents: int, n_features: int):
        self.G, self.b = np.zeros((n_tangents, n_features)), np.full(n_tangents, 1e3)
        self._used, self._clock = np.full(n_tangents, -1), 0

    def add(self, g: np.ndarray, b: float) -> None:
        twins = np.flatnonzero(np.abs(self.b - b) <= 1e-13)
        same = [i for i in twins if np.abs(self.G[i] - g).max() <= 1e-13]
        i = int(same[0]) if same else int(np.argmin(self._used))
        self.G[i], self.b[i], self._used[i] = g, b, self._clock

    def touch(self, f: np.ndarray, eps: float) -> None:
        """Remember which tangents hold f back."""
        self._clock += 1
        near = self.G @ f + self.b - eps <= 1e-3 * eps
        self._used[near & (self._used >= 0)] = self._clock

    def forget(self) -> None:
        """All of them: the next iterates bring their own."""
        self.G[:], self.b[:], self._used[:] = 0.0, 1e3, -1


@dataclass
class Road:
    """The stages of one point; see :class:`RoadPoint` and :class:`RoadPrograms`.

    Attributes
    ----------
    form : {"compactness", "bisection", "bisection-only", "ratio"}
        What is minimised, and how: U1 by steps, U1 by bisection at first or throughout,
        or the ratio of the mean distance to U2.
    tol : float
        The share of its value that a stage may leave.
    deadline : float
        ``time.monotonic()`` at which no further program is begun.
    steps : list of Step, optional
        Every program is added to it.
    """

    point: RoadPoint
    programs: RoadPrograms
    form: str = "compactness"
    tol: float = 1e-7
    deadline: float = np.inf
    steps: list[Step] | None = None
    widest: np.ndarray | None = None
    eps_max: float = np.nan
    gap: float = np.inf
    _mu: float = 0.0
    _tangents: Tangents = field(init=False)

    def __post_init__(self) -> None:
        self._tangents = self._new_tangents(self.programs.tangents)
        self._mean = self.point.a_same.mean(axis=0)

    @property
    def late(self) -> bool:
        return time.monotonic() >= self.deadline

    def _new_tangents(self, size: int) -> Tangents:
        n, tangents = self.point.n_features, Tangents(size, self.point.n_features)
        tangents.add(*self.point.cut(np.full(n, self.point.max_features / n)))
        return tangents

    # What is minimised: U1, or c1'f / U2, which at its value t has the slope c1 - t g2.

    def value(self, f: np.ndarray) -> float:
        if self.form == RATIO:
            return float(self._mean @ f) / max(self.point.u2(f), 1e-300)
        return self.point.u1(f)

    def _slope(self, place: Place, value: float) -> np.ndarray:
        return self._mean - value * place.g2 if self.form == RATIO else place.g1

    def _promise(self, place: Place, value: float, eps: float) -> tuple[float, Price]:
        """Share of the value that a step could gain; over changed constraints by a program."""
        slope = self._slope(place, value)
        if self.point.free:
            price = self.point.price(place, slope, eps)
        else:
            price = self._programmed_price(place, slope, eps)
        scale = value * max(eps, 1e-300) if self.form == RATIO else value
        return price.gain / max(scale, 1e-300), price

    def _programmed_price(self, place: Place, slope: np.ndarray, eps: float) -> Price:
        self._tangents.add(place.g2, place.u2 - float(place.g2 @ place.f))
        numbers = {"c": slope, "G": self._tangents.G, "h": eps - self._tangents.b}
        f = self._run(LINEAR, place.f, eps, numbers, 0.0)
        mu = self._mu or float(slope @ place.g2 / max(place.g2 @ place.g2, 1e-300))
        gain = np.inf if f is None else max(float(slope @ (place.f - f)), 0.0)
        return Price(gain, mu, slope - mu * place.g2)

    # Programs

    def _run(
        self, kind: str, at: np.ndarray, eps: float, numbers: dict[str, Any], gain: float,
        exact: bool = False,
    ) -> np.ndarray | None:  # fmt: skip
        """Solve one program over the features that matter, and put its answer into place."""
        columns = self._columns(at, numbers["c"])
        part = numbers
        if columns is not None:
            part = {name: value[..., columns] if name in ("c", "G", "R") else value
                    for name, value in numbers.items()}  # fmt: skip
        f = self.programs.run(kind, part, gain, exact)
        if f is not None and columns is not None:
            whole = np.zeros(self.point.n_features)
            whole[columns] = f
            f = whole
        if self.programs.infeasible and f is None:
            self._tangents.forget()
        if self.steps is not None:
            copies = {name: np.array(value) for name, value in numbers.items()}
            self.steps.append(Step(kind, eps, at.copy(), copies, f))
        return None if f is None else self.point.inside(f)

    def _columns(self, at: np.ndarray, c: np.ndarray) -> np.ndarray | None:
        """What the iterate and the maximiser of (6) use, then the least reduced costs."""
        n = self.point.n_features
        size = max(WORKING_SET, PER_FEATURE * self.point.max_features)
        used = at > 1e-6
        if self.widest is not None:
            used = used | (self.widest > 1e-6)
        while size < used.sum() + self.point.max_features:
            size *= 2
        if not self.point.free or size >= n:
            return None
        reduced = c - self._mu * self._g2 if self.widest is not None else c
        reduced = np.where(used, -np.inf, reduced)
        return np.sort(np.argpartition(reduced, size)[:size])

    _g2: Any = 0.0

    # (6)

    def separation(self) -> None:
        """Maximiser of (6): U2's own curvature, or tangents alone, until the gap is closed."""
        point = self.point
        kept = self._tangents
        if not self.programs.curved:
            self._tangents = self._new_tangents(MOST_TANGENTS)
        place, exact = self._first_place(), False
        for _ in range(MOST_SEPARATIONS):
            self._tangents.add(place.g2, place.u2 - float(place.g2 @ place.f))
            self.gap, top = self._separation_gap(place)
            if self.gap <= SEPARATION_TOL or self.late:
                break
            step = self._separation_step(place, exact)
            if step is None:
                break
            self._tangents.add(*point.cut(step))
            better = self._highest(place.f, [step, point.snapped(step), top])
            if point.u2(better) > place.u2 * (1.0 + 1e-15):
                place = point.at(better)
            elif exact or (self.programs.curved and not self.programs.paced):
                break
            else:
                exact = self.programs.curved
        clean = point.snapped(place.f, 1e-6)
        if point.free and point.u2(clean) >= place.u2 * (1.0 - 1e-10):
            place = point.at(clean)
        self.widest, self.eps_max = place.f, place.u2
        kept.add(*point.cut(place.f))
        self._tangents = kept

    def _first_place(self) -> Place:
        """The features of largest gradient at uniform f, or anything that is allowed."""
        point = self.point
        g, _ = point.cut(np.full(point.n_features, point.max_features / point.n_features))
        if point.free:
            f = np.zeros(point.n_features)
            f[np.argsort(-g, kind="stable")[: point.max_features]] = 1.0
            return point.at(f)
        return point.at(self._allowed(-g))

    def _allowed(self, c: np.ndarray) -> np.ndarray:
        """The point of least c'f under changed constraints."""
        none = {"G": np.zeros_like(self._tangents.G), "h": np.full(len(self._tangents.b), -1.0)}
        f = self._run(LINEAR, np.zeros(len(c)), 0.0, {"c": c, **none}, 0.0)
        if f is None and self.programs.infeasible:
            raise InputError(
                "the constraints of llfs-separation cannot all hold: "
                "check max_features and the change"
            )
        if f is None:
            raise Unsolved
        return f

    def _separation_gap(self, place: Place) -> tuple[float, np.ndarray]:
        """How far U2 may be from its maximum, relatively, and the point that says so."""
        g, size = place.g2, self.point.max_features
        if self.point.free:
            top = np.zeros(len(g))
            top[np.argpartition(-g, size - 1)[:size] if size < len(g) else slice(None)] = 1.0
        else:
            top = self._allowed(-g)
        return max(float(g @ (top - place.f)), 0.0) / max(place.u2, 1e-300), top

    def _separation_step(self, place: Place, exact: bool) -> np.ndarray | None:
        tangents = self._tangents
        if self.programs.curved:
            inside = place.f > 0.5
            reduced = -(place.g2 - np.median(place.g2[inside])) if inside.any() else -place.g2
            R = self.point.curvature(place, reduced, 1.0, False, RANK)
            numbers = {"c": -place.g2, "R": R, "r": R @ place.f}
            numbers |= {"G": np.zeros_like(tangents.G), "h": np.full(len(tangents.b), -1.0)}
            found = self._run(CURVED, place.f, 0.0, numbers, self.gap, exact)
            if found is not None:
                return found
        numbers = {"c": np.ones(len(place.f)), "level": 2.0 * len(place.f)}
        numbers |= {"G": tangents.G, "b": tangents.b}
        found = self._run(ASK, place.f, 0.0, numbers, self.gap, exact)
        if found is not None:
            tangents.touch(found, place.u2)
        return found

    def _highest(self, f: np.ndarray, goals: list[np.ndarray]) -> np.ndarray:
        found = [goals[1], *(self.point.highest(f, goal) for goal in goals)]
        if not self.point.free:
            found = found[1:]
        return found[int(np.argmax([self.point.u2(each) for each in found]))]

    # (7) from one start

    def descend(self, eps: float, start: np.ndarray, known: Answer | None = None) -> Answer:
        """A local optimum from `start`, which need not reach eps: a tangent lies above U1."""
        best, at, kind, vain, exact = Answer(), start, self._first_kind, 0, False
        if self.point.reaches(start, eps):
            best = Answer(start, self.value(start))
        price = None
        for _ in range(MOST_STEPS):
            place = self.point.at(at)
            if best.f is at:
                best.promise, price = self._promise(place, best.value, eps)
                self._mu, self._g2 = price.mu, place.g2
                if best.promise <= self.tol or self.late or _as_known(best, known):
                    break
                if place.u2 - eps <= 1e-6 * eps:
                    self._tangents.add(place.g2, place.u2 - float(place.g2 @ at))
            else:
                self._g2 = place.g2
                cheapest = float(place.g1 @ place.g2 / max(place.g2 @ place.g2, 1e-300))
                self._mu = max(self._mu, cheapest)
                if self.late:
                    break
            step = self._step(kind, place, price if best.f is at else None, best, eps, exact)
            gained = step is not None and self._take(step, place, best, eps)
            if gained:
                at, vain, exact = best.f, 0, False
                kind = self._next_kind
                continue
            if best.f is None:
                break
            at, vain = best.f, vain + 1
            most = MOST_VAIN if self.programs.curved else MOST_VAIN_LINEAR
            if vain >= most:
                if exact or not self.programs.paced:
                    break
                exact, vain = True, 0
            kind = self._other_kind(kind)
        if best.f is not None and not np.isfinite(best.promise):
            best.promise, _ = self._promise(self.point.at(best.f), best.value, eps)
        return best

    @property
    def _first_kind(self) -> str:
        return RATIO if self.form == RATIO else LINEAR

    @property
    def _next_kind(self) -> str:
        if self.form == "bisection-only":
            return ASK
        return CURVED if self.programs.curved else self._first_kind

    def _other_kind(self, kind: str) -> str:
        if kind == CURVED or not self.programs.curved or self.form == "bisection-only":
            return self._first_kind
        return CURVED

    def _step(
        self, kind: str, place: Place, price: Price | None, best: Answer, eps: float, exact: bool
    ) -> np.ndarray | None:
        """The answer of one program at the place, whatever its kind."""
        tangents, value = self._tangents, best.value
        slope = self._slope(place, value) if np.isfinite(value) else place.g1
        gain = best.promise if np.isfinite(best.promise) else 1e-2
        if price is None:
            value = self.value(place.f)
            if kind == CURVED:
                kind = self._first_kind
        elif kind == LINEAR and self.form.startswith("bisection"):
            kind = ASK
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
        """Make a program's answer a feasible point; keep it if it is the best so far."""
        self._tangents.touch(step, eps)
        if not self.point.reaches(step, eps):
            self._tangents.add(*self.point.cut(step))
        found, value = self._feasible_near(step, place.f, best, eps)
        self._tangents.add(*self.point.cut(found))
        if not value < best.value * (1.0 - 1e-13):
            return False
        best.f, best.value, best.promise = found, value, np.inf
        return True

    def _feasible_near(
        self, step: np.ndarray, at: np.ndarray, best: Answer, eps: float
    ) -> tuple[np.ndarray, float]:
        """Of feasible points near a program's answer one of least value."""
        point, widest = self.point, self.widest
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
        found, value = least([step] if np.array_equal(snapped, step) else [snapped, step])
        if best.f is not None and value < best.value:
            for t in (2.0, 4.0):  # further where it pays
                far = at + t * (step - at)
                if far.min() < -1e-9 or far.max() > 1.0 + 1e-9:
                    break
                further, lower = least([point.inside(far)])
                if lower >= value:
                    break
                found, value = further, lower
        elif best.f is not None:
            nearer = [point.snapped(step, 1e-2), at + 0.5 * (step - at), at + 0.1 * (step - at)]
            other, lower = least(nearer)
            if lower < value:
                found, value = other, lower
        return found, value

    def _by_bisection(self, place: Place, best: Answer, eps: float) -> np.ndarray | None:
        """A point of about the least level of the tangent of U1 at which U2 reaches eps."""
        point, f, slope = self.point, place.f, place.g1
        offset = best.value - float(slope @ f)
        low, high, found = best.value * (1.0 - min(best.promise, 1.0)), best.value, None
        for _ in range(MOST_HALVINGS):
            narrow = high - low <= 0.2 * (best.value - low) and found is not None
            if narrow or high - low <= 0.1 * self.tol * best.value or self.late:
                break
            middle = 0.5 * (low + high)
            numbers = {"c": slope, "level": middle - offset}
            numbers |= {"G": self._tangents.G, "b": self._tangents.b}
            answer = self._run(ASK, f, eps, numbers, best.promise)
            if answer is None:
                return found
            if float(np.min(self._tangents.G @ answer + self._tangents.b)) < eps * (1 - 1e-9):
                low = middle
                continue
            if not point.reaches(answer, eps):
                self._tangents.add(*point.cut(answer))
            for each in point.repaired(answer, eps, f):
                level = offset + float(slope @ each)
                if level < high:
                    high, found = level, each
        return f if found is None else found

    # All betas

    def path(self, betas: np.ndarray) -> RoadPath:
        """(6), then every beta upwards and, where local optima differ, downwards again."""
        answers = [Answer() for _ in betas]
        programs, failures = np.zeros(len(betas), dtype=int), np.zeros(len(betas), dtype=int)
        try:
            self.separation()
            single = self._single()
        except Unsolved:
            return self._summary(betas, answers, programs, failures)
        for b, start in self._visits(betas, answers, single):
            count, failed = self.programs.count, len(self.programs.failures)
            self._visit(betas[b], answers[b], start, single)
            programs[b] += self.programs.count - count
            failures[b] += len(self.programs.failures) - failed
        return self._summary(betas, answers, programs, failures)

    def _visits(
        self, betas: np.ndarray, answers: list[Answer], single: Answer
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Which beta is next, and where its descent starts."""
        assert single.f is not None
        assert self.widest is not None
        start = single.f
        for b in range(len(betas)):
            yield b, start
            start = answers[b].f if answers[b].f is not None else start
        if self.form == RATIO or self.point.s == 0.0:
            return  # (quasi-)convex: there is one optimum
        start = self.widest
        for b in reversed(range(len(betas))):
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
        found = self.descend(eps, start, answer if answer.promise <= self.tol else None)
        better = found.value < answer.value * (1.0 - 1e-10)
        proven = found.promise <= self.tol < answer.promise
        if better or (proven and found.value <= answer.value * (1.0 + 1e-9)):
            answer.f, answer.value, answer.promise = found.f, found.value, found.promise

    def _single(self) -> Answer:
        """The best single feature, the global optimum while U2 allows it.

        U1 is concave, so least at a corner; under changed constraints a local optimum
        without a level takes its place.
        """
        point = self.point
        if not point.free:
            first = self._allowed(point.at(self.widest).g1)  # type: ignore[arg-type]
            return self.descend(0.0, first)
        values = utility(point.a_same, point.s, point.lam).mean(axis=0)
        f = np.zeros(point.n_features)
        f[np.argmin(values)] = 1.0
        return Answer(f, self.value(f), 0.0)

    def _summary(
        self, betas: np.ndarray, answers: list[Answer], programs: np.ndarray, failures: np.ndarray
    ) -> RoadPath:
        why = TIMEOUT if self.late else FAILED
        empty = np.full(self.point.n_features, np.nan)
        F = np.array([empty if answer.f is None else answer.f for answer in answers])
        solved = np.isfinite(F).all(axis=1)
        u1 = np.array([self.point.u1(f) if ok else np.inf for f, ok in zip(F, solved, strict=True)])
        u2 = np.array([self.point.u2(f) if ok else np.inf for f, ok in zip(F, solved, strict=True)])
        promise = np.array([answer.promise for answer in answers])
        ended = np.where(solved, "", why)
        return RoadPath(
            betas, F, u1, u2, np.full(len(betas), np.nan), promise, programs, self.eps_max,
            self.gap, failures, ended,
        )  # fmt: skip


class Unsolved(Exception):
    """No solver gave the point that a stage cannot do without."""


def _as_known(best: Answer, known: Answer | None) -> bool:
    if known is None or known.f is None or best.f is None:
        return False
    near = np.abs(best.f - known.f).max() <= SAME_ANSWER
    return bool(near and best.value >= known.value * (1.0 - 1e-9))
