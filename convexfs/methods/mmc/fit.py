"""MMC: directions along which classes are far apart and narrow; one convex problem."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from convexfs.methods.base.step import check_solver, require_answer, solve_step
from convexfs.methods.mmc import METHOD, numbers
from convexfs.records import Certificate, Solution


@dataclass(frozen=True)
class MmcResult:
    """Orthonormal directions, most telling first, and their proof.

    Attributes
    ----------
    components : array (q, J)
    eigenvalues : array (q,)
        ``v'(Sb - Sw)v`` of each.
    """

    components: np.ndarray
    eigenvalues: np.ndarray
    solution: Solution
    certificate: Certificate


def mmc(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    q: int = 1,
    solver: str = "auto",
    solver_tol: float = 1e-6,
    solver_options: Mapping[str, Any] | None = None,
    build: Callable[..., Any] | None = None,
    verbose: bool = False,
) -> MmcResult:
    r"""The maximum margin criterion (Li, Jiang & Zhang 2006).

    :math:`\max \mathrm{tr}(W (S_b - S_w))` over :math:`0 \preceq W \preceq I,\
    \mathrm{tr}(W) = q`, with the scatter of the class means and that around them,
    each over N. At most K - 1 directions have a positive eigenvalue.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Classes, 0 to K - 1.
    q : int
        Number of directions.
    solver, solver_tol, solver_options, build, verbose
        See :func:`convexfs.methods.base.step.solve_step`.
    """
    formulation = METHOD.formulation("mmc")
    check_solver(formulation, solver, solver_tol, build)
    values, hyper = numbers.mmc(X, codes, q=q)
    solution, certificate = solve_step(
        formulation, values, hyper, solver=solver, tol=solver_tol,
        solver_options=solver_options, build=build, verbose=verbose,
    )  # fmt: skip
    W = require_answer(solution, formulation.symbol)
    V = eigh(W)[1][:, len(W) - q :]
    # Within the span of W, where all directions weigh the same, those of Sb - Sw.
    eigenvalues, turn = eigh(V.T @ (values["Sb"] - values["Sw"]) @ V)
    return MmcResult((V @ turn).T[::-1], eigenvalues[::-1], solution, certificate)
