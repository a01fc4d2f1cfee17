"""Solvers called by their own interfaces give cvxpy's solutions, here and in other interpreters."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs.certification.certify import certify
from convexfs.errors import InputError
from convexfs.solving import direct_calls
from convexfs.solving.backends import BACKENDS, needs_of
from convexfs.solving.direct import called_directly, find_environment
from convexfs.solving.solve import solve

HERE = Path(sys.executable)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def linear() -> cp.Problem:
    x = cp.Variable(12, name="x", nonneg=True)
    rows: list[Any] = [random(5, 12) @ x >= -1, cp.sum(x) == 1]
    return cp.Problem(cp.Minimize(np.abs(random(12)) @ x), rows)


def quadratic() -> cp.Problem:
    x = cp.Variable(8, name="x")
    rows: list[Any] = [cp.sum(x) == 1, x <= 0.3]
    return cp.Problem(cp.Minimize(cp.sum_squares(random(10, 8) @ x - 1)), rows)


def second_order() -> cp.Problem:
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(random(4) @ x), [cp.norm(x) <= 1, cp.norm(x[:2] - 1) <= 2])


def exponential() -> cp.Problem:
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Minimize(cp.log_sum_exp(random(6, 4) @ x) + cp.norm1(x)), [x <= 1])


def semidefinite() -> cp.Problem:
    X, C = cp.Variable((4, 4), PSD=True, name="X"), random(4, 4)
    rows: list[Any] = [cp.trace(X) == 1, X[0, 1] >= 0.1]
    return cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), rows)


def power() -> cp.Problem:
    x = cp.Variable(3, name="x", nonneg=True)
    cone = cp.PowCone3D(x[0], x[1], x[2], 0.3)
    return cp.Problem(cp.Maximize(x[2]), [cone, x[0] + 2 * x[1] <= 1])


def integer() -> cp.Problem:
    x = cp.Variable(8, name="x", boolean=True)
    return cp.Problem(cp.Maximize(np.abs(random(8)) @ x), [np.abs(random(1, 8)) @ x <= 2])


def infeasible() -> cp.Problem:
    x = cp.Variable(3, name="x")
    rows: list[Any] = [x >= 1, cp.sum(x) <= 1]
    return cp.Problem(cp.Minimize(cp.sum(x)), rows)


def unbounded() -> cp.Problem:
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(cp.sum(x)), [x <= 1])


SOLVABLE = (linear, quadratic, second_order, exponential, semidefinite, power, integer)


def cases(*stated: Callable[[], cp.Problem]) -> list[Any]:
    """Every problem with every solver that takes it and is installed."""
    return [
        pytest.param(own, solver, id=f"{own.__name__}-{solver}")
        for own in stated
        for solver in direct_calls.SOLVERS
        if BACKENDS[solver].takes(needs_of(own())) and BACKENDS[solver].installed
    ]


@pytest.mark.parametrize(("stated", "solver"), cases(*SOLVABLE))
def test_a_direct_call_finds_what_cvxpy_finds(stated, solver):
    problem = stated()
    usual = solve(problem, solver)
    with called_directly():
        direct = solve(problem, solver)
    assert direct.status == usual.status == "optimal"
    assert direct.solve_seconds > 0
    assert direct.objective == pytest.approx(usual.objective, rel=1e-4, abs=1e-6)
    # cvxpy asks OSQP to polish its point, so that the direct one is less accurate.
    verdicts = [certify(problem, own, tol=1e-4).ok for own in (direct, usual)]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize(("stated", "solver"), cases(infeasible, unbounded))
def test_a_direct_call_denies_what_cvxpy_denies(stated, solver):
    problem = stated()
    usual = solve(problem, solver)
    multipliers = [rows.dual_value for rows in problem.constraints]
    with called_directly():
        assert solve(problem, solver).status == usual.status
    # Multipliers that prove infeasibility reach the stated problem's constraints.
    for rows, expected in zip(problem.constraints, multipliers, strict=True):
        assert (rows.dual_value is None) == (expected is None)
        if expected is not None:
            np.testing.assert_allclose(rows.dual_value, expected, rtol=1e-6, atol=1e-6)


def test_every_solver_of_the_list_is_in_the_solver_table():
    assert set(direct_calls.SOLVERS) <= set(BACKENDS)


def test_a_solver_without_a_direct_call_says_so():
    with called_directly(), pytest.raises(InputError, match="SCIPY is not called directly"):
        solve(linear(), "SCIPY")


def test_another_interpreter_solves_what_it_is_sent():
    found = find_environment("here", HERE)
    assert found.versions["CLARABEL"] == BACKENDS["CLARABEL"].version
    for stated, solver in ((linear, "HIGHS"), (semidefinite, "CLARABEL"), (integer, "HIGHS")):
        problem = stated()
        with called_directly():
            here = solve(problem, solver)
        with called_directly(found.python):
            there = solve(problem, solver)
        assert there.status == "optimal"
        assert there.iterations == here.iterations
        assert there.objective == pytest.approx(here.objective, rel=1e-12)


def test_an_error_in_another_interpreter_is_a_failure_with_its_words():
    with called_directly(HERE):
        found = solve(linear(), "HIGHS", solver_options={"time_limit": -5.0})
    assert found.status == "error"
    assert "HiGHS does not take the option time_limit" in found.failure


@pytest.mark.parametrize(
    ("python", "words"),
    [("/nowhere/python", "is no Python interpreter"), (sys.prefix, "is no Python interpreter"),
     ("/bin/false", "cannot be used")],
)  # fmt: skip
def test_what_is_no_interpreter_is_refused(python, words):
    with pytest.raises(InputError, match=words):
        find_environment("old", python)


def test_requests_and_answers_hold_no_pickles():
    program = {
        "P": direct_calls.sparse.csc_matrix((2, 2)), "q": np.ones(2),
        "A": direct_calls.sparse.csc_matrix(np.eye(2)), "b": np.ones(2),
        "low": np.full(2, -np.inf), "high": np.full(2, np.inf),
        "cones": {"z": 1, "l": 1, "q": [], "s": [], "ep": 0, "p": []},
        "booleans": [1], "integers": [],
    }  # fmt: skip
    solver, read, options = direct_calls.unpack_program(
        direct_calls.pack_program("SCS", program, {"eps_abs": 1e-9})
    )
    assert (solver, options, read["cones"]) == ("SCS", {"eps_abs": 1e-9}, program["cones"])
    assert (read["A"] != program["A"]).nnz == 0
    np.savez(target := Path(__file__).with_suffix(".tmp.npz"), plain=np.array([{}], dtype=object))
    try:
        with pytest.raises(ValueError, match="allow_pickle"):
            direct_calls.unpack_answer(target.read_bytes())
    finally:
        target.unlink()
