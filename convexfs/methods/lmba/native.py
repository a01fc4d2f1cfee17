"""Solve Lmba's linear programs without cvxpy; compute duality gaps and the loss."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from convexfs.methods.base.solve_step import native_solution
from convexfs.methods.lmba.program import Program, Triplets
from convexfs.methods.lmba.working_set import minimise_by_working_sets
from convexfs.neighbors.triplets import target_sum
from convexfs.records import Solution

TOL = 1e-10
_MOST_STEPS = 2000
#: Number of hinges taken as nearly 0: the first, plus the second per feature in use; and those
#: below this fraction of a typical hinge.
_NEAR_0, _NEAR_0_PER_FEATURE, _TIED = 200, 3, 1e-7
Numbers = Mapping[str, Any]


def lmba_box(
    X: np.ndarray, codes: np.ndarray, targets: np.ndarray, theta: np.ndarray, c: float = 1.0
) -> Solution:
    """Solve Lmba's program over the box 0 <= u <= 1 to a relative gap of 1e-10, or 2000 steps."""
    return _solve(program_of(X, codes, targets, theta, c, simplex=False))


def lmba_simplex(
    X: np.ndarray, codes: np.ndarray, targets: np.ndarray, theta: np.ndarray, c: float = 1.0
) -> Solution:
    """Solve Lmba's program over the simplex 1'u = n to a relative gap of 1e-10, or 2000 steps."""
    return _solve(program_of(X, codes, targets, theta, c, simplex=True))


def lmba_box_violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of ``0 <= u <= 1``."""
    u = np.asarray(primal["u"])
    return float(max(np.max(-u, initial=0.0), np.max(u - 1.0, initial=0.0)))


def lmba_simplex_violation(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the largest violation of ``u >= 0`` and of ``mean(u) = 1``."""
    u = np.asarray(primal["u"])
    return float(max(np.max(-u, initial=0.0), abs(u.mean() - 1.0)))


def lmba_box_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap at u over the box, 0 if rounding; the dual is built from u."""
    return _gap(values, hyper, primal, simplex=False)


def lmba_simplex_gap(values: Numbers, hyper: Numbers, primal: Numbers) -> float:
    """Return the duality gap at u over the simplex, 0 if rounding; the dual is built from u."""
    return _gap(values, hyper, primal, simplex=True)


def least_useful_c(values: Numbers) -> float:
    r"""Return c0, the largest penalty at which u = 0 solves the box form.

    :math:`c_0 = \min_f A_f / B_f` over :math:`B_f > 0`, with
    :math:`A_f = \sum t_{ij} D_{ijf}` and
    :math:`B_f = \sum t_{ij} (1 - b_{ip}) (D_{ipf} - D_{ijf})`: at u = 0 every
    hinge counts, and no feature may pay to rise.
    """
    program = program_of(**values, c=1.0, simplex=False)
    gain = -program.share_sums(np.ones(len(program.triplets.goal)))
    paying = gain > 0
    return float(np.min(program.linear[paying] / gain[paying], initial=np.inf))


def program_of(
    X: np.ndarray,
    codes: np.ndarray,
    targets: np.ndarray,
    theta: np.ndarray,
    c: float,
    *,
    simplex: bool,
) -> Program:
    """Return the linear program of these data; samples are centred, which changes no difference."""
    X = np.asarray(X, dtype=np.float64)
    centred = np.ascontiguousarray(X - X.mean(axis=0))
    total = float(X.shape[1]) if simplex else None
    linear = target_sum(centred, targets)
    return Program(centred, theta, Triplets.of(codes, targets), linear, float(c), total)


def _solve(program: Program) -> Solution:
    start = time.perf_counter()
    program, unit = _in_units(program)
    answer = minimise_by_working_sets(program, TOL, _MOST_STEPS)
    accepted = max(TOL * abs(answer.value), program.rounding)
    return native_solution(
        start, {"u": answer.u}, answer.value * unit**2, iterations=answer.steps, tol=TOL,
        solved=answer.value - answer.bound <= accepted,
    )  # fmt: skip


def _gap(values: Numbers, hyper: Numbers, primal: Numbers, *, simplex: bool) -> float:
    u = np.asarray(primal["u"], dtype=np.float64)
    program, unit = _in_units(program_of(**values, c=hyper.get("c", 1.0), simplex=simplex))
    apart = program.value(u) - program.bound(_shares_at(program, u))
    # If the loss is 0, only rounding errors of its terms remain.
    return 0.0 if abs(apart) <= program.rounding else apart * unit**2


def _shares_at(program: Program, u: np.ndarray) -> np.ndarray:
    """Return shares that prove a bound near the loss at u, if u is optimal.

    Hinges that are clearly positive or negative have the share 1 or 0; those of the others solve
    a small program.
    """
    hinge = program.hinges(u)
    size, share = np.abs(hinge), (hinge > 0).astype(float)
    usual = min(_NEAR_0 + _NEAR_0_PER_FEATURE * np.count_nonzero(u), len(size) - 1)
    reach = max(np.partition(size, usual)[usual], _TIED * program.typical_hinge())
    near = np.flatnonzero(size <= reach)
    share[near] = minimise_by_working_sets(program.over(near, share), TOL, _MOST_STEPS).share
    return share


def _in_units(program: Program) -> tuple[Program, float]:
    """Return the program with samples scaled to ordinary size, and the power of 2 used.

    Solvers have accuracies that are absolute; the weights do not see the unit.
    """
    largest = np.abs(program.X).max()
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
    theta, linear = program.theta / unit**2, program.linear / unit**2
    return replace(program, X=program.X / unit, theta=theta, linear=linear), unit
