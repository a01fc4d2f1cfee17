"""The two records that all packages share: a solution, and its certificate.

numpy is imported where it is needed: commands that only name methods start without it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

OPTIMAL, INFEASIBLE, UNBOUNDED = "optimal", "infeasible", "unbounded"
#: The three verdicts of a certificate.
PROVEN, REFUTED, UNDECIDED = "proven", "refuted", "undecided"
#: Verdict for each value of a certificate's ``ok``.
VERDICTS: Mapping[bool | None, str] = {True: PROVEN, False: REFUTED, None: UNDECIDED}
#: Statuses of tasks and solutions that convexfs adds to those of cvxpy.
ERROR, TIMEOUT, SKIPPED = "error", "timeout", "skipped"
#: Status of a task that returns measurements and solves no problem.
MEASURED = "measured"
#: cvxpy's status for a point that misses the requested accuracy.
INACCURATE = "optimal_inaccurate"
#: Name of the specialised solvers that work without cvxpy.
NATIVE = "native"
#: In a ranking, weights above this share of the largest count as selected.
RELEVANT_SHARE = 0.01
#: In sparse weights, values below this share of the largest count as rounding errors.
NOTHING_SHARE = 1e-4
#: Text in results for features that were not tested.
NOT_TESTED = "not tested"
#: Accuracy assumed of a solver at its default settings; certificates accept ten times this.
DEFAULT_ACCURACY = 1e-5
#: How a tolerance is passed to a solver: translated so that solutions of all solvers are about
#: equally accurate; the same number for each of its tolerances; or not at all.
TRANSLATED, RAW, OWN = "translated", "raw", "own"


def symbols(problem: Any) -> dict[str, Any]:
    """Return the variables of a cvxpy problem by the names that solutions use.

    cvxpy names a nameless variable by a counter that differs from one process
    to the next; here it goes by its position.
    """
    return {
        f"var[{position}]" if variable.name() == f"var{variable.id}" else variable.name(): variable
        for position, variable in enumerate(problem.variables())
    }


@contextmanager
def values_kept(leaves: Iterable[Any]) -> Iterator[None]:
    """Restore the values of these cvxpy variables or parameters at the end of the block."""
    before = [(leaf, leaf.value) for leaf in leaves]
    try:
        yield
    finally:
        for leaf, value in before:
            leaf.save_value(value)


@dataclass(frozen=True)
class ConePoint:
    """Primal and dual vectors of the cone program a solver was given.

    ``x`` are its variables, ``y`` one multiplier per row of ``A x + b in K`` in
    cvxpy's row order (None where the solver returns no duals).
    """

    x: "np.ndarray"
    y: "np.ndarray | None"

    @property
    def finite(self) -> bool:
        """Whether all entries of both vectors are finite."""
        import numpy as np

        known = [self.x] if self.y is None else [self.x, self.y]
        return all(bool(np.isfinite(np.asarray(v, dtype=float)).all()) for v in known)


@dataclass(frozen=True)
class Solution:
    """One solver's solution of one problem, as plain numbers.

    Attributes
    ----------
    status : str
        cvxpy's word, or ``error``, ``timeout``, ``skipped``. Never trusted by itself.
    primal, dual : mapping
        Values by the variable's symbol; multipliers by constraint label or position. A
        multiplier of an inequality is at least 0: the optimum improves by so much for each unit
        by which the bound gives way. Of an equality ``a == b`` the optimum changes by minus the
        multiplier for each unit of b in a minimisation, and by plus in a maximisation.
    objective : float or None
        Value the solver's point gives the stated objective.
    cone : ConePoint or None
        The vectors :func:`convexfs.certify` needs; None for native answers.
    build_seconds, compile_seconds, solve_seconds : float
        Stating the problem, canonicalising it, and solving it: the solver with cvxpy's
        interface to it.
    solve_cpu_seconds : float or None
        Processor time of ``solve_seconds``.
    clock_seconds, setup_seconds : float or None
        Of ``solve_seconds``, what the solver's own clock says, and how long it says its setup
        took; None if it does not report it.
    tol : float
        The accuracy that was asked for.
    solver, solver_version : str
        The solver that ran, and its version.
    iterations : int or None
        Iterations of the solver; None if it does not report them.
    failure : str
        Class and text of the exception, if one ended the solve.
    """

    status: str
    solver: str
    solver_version: str = ""
    primal: Mapping[str, "np.ndarray"] = field(default_factory=dict)
    dual: Mapping[str, "np.ndarray"] = field(default_factory=dict)
    objective: float | None = None
    cone: ConePoint | None = None
    build_seconds: float = 0.0
    compile_seconds: float = 0.0
    solve_seconds: float = 0.0
    solve_cpu_seconds: float | None = None
    clock_seconds: float | None = None
    setup_seconds: float | None = None
    iterations: int | None = None
    tol: float = 1e-6
    failure: str = ""

    @property
    def solved(self) -> bool:
        """Whether the solver reports an optimum."""
        return self.status == OPTIMAL

    @property
    def finite(self) -> bool:
        """Whether the objective is known, and it and all values of the point are finite."""
        import numpy as np

        point = (np.isfinite(np.asarray(value)).all() for value in self.primal.values())
        return self.objective is not None and bool(np.isfinite(self.objective)) and all(point)

    def _repr_html_(self) -> str:
        seconds = self.build_seconds + self.compile_seconds + self.solve_seconds
        rows: dict[str, Any] = {
            "status": self.status,
            "solver": f"{self.solver} {self.solver_version}".strip(),
            "objective": "" if self.objective is None else f"{self.objective:.9g}",
            "seconds": f"{seconds:.3g}",
        }
        rows |= {f"variable {name}": _summary(value) for name, value in self.primal.items()}
        rows |= {f"multiplier of {name}": _summary(value) for name, value in self.dual.items()}
        return _table([*rows.items(), *([("failure", self.failure)] if self.failure else [])])

    def after(self, earlier: "Solution | None") -> "Solution":
        """Return this solution with the seconds of an earlier step (None: unchanged) added."""
        if earlier is None:
            return self
        stages = ("build_seconds", "compile_seconds", "solve_seconds")
        sums = {name: getattr(self, name) + getattr(earlier, name) for name in stages}
        return replace(self, **sums)


@dataclass(frozen=True)
class Certificate:
    """The verdict on a claimed solution, with the residuals, gap and bound that support it.

    ``ok`` is True if the claim is proven to ``tol``, False if it is refuted, None if it is
    undecided. A NaN is never ok: :meth:`of` refutes any solution that is not finite. ``str``
    gives the verdict in a line, :meth:`explained` in full.

    Attributes
    ----------
    primal_residual : float
        Least relative change of the constraints' terms that makes the point feasible.
    dual_residual, complementarity : float or None
        Residuals of formulations that compute them by a formula; None for others.
    gap : float or None
        Distance of the objective from the proven bound, relative to their size; None if there
        is no bound.
    tol : float
        Largest residual accepted.
    basis : str
        The form of the problem on which the numbers were computed.
    claim : str
        What is verified: ``optimal``, ``infeasible``, ``unbounded``.
    reason : str
        Why it is refuted or undecided.
    objective, bound : float or None
        The objective at the point, and a proven bound on the optimum.
    reported : float or None
        Relative distance of the reported objective from the one at the point.
    rounding : float or None
        The claim is proven for costs that differ by this share of their own terms; None or 0 if
        it is proven for the data as they are.
    radius : float or None
        The claim is proven among points whose unbounded variables are no farther than this from
        the solution; None if it holds everywhere, or nowhere.
    by : str
        How it was proven.
    where : tuple of str
        The constraints or variables that the worst of the numbers comes from.
    better : float or None
        Objective of a point that is verified to be feasible and better.
    verdict : str
        ``proven``, ``refuted`` or ``undecided``; empty to infer it from the residuals.
    """

    primal_residual: float
    dual_residual: float | None
    complementarity: float | None
    gap: float | None
    tol: float
    basis: str
    claim: str = field(default=OPTIMAL, kw_only=True)
    reason: str = field(default="", kw_only=True)
    objective: float | None = field(default=None, kw_only=True)
    bound: float | None = field(default=None, kw_only=True)
    reported: float | None = field(default=None, kw_only=True)
    rounding: float | None = field(default=None, kw_only=True)
    radius: float | None = field(default=None, kw_only=True)
    by: str = field(default="", kw_only=True)
    where: tuple[str, ...] = field(default=(), kw_only=True)
    better: float | None = field(default=None, kw_only=True)
    verdict: str = field(default="", kw_only=True)

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
        """Return a certificate of these residuals; a solution with NaN or infinity is refuted."""
        if not solution.finite:
            primal_residual = math.nan
        return cls(primal_residual, dual_residual, complementarity, gap, tol, basis)

    @property
    def worst(self) -> float:
        """Largest of residuals, gap and error of the reported objective; NaN if one is NaN.

        NaN also without a primal residual.
        """
        import numpy as np

        parts = (
            self.primal_residual, self.dual_residual, self.complementarity, self.gap, self.reported
        )  # fmt: skip
        known = [part for part in parts if part is not None]
        return math.nan if self.primal_residual is None else float(np.max(known))

    @property
    def ok(self) -> bool | None:
        """Whether the claim is proven (True), refuted (False) or undecided (None)."""
        if self.verdict:
            return {PROVEN: True, REFUTED: False, UNDECIDED: None}[self.verdict]
        point = [part for part in (self.primal_residual, self.reported) if part is not None]
        if math.isnan(self.worst) or not max(point) <= self.tol:
            return False
        return True if self.gap is not None and self.worst <= self.tol else None

    @property
    def to_rounding(self) -> bool:
        """Whether the claim is proven only up to rounding of the data."""
        return bool(self.ok and self.rounding)

    def __str__(self) -> str:
        word = VERDICTS[self.ok]
        if self.ok:
            return f"{word}{self._to_rounding} ({self.worst:.0e})"
        return f"{word}: {self.reason or self._shortfall}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    @property
    def _shortfall(self) -> str:
        """Text on the largest residual against the tolerance, or that no bound is known."""
        if self.ok is None and self.gap is None:
            return "feasible, but no bound on the optimum is known"
        return f"{self.worst:.1e} > {self.tol:.0e}"

    @property
    def _to_rounding(self) -> str:
        return " to rounding of the data" if self.to_rounding else ""

    def _repr_html_(self) -> str:
        head, *lines = self.explained().split("\n")
        rows = [(line[2:33].strip(), line[33:]) for line in lines]
        return f"<p><b>{escape(str(self))}</b></p><p>{escape(head)}</p>{_table(rows)}"

    def explained(self) -> str:
        """Return text with the verdict and its numbers, one line each."""
        reason = f": {self.reason}" if self.reason else ""
        lines = [f"{self.claim}: {VERDICTS[self.ok]}{self._to_rounding} to {self.tol:.0e}{reason}"]
        numbers = {
            "objective": (self.objective, 9),
            "proven bound": (self.bound, 9),
            "objective of a better point": (self.better, 9),
            "gap to the bound": (self.gap, 2),
            "constraints violated by": (self.primal_residual, 2),
            "reported objective off by": (self.reported, 2),
            "costs changed by": (self.rounding or None, 2),
            "proven within the radius": (self.radius, 2),
        }
        lines += [
            f"  {name:31s}{value:.{digits}g}"
            for name, (value, digits) in numbers.items()
            if value is not None and not math.isnan(value)
        ]
        if self.by:
            lines.append(f"  {'proof':31s}{self.by}")
        lines += [f"  {'worst':31s}{place}" for place in self.where]
        return "\n".join(lines)

    @property
    def covers(self) -> str:
        """Sentence with the verdict, and that it proves nothing about the features."""
        solved = "the problem is solved" if self.ok else "the problem is not shown to be solved"
        return f"{self}: {solved}; this proves nothing about the features"

    def as_dict(self) -> dict[str, Any]:
        """Return residuals, gap, tolerance, ``ok`` and basis as a dict."""
        names = ("primal_residual", "dual_residual", "complementarity", "gap", "tol", "ok", "basis")
        return {name: getattr(self, name) for name in names}


#: Most entries of a vector that a notebook shows.
_SHOWN_ENTRIES = 6


def _summary(value: Any) -> str:
    """Return text with the first entries of an array, and its shape if there are more."""
    import numpy as np

    entries = np.ravel(np.asarray(value))
    shown = ", ".join(f"{entry:.4g}" for entry in entries[:_SHOWN_ENTRIES])
    return shown if entries.size <= _SHOWN_ENTRIES else f"{shown}, ... {np.shape(value)}"


def _table(rows: Iterable[tuple[str, Any]]) -> str:
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(str(text))}</td></tr>"
        for name, text in rows
    )
    return f"<table>{cells}</table>"
