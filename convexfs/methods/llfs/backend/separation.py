"""Solve LLFS's (6) by any cvxpy solver, and run the subproblems of all stages."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.methods.base.solve_step import no_optimum
from convexfs.methods.llfs.backend.point import DUST, Place, PointUtilities, Price
from convexfs.methods.llfs.backend.subproblems import (
    ASK,
    CURVED,
    LINEAR,
    MOST_TANGENTS,
    RANK,
    RATIO,
    Subproblems,
)

#: (6) ends after this many subproblems or at this relative gap, as its error changes all levels.
MOST_SEPARATIONS, SEPARATION_TOL = 150, 1e-8
#: (6) goes to the solver "auto" after this many subproblems; it fails if its final gap is larger.
MOST_OWN_SEPARATIONS, UNSOLVED_GAP = 60, 1e-5
#: Size of a working set: at least this many features, and this multiple of the budget.
WORKING_SET, PER_FEATURE = 40, 4


class Unsolved(Exception):
    """No solver found a point that a stage needs."""


@dataclass(frozen=True)
class Step:
    """One subproblem of the solution path: its numbers, its iterate and its solution."""

    kind: str
    level: float
    iterate: np.ndarray
    numbers: dict[str, Any]
    answer: np.ndarray | None


class Tangents:
    """A set of tangents of U2; a new one replaces the one that was slack for longest."""

    def __init__(self, n_tangents: int, n_features: int):
        self.G, self.b = np.zeros((n_tangents, n_features)), np.full(n_tangents, 1e3)
        self._used, self._clock = np.full(n_tangents, -1), 0

    def add(self, g: np.ndarray, b: float) -> None:
        twins = np.flatnonzero(np.abs(self.b - b) <= 1e-13)
        same = [i for i in twins if np.abs(self.G[i] - g).max() <= 1e-13]
        i = int(same[0]) if same else int(np.argmin(self._used))
        self._clock += 1
        self.G[i], self.b[i], self._used[i] = g, b, self._clock

    def touch(self, f: np.ndarray, eps: float) -> None:
        """Record which tangents are active at f."""
        self._clock += 1
        near = self.G @ f + self.b - eps <= 1e-3 * eps
        self._used[near & (self._used >= 0)] = self._clock

    def forget(self) -> None:
        """Delete all tangents: the next iterates add new ones."""
        self.G[:], self.b[:], self._used[:] = 0.0, 1e3, -1


@dataclass
class SeparationSolver:
    """State that all stages of one point share, and the first stage, (6).

    See :class:`PointUtilities` and :class:`Subproblems`.

    Attributes
    ----------
    form : {"compactness", "bisection", "ratio"}
        What is minimised, and how: U1 by steps, U1 by bisection at first,
        or the ratio of the mean distance to U2.
    tol : float
        The share of its value that a stage may leave.
    deadline : float
        ``time.monotonic()`` at which no further program is begun.
    steps : list of Step, optional
        Every program is added to it.
    singles : bool array (M,), optional
        Features that changed constraints allow to be alone.
    """

    point: PointUtilities
    programs: Subproblems
    form: str = "compactness"
    tol: float = 1e-7
    deadline: float = np.inf
    steps: list[Step] | None = None
    singles: np.ndarray | None = None
    widest: np.ndarray | None = None
    eps_max: float = np.nan
    gap: float = np.inf
    _tangents: Tangents = field(init=False)
    #: Multiplier of U2 and its gradient at the last iterate, which define reduced costs.
    _mu: float = field(init=False, default=0.0)
    _g2: Any = field(init=False, default=0.0)

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

    # The objective is U1, or the ratio c1'f / U2, whose slope at its value t is c1 - t g2.

    def value(self, f: np.ndarray) -> float:
        if self.form == RATIO:
            return float(self._mean @ f) / max(self.point.u2(f), 1e-300)
        return self.point.u1(f)

    def _slope(self, place: Place, value: float) -> np.ndarray:
        return self._mean - value * place.g2 if self.form == RATIO else place.g1

    def promise(self, place: Place, value: float, eps: float) -> tuple[float, Price]:
        """Return an upper bound on the relative gain of a step, and the :class:`Price` behind it.

        With changed constraints, by a program.
        """
        slope = self._slope(place, value)
        if self.point.free:
            price = self.point.price(place, slope, eps)
        else:
            price = self._programmed_price(place, slope, eps)
        # A ratio lower by d needs c1'f - t U2 <= -d U2, with U2 at least its lower bound:
        scale = value * max(eps, self.point.least_u2) if self.form == RATIO else value
        return price.gain / max(scale, 1e-300), price

    def _programmed_price(self, place: Place, slope: np.ndarray, eps: float) -> Price:
        self._tangents.add(place.g2, place.u2 - float(place.g2 @ place.f))
        numbers = {"c": slope, "G": self._tangents.G, "h": eps - self._tangents.b}
        f = self._run(LINEAR, place.f, eps, numbers, 0.0)
        mu = self._mu or float(slope @ place.g2 / max(place.g2 @ place.g2, 1e-300))
        gain = np.inf if f is None else max(float(slope @ (place.f - f)), 0.0)
        return Price(gain, mu, slope - mu * place.g2)

    # Subproblems

    def _run(
        self, kind: str, at: np.ndarray, eps: float, numbers: dict[str, Any], gain: float,
        exact: bool = False,
    ) -> np.ndarray | None:  # fmt: skip
        """Return a subproblem's solution over a working set of features, or None."""
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
        return None if f is None else self.point.snapped(f, DUST)

    def _columns(self, at: np.ndarray, c: np.ndarray) -> np.ndarray | None:
        """Return the working set, used features and then least reduced costs; None for all."""
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

    # (6)

    def separation(self) -> None:
        """Solve (6), and store `widest` and `eps_max`; raise Unsolved if the gap stays too large.

        Tangents alone, and inaccurate answers, may creep: then another solver ends it.
        """
        point = self.point
        few_tangents = self._tangents
        if not self.programs.curved:
            self._tangents = self._new_tangents(MOST_TANGENTS)
        place, exact, stuck, programs = self._first_place(), False, False, self.programs
        for number in range(MOST_SEPARATIONS):
            self._tangents.add(place.g2, place.u2 - float(place.g2 @ place.f))
            self.gap, top = self._separation_gap(place)
            if self.gap <= SEPARATION_TOL or self.late:
                break
            lent = self.programs is not programs
            if stuck and lent:
                break
            if stuck or (number == MOST_OWN_SEPARATIONS and not lent):
                self.programs = programs.lent()
                exact = False
            step = self._separation_step(place, exact)
            if step is None:
                stuck = True
                continue
            self._tangents.add(*point.cut(step))
            better = self._highest(place.f, [step, point.snapped(step), top])
            gained = point.u2(better) > place.u2 * (1.0 + 1e-15)
            if gained:
                place = point.at(better)
            stuck = exact and not gained
            exact = exact or (self.programs.curved and not gained)
        if self.programs is not programs:
            programs.count += self.programs.count
            self.programs = programs
        if self.gap > UNSOLVED_GAP:
            raise Unsolved
        clean = point.snapped(place.f, 1e-6)
        if point.free and point.u2(clean) >= place.u2 * (1.0 - 1e-10):
            place = point.at(clean)
        self.widest, self.eps_max = place.f, place.u2
        few_tangents.add(*point.cut(place.f))
        self._tangents = few_tangents

    def _first_place(self) -> Place:
        """Return the start of (6), which maximises the linearisation of U2 at uniform f."""
        point = self.point
        g, _ = point.cut(np.full(point.n_features, point.max_features / point.n_features))
        if point.free:
            f = np.zeros(point.n_features)
            f[np.argsort(-g, kind="stable")[: point.max_features]] = 1.0
            return point.at(f)
        return point.at(self._allowed(-g))

    def _allowed(self, c: np.ndarray) -> np.ndarray:
        """Return the point of least c'f under changed constraints; raise if none is found."""
        none = {"G": np.zeros_like(self._tangents.G), "h": np.full(len(self._tangents.b), -1.0)}
        f = self._run(LINEAR, np.zeros(len(c)), 0.0, {"c": c, **none}, 0.0)
        if f is None and self.programs.no_optimum:
            why = self.programs.why_infeasible(LINEAR, {"c": c, **none})
            said = no_optimum(self.programs.no_optimum, self.programs.feasible, "llfs-separation")
            raise InputError(said + why)
        if f is None:
            raise Unsolved
        return f

    def _separation_gap(self, place: Place) -> tuple[float, np.ndarray]:
        """Return a bound on U2's relative distance from its maximum, and the point behind it."""
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
            answer = self._run(CURVED, place.f, 0.0, numbers, self.gap, exact)
            if answer is not None:
                return answer
        numbers = {"c": np.ones(len(place.f)), "level": 2.0 * len(place.f)}
        numbers |= {"G": tangents.G, "b": tangents.b}
        answer = self._run(ASK, place.f, 0.0, numbers, self.gap, exact)
        if answer is not None:
            tangents.touch(answer, place.u2)
        return answer

    def _highest(self, f: np.ndarray, goals: list[np.ndarray]) -> np.ndarray:
        points = [goals[1], *(self.point.highest(f, goal) for goal in goals)]
        if not self.point.free:
            points = points[1:]
        return points[int(np.argmax([self.point.u2(each) for each in points]))]
