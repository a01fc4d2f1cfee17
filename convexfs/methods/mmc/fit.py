"""Fit MMC: directions that separate classes and keep each class compact."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, Step, parameters
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.mmc import METHOD, numbers
from convexfs.records import Certificate, Solution


@parameters
class Settings:
    """Parameters of MMC: the number of directions, None for those of positive eigenvalue."""

    n_components: int | None = None


@dataclass(frozen=True)
class MmcResult:
    """Orthonormal directions, largest eigenvalue first, and their certificate.

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
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
) -> MmcResult:
    r"""Compute the projection of the maximum margin criterion (Li, Jiang & Zhang 2006).

    :math:`\max \mathrm{tr}(W (S_b - S_w))` over :math:`0 \preceq W \preceq I,\
    \mathrm{tr}(W) = q`, with the scatter of the class means and that around them,
    each over N. At most K - 1 directions have a positive eigenvalue.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        Without ``n_components`` those with a positive eigenvalue, and at least one.
    solving : Solving
        How the problem is solved.
    """
    settings = settings or Settings()
    stated, wanted = step(X, codes, settings, solving), settings.n_components
    formulation, values, hyper = stated.formulation, stated.values, stated.hyper
    q = hyper["q"]
    solution, certificate = solve_step(formulation, values, hyper, solving)
    W = require_answer(solution, formulation.symbol, solving)
    V = eigh(W)[1][:, len(W) - q :]
    # All directions in the span of W weigh the same; use the eigenvectors of Sb - Sw.
    eigenvalues, turn = eigh(V.T @ (values["Sb"] - values["Sw"]) @ V)
    leading = slice(max(int((eigenvalues > 0).sum()), 1) if wanted is None else wanted)
    components, eigenvalues = (V @ turn).T[::-1][leading], eigenvalues[::-1][leading]
    return MmcResult(components, eigenvalues, solution, certificate)


def step(X: np.ndarray, codes: np.ndarray, settings: Settings, solving: Solving) -> Step:
    """Return MMC's convex problem (Step); by default q is classes minus 1, at most all features."""
    formulation = METHOD.formulation("mmc", solving)
    wanted = settings.n_components
    q = int(min(codes.max(), X.shape[1])) if wanted is None else wanted
    return Step(formulation, *numbers.mmc(X, codes, q=q))
