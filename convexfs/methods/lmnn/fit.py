"""Fit LMNN's metric by adding violated triplets to a semidefinite program."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from convexfs.errors import InputError
from convexfs.methods.base.formulation import (
    DEFAULT_SOLVING,
    Solving,
    Step,
    parameters,
    runs_natively,
)
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.lfe.fit import in_their_span
from convexfs.methods.lmnn import METHOD, numbers
from convexfs.records import Certificate, Solution

#: Impostors per pair of sample and target: nearest ones at the start, and most that are added per
#: round.
_AT_FIRST, _A_ROUND = 3, 20
#: A triplet whose loss is below minus this leaves the problem, in this many first rounds only.
_CLEAR, _LEAVING = 0.5, 5
#: Smaller eigenvalues of the targets' scatter, relative to the largest, are raised to this before
#: scaling by them.
_FLAT = 1e-6


@parameters
class Settings:
    """Parameters of LMNN: the penalty of impostors, and the number of targets per sample."""

    c: float = 1.0
    n_neighbors: int = 3


@dataclass(frozen=True)
class LmnnResult:
    """Result of LMNN: the metric, its iteration history and its certificate.

    Attributes
    ----------
    metric : array (J, J)
        M, positive semidefinite.
    rounds : tuple of int
        Triplets in each problem solved.
    triplets : int array (T, 3)
        Those of the last of them, as rows of the samples: sample, target, impostor.
    solution : Solution
        Of the last of them.
    certificate : Certificate
        Of the problem over all triplets: the loss of those left out is in its gap.
    """

    metric: np.ndarray
    rounds: tuple[int, ...]
    triplets: np.ndarray
    solution: Solution
    certificate: Certificate


def lmnn(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
) -> LmnnResult:
    r"""Compute the metric of large margin nearest neighbours (Weinberger & Saul 2009).

    .. math::
        \min_{M \succeq 0}\; \sum_{i,j} t_{ij} d_M(x_i, x_j)
        + c \sum_{i,j,p} [1 + d_M(x_i, x_j) - d_M(x_i, x_p)]_+

    over samples i, their targets j (nearest hits) and all p of other classes.
    Solved over the nearest impostors; those found to invade under the M so
    reached join, those far outside leave, until none invades: then M is optimal
    over all triplets, since triplets without loss change neither the value nor
    its bound. The value rises from round to round, and after the first few none
    leaves, so there is an end also for a solver that is not accurate. A changed
    `build` is solved over all triplets at once.

    M is sought in coordinates of the samples' span in which their targets differ
    equally in all directions, which costs nothing and helps the solvers. The native
    solver is practical to some 60 features, or samples if there are fewer.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        Where a sample has fewer hits than ``n_neighbors``, those are its targets.
    solving : Solving
        How the problems are solved.
    """
    settings = settings or Settings()
    formulation = METHOD.formulation("lmnn", solving)
    values, hyper = numbers.targets_and_penalty(X, codes, settings.c, settings.n_neighbors)
    pairs, listed = _first_triplets(X, codes, values, solving)
    # A changed problem may refer to single features, so it gets the original ones. It gets all
    # triplets at once: only for the printed problem is it known which have zero loss.
    frame = np.eye(X.shape[1]) if solving.build is not None else _frame(X, pairs)
    values["X"] = X @ frame
    # Ignore losses below a solver's tolerance: its M is no more accurate.
    least = 0.0 if runs_natively(formulation, solving) else solving.tol
    rounds, before = [], None
    while True:
        values["triplets"] = numbers.triplets(pairs, listed)
        rounds.append(len(values["triplets"]))
        numbers.check_size(rounds[-1], frame.shape[1])
        solution, certificate = solve_step(formulation, values, hyper, solving)
        before = solution = solution.after(before)
        eigenvalues, vectors = eigh(require_answer(solution, formulation.symbol, solving))
        M = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
        loss = _losses(values["X"], codes, pairs, M)
        unlisted = np.where(listed, 0.0, np.maximum(loss, 0.0))
        if unlisted.max() <= least:
            break
        if len(rounds) <= _LEAVING:
            listed &= loss > -_CLEAR
        listed |= _largest(unlisted, _A_ROUND) & (unlisted > least)
    proof = _over_all(certificate, solution, hyper["c"] * float(unlisted.sum()))
    return LmnnResult(frame @ M @ frame.T, tuple(rounds), values["triplets"], solution, proof)


def step(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings,
    solving: Solving,
    *,
    triplets: np.ndarray | None = None,
) -> Step:
    """Return the convex problem (Step) over `triplets`, by default nearest (all if changed)."""
    formulation = METHOD.formulation("lmnn", solving)
    values, hyper = numbers.targets_and_penalty(X, codes, settings.c, settings.n_neighbors)
    if triplets is None:
        triplets = numbers.triplets(*_first_triplets(X, codes, values, solving))
    numbers.check_size(len(triplets), X.shape[1])
    return Step(formulation, values | {"triplets": triplets}, hyper)


def _first_triplets(
    X: np.ndarray, codes: np.ndarray, values: Mapping[str, Any], solving: Solving
) -> tuple[np.ndarray, np.ndarray]:
    """Return target pairs, and a mask of their nearest impostors; all for a changed problem."""
    pairs = numbers.target_pairs(values["targets"])
    loss = _losses(X, codes, pairs, np.eye(X.shape[1]))
    listed = loss > -np.inf
    return pairs, listed & _largest(loss, _AT_FIRST) if solving.build is None else listed


def slacks(values: Mapping[str, Any], M: np.ndarray) -> np.ndarray:
    """Return the hinge loss of each triplet under the metric M, the least feasible xi."""
    eigenvalues, vectors = eigh(M)
    Z = values["X"] @ (vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
    i, j, p = values["triplets"].T
    near, far = ((Z[i] - Z[j]) ** 2).sum(axis=1), ((Z[i] - Z[p]) ** 2).sum(axis=1)
    return np.maximum(1.0 + near - far, 0.0)


def _frame(X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return axes (J, r) in which the differences to targets have unit scale.

    Highly correlated features make a program that solvers find hard; in these
    coordinates it is the same program without them.
    """
    coordinates, basis = in_their_span(X)
    if not basis.size:
        raise InputError("LMNN needs samples that differ: all are the same")
    near = coordinates[pairs[:, 0]] - coordinates[pairs[:, 1]]
    squared, vectors = eigh(near.T @ near / len(pairs))
    # Directions in which no targets differ cost nothing, so that M has no scale there.
    least = _FLAT * squared[-1] if squared[-1] > 0 else 1.0
    return basis @ (vectors / np.sqrt(np.maximum(squared, least)))


