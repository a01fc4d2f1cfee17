"""LFE, local feature extraction: one convex problem, no outer loop."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from convexfs.data.column_ranges import varying_columns
from convexfs.errors import InputError, check_choice, warn
from convexfs.methods.base.formulation import (
    DEFAULT_SOLVING,
    Formulation,
    Solving,
    Step,
    parameters,
)
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.lfe import METHOD, numbers
from convexfs.neighbors.hits_misses import signed_neighbors
from convexfs.records import NATIVE, Certificate, Solution

#: Formulation name of each form.
FORMS = {"closed": "lfe", "trace": "lfe-trace", "row-sparse": "lfe-row-sparse"}
#: Eigenvalues up to this fraction of the largest are rounding errors and are left out.
_RANK_SHARE = 1e-12
#: Eigenvalues of a cvxpy solver's W, relative to the largest, up to this multiple of its
#: tolerance count as 0.
_BACKEND_SLACK = 100.0


@parameters
class Settings:
    """Parameters of LFE; see :class:`convexfs.LFE`."""

    n_neighbors: int = 1
    miss: str = "nearest"
    form: str = "closed"
    lam: float = 0.0


@dataclass(frozen=True)
class LfeResult:
    r"""The metric ``W = P P'`` by its components, and their certificate.

    Attributes
    ----------
    components : array (T, J)
        Rows :math:`p_i = \sqrt{\beta_i}\,\bar p_i`, most powerful first.
    eigenvalues : array (T,)
        :math:`\sigma_i = \bar p_i^T \Sigma \bar p_i`; with ``form="closed"`` and
        ``"trace"`` the eigenvalues of Sigma that count.
    power_loss, renormalised_loss : arrays (T + 1,)
        See :func:`power_losses`.
    """

    components: np.ndarray
    eigenvalues: np.ndarray
    power_loss: np.ndarray
    renormalised_loss: np.ndarray
    solution: Solution
    certificate: Certificate


def lfe(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    map: Callable[..., Any] = map,
) -> LfeResult:
    r"""Compute LFE's distance matrix and its components (Sun & Wu 2009, Sec. 3).

    :math:`\max \mathrm{tr}(W \Sigma),\ \|W\|_F \le 1,\ W \succeq 0` with
    :math:`\Sigma = \sum_n m_n m_n^T - h_n h_n^T`, the differences of every sample
    to its nearest misses and hits in Euclidean distance.

    With more features than samples the problem is solved in the span of the
    samples, where its optimum lies (Sec. 3.2). The row-sparse form and a
    changed `build` may look at single features, so they get the whole Sigma.

    Constant features are left out and have no part in the components; a changed
    `build` gets all. Where no direction has a positive margin, W = 0 is the optimum:
    it is returned, certified, with a warning and no components.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        ``form`` is "closed", the problem as printed, "trace", with a penalty on the trace of
        W, or "row-sparse", with a penalty on its rows; ``lam`` is that penalty as a share of
        Sigma's largest eigenvalue, since Sigma grows with N.
    solving : Solving
        How the problem is solved.
    map : callable
        Applied over blocks of rows; a thread pool's ``map`` gives the same answer.
    """
    settings = settings or Settings()
    form, lam = settings.form, settings.lam
    formulation = _checked_formulation(settings, solving)
    neighbors = signed_neighbors(X, codes, settings.n_neighbors, "sqeuclidean", settings.miss, map)
    # A changed problem may refer to features by position, so it gets constant columns too.
    columns = varying_columns(X) if solving.build is None else np.arange(X.shape[1])
    varying = X if len(columns) == X.shape[1] else X[:, columns]
    inside = len(X) < len(columns) and form != "row-sparse" and solving.build is None
    samples, basis = in_their_span(varying) if inside else (varying, None)
    values, hyper = numbers.with_penalty(numbers.scatter(samples, neighbors), form, lam)
    solution, certificate = solve_step(formulation, values, hyper, solving)
    W = require_answer(solution, formulation.symbol, solving)
    result = _result(W, values["Sigma"], basis, solution, certificate)
    components = np.zeros((len(result.components), X.shape[1]))
    components[:, columns] = result.components
    return replace(result, components=components)


def _checked_formulation(settings: Settings, solving: Solving) -> Formulation:
    """Return the formulation of ``settings.form``; raise for incompatible settings."""
    check_choice("form", settings.form, FORMS)
    numbers.check_share(settings.lam)
    if settings.form == "closed" and settings.lam != 0:
        raise InputError("lam is a penalty of form='trace' or 'row-sparse': choose one, or lam=0")
    return METHOD.formulation(FORMS[settings.form], solving)


def step(X: np.ndarray, codes: np.ndarray, settings: Settings, solving: Solving) -> Step:
    """Return LFE's convex problem (Step) in varying features; a fit may solve it in their span."""
    formulation = _checked_formulation(settings, solving)
    columns = varying_columns(X) if solving.build is None else np.arange(X.shape[1])
    neighbors = signed_neighbors(X, codes, settings.n_neighbors, "sqeuclidean", settings.miss)
    Sigma = numbers.scatter(X[:, columns], neighbors)
    return Step(formulation, *numbers.with_penalty(Sigma, settings.form, settings.lam))


