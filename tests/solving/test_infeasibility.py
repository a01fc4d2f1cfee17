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
from tests.typed import constraints, known

SOLVERS = ("CLARABEL", "ECOS", "SCS", "HIGHS")


def contradictions():
    """Problems without a feasible point, each of another kind."""
    x = cp.Variable(3, name="x")
    bounded = cp.Variable(3, name="x", bounds=[np.zeros(3), np.ones(3)])
    whole = cp.Variable(3, name="x", integer=True)
    flags = cp.Variable(3, name="x", boolean=True)
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
    assert known(certificate.gap) <= 1e-7


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


@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL"])
@pytest.mark.parametrize("digits", range(3, 13))
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e3])
def test_a_contradiction_but_for_a_last_digit_is_none(digits, unit, solver):
    """(1, 1) are nearly Farkas multipliers, and x_1 = 2 / digit is feasible."""
    x = cp.Variable(2, name="x")
    digit = 10.0**-digits
    rows = [x[0] - unit * x[1] >= 1, unit * (1 + digit) * x[1] - x[0] >= 0]
    x.value = np.array([2 / digit + 1.5, 2 / digit / unit])
    assert all(row.value() for row in rows)
    assert not _refuted(rows, solver)
    assert not _refuted([*rows, cp.norm2(x) <= 1e20], "CLARABEL")


def test_a_contradiction_of_rounding_errors_is_none():
    """0.1 + 0.2 is not 0.3 in binary; a point that breaks a row by 1e-17 is feasible."""
    x = cp.Variable(2, name="x")
    assert not _refuted([x[0] == 0.1, x[1] == 0.2, cp.sum(x) == 0.3])
    assert not _refuted([x >= 1 + 1e-7, cp.sum(x) <= 2])


def test_what_is_only_nearly_infeasible_is_not_refuted():
    """Points come as near to these constraints as one likes, or touch them once."""
    x = cp.Variable(3, name="x")
    touching = [cp.norm2(x) <= 1, cp.sum(x) >= np.sqrt(3.0)]
    hyperbola = [cp.quad_over_lin(1.0, x[0]) <= x[1], x[1] == 0]
    assert not _refuted(touching, "CLARABEL")
    assert not _refuted(hyperbola, "CLARABEL")
    assert not _refuted([cp.exp(x[0]) <= 0], "CLARABEL")


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("kind", ["second order", "exponential"])
def test_the_way_into_a_dual_cone_its_constraints_and_its_distance_agree(kind, count):
    x = cp.Variable((3, count), name="x")
    stated = cp.SOC(x[0], x[1:], axis=0) if kind == "second order" else cp.ExpCone(*x)
    (cone,) = ConeProgram.of(cp.Problem(cp.Minimize(0), [stated]), "CLARABEL").cones
    assert cone.dual is not None
    assert cone.dual_violation is not None
    draw = np.random.default_rng(count)
    y = cp.Variable(3 * count)
    for _ in range(30):
        y.value = draw.standard_normal(3 * count)
        held = max(float(np.max(part.violation())) for part in cone.dual.membership(y))
        beyond = cone.dual_violation(y.value, np.ones(1))
        assert (held > 1e-5) == (beyond > 1e-5)
        y.value = cone.dual.inside(y.value)
        assert cone.dual_violation(y.value, np.ones(1)) == 0
        assert all(np.max(part.violation()) <= 1e-5 for part in cone.dual.membership(y))
        np.testing.assert_allclose(cone.dual.inside(y.value), y.value, rtol=1e-12)
        assert y.value @ _of_cone(kind, count, draw) >= 0


def _of_cone(kind, count, draw):
    """A vector of the cone, as its rows are stored: by component, but X cone after cone."""
    first, second = draw.standard_normal((2, count))
    if kind == "second order":
        tails = np.column_stack([first, second])
        return np.concatenate([np.linalg.norm(tails, axis=1), tails.ravel()])
    second = np.abs(second)
    return np.concatenate([first, second, second * np.exp(first / second)])


def test_without_a_known_dual_cone_there_is_no_proof():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(0), constraints(cp.diag(x) >> 0, cp.sum(x) <= -1))
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


def _refuted(rows, solver="HIGHS"):
    proof = refute(ConeProgram.of(cp.Problem(cp.Minimize(0), rows), solver), 1e-5)
    return proof is not None and bool(proof.ok)