def _losses(X: np.ndarray, codes: np.ndarray, pairs: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return ``1 + d_M(x_i, x_j) - d_M(x_i, x_p)``, rows (i, j), columns p; -inf within a class."""
    eigenvalues, vectors = eigh(M)
    Z = X @ (vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))
    i, j = pairs.T
    far = cdist(Z, Z, "sqeuclidean")[i]
    near = far[np.arange(len(j)), j]
    return np.where(codes[i][:, None] != codes, 1.0 + near[:, None] - far, -np.inf)


def _largest(lost: np.ndarray, most: int) -> np.ndarray:
    """Return a boolean mask of the `most` largest entries of every row."""
    most = min(most, lost.shape[1])
    columns = np.argpartition(-lost, most - 1, axis=1)[:, :most]
    marked = np.zeros(lost.shape, dtype=bool)
    np.put_along_axis(marked, columns, True, axis=1)
    return marked


def _over_all(certificate: Certificate, solution: Solution, left_out: float) -> Certificate:
    """Return the certificate over all triplets: its gap grows by the loss of those left out.

    Multipliers 0 for the triplets left out keep its bound; its value grows by
    their loss.
    """
    if certificate.gap is None:
        return certificate
    size = abs(solution.objective or 0.0) + left_out
    return replace(certificate, gap=certificate.gap + (left_out / size if size > 0 else 0.0))