def power_losses(eigenvalues: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return two measures of the discriminant power lost by keeping the first t of T components.

    The whole power is :math:`\mathrm{tr}(W\Sigma) = \sum_i \beta_i \sigma_i`. Of two
    measures the first leaves the kept :math:`\beta` as they are, which with
    :math:`\beta = \sigma / \|\sigma\|` is eq. 22; the second scales them back to
    length 1, as the constraint asks:

    .. math::
        \sum_{i>t} \beta_i \sigma_i,\qquad
        \sum_i \beta_i \sigma_i - \sum_{i\le t} \beta_i \sigma_i / \|\beta_{\le t}\|_2.
    """
    power = np.concatenate([[0.0], np.cumsum(beta * eigenvalues)])
    length = np.sqrt(np.concatenate([[0.0], np.cumsum(beta**2)]))
    whole = power[-1] / length[-1] if len(beta) else 0.0
    rescaled = np.divide(power, length, out=np.zeros_like(power), where=length > 0)
    return power[-1] - power, whole - rescaled


def in_their_span(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates of the centred rows in an orthonormal basis of their span, and the basis.

    From the N x N Gram matrix; its rank is at most N - 1, and what rounding
    makes of the rest must not be divided by.
    """
    centred = X - X.mean(axis=0)
    squared, vectors = eigh(centred @ centred.T)
    real = squared > _RANK_SHARE * max(squared[-1], 0.0)
    length = np.sqrt(squared[real])
    return vectors[:, real] * length, centred.T @ (vectors[:, real] / length)


def _result(
    W: np.ndarray,
    Sigma: np.ndarray,
    basis: np.ndarray | None,
    solution: Solution,
    certificate: Certificate,
) -> LfeResult:
    beta, directions = eigh(W)
    share = _RANK_SHARE if solution.solver == NATIVE else _BACKEND_SLACK * solution.tol
    used = beta > share * beta.max(initial=0.0)
    beta, directions = beta[used], directions[:, used]
    eigenvalues = np.einsum("ji,ji->i", directions, Sigma @ directions)
    order = np.argsort(-beta * eigenvalues, kind="stable")
    beta, directions, eigenvalues = beta[order], directions[:, order], eigenvalues[order]
    if not len(beta):
        warn(
            "no direction has a positive margin, so the metric is 0: hits are as far as misses; "
            "check the labels, scale the features, use more neighbours or a smaller lam"
        )
    if basis is not None:
        directions = basis @ directions
    components = _signed((directions * np.sqrt(beta)).T)
    losses = power_losses(eigenvalues, beta)
    return LfeResult(components, eigenvalues, *losses, solution, certificate)


def _signed(components: np.ndarray) -> np.ndarray:
    """Flip the sign of each row so that its largest entry is positive."""
    if not components.size:
        return components
    largest = np.abs(components).argmax(axis=1)
    return components * np.sign(components[np.arange(len(components)), largest])[:, None]
