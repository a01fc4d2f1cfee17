"""Compute the s-vector of knockoffs by a convex problem, and draw Gaussian copies."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh

from convexfs.data.column_ranges import varying_columns
from convexfs.errors import check_choice
from convexfs.methods.base.formulation import (
    DEFAULT_SOLVING,
    Formulation,
    Solving,
    Step,
    check_solver,
    parameters,
)
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.knockoffs import METHOD
from convexfs.methods.knockoffs.native import factor_of, inverse_of
from convexfs.methods.knockoffs.numbers import LEDOIT_WOLF, correlations
from convexfs.records import Certificate, Solution

#: Values of the parameter s: the endings of the formulations' names.
CHOICES = tuple(row.name.rpartition("-")[2] for row in METHOD.formulations)


@parameters
class Settings:
    """Parameters of knockoffs: the covariance, and the problem for s."""

    covariance: Any = LEDOIT_WOLF
    s: str = "me"


@dataclass(frozen=True)
class KnockoffsResult:
    """The s-vector of knockoffs, and its certificate.

    Attributes
    ----------
    s : array (J,)
        One minus the correlation of a feature and its knockoff.
    correlation : array (J, J)
    mean, spread : array (J,)
        Of the samples; standard deviations as the covariance has them.
    """

    s: np.ndarray
    correlation: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    solution: Solution
    certificate: Certificate

    def copies(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        r"""Draw Gaussian knockoffs of samples, conditional on the samples.

        :math:`\tilde x \sim N(x - D \Sigma^{-1} x,\; 2D - D \Sigma^{-1} D)` for standardised x
        (Candes et al. 2018, eq. 3.2).
        """
        scaled = (X - self.mean) / self.spread
        pulled = inverse_of(cholesky(self.correlation, lower=True)) * self.s
        root = root_of(2.0 * np.diag(self.s) - self.s[:, None] * pulled)
        drawn = scaled - scaled @ pulled + rng.standard_normal(X.shape) @ root.T
        return self.mean + self.spread * drawn


def knockoffs(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
) -> KnockoffsResult:
    """Compute the s-vector of the features' knockoffs by one convex problem.

    Parameters
    ----------
    X : array (N, J)
        Without constant columns.
    codes : int array (N,)
        Classes, which have no part in it.
    settings : Settings
    solving : Solving
        How the problem is solved.
    """
    settings = settings or Settings()
    formulation = _checked_formulation(settings, solving)
    correlation, spread = correlations(X, settings.covariance)
    solution, certificate = solve_step(formulation, {"Sigma": correlation}, {}, solving)
    s = inside(require_answer(solution, formulation.symbol, solving), correlation)
    return KnockoffsResult(s, correlation, X.mean(axis=0), spread, solution, certificate)


def _checked_formulation(settings: Settings, solving: Solving) -> Formulation:
    check_choice("s", settings.s, CHOICES)
    formulation = METHOD.formulation(f"knockoffs-{settings.s}")
    check_solver(formulation, solving)
    return formulation


def step(X: np.ndarray, codes: np.ndarray, settings: Settings, solving: Solving) -> Step:
    """Return the convex problem (Step) for s over the columns that are not constant."""
    formulation = _checked_formulation(settings, solving)
    columns, covariance = varying_columns(X), settings.covariance
    if not isinstance(covariance, str):
        covariance = np.asarray(covariance)[np.ix_(columns, columns)]
    return Step(formulation, {"Sigma": correlations(X[:, columns], covariance)[0]}, {})


def inside(s: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """Return s scaled to satisfy ``0 <= s``, ``2 Sigma - diag(s)`` psd, despite solver errors.

    Copies drawn by an s outside would have other correlations than were asked for.
    """
    s = np.maximum(s, 0.0)
    if factor_of(2.0 * correlation - np.diag(s)) is not None:
        return s
    # The largest eigenvalue of diag(s) relative to 2 Sigma is at most 1 for feasible s.
    reach = float(eigh(np.diag(s), 2.0 * correlation, eigvals_only=True)[-1])
    return s / max(reach, 1.0)


def root_of(matrix: np.ndarray) -> np.ndarray:
    """Return R with ``R R' = matrix``, even if rounding made the matrix slightly indefinite."""
    factor = factor_of(matrix)
    if factor is not None:
        return factor
    variances, directions = eigh(matrix)
    return directions * np.sqrt(np.maximum(variances, 0.0))
