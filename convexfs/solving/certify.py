"""Judge an answer by the problem's own formula, never by the word of whoever gave it.

Each claim has its proof: of an optimum a feasible point and a bound (:mod:`optimality`; by
branching where variables are whole, :mod:`branching`), of infeasibility a contradiction
(:mod:`infeasibility`), of unboundedness a point and a ray (:mod:`unboundedness`). All numbers
are relative to units taken from the data, so that no scaling of rows, columns, right-hand
sides or costs hides an error.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.settings import INF_OR_UNB

from convexfs.errors import InputError, check_number
from convexfs.records import OPTIMAL, Certificate, Solution, symbols
from convexfs.solving.claims import Answer, Rules, judged
from convexfs.solving.statement import lacking_values, objective_value

#: A certificate allows this many times the accuracy asked of the solver.
SLACK = 10.0
#: Largest residual accepted of an answer that no accuracy was asked of.
TOLERANCE = 1e-5
#: Nodes that branching may take.
NODES = 300


def certify(
    problem: cp.Problem,
    solution: Solution | None = None,
    tol: float | None = None,
    *,
    primal: Mapping[Any, Any] | None = None,
    search: bool = True,
    nodes: int = NODES,
) -> Certificate:
    """Prove or refuse an answer to `problem`.

    Parameters
    ----------
    problem : cvxpy.Problem
        As stated, its parameters at the values that were solved; convex by the rules of DCP,
        DGP or DQCP. Judged is what its last ``solve`` left in it, unless another answer is
        given; its variables are left holding the point that was judged.
    solution : Solution, optional
        An answer of :func:`convexfs.solve`, possibly changed since.
    tol : float, optional
        Largest residual accepted: 1e-5, or ten times ``solution.tol``.
    primal : mapping, optional
        A point from anywhere that is claimed to be optimal: values by variable, or by its name.
    search : bool
        Whether to look for multipliers where the answer has none that prove it.
    nodes : int
        Relaxations that may be solved for an integer problem.

    Returns
    -------
    Certificate
        ``ok`` is None where the claim could be neither proven nor refuted, such as an integer
        problem that takes more nodes.
    """
    if not isinstance(problem, cp.Problem):
        raise InputError(f"certify takes a cvxpy.Problem, not {type(problem).__name__}")
    if tol is None:
        tol = TOLERANCE if solution is None else SLACK * solution.tol
    check_number("tol", tol, 0, open_ends=True)
    unset = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if unset:
        raise InputError(f"give parameter {', '.join(unset)} the value that was solved")
    answer = _taken(problem, solution, primal)
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        return judged(problem, answer, Rules(tol, search, nodes))


def assert_optimal(problem: cp.Problem, tol: float = 1e-6) -> None:
    """Raise AssertionError unless the values in `problem` are proven optimal; for test suites."""
    certificate = certify(problem, tol=tol)
    if certificate.claim != OPTIMAL or certificate.ok is not True:
        raise AssertionError(f"not proven optimal\n{certificate.explained()}")


def _taken(
    problem: cp.Problem, solution: Solution | None, primal: Mapping[Any, Any] | None
) -> Answer:
    """Put the point that is to be judged into `problem`, and return what is claimed of it."""
    if solution is not None and primal is not None:
        raise InputError("give a solution or a primal point, not both")
    if primal is not None:
        _set_values(problem, _by_name(problem, primal))
        return Answer(OPTIMAL, objective_value(problem))
    if solution is None:
        return _left_by_solve(problem)
    if solution.solver == "native":
        raise InputError("native answers are certified by their formulation's gap, not here")
    if solution.primal:
        _set_values(problem, solution.primal)
    elif solution.status not in INF_OR_UNB:
        for variable in problem.variables():
            variable.save_value(None)
    return Answer(solution.status, solution.objective, solution.solver, solution.cone)


def _left_by_solve(problem: cp.Problem) -> Answer:
    status: Any = problem.status
    if status is None:
        lacking = list(lacking_values(problem))
        if lacking:
            raise InputError(
                f"there is no answer to judge: solve the problem first, or give {lacking[0]} "
                "and all other variables a value"
            )
        return Answer(OPTIMAL, objective_value(problem))
    value: Any = problem.value
    return Answer(status, value)


def _by_name(problem: cp.Problem, primal: Mapping[Any, Any]) -> dict[str, Any]:
    names = {variable.id: name for name, variable in symbols(problem).items()}
    values = {}
    for key, value in primal.items():
        name = names.get(key.id) if isinstance(key, cp.Variable) else key
        if name not in names.values():
            raise InputError(
                f"the problem has no variable {key}: its variables are {', '.join(names.values())}"
            )
        values[name] = np.asarray(value)
    return values


def _set_values(problem: cp.Problem, values: Mapping[str, Any]) -> None:
    for name, variable in symbols(problem).items():
        if name not in values:
            raise InputError(
                f"the solution has no value for variable {name!r}: it belongs to another problem"
            )
        if np.size(values[name]) != variable.size:
            raise InputError(f"the solution's {name!r} has another size: it is of another problem")
        # save_value: a point to be judged may lie outside the variable's domain.
        variable.save_value(np.reshape(values[name], variable.shape))
