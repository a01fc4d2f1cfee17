"""The two records every room speaks in: an answer, and the proof it comes with."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

OPTIMAL, INFEASIBLE = "optimal", "infeasible"
#: Statuses convexfs adds to cvxpy's own.
ERROR, TIMEOUT, SKIPPED = "error", "timeout", "skipped"
#: cvxpy's word for a point short of the accuracy asked for.
INACCURATE = "optimal_inaccurate"
#: The name that specialised solvers without cvxpy go by.
NATIVE = "native"
#: Of a ranking, weights above this share of the largest count as selected.
RELEVANT_SHARE = 0.01
#: Of sparse weights, those below this share of the largest are a solver's rounding.
NOTHING_SHARE = 1e-4
#: What is told of features that nothing was held against.
NOT_TESTED = "not tested"
#: Accuracy expected of a solver that is asked for none, at its own default settings.
DEFAULT_ACCURACY = 1e-5


def symbols(problem: Any) -> dict[str, Any]:
    """Map names to the variables of a cvxpy problem, as their values go by them.

    cvxpy names a nameless variable by a counter that differs from one process
    to the next; here it goes by its position.
    """
    return {
        f"var[{position}]" if variable.name() == f"var{variable.id}" else variable.name(): variable
        for position, variable in enumerate(problem.variables())
    }


@dataclass(frozen=True)
class ConePoint:
    """Primal and dual vectors of the cone program a solver was given.

    ``x`` are its variables, ``y`` one multiplier per row of ``A x + b in K`` in
    cvxpy's row order (None where the solver returns no duals).
    """

    x: np.ndarray
    y: np.ndarray | None

    @property
    def finite(self) -> bool:
        """Whether all of both are numbers."""
        known = [self.x] if self.y is None else [self.x, self.y]
        return all(bool(np.isfinite(vector).all()) for vector in known)


@dataclass(frozen=True)
class Solution:
    """One solver's answer to one problem, as plain numbers.

    Attributes
    ----------
    status : str
        cvxpy's word, or ``error``, ``timeout``, ``skipped``. Never trusted by itself.
    primal, dual : mapping
        Values by the variable's symbol; multipliers by constraint label or position.
    objective : float or None
        Value the solver's point gives the stated objective.
    cone : ConePoint or None
        The vectors :func:`convexfs.certify` needs; None for native answers.
    build_seconds, compile_seconds, solve_seconds : float
        Stating the problem, canonicalising it, and the solver's own work.
    tol : float
        The accuracy that was asked for.
    failure : str
        Class and text of the exception, if one ended the solve.
    """

    status: str
    solver: str
    solver_version: str = ""
    primal: Mapping[str, np.ndarray] = field(default_factory=dict)
    dual: Mapping[str, np.ndarray] = field(default_factory=dict)
    objective: float | None = None
    cone: ConePoint | None = None
    build_seconds: float = 0.0
    compile_seconds: float = 0.0
    solve_seconds: float = 0.0
    iterations: int | None = None
    tol: float = 1e-6
    failure: str = ""

    @property
    def solved(self) -> bool:
        """Whether the solver claims an optimum."""
        return self.status == OPTIMAL

    @property
    def finite(self) -> bool:
        """Whether all of the point, and its objective, are numbers."""
        point = (np.isfinite(np.asarray(value)).all() for value in self.primal.values())
        return self.objective is not None and bool(np.isfinite(self.objective)) and all(point)

    def after(self, earlier: "Solution | None") -> "Solution":
        """Return this answer, with the seconds of an earlier step of the same method added."""
        if earlier is None:
            return self
        stages = ("build_seconds", "compile_seconds", "solve_seconds")
        return replace(
            self, **{name: getattr(self, name) + getattr(earlier, name) for name in stages}
        )


@dataclass(frozen=True)
class Certificate:
    """Residuals of an answer, recomputed from the problem's formula.

    All four are relative: 0 is exact. ``ok`` is True when all are at most
    ``tol``, False when one is not, None when the point is feasible but no dual
    exists to prove it optimal. ``basis`` says what the numbers were computed on.

    A NaN is never ok, wherever it is: :meth:`of` refuses any answer that is not finite.
    """

    primal_residual: float
    dual_residual: float | None
    complementarity: float | None
    gap: float | None
    tol: float
    basis: str

    @classmethod
    def of(
        cls,
        solution: Solution,
        *,
        tol: float,
        basis: str,
        primal_residual: float = 0.0,
        dual_residual: float | None = None,
        complementarity: float | None = None,
        gap: float | None = None,
    ) -> "Certificate":
        """Certify `solution`, refusing one whose own numbers are not finite."""
        if not solution.finite:
            primal_residual = np.nan
        return cls(primal_residual, dual_residual, complementarity, gap, tol, basis)

    @property
    def worst(self) -> float:
        """The largest residual; NaN if one of them is, or if none was computed."""
        parts = (self.primal_residual, self.dual_residual, self.complementarity, self.gap)
        known = [part for part in parts if part is not None]
        return np.nan if self.primal_residual is None else float(np.max(known))

    @property
    def ok(self) -> bool | None:
        """Whether the answer is proven, None if it cannot be; see the class."""
        if not self.worst <= self.tol:
            return False
        return None if self.gap is None else True

    def __str__(self) -> str:
        verdict = {
            True: f"ok ({self.worst:.0e})",
            False: f"refused ({self.worst:.1e} > {self.tol:.0e})",
            None: "feasible, optimality not certified",
        }
        return verdict[self.ok]

    @property
    def covers(self) -> str:
        """The verdict, with what it does and does not say."""
        solved = "the problem is solved" if self.ok else "the problem is not shown to be solved"
        return f"{self}: {solved}; it says nothing about the features"

    def as_dict(self) -> dict[str, Any]:
        """Return the columns that files and tables have."""
        return {
            "primal_residual": self.primal_residual,
            "dual_residual": self.dual_residual,
            "complementarity": self.complementarity,
            "gap": self.gap,
            "tol": self.tol,
            "ok": self.ok,
            "basis": self.basis,
        }
