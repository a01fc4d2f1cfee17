"""Explain a problem: why it is infeasible, unbounded or not convex, or what binds."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.certification.auxiliary import Budget
from convexfs.certification.certify import certify
from convexfs.certification.convex_form import ConvexForm
from convexfs.diagnosis.conflicts import Conflict, find_conflict
from convexfs.diagnosis.explanation import Explanation, Line, Section
from convexfs.diagnosis.infeasible import explain_infeasible
from convexfs.diagnosis.naming import Names
from convexfs.diagnosis.ownership import OwnedProgram
from convexfs.diagnosis.stages import stages_of
from convexfs.errors import InputError, check_number
from convexfs.records import ERROR, OPTIMAL, UNBOUNDED, UNDECIDED, Certificate, Solution
from convexfs.solving.backends import backend
from convexfs.solving.solve import solve

#: Default limit on the CPU seconds of an explanation.
SECONDS = 30.0
#: Fraction of the remaining time for the first conflict; the relaxation and further conflicts share
#: the rest.
CONFLICT_SHARE = 0.6
BADLY_SCALED = "badly scaled"


def explain(
    problem: Any,
    *,
    solver: str = "auto",
    seconds: float = SECONDS,
    sources: Mapping[int, str] | None = None,
) -> Explanation:
    """Explain why a problem is infeasible, unbounded, badly scaled or not convex, or what binds.

    Parameters
    ----------
    problem : cvxpy.Problem or fitted estimator
        Its parameters must have values. Of an estimator, the problem that ``problem()`` returns.
    solver : str
        The solver to begin with; its status is only a guess, which is proven or refuted.
    seconds : float
        CPU time to spend, about. What is not proven by then is reported as not proven.
    sources : mapping, optional
        Source lines by constraint id; the command ``convexfs explain`` records them.

    Returns
    -------
    Explanation
        Prints as text; ``to_html``, ``to_latex``, ``to_dict`` and ``to_json`` have the rest.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2, name="x")
    >>> limits = [(cp.sum(x) <= 10).set_label("budget"), x >= 6]
    >>> found = explain(cp.Problem(cp.Minimize(x[0]), limits))
    >>> found.status, found.proven
    ('infeasible', True)
    >>> found.to_dict()["relaxation"]["changes"][0]["sentence"]
    'raise the upper limit of budget from 10 to 12'
    """
    check_number("seconds", seconds, 0, open_ends=True)
    if solver != "auto":
        backend(solver)  # Raises if it is unknown or not installed.
    problem = _problem(problem)
    budget = Budget.of(seconds)
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        if not (problem.is_dcp() or problem.is_dgp()):
            from convexfs.diagnosis.convexity import explain_not_convex

            return explain_not_convex(problem)
        session = _Session(problem, solver, budget, sources)
        return replace(session.run(), stages=partial(stages_of, session.names))


def _problem(problem: Any) -> cp.Problem:
    if not isinstance(problem, cp.Problem) and callable(getattr(problem, "problem", None)):
        problem = problem.problem()
    if not isinstance(problem, cp.Problem):
        raise InputError(
            "explain takes a cvxpy.Problem or a fitted estimator with a problem(), "
            f"not {type(problem).__name__}"
        )
    unset = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if unset:
        raise InputError(f"give parameter {', '.join(unset)} a value before it is explained")
    if not problem.variables():
        raise InputError("the problem has no variables: there is nothing to explain")
    return problem


class _Session:
    """Solves a convex problem and explains the result: optimum, conflict, ray or undecided."""

    def __init__(
        self, problem: cp.Problem, solver: str, budget: Budget, sources: Mapping[int, str] | None
    ):
        self.problem, self.solver, self.budget = problem, solver, budget
        self.convex = ConvexForm.of(problem)
        self.program = OwnedProgram.of(self.convex.convex, problem)
        self.names = Names(self.program, sources)

    def run(self) -> Explanation:
        solution, certificate = self._solved()
        if solution.status == OPTIMAL and certificate is not None and certificate.ok:
            from convexfs.diagnosis.sensitivity import explain_optimal

            return explain_optimal(self.names, solution, certificate, self.budget)
        attempts = [self._infeasible, self._unbounded]
        if solution.status.startswith(UNBOUNDED):
            attempts.reverse()
        for attempt in attempts:
            found = attempt()
            if found is not None:
                return found
        return self._undecided(solution, certificate)

    def _solved(self) -> tuple[Solution, Certificate | None]:
        if not self.problem.is_dcp():
            return Solution("unknown", "none"), None
        limit = max(0.1, 0.3 * self.budget.left)
        try:
            solution = solve(self.problem, self.solver)
        except InputError as error:  # No solver takes the problem.
            return Solution(ERROR, "none", failure=str(error)), None
        if solution.status != OPTIMAL and not solution.primal:
            return solution, None
        effort = limit / max(1e-3, solution.compile_seconds + solution.solve_seconds)
        return solution, certify(self.problem, solution, effort=min(20.0, effort))

    def _infeasible(self) -> Explanation | None:
        found = find_conflict(self.program, Budget.of(CONFLICT_SHARE * self.budget.left))
        if not isinstance(found, Conflict):
            return None
        return explain_infeasible(found, self.names, self.budget, not self.convex.logarithmic)

    def _unbounded(self) -> Explanation | None:
        from convexfs.diagnosis.rays import explain_unbounded

        return None if self.convex.logarithmic else explain_unbounded(self.names, self.budget)

    def _undecided(self, solution: Solution, certificate: Certificate | None) -> Explanation:
        from convexfs.diagnosis.health import health_sections

        said = f"{solution.solver} reports {solution.status}"
        said += f" ({solution.failure})" if solution.failure else ""
        lines = [Line(f"{said}; it is not proven.")]
        if certificate is not None:
            lines.append(Line(certificate.reason or str(certificate)))
        lines.append(Line("Neither a conflict, nor a ray, nor an optimum was proven."))
        sections, data = health_sections(self.names, self.problem, self.budget)
        tried = Section("What was tried", lines)
        data |= {"solver": solution.solver, "solver_status": solution.status}
        if "scaling" not in data:
            headline = "UNDECIDED: nothing was proven about this problem"
            return Explanation(UNDECIDED, False, headline, (tried, *sections), data)
        headline = (f"BADLY SCALED: {solution.solver} fails on it as stated, but a solution is "
                    "certified in other units")  # fmt: skip
        # The last two sections are the proposal and its table; move them to the front.
        ordered = (*sections[-2:], *sections[:-2], tried)
        return Explanation(BADLY_SCALED, True, headline, ordered, data)
