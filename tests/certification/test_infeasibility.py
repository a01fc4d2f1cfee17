"""Claims of infeasibility are proven, refuted by a feasible point, or undecided."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs import certify, solve
from convexfs.certification.auxiliary import Budget
from convexfs.certification.infeasibility import CONTRADICTION, proof_of_infeasibility
from convexfs.certification.program.standard_form import StandardForm
from convexfs.solving.backends import needs_of, suitable
from tests.typed import known

SOLVERS = ("CLARABEL", "ECOS", "SCS", "HIGHS")


def contradictions():
    """Problems without a feasible point, each of another kind."""
    x = cp.Variable(3, name="x")
    bounded = cp.Variable(3, name="x", bounds=[np.zeros(3), np.ones(3)])
    whole = cp.Variable(3, name="x", integer=True)
    flags = cp.Variable(3, name="x", boolean=True)
    M = cp.Variable((3, 3), name="M", PSD=True)
    stated = {
        "inequalities": (cp.sum(x), [cp.sum(x) <= 1, x >= 0.5]),
        "equalities": (x[2], [x[0] + x[1] == 1, x[0] + x[1] == 2, x[2] >= 0]),
        "quadratic": (cp.sum_squares(x), [cp.sum(x) <= 1, x >= 0.5]),
        "scales": (x[0], [1e4 * x[0] >= 1e4, 1e-3 * x[0] <= 0.5e-3]),
        "second order": (cp.sum(x), [cp.norm2(x) <= 1, cp.sum(x) >= 2]),
        "exponential": (cp.sum(x), [cp.sum(cp.logistic(x)) <= 1, x >= 0]),
        "bounds": (cp.sum(bounded), [cp.sum(bounded) >= 4]),
        "no variable": (x[0], [x >= 0, np.zeros(3) @ x >= 1]),
        "idle in a cone": (cp.sum(x), [cp.norm2(x) <= 1, x >= 0, x[:2] >= 0.9]),
        "beside an exponential": (cp.sum(cp.logistic(100 * x)), [x >= 0, cp.sum(x) <= -0.1]),
        "integer": (cp.sum(whole), [cp.sum(whole) <= 1, whole >= 0.6]),
        "boolean": (cp.sum(flags), [cp.sum(flags) >= 4]),
        "semidefinite": (cp.trace(M), [cp.diag(M) <= -1]),
        "semidefinite beside": (cp.sum(x), [cp.diag(x) >> 0, cp.sum(x) <= -1]),
        "power": (cp.sum(x), [cp.PowCone3D(x[0], x[1], x[2], 0.3), x[:2] <= 1, x[2] >= 2]),
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
    assert certificate.basis == CONTRADICTION
    assert known(certificate.gap) <= 1e-7


def test_a_false_denial_is_refused():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm2(x) <= 1, x >= 0.5])
    said = replace(solve(problem), status="infeasible", primal={}, cone=None)
    certificate = certify(problem, said)
    assert certificate.ok is False
    assert certificate.reason == "a feasible point exists"


def test_a_point_far_away_is_no_contradiction():
    """x = 1e9 is feasible: a column of tiny entries is judged by its own size."""
    x, z = cp.Variable(name="x"), cp.Variable(name="z")
    problem = cp.Problem(cp.Minimize(z), [1e-9 * x >= 1, z >= 0, z <= 1])
    assert proof_of_infeasibility(StandardForm.of(problem), Budget()) is None


@pytest.mark.slow(cases=6)
@pytest.mark.parametrize("digits", range(3, 13))
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3])
def test_a_contradiction_but_for_a_last_digit_is_none(digits, unit):
    """(1, 1) are nearly Farkas multipliers, and x_1 = 2 / digit is feasible."""
    x = cp.Variable(2, name="x")
    digit = 10.0**-digits
    rows = [x[0] - unit * x[1] >= 1, unit * (1 + digit) * x[1] - x[0] >= 0]
    x.value = np.array([2 / digit + 1.5, 2 / digit / unit])
    assert all(row.value() for row in rows)
    assert not _refuted(rows)
    assert not _refuted([*rows, cp.norm2(x) <= 1e20])


def test_a_contradiction_of_rounding_errors_is_none():
    """0.1 + 0.2 is not 0.3 in binary; a point that breaks a row by 1e-17 is feasible."""
    x = cp.Variable(2, name="x")
    assert not _refuted([x[0] == 0.1, x[1] == 0.2, cp.sum(x) == 0.3])
    assert _refuted([x >= 1 + 1e-7, cp.sum(x) <= 2])


def test_what_is_only_nearly_infeasible_is_not_refuted():
    """Points come as near to these constraints as one likes, or touch them once."""
    x = cp.Variable(3, name="x")
    touching = [cp.norm2(x) <= 1, cp.sum(x) >= np.sqrt(3.0)]
    hyperbola = [cp.quad_over_lin(1.0, x[0]) <= x[1], x[1] == 0]
    assert not _refuted(touching)
    assert not _refuted(hyperbola)
    assert not _refuted([cp.exp(x[0]) <= 0])


@pytest.mark.slow
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
    form = StandardForm.of(cp.Problem(cp.Minimize(0), rows))
    return proof_of_infeasibility(form, Budget()) is not None
