"""Claims of infeasibility are proven by multipliers, or refused."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs import certify, solve
from convexfs.solving.backends import needs_of, suitable
from convexfs.solving.cone_program import ConeProgram
from convexfs.solving.infeasibility import BASIS, refute

SOLVERS = ("CLARABEL", "ECOS", "SCS", "HIGHS")


def contradictions():
    """Problems without a feasible point, each of another kind."""
    x = cp.Variable(3, name="x")
    bounded = cp.Variable(3, name="x", bounds=[np.zeros(3), np.ones(3)])
    whole = cp.Variable(3, name="x", integer=True)
    stated = {
        "inequalities": (cp.sum(x), [cp.sum(x) <= 1, x >= 0.5]),
        "equalities": (x[2], [x[0] + x[1] == 1, x[0] + x[1] == 2, x[2] >= 0]),
        "quadratic": (cp.sum_squares(x), [cp.sum(x) <= 1, x >= 0.5]),
        "scales": (x[0], [1e4 * x[0] >= 1e4, 1e-3 * x[0] <= 0.5e-3]),
        "second order": (cp.sum(x), [cp.norm2(x) <= 1, cp.sum(x) >= 2]),
        "exponential": (cp.sum(x), [cp.sum(cp.logistic(x)) <= 1, x >= 0]),
        "bounds": (cp.sum(bounded), [cp.sum(bounded) >= 4]),
        "integer": (cp.sum(whole), [cp.sum(whole) <= 1, whole >= 0.6]),
    }
    return {name: cp.Problem(cp.Minimize(cost), rows) for name, (cost, rows) in stated.items()}


PAIRS = [
    (name, solver)
    for name, problem in contradictions().items()
    for solver in suitable(needs_of(problem))
    if solver in SOLVERS
]


@pytest.mark.parametrize(("name", "solver"), PAIRS)
def test_a_contradiction_is_proven_whoever_says_so(name, solver):
    problem = contradictions()[name]
    solution = solve(problem, solver)
    assert solution.status == "infeasible"
    certificate = certify(problem, solution)
    assert certificate.ok, certificate.as_dict()
    assert certificate.basis == BASIS
    assert certificate.gap <= 1e-7


def test_a_false_denial_is_refused():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm2(x) <= 1, x >= 0.5])
    said = replace(solve(problem), status="infeasible", primal={}, cone=None)
    certificate = certify(problem, said)
    assert certificate.ok is False
    assert certificate.basis == "no proof of infeasibility"


def test_a_point_far_away_is_no_contradiction():
    """x = 1e9 is feasible: a column of tiny entries is judged by its own size."""
    x, z = cp.Variable(name="x"), cp.Variable(name="z")
    problem = cp.Problem(cp.Minimize(z), [1e-9 * x >= 1, z >= 0, z <= 1])
    proof = refute(ConeProgram.of(problem, "HIGHS"), 1e-5)
    assert proof is None or not proof.ok


def test_without_a_known_dual_cone_there_is_no_proof():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(0), [cp.diag(x) >> 0, cp.sum(x) <= -1])
    solution = solve(problem, "CLARABEL")
    assert solution.status == "infeasible"
    assert certify(problem, solution).ok is False


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(2, 8), size=st.integers(1, 5))
def test_feasible_programs_are_never_refuted_and_contradicted_ones_always(seed, rows, size):
    draw = np.random.default_rng(seed)
    A, point = draw.standard_normal((rows, size)), draw.standard_normal(size)
    x = cp.Variable(size, name="x")
    # Tight at the point: any smaller right-hand side in the direction of y would cut it off.
    below = A @ x <= A @ point
    assert _refuted([below]) is False
    y = draw.uniform(0.5, 2.0, rows)
    against = (y @ A) @ x >= y @ A @ point + draw.uniform(0.1, 1.0)
    assert _refuted([below, against]) is True


def _refuted(rows):
    proof = refute(ConeProgram.of(cp.Problem(cp.Minimize(0), rows), "HIGHS"), 1e-5)
    return proof is not None and bool(proof.ok)
