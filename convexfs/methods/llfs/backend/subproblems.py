"""Run LLFS's convex subproblems by one solver: compiled once, retried and recorded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.methods.base.formulation import AUTO
from convexfs.methods.base.solve_step import explained, stated
from convexfs.methods.llfs import METHOD

LINEAR, CURVED, ASK, RATIO = "linear", "curved", "ask", "ratio"
#: Numbers of tangents in a subproblem with curvature, without, and without for (6).
TANGENTS, LINEAR_TANGENTS, MOST_TANGENTS = 8, 40, 60
#: Most features with curvature in a subproblem; the others are linear.
RANK = 16
#: Solver tolerance where full accuracy is needed, and of the second attempt after a failure.
EXACT, LOOSE = 1e-12, 1e-4
INFEASIBLE = ("infeasible", "infeasible_inaccurate")
NO_OPTIMUM = (*INFEASIBLE, "unbounded", "unbounded_inaccurate", "infeasible_or_unbounded")


@dataclass
class Subproblems:
    """Subproblems of one point; warm starts never come from another point.

    Attributes
    ----------
    solver, tol, options
        As :func:`convexfs.solve` takes them; a first-order solver is paced by what the
        solution path can still gain.
    feasible : callable, optional
        Constraints instead of the paper's.
    count : int
        Programs tried so far.
    failures : list of str
        Why some of these have no point: they are tried again less accurately, then by the next
        solver.
    """

    solver: str
    n_features: int
    max_features: int
    tol: float = 1e-7
    options: Mapping[str, Any] | None = None
    feasible: Callable[..., Any] | None = None
    count: int = 0
    failures: list[str] = field(default_factory=list)
    _memory: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.solver = _resolved(self.solver, self.n_features, self.max_features, self.feasible)

    @cached_property
    def curved(self) -> bool:
        """Return whether the solver gets quadratic programs."""
        from convexfs.solving.backends import BACKENDS, QP

        row = BACKENDS[self.solver]
        return QP in row.cones and QP not in row.weak

    @property
    def tangents(self) -> int:
        return TANGENTS if self.curved else LINEAR_TANGENTS

    def run(
        self, kind: str, numbers: Mapping[str, Any], gain: float, exact: bool = False
    ) -> np.ndarray | None:
        """Return the f of a subproblem, or None; `gain` is the possible improvement.

        Costs are scaled to a largest entry of 1, so that absolute tolerances mean the
        same at every point.
        """
        scaled = _scaled(kind, numbers)
        shape = scaled["G"].shape
        for solver, options in self._attempts(kind, gain, exact):
            program = self._program(kind, solver, shape)
            memory = None
            if program.row.pace is not None:
                memory = self._memory.setdefault((kind, solver, shape), {})
            answer = program.solve(scaled, options, memory)
            self.count += 1
            if answer.primal:
                return answer.primal["f"]
            self.failures.append(answer.failure or answer.status)
            if answer.status in INFEASIBLE:
                return None
        return None

    def _program(self, kind: str, solver: str, shape: tuple[int, int]) -> Any:
        """Return a subproblem ready to be solved: without cvxpy where that is possible.

        The user's own options are named as cvxpy's interface takes them.
        """
        from convexfs.solving.box_program import CALLS, BoxProgram

        if kind in (LINEAR, CURVED) and solver in CALLS and not (self.feasible or self.options):
            return BoxProgram(solver, self.max_features)
        return _compiled(kind, solver, *shape, self.max_features, self.feasible)

    @property
    def no_optimum(self) -> str:
        """Return why the last failed subproblem has no optimum (a status), or "" if not known."""
        reason = self.failures[-1] if self.failures else ""
        return reason if reason in NO_OPTIMUM else ""

    @property
    def infeasible(self) -> bool:
        """Return whether the last failed subproblem was infeasible."""
        return bool(self.failures) and self.failures[-1] in INFEASIBLE

    def why_infeasible(self, kind: str, numbers: Mapping[str, Any]) -> str:
        """Return which constraints of a subproblem conflict; "" if that is not proven."""
        problem = _stated(kind, numbers["G"].shape, self.max_features, self.feasible)
        for parameter in problem.parameters():
            parameter.value = numbers[parameter.name()]
        why = explained(problem)
        return f" ({why})" if why else ""

    def lent(self) -> "Subproblems":
        """Return the same subproblems for the solver "auto", and count that as a failure."""
        self.failures.append("left to another solver")
        return replace(self, solver=AUTO, options=None, count=0, _memory={})

    def _attempts(self, kind: str, gain: float, exact: bool) -> Any:
        """Yield (solver, options) to try: as requested, looser, then one other solver, if any."""
        from convexfs.solving.backends import BACKENDS
        from convexfs.solving.solve import merged

        row, own = BACKENDS[self.solver], self.options or {}
        first = row.options(self.tol)
        if row.pace is not None:
            first |= row.pace(gain)
        if exact:
            first |= row.accuracy(EXACT)
        yield row.name, merged(first, own)
        yield row.name, merged(row.options(LOOSE), own)
        for name in _others(kind, row.name, self.n_features, self.max_features, self.feasible):
            yield name, BACKENDS[name].options(self.tol)


def _scaled(kind: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
    scale = 1.0 / max(float(np.abs(numbers["c"]).max()), 1e-300)
    changed = {name: scale * numbers[name] for name in ("c", "level", "ratio") if name in numbers}
    if kind == CURVED:
        changed |= {name: np.sqrt(scale) * numbers[name] for name in ("R", "r")}
    return {**numbers, **changed}


def _stated(kind: str, shape: tuple[int, int], max_features: int, changed: Any) -> Any:
    from convexfs.methods.llfs.problem_steps import program

    n_tangents, n_features = shape
    build = partial(program, kind, n_features, n_tangents, RANK, max_features)
    if changed is None:
        return build()
    columns = {"f": np.empty((1, n_features))}
    feasible = checked_constraints(changed)
    return stated(METHOD.formulation("llfs-compactness"), columns, lambda: build(feasible))


@lru_cache(maxsize=64)
def _compiled(
    kind: str, solver: str, n_tangents: int, n_features: int, max_features: int, changed: Any
) -> Any:
    """Return a compiled subproblem, cached per process; it holds no data of points."""
    from convexfs.solving.parametrized import CompiledProblem

    return CompiledProblem(_stated(kind, (n_tangents, n_features), max_features, changed), solver)


@lru_cache(maxsize=64)
def _others(
    kind: str, solver: str, n_features: int, max_features: int, changed: Any
) -> tuple[str, ...]:
    """Return a tuple with the first other suitable solver, empty if there is none."""
    from convexfs.solving.backends import needs_of, suitable

    needs = needs_of(_stated(kind, (1, n_features), max_features, changed))
    return tuple(name for name in suitable(needs) if name != solver)[:1]


@lru_cache(maxsize=64)
def _resolved(solver: str, n_features: int, max_features: int, changed: Any) -> str:
    """Return a solver's name in the table; "auto" allows quadratic programs too."""
    from convexfs.solving.backends import choose

    kind = CURVED if solver.lower() == AUTO else LINEAR
    return choose(_stated(kind, (1, n_features), max_features, changed), solver).name


def check_constraints(feasible: Callable[..., Any], n_features: int, max_features: int) -> None:
    """Raise if the constraints cannot be stated, and warn about dropped ones."""
    _stated(LINEAR, (1, n_features), max_features, feasible)


def checked_constraints(feasible: Callable[..., Any]) -> Callable[..., Any]:
    """Return `feasible` wrapped so that it raises unless it returns constraints on f."""

    def constraints(f: Any, max_features: Any) -> Any:
        rows = feasible(f, max_features)
        if not isinstance(rows, list | tuple):
            kind = type(rows).__name__
            raise InputError(
                f"feasible must return a list of constraints, not {kind}: is a return missing?"
            )
        for number, constraint in enumerate(rows, start=1):
            if not hasattr(constraint, "variables") or not constraint.variables():
                raise InputError(
                    f"constraint {number} of feasible, {constraint}, does not depend on f: "
                    "leave it out, or write it with f"
                )
        return rows

    return constraints
