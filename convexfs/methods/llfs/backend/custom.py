"""LLFS's programs that are stated anew each time: a changed step of (7), and the binary one.

A changed step may be any convex problem, so nothing is known of it but its answer: it is
linearised at the iterate, given tangents where answers lay, and solved until it promises
no more. The mixed-integer program is cut until it is exact.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.methods.base.change import is_change
from convexfs.methods.base.solve_step import no_optimum, stated
from convexfs.methods.llfs import METHOD
from convexfs.methods.llfs.backend.path import FAILED, TIMEOUT, Answer, BackendPath, PathSolver
from convexfs.methods.llfs.backend.separation import Unsolved
from convexfs.methods.llfs.backend.subproblems import INFEASIBLE, NO_OPTIMUM, checked_constraints
from convexfs.methods.llfs.numbers import polymatroid_cut

#: Formulations that are stated again for each subproblem.
STEP, EXACT = "llfs-compactness", "llfs-exact"
#: Most subproblems per beta; then the best point so far is returned.
MOST_PROGRAMS = 100
#: Most stored tangents; older ones are dropped, which keeps every bound valid.
MOST_TANGENTS = 30


@dataclass
class StatedPrograms:
    """Subproblems of one point, each stated and solved by :func:`convexfs.solve`.

    Attributes
    ----------
    built_in : PathSolver
        Of the same point: its numbers, and the maximiser of (6).
    solver, tol, options
        As :func:`convexfs.solve` takes them.
    build : callable, optional
        The changed step.
    """

    built_in: PathSolver
    solver: str
    tol: float
    options: Mapping[str, Any] | None = None
    build: Callable[..., Any] | None = None
    programs: int = 0
    failures: int = 0
    tangents: list[np.ndarray] = field(default_factory=list)
    cuts: list[np.ndarray] = field(default_factory=list)

    def path(self, betas: np.ndarray) -> BackendPath:
        """Solve each beta by changed steps, largest first; f is NaN where none was found."""
        built_in = self.built_in
        try:
            built_in.separation()
        except Unsolved:
            return built_in.unsolved(betas)
        assert built_in.widest is not None
        f, answers, counts = built_in.widest, [], []
        for beta in betas[::-1]:
            used, failed = self.programs, self.failures
            optimum, promise = (built_in.widest, 0.0) if beta >= 1 else self._descend(beta, f)
            f = f if optimum is None else optimum
            ended = TIMEOUT if built_in.late else FAILED
            answers.append(Answer(optimum, promise=promise, ended=ended))
            counts.append((self.programs - used, self.failures - failed))
        return built_in.summary(betas, answers[::-1], *np.array(counts[::-1]).T)

    def _descend(self, beta: float, f: np.ndarray) -> tuple[np.ndarray | None, float]:
        """Repeat changed steps from a feasible f; return the best f, or None, and a possible gain.

        At most 100 steps are taken; the gain is a bound on that of the next step, relative.
        """
        built_in, point, eps = self.built_in, self.built_in.point, beta * self.built_in.eps_max
        promise, least = np.inf, self._value(f, eps)
        for number in range(MOST_PROGRAMS):
            solved = None if built_in.late else self._solved(STEP, beta, eps=eps, iterate=f)
            if solved is None:
                return (f if number else None), promise
            step, value = solved
            promise = max(least - value, 0.0) / max(abs(least), 1e-300)
            if promise <= 10.0 * self.tol:
                break
            self._touch(step)
            back = point.towards(step, built_in.widest, eps)  # type: ignore[arg-type]
            reached = self._value(back, eps)
            if reached < least:
                f, least = back, reached
        return f, promise

    def _value(self, f: np.ndarray, eps: float) -> float:
        """Return the changed objective at f, or U1 if ``build`` states a whole step itself.

        A ``build`` may leave out what is constant in a step, so that steps do not compare: U1.
        """
        if not is_change(self.build):
            return self.built_in.point.u1(f)
        from convexfs.methods.llfs.problem_steps import value_at

        return value_at(self._stated(STEP, eps=eps, iterate=f), f)

    def backend_name(self) -> str:
        """Return the name of the solver that takes the subproblems."""
        from convexfs.solving.backends import choose

        f = np.full(self.built_in.point.n_features, 0.5)
        if self.build is None:
            problem = self._stated(EXACT, eps=0.0, cuts=f[None])
        else:
            problem = self._stated(STEP, eps=0.0, iterate=f)
        return choose(problem, self.solver).name

    def exact(self, eps: float) -> tuple[np.ndarray | None, bool]:
        """Return the best binary f by MIPs with cuts (None if none) and whether it is surely best.

        It may not be best if a program fails, time is up, or after MOST_PROGRAMS programs.
        """
        point = self.built_in.point
        first = np.argsort(point.a_same.mean(axis=0), kind="stable")
        cut = partial(polymatroid_cut, point.a_same, s=point.s, lam=point.lam)
        self.cuts.append(cut(order=first))
        best, least = None, np.inf
        for _ in range(MOST_PROGRAMS):
            failures = self.failures
            solved = self._solved(EXACT, eps=eps, cuts=np.array(self.cuts))
            if solved is None:
                return best, self.failures == failures
            f, bound = solved[0].round(), solved[1]
            if point.u2(f) >= eps * (1 - 10.0 * self.tol) and point.u1(f) < least:
                best, least = f, point.u1(f)
            if bound >= least - 1e-7 * abs(least):
                return best, True
            if self.built_in.late:
                break
            self._touch(f)
            self.cuts.append(cut(order=np.lexsort((first, -f))))
        return best, False

    def _touch(self, f: np.ndarray) -> None:
        """Store f as a point for a tangent of U2; only the 30 newest are stored."""
        self.tangents = [*self.tangents, f][-MOST_TANGENTS:]

    def _solved(
        self, name: str, beta: float = np.nan, **values: Any
    ) -> tuple[np.ndarray, float] | None:
        """Return f and objective of a subproblem, or None; raise if a step has no optimum."""
        from convexfs.solving.solve import solve

        solution = solve(self._stated(name, **values), self.solver, self.tol, None, self.options)
        self.programs += 1
        if solution.primal and np.isfinite(solution.primal["f"]).all():
            assert solution.objective is not None
            return np.clip(solution.primal["f"], 0.0, 1.0), solution.objective
        if name == STEP and solution.status in NO_OPTIMUM:
            raise InputError(no_optimum(solution.status, self.build, f"{name} at beta {beta:g}"))
        self.failures += solution.status not in INFEASIBLE
        return None

    def _stated(self, name: str, **values: Any) -> Any:
        """State the subproblem of a stage, as printed or as changed."""
        point, changed = self.built_in.point, self.build
        if not self.tangents:
            self._touch(np.full(point.n_features, point.max_features / point.n_features))
        offered = {
            "a_same": point.a_same, "a_other": point.a_other, "s": point.s, "lam": point.lam,
            "max_features": point.max_features, "tangents": np.array(self.tangents), **values,
        }  # fmt: skip
        row, feasible = METHOD.formulation(name), self.built_in.programs.feasible
        if feasible is not None and (changed is None or name != STEP):
            changed = partial(row.build, feasible=checked_constraints(feasible))
        return stated(row, offered, changed)
