"""The Karush-Kuhn-Tucker conditions of a smooth problem, from cvxpy's own gradients.

A second check beside `convexfs.certify`: it works on the problem as stated and
shares no code with it, but only where every function has a gradient.
"""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality

from tests.typed import known, number


@dataclass
class Residuals:
    primal: float
    dual_sign: float
    complementarity: float
    stationarity: float


def residuals(problem: cp.Problem) -> Residuals:
    """Residuals at the values the problem's variables and duals hold now."""
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    slope = {v: sign * _gradient(problem.objective.expr, v) for v in problem.variables()}
    primal = dual_sign = complementarity = 0.0
    for constraint in problem.constraints:
        multiplier = np.ravel(np.asarray(known(constraint.dual_value)), order="F")
        value = np.ravel(constraint.expr.value, order="F")
        primal = max(primal, float(np.max(constraint.violation(), initial=0.0)))
        if not isinstance(constraint, Equality):
            dual_sign = max(dual_sign, float(np.max(-multiplier, initial=0.0)))
            complementarity = max(complementarity, float(np.max(np.abs(multiplier * value))))
        for variable in slope:
            slope[variable] += _jacobian(constraint.expr, variable) @ multiplier
    stationarity = max(float(np.max(np.abs(part))) for part in slope.values())
    return Residuals(primal, dual_sign, complementarity, stationarity)


def assert_kkt(problem: cp.Problem, tol: float = 1e-5) -> None:
    found = residuals(problem)
    scale = 1.0 + abs(number(problem.objective.value))
    worst = max(found.primal, found.dual_sign, found.complementarity, found.stationarity)
    assert worst <= tol * scale, found


def _gradient(expression, variable) -> np.ndarray:
    return _jacobian(expression, variable).toarray().ravel()


def _jacobian(expression, variable):
    import scipy.sparse as sp

    gradient = expression.grad.get(variable)
    if gradient is None:
        return sp.csc_array((variable.size, expression.size))
    return sp.csc_array(gradient)
