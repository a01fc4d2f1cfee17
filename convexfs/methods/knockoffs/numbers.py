"""Compute the correlation matrix for the problems of knockoffs, given or estimated."""

from typing import Any

import numpy as np

from convexfs.errors import InputError, check_choice
from convexfs.methods.knockoffs.native import factor_of

LEDOIT_WOLF = "ledoit-wolf"
#: A correlation matrix with a smaller eigenvalue is singular, which raises an error.
_SINGULAR = 1e-10
#: A given covariance of larger relative asymmetry is rejected; a smaller one is rounding.
_ROUNDING = 1e-8


def knockoffs_me(
    X: np.ndarray, codes: np.ndarray, *, covariance: Any
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the data of the problem: the correlation matrix of `X`. Classes are not used."""
    return {"Sigma": correlations(X, covariance)[0]}, {}


knockoffs_mvr = knockoffs_sdp = knockoffs_equi = knockoffs_me


def correlations(X: np.ndarray, covariance: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the correlation matrix and standard deviations of the features.

    Parameters
    ----------
    X : array (N, J)
    covariance : "ledoit-wolf" or array (J, J)
        Estimated from the samples, or known.
    """
    if isinstance(covariance, str):
        check_choice("covariance", covariance, [LEDOIT_WOLF])
        spread = X.std(axis=0)
        if not spread.all():
            raise InputError(
                f"column {int(np.argmin(spread)) + 1} is constant: it has no correlations, "
                "leave it out"
            )
        return shrunken((X - X.mean(axis=0)) / spread), spread
    return _known(covariance, X.shape[1])


def shrunken(X: np.ndarray) -> np.ndarray:
    r"""Return correlations of standardised samples, shrunk to the identity (Ledoit & Wolf 2004).

    :math:`(1 - r) S + r I`, with the r of least expected squared error:
    :math:`r = \min(1, b / d)`, :math:`d = \|S - I\|_F^2`,
    :math:`b = N^{-2} \sum_n \|x_n x_n^T - S\|_F^2`.
    """
    N, J = X.shape
    S = X.T @ X / N
    scatter = (np.sum(X**2, axis=1) ** 2).sum() / N**2 - (S**2).sum() / N
    distance = (S**2).sum() - J
    r = 1.0 if scatter >= distance else max(scatter / distance, 0.0)
    shrunk = (1.0 - r) * S
    np.fill_diagonal(shrunk, 1.0)
    return _invertible(shrunk)


def _known(covariance: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlations and standard deviations of a given covariance; raise if invalid."""
    known = np.asarray(covariance, dtype=np.float64)
    if known.shape != (n_features, n_features):
        raise InputError(
            f"covariance has shape {known.shape}: it must be 'ledoit-wolf' or a matrix of "
            f"{n_features} x {n_features}, one row a feature"
        )
    variances = known.diagonal()
    # Comparisons with NaN are false, so that a matrix with NaN is rejected.
    symmetric = np.abs(known - known.T).max() <= _ROUNDING * np.abs(known).max() < np.inf
    if not (symmetric and (variances > 0).all()):
        raise InputError(
            "covariance is no covariance matrix: it must be finite and symmetric, with positive "
            "variances"
        )
    spread = np.sqrt(variances)
    return _invertible(0.5 * (known + known.T) / np.outer(spread, spread)), spread


def _invertible(Sigma: np.ndarray) -> np.ndarray:
    if factor_of(Sigma - _SINGULAR * np.eye(len(Sigma))) is not None:
        return Sigma
    least = float(np.linalg.eigvalsh(Sigma)[0])
    raise InputError(
        f"the correlation matrix has the eigenvalue {least:.1e}: some feature is determined by "
        "others, so that its knockoff could only be the feature itself; leave copies and sums of "
        "features out"
    )
