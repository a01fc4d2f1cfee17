import cvxpy as cp
import numpy as np
import pytest

from convexfs.errors import InputError, SolverUnsuitable
from convexfs.solving.backends import BACKENDS
from convexfs.solving.parametrized import CompiledProblem

QUADRATIC = ("CLARABEL", "ECOS", "SCS", "OSQP", "PIQP", "QOCO")


def program():
    """A small quadratic program with a parameter for every number."""
    x = cp.Variable(4, name="x")
    c, G, h = cp.Parameter(4, name="c"), cp.Parameter((3, 4), name="G"), cp.Parameter(3, name="h")
    R, level = cp.Parameter((2, 4), name="R"), cp.Parameter(name="level")
    cost = cp.Minimize(c @ x + 0.5 * cp.sum_squares(R @ x))
    return cp.Problem(cost, [G @ x >= h, x >= 0, x <= 1, cp.sum(x) <= level])


def numbers(seed):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((3, 4)) * (rng.random((3, 4)) < 0.7)
    return {
        "c": rng.standard_normal(4), "G": G, "h": G @ np.full(4, 0.3) - 0.1,
        "R": rng.standard_normal((2, 4)), "level": 2.0,
    }  # fmt: skip


def installed(names):
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(not BACKENDS[name].installed, reason=f"{name} is missing"),
        )
        for name in names
    ]


@pytest.mark.parametrize("solver", installed(QUADRATIC))
def test_written_and_applied_values_give_the_same_answer(solver):
    written, applied = CompiledProblem(program(), solver), CompiledProblem(program(), solver)
    applied.places = None
    assert written.written
    assert not applied.written
    options = BACKENDS[solver].options(1e-6)
    for seed in range(5):
        one, other = (each.solve(numbers(seed), options) for each in (written, applied))
        assert one.status == other.status
        np.testing.assert_array_equal(one.primal["x"], other.primal["x"])


def test_a_number_of_two_parameters_is_left_to_cvxpy():
    x = cp.Variable(2, name="x")
    p, q = cp.Parameter(2, name="p"), cp.Parameter(2, name="q")
    problem = CompiledProblem(cp.Problem(cp.Minimize((p + q) @ x), [x >= 0, x <= 1]), "CLARABEL")
    assert not problem.written
    answer = problem.solve({"p": np.array([1.0, -2.0]), "q": np.array([-3.0, 1.0])}, {})
    np.testing.assert_allclose(answer.primal["x"], [1, 1], atol=1e-6)


@pytest.mark.parametrize("solver", installed(["OSQP", "SCS"]))
def test_a_warm_start_ends_where_a_cold_one_does(solver):
    problem, memory = CompiledProblem(program(), solver), {}
    options = BACKENDS[solver].options(1e-7)
    for seed in range(6):
        warm = problem.solve(numbers(seed), options, memory)
        cold = problem.solve(numbers(seed), options)
        assert memory
        np.testing.assert_allclose(warm.primal["x"], cold.primal["x"], atol=1e-4)


def test_what_a_solver_does_wrong_is_an_answer(monkeypatch):
    problem = CompiledProblem(program(), "CLARABEL")
    answer = problem.solve(numbers(0), {"no_such_option": 1})
    assert answer.status == "error"
    assert "no_such_option" in answer.failure
    assert not answer.primal
    infeasible = problem.solve(numbers(0) | {"level": -1.0}, {})
    assert infeasible.status.startswith("infeasible")
    assert not infeasible.primal


def test_what_cannot_be_compiled_once_is_refused():
    x, p = cp.Variable(2, name="x"), cp.Parameter(2, name="p")
    product = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.multiply(p, p) @ x >= 1])
    with pytest.raises(InputError, match="must be DPP"):
        CompiledProblem(product, "CLARABEL")
    with pytest.raises(SolverUnsuitable):
        CompiledProblem(program(), "GLPK" if BACKENDS["GLPK"].installed else "SCIPY")
