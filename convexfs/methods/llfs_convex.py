"""LLFS's problems of one point through any cvxpy backend: every step convex, none trusted.

G is bounded by tangents; each answer gets a tangent of its own, until the bound and the
true U2 agree. U1 is bounded by its tangent at the iterate. Iterates are brought back to
the true ``U2 >= eps`` on the way to the maximiser of (6), so that U1 only ever falls.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from convexfs.errors import ConvexfsError, InputError
from convexfs.formulations import FORMULATIONS
from convexfs.formulations.llfs_utility import mean_utility, mean_utility_gradient
from convexfs.methods.llfs_numbers import polymatroid_cut
from convexfs.methods.step import stated
from convexfs.native.llfs_path import LocalPath

#: Programs one stage may take.
MOST_STEPS = 100
#: Tangents kept; older ones are dropped, which leaves every bound valid.
MOST_TANGENTS = 30


@dataclass
class ConvexRoad:
    """The stages of one point, sharing their tangents.

    Attributes
    ----------
    a_same, a_other, s, lam, max_features
        The point; see :mod:`convexfs.formulations.llfs`.
    solver, tol, options
        As :func:`convexfs.solve` takes them; only the status ``optimal`` is accepted.
    build : callable, optional
        A changed step of (7) instead of the printed one.
    feasible : callable, optional
        Constraints instead of the paper's polytope, for every stage.
    programs : int
        How many programs were solved so far.
    """

    a_same: np.ndarray
    a_other: np.ndarray
    s: float
    lam: float
    max_features: int
    solver: str = "auto"
    tol: float = 1e-9
    options: Mapping[str, Any] | None = None
    build: Callable[..., Any] | None = None
    feasible: Callable[..., Any] | None = None
    programs: int = 0
    tangents: list[np.ndarray] = field(default_factory=list)
    cuts: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_features = self.a_other.shape[1]
        self._touch(np.full(n_features, self.max_features / n_features))

    @property
    def step_tol(self) -> float:
        """A stage ends when it can gain no more than this share of its value."""
        return 10.0 * self.tol

    def _touch(self, f: np.ndarray) -> None:
        """Add a tangent at f."""
        self.tangents = [*self.tangents, f][-MOST_TANGENTS:]

    def u1(self, f: np.ndarray) -> float:
        return mean_utility(self.a_same, f, self.s, self.lam)

    def u2(self, f: np.ndarray) -> float:
        return mean_utility(self.a_other, f, self.s, self.lam)

    def separation(self) -> np.ndarray:
        """Maximiser of (6)."""
        for _ in range(MOST_STEPS):
            f, value = self._solved("llfs-separation")
            reached = self.u2(f)
            if value - reached <= self.step_tol * value:
                break
            self._touch(f)
        return f

    def compactness(
        self, eps: float, f: np.ndarray, widest: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Local optimum of (7) from a feasible f, and what a further step promises to gain."""
        promise = np.inf
        for _ in range(MOST_STEPS):
            step, value = self._solved("llfs-compactness", eps=eps, iterate=f)
            promise = max(self.u1(f) - value, 0.0) / max(self.u1(f), 1e-300)
            if promise <= self.step_tol:
                break
            self._touch(step)
            back = self._brought_back(step, widest, eps)
            if self.u1(back) < self.u1(f):
                f = back
        return f, promise

    def bisection(self, eps: float, f: np.ndarray, widest: np.ndarray) -> tuple[np.ndarray, float]:
        """The same end by bisection on the level of U1's tangent, re-linearised."""
        promise = np.inf
        for _ in range(MOST_STEPS):
            start = self.u1(f)
            reached, low = self._least_level(eps, f)
            back = self._brought_back(reached, widest, eps)
            promise = max(start - low, 0.0) / max(start, 1e-300)
            if promise <= 10 * self.step_tol or self.u1(back) >= start * (1 - self.step_tol):
                break
            f = back
        return f, promise

    def _least_level(self, eps: float, f: np.ndarray) -> tuple[np.ndarray, float]:
        """A point of about the least tangent level at which U2 reaches eps, and that level."""
        slope = mean_utility_gradient(self.a_same, f, self.s, self.lam)
        low, high, best = 0.0, self.u1(f), f
        while high - low > self.step_tol * max(high, 1e-300):
            middle = 0.5 * (low + high)
            found = self._reaches(eps, "llfs-bisection", level=middle, iterate=f)
            if found is None:
                low = middle
            else:
                best = found
                high = min(middle, self.u1(f) + float(slope @ (found - f)))
        return best, low

    def _reaches(self, eps: float, name: str, **values: Any) -> np.ndarray | None:
        """A point of the program's set with U2 >= eps, or None if there is none."""
        for _ in range(MOST_STEPS):
            found = self._tried(name, **values)
            if found is None or found[1] < eps:
                return None
            f = found[0]
            # The end is brought back to the true level, so a hair is enough here.
            if self.u2(f) >= eps * (1 - self.step_tol):
                return f
            self._touch(f)
        return None

    def ratio(self, eps: float, f: np.ndarray, widest: np.ndarray) -> tuple[np.ndarray, float]:
        """Least mean distance per separation, by Dinkelbach's iteration; its value."""
        c1 = self.a_same.mean(axis=0)
        best = float(c1 @ f) / self.u2(f)
        for _ in range(MOST_STEPS):
            step, value = self._solved("llfs-ratio", eps=eps, ratio=best)
            if value >= -self.step_tol * best * self.u2(f):
                break
            self._touch(step)
            back = self._brought_back(step, widest, eps)
            attained = float(c1 @ back) / self.u2(back)
            if attained < best:
                f, best = back, attained
        return f, best

    def exact(self, eps: float) -> np.ndarray | None:
        """The best binary f by a mixed-integer program that is cut until it is exact."""
        first = np.argsort(self.a_same.mean(axis=0), kind="stable")
        self.cuts.append(polymatroid_cut(self.a_same, first, self.s, self.lam))
        best, value = None, np.inf
        for _ in range(MOST_STEPS):
            found = self._tried("llfs-exact", eps=eps, cuts=np.array(self.cuts))
            if found is None:
                break
            f, bound = found[0].round(), found[1]
            if self.u2(f) >= eps * (1 - self.step_tol) and self.u1(f) < value:
                best, value = f, self.u1(f)
            if bound >= value - 1e-7 * abs(value):
                break
            self._touch(f)
            order = np.lexsort((first, -f))
            self.cuts.append(polymatroid_cut(self.a_same, order, self.s, self.lam))
        return best

    def linear(self, beta: float) -> np.ndarray:
        """Optimum of the linear form."""
        return self._solved("llfs-linear", beta=beta)[0]

    def path(self, betas: np.ndarray, stage: str = "compactness") -> LocalPath:
        """(6), then every beta from the largest down: a larger one's point is feasible."""
        if stage == "linear":
            return self._linear_path(betas)
        widest = self.separation()
        eps_max = self.u2(widest)
        f, rows = widest, []
        for beta in betas[::-1]:
            promise = 0.0
            if beta < 1:
                f, promise = getattr(self, stage)(beta * eps_max, f, widest)
            rows.append((f, self.u1(f), self.u2(f), np.nan, promise, self.programs))
        F, u1, u2, mu, residual, programs = map(np.array, zip(*rows[::-1], strict=True))
        return LocalPath(betas, F, u1, u2, mu, residual, programs, eps_max, 0.0)

    def _linear_path(self, betas: np.ndarray) -> LocalPath:
        c1, c2 = self.a_same.mean(axis=0), self.a_other.mean(axis=0)
        most, share = float(np.sort(c2)[-self.max_features :].sum()), 1.0
        if self.feasible is not None:
            # Changed constraints may allow less; without its sigmoid, (6) says how much.
            share = float(c2 @ replace(self, s=0.0, lam=1.0).separation()) / most
        F = np.array([self.linear(share * beta) for beta in betas])
        nothing, programs = np.zeros(len(betas)), np.ones(len(betas), dtype=int)
        return LocalPath(betas, F, F @ c1, F @ c2, nothing, nothing, programs, share * most, 0.0)

    def last_step(self, beta: float) -> Any:
        """The convex step at the local optimum of `beta`, which solves it, as a problem."""
        path = self.path(np.array([beta]))
        return self._stated("llfs-compactness", eps=beta * path.eps_max, iterate=path.f[0])

    def _brought_back(self, f: np.ndarray, widest: np.ndarray, eps: float) -> np.ndarray:
        """The nearest point towards the maximiser of (6) with U2 >= eps, in truth."""
        low, high = 0.0, 1.0
        if self.u2(f) >= eps:
            return f
        for _ in range(60):
            middle = 0.5 * (low + high)
            if self.u2(f + middle * (widest - f)) >= eps:
                high = middle
            else:
                low = middle
        return f + high * (widest - f)

    def _solved(self, name: str, **values: Any) -> tuple[np.ndarray, float]:
        found = self._tried(name, **values)
        if found is None:
            raise InputError(
                f"the constraints of {name} cannot all hold: check max_features and the change"
            )
        return found

    def _tried(self, name: str, **values: Any) -> tuple[np.ndarray, float] | None:
        """Point and value of one program; None if it is infeasible."""
        from convexfs.solving.solve import solve

        solution = solve(self._stated(name, **values), self.solver, self.tol, None, self.options)
        self.programs += 1
        if solution.status in ("infeasible", "infeasible_inaccurate"):
            return None
        if not solution.solved or solution.objective is None:
            raise ConvexfsError(
                f"{solution.solver} ended {name} with status {solution.status!r} "
                f"{solution.failure}: try another solver or a looser solver_tol"
            )
        return np.clip(solution.primal["f"], 0.0, 1.0), solution.objective

    def _stated(self, name: str, **values: Any) -> Any:
        """The program of a stage, as printed or as changed."""
        offered = {
            "a_same": self.a_same, "a_other": self.a_other, "s": self.s, "lam": self.lam,
            "max_features": self.max_features, "tangents": np.array(self.tangents), **values,
        }  # fmt: skip
        row = FORMULATIONS[name]
        changed = self.build if name == "llfs-compactness" else None
        if self.feasible is not None:
            changed = partial(row.build, feasible=self._changed_constraints)
        return stated(row, offered, changed)

    def _changed_constraints(self, f: Any, max_features: int) -> Any:
        constraints = self.feasible(f, max_features)  # type: ignore[misc]
        if not isinstance(constraints, list | tuple):
            kind = type(constraints).__name__
            raise InputError(
                f"feasible must return a list of constraints, not {kind}: is a return missing?"
            )
        for number, constraint in enumerate(constraints, start=1):
            if not hasattr(constraint, "variables") or not constraint.variables():
                raise InputError(
                    f"constraint {number} of feasible, {constraint}, does not depend on f: "
                    "leave it out, or write it with f"
                )
        return constraints
