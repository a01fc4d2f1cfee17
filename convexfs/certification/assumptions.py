"""Properties that a user, or a tolerance of cvxpy, takes for granted in a stated problem.

``quad_form(x, P, assume_PSD=True)`` and ``psd_wrap`` assert what cvxpy does not verify, and P
passes as positive semidefinite with eigenvalues down to -1e-10. At points far away the problem
that is compiled is then another than the stated one.
"""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine import wraps
from cvxpy.atoms.quad_form import QuadForm

from convexfs.certification.duals.dual_bound import has_no_negative_eigenvalue


def broken_assumption(problem: cp.Problem) -> str:
    """Name a property that is assumed and does not hold, or "" if all assumptions hold."""
    for expression in _expressions(problem):
        match expression:
            case QuadForm():
                P = _matrix(expression.args[1].value)
                if not (has_no_negative_eigenvalue(P) or has_no_negative_eigenvalue(-P)):
                    return "the matrix of a quadratic form has eigenvalues of both signs"
            case wraps.psd_wrap() | wraps.nsd_wrap():
                sign = 1.0 if isinstance(expression, wraps.psd_wrap) else -1.0
                if not has_no_negative_eigenvalue(sign * _matrix(expression.args[0].value)):
                    return f"{type(expression).__name__} is given another matrix"
            case wraps.nonneg_wrap() | wraps.nonpos_wrap():
                sign = 1.0 if isinstance(expression, wraps.nonneg_wrap) else -1.0
                if np.any(sign * np.asarray(expression.args[0].value) < 0):
                    return f"{type(expression).__name__} is given other numbers"
    return ""


def _matrix(value: Any) -> Any:
    dense = sp.csr_array(value)
    # The real matrix of a complex form has the same eigenvalues, twice.
    if np.iscomplexobj(dense):
        dense = sp.csr_array(sp.block_array([[dense.real, -dense.imag], [dense.imag, dense.real]]))
    return sp.csr_array((dense + dense.T) / 2)


def _expressions(problem: cp.Problem) -> Iterator[Any]:
    """Yield all expressions that are no leaves, each once."""
    left: list[Any] = [problem.objective, *problem.constraints]
    seen: set[int] = set()
    while left:
        expression = left.pop()
        arguments = getattr(expression, "args", None)
        if arguments and id(expression) not in seen:
            seen.add(id(expression))
            yield expression
            left.extend(arguments)
