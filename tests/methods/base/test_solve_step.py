from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import FORMULATIONS
from convexfs.errors import (
    ConvexfsError,
    ConvexfsWarning,
    InputError,
    SolverUnavailable,
    SolverUnsuitable,
)
from convexfs.methods.base.formulation import Solving, check_solver
from convexfs.methods.base.solve_step import (
    call_by_name,
    certify_by_formula,
    require_answer,
    solve_step,
)
from convexfs.records import Certificate, Solution
from tests.typed import known

RELIEF = FORMULATIONS["relief"]
VALUES, HYPER = {"z": np.array([3.0, -1.0, 4.0])}, {"lam": 0.0}


def capped(z, cap=0.7):
    """RELIEF with no weight above a cap."""
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w) <= 1, w >= 0, w <= cap])


def test_auto_and_native_use_the_closed_form():
    for solver in ("auto", "native", "NATIVE"):
        solution, certificate = solve_step(RELIEF, VALUES, HYPER, Solving(solver=solver))
        assert solution.solver == "native"
        assert certificate.ok
        assert certificate.basis == "formula"


def test_a_cvxpy_name_forces_that_backend():
    solution, certificate = solve_step(RELIEF, VALUES, HYPER, Solving(solver="scs"))
    assert solution.solver == "SCS"
    assert certificate.basis == "cone program"
    assert solution.build_seconds > 0


def test_a_changed_formulation_is_solved_by_a_backend():
    solution, certificate = solve_step(RELIEF, VALUES, HYPER, Solving(build=capped))
    assert solution.solver == "CLARABEL"
    assert solution.primal["w"].max() == pytest.approx(0.7, abs=1e-4)
    assert certificate.ok


def test_a_changed_formulation_has_no_native_twin():
    with pytest.raises(InputError, match="native' solves relief as printed, not a changed"):
        solve_step(RELIEF, VALUES, HYPER, Solving(build=capped, solver="native"))


def test_a_changed_formulation_must_keep_the_weights():
    def nameless(z):
        return cp.Problem(cp.Maximize(cp.Variable(len(z), name="u") @ z), [])

    with pytest.raises(InputError, match=r"no variable named 'w' \(it has u\)"):
        solve_step(RELIEF, VALUES, HYPER, Solving(build=nameless))


def test_a_changed_formulation_must_be_a_problem():
    with pytest.raises(InputError, match=r"build must return a cvxpy\.Problem, not NoneType"):
        solve_step(RELIEF, VALUES, HYPER, Solving(build=lambda z: None))


def test_build_is_called_by_argument_name():
    assert call_by_name(lambda lam, z: (z, lam), {"z": 1, "lam": 2, "more": 3}) == (1, 2)
    with pytest.raises(InputError, match="build asks for 'zz', which is not offered here: did you"):
        call_by_name(lambda zz: zz, {"z": 1})


def test_solvers_are_checked_before_any_work():
    check_solver(RELIEF, Solving(solver="auto", tol=1e-6))
    with pytest.raises(SolverUnsuitable, match="HIGHS cannot take SOC"):
        check_solver(RELIEF, Solving(solver="HIGHS", tol=1e-6))
    with pytest.raises(SolverUnavailable, match="MOSEK is not installed"):
        check_solver(RELIEF, Solving(solver="MOSEK", tol=1e-6))
    no_name: Any = 3
    with pytest.raises(InputError, match="solver must be a name such as 'CLARABEL', not 3"):
        check_solver(RELIEF, Solving(solver=no_name, tol=1e-6))
    with pytest.raises(InputError, match="solver_tol must be a number above 0"):
        check_solver(RELIEF, Solving(solver="auto", tol=0))


def test_an_answer_that_is_not_proven_is_warned_of():
    values = {"z": 100 * np.random.default_rng(0).standard_normal(50)}
    few = {"max_iters": 25}
    with pytest.warns(ConvexfsWarning, match="solution of SCS .* is refuted: constraint"):
        solve_step(RELIEF, values, HYPER, Solving(solver="SCS", options=few))


def test_an_undecided_solution_is_warned_of_without_calling_it_wrong(monkeypatch):
    left_open = Certificate(0.0, None, None, 0.5, 1e-5, "cone program", verdict="undecided",
                            reason="no proof that nothing is better")  # fmt: skip
    monkeypatch.setattr("convexfs.certification.certify.certify", lambda *_: left_open)
    with pytest.warns(ConvexfsWarning, match="feasible, but its optimality is undecided: no proof"):
        solve_step(RELIEF, VALUES, HYPER, Solving(solver="CLARABEL"))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_native_certificates_do_not_depend_on_the_scale(scale):
    values = {"z": scale * VALUES["z"]}
    right = known(RELIEF.native)(**values)
    wrong = replace(right, primal={"w": 0.99 * right.primal["w"]})
    assert certify_by_formula(RELIEF, values, HYPER, right).ok
    assert certify_by_formula(RELIEF, values, HYPER, wrong).ok is None


def test_a_failed_step_says_how_it_ended():
    failed = Solution(status="error", solver="SCS", failure="TypeError: no")
    with pytest.raises(ConvexfsError, match=r"SCS ended with status 'error' \(TypeError: no\)"):
        require_answer(failed, "w")


@pytest.mark.parametrize(
    ("z", "w", "objective"),
    [
        ([3.0, np.nan], [1.0, 0.0], 3.0),
        ([3.0, 4.0], [np.nan, np.nan], 5.0),
        ([3.0, 4.0], [0.6, 0.8], np.nan),
        ([3.0, 4.0], [0.6, 0.8], None),
    ],
)
def test_nan_in_the_problem_its_answer_or_its_objective_is_never_ok(z, w, objective):
    answer = Solution("optimal", "native", primal={"w": np.array(w)}, objective=objective)
    judged = certify_by_formula(RELIEF, {"z": np.array(z)}, HYPER, answer)
    assert judged.ok is False
