"""Solve Lmba's linear programs without cvxpy; compute duality gaps and the loss."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from convexfs.methods.lmba.active_hinges import polish
from convexfs.methods.lmba.newton import Program
from convexfs.methods.lmba.working_set import minimise_wide
from convexfs.neighbors.triplets import pair_sums
from convexfs.records import INACCURATE, NATIVE, OPTIMAL, Solution

TOL = 1e-10
_MOST_STEPS = 2000
#: Rounding error of the loss, as a fraction of the sum of its terms; smaller gaps count as 0.
_ROUNDING = 1e-13
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
    n, targets = len(program.X), program.targets
    others = np.not_equal.outer(program.codes, program.codes)
    i, rank = np.nonzero(targets >= 0)
    C = np.bincount(i, minlength=n)[:, None] * others.astype(float)
    np.subtract.at(C, (i, targets[i, rank]), others.sum(axis=1)[i].astype(float))
    gain = pair_sums(program.X, C)
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
    return Program(centred, codes, targets, theta, float(c), total)


def _solve(program: Program) -> Solution:
    start = time.perf_counter()
    program, unit = _in_units(program)
    answer = minimise_wide(program, TOL, _MOST_STEPS)
    apart = answer.value - answer.bound
    return Solution(
        status=OPTIMAL if apart <= max(TOL * abs(answer.value), _rounding(program)) else INACCURATE,
        solver=NATIVE,
        primal={"u": answer.u},
        objective=answer.value * unit**2,
        solve_seconds=time.perf_counter() - start,
        iterations=answer.steps,
        tol=TOL,
    )


def _gap(values: Numbers, hyper: Numbers, primal: Numbers, *, simplex: bool) -> float:
    u = np.asarray(primal["u"], dtype=np.float64)
    program, unit = _in_units(program_of(**values, c=hyper.get("c", 1.0), simplex=simplex))
    polished = polish(program, u)
    bound = program.bound(u, 0.0) if polished is None else polished.bound
    apart = program.value(u)[0] - bound
    # If the loss is 0, only rounding errors of its terms remain.
    return 0.0 if abs(apart) <= _rounding(program) else apart * unit**2


def _in_units(program: Program) -> tuple[Program, float]:
    """Return the program with samples scaled to ordinary size, and the power of 2 used.

    Solvers have accuracies that are absolute; the weights do not see the unit.
    """
    largest = np.abs(program.X).max()
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
    return replace(program, X=program.X / unit, theta=program.theta / unit**2), unit


def _rounding(program: Program) -> float:
    """Return the rounding error of the loss, a fraction of the sum of its terms."""
    n = len(program.X)
    own = np.bincount(program.codes)[program.codes]
    triplets = float((program.targets >= 0).sum(axis=1) @ (n - own))
    terms = program.linear.sum() + program.c * triplets * program.typical_hinge()
    return _ROUNDING * float(terms)
