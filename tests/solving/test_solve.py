import pickle
import re
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import Solution, solve
from convexfs.errors import ConvexfsWarning, InputError, SolverUnsuitable
from convexfs.solving.backend import check_options
from convexfs.solving.backends import BACKENDS, needs_of, suitable
from convexfs.solving.solve import merged, warm_starts
from tests.kkt import assert_kkt
from tests.solvers import installed, needs
from tests.solving import problems
from tests.typed import known

X = cp.Variable(name="x")


@pytest.mark.parametrize("name", problems.KNOWN)
def test_every_suitable_solver_finds_the_closed_form(name):
    for solver in suitable(needs_of(problems.CONVEX[name]())):
        solution = solve(problems.CONVEX[name](), solver, tol=1e-7)
        assert solution.status in ("optimal", "optimal_inaccurate"), (solver, solution)
        assert solution.objective == pytest.approx(problems.KNOWN[name], rel=1e-5), solver


@pytest.mark.parametrize("solver", installed("CLARABEL", "ECOS", "SCS"))
@pytest.mark.parametrize("build", [problems.second_order, problems.logistic])
def test_gradients_vanish_at_the_answer(build, solver):
    problem = build()
    solve(problem, solver, tol=1e-8)
    assert_kkt(problem, 1e-4)


def test_solution_holds_plain_numbers_by_name():
    problem = problems.second_order()
    problem.constraints[0].set_label("norm")
    solution = solve(problem)
    assert set(solution.primal) == {"w"}
    assert set(solution.dual) == {"norm", "1"}
    assert solution.dual["norm"] == pytest.approx(problems.KNOWN["second_order"], rel=1e-5)
    assert solution.solver == "CLARABEL"
    assert solution.solver_version
    assert solution.compile_seconds > 0
    assert solution.solve_seconds > 0
    copy = pickle.loads(pickle.dumps(solution))
    assert isinstance(copy, Solution)
    np.testing.assert_array_equal(copy.primal["w"], solution.primal["w"])


def test_infeasible_and_unbounded_problems_have_no_point():
    x = cp.Variable(name="x")
    assert solve(cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])).status == "infeasible"
    unbounded = solve(cp.Problem(cp.Minimize(x), [x <= 0]), "CLARABEL")
    assert unbounded.status == "unbounded"
    assert unbounded.objective is None
    assert not unbounded.primal


def test_nothing_is_left_of_an_earlier_solve_after_a_failure():
    problem = problems.second_order()
    assert solve(problem, "CLARABEL").solved
    failed = solve(problem, "CLARABEL", solver_options={"max_iter": "many"})
    assert failed.status == "error"
    assert failed.failure.startswith("TypeError: ")
    assert failed.objective is None
    assert not failed.primal
    assert problem.value is None
    assert problem.status is None
    assert problem.variables()[0].value is None
    assert problem.constraints[0].dual_value is None


def test_a_panic_of_a_solver_written_in_rust_is_a_failure_of_the_solver(monkeypatch):
    class Panic(BaseException):
        """As pyo3 derives its PanicException."""

    def panic(*_: Any, **__: Any) -> None:
        raise Panic("Eigval error")

    monkeypatch.setattr("clarabel.DefaultSolver", panic)
    failed = solve(problems.second_order(), "CLARABEL")
    assert (failed.status, failed.failure) == ("error", "Panic: Eigval error")


def test_nothing_is_left_of_an_earlier_solve_when_infeasible():
    x, low = cp.Variable(name="x"), cp.Parameter(value=0.0)
    problem = cp.Problem(cp.Minimize(x), [x >= low, x <= 1])
    assert solve(problem, "CLARABEL").objective == pytest.approx(0, abs=1e-6)
    low.value = 2.0
    assert not solve(problem, "CLARABEL").primal
    assert x.value is None


def test_solves_are_cold_so_their_order_does_not_matter():
    first, second = problems.logistic(), problems.logistic()
    for _ in range(3):
        solve(second, "SCS", tol=1e-4)
    one, other = solve(first, "SCS", tol=1e-4), solve(second, "SCS", tol=1e-4)
    np.testing.assert_array_equal(one.primal["x"], other.primal["x"])
    assert one.iterations == other.iterations


def test_a_tighter_tolerance_gives_a_better_answer():
    exact = problems.KNOWN["second_order"]
    errors = [
        abs(solve(problems.second_order(), "CLARABEL", tol=tol).objective - exact)  # type: ignore
        for tol in (1e-1, 1e-8)
    ]
    assert errors[1] < errors[0]


def test_a_time_limit_reaches_the_solver():
    rng = np.random.default_rng(0)
    x = cp.Variable(300, name="x")
    data = rng.standard_normal((900, 300))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.logistic(data @ x))))
    assert solve(problem, "CLARABEL", time_limit=1e-4).status == "user_limit"


@needs("QOCO")
def test_a_solver_without_a_time_limit_says_so_where_it_cannot_be_stopped(monkeypatch):
    monkeypatch.setattr("convexfs.solving.solve.can_stop", lambda: False)
    with pytest.warns(ConvexfsWarning, match="QOCO has no time limit"):
        assert solve(problems.linear(), "QOCO", time_limit=10).solved


@pytest.mark.parametrize("solver", ["CVXOPT", "ECOS"])
def test_a_solver_without_a_time_limit_is_stopped(solver):
    if not BACKENDS[solver].installed:
        pytest.skip(f"needs {solver}")
    x = cp.Variable(200, name="x")
    A = np.random.default_rng(0).standard_normal((400, 200))
    problem = cp.Problem(cp.Minimize(cp.norm(A @ x - 1) + cp.norm1(x)), [x >= -1])
    late = solve(problem, solver, time_limit=1e-3)
    assert late.status == "timeout"
    assert late.failure == f"{solver} was stopped after 0.001 s, its time limit"
    assert not late.primal
    assert x.value is None
    in_time = solve(problem, solver, time_limit=60)
    assert in_time.objective == pytest.approx(solve(problem, "CLARABEL").objective, rel=1e-5)


@pytest.mark.parametrize(
    ("solver", "option", "message"),
    [
        ("CLARABEL", "max_iters", "CLARABEL has no option 'max_iters': did you mean max_iter?"),
        ("ECOS", "abs_tol", "ECOS has no option 'abs_tol': did you mean abstol?"),
        ("SCS", "eps_apsolute", "SCS has no option"),
        ("HIGHS", "time_limits", "HIGHS has no option 'time_limits': did you mean time_limit?"),
        ("SCIPY", "maxiter", "SCIPY has no option"),
        ("OSQP", "eps_abss", "OSQP has no option 'eps_abss': did you mean eps_abs?"),
        ("QOCO", "max_iter", "QOCO has no option 'max_iter': did you mean max_iters?"),
        ("CVXOPT", "max_itres", "CVXOPT has no option 'max_itres'"),
        ("DAQP", "primal_tolerance", "DAQP has no option"),
        ("PROXQP", "max_iters", "PROXQP has no option 'max_iters': did you mean max_iter?"),
    ],
)
def test_a_misspelt_option_is_an_error_before_any_work(solver, option, message):
    if not BACKENDS[solver].installed:
        pytest.skip(f"needs {solver}")
    with pytest.raises(InputError, match=re.escape(message)):
        solve(problems.linear(), solver, solver_options={option: 1})


@pytest.mark.parametrize("row", BACKENDS.values(), ids=lambda row: row.name)
def test_the_options_of_the_table_are_known(row):
    check_options(row.name, row.options(1e-6, 5.0))
    check_options(row.name, {} if row.pace is None else row.pace(1e-3))


def test_highs_is_asked_for_options_that_it_does_not_list():
    listed = solve(problems.linear(), "HIGHS", solver_options={"kkt_tolerance": 1e-7})
    assert listed.solved


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "OSQP"])
def test_a_warm_start_gives_the_same_solution(solver):
    if not BACKENDS[solver].installed:
        pytest.skip(f"needs {solver}")
    A = np.random.default_rng(1).standard_normal((30, 5))
    x, lam = cp.Variable(5, name="x"), cp.Parameter(name="lam", nonneg=True, value=1.0)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - 1) + lam * cp.norm1(x)))
    solve(problem, solver, tol=1e-8, warm_start=True)
    for value in (1.1, 1.2):
        lam.value = value
        cold = solve(problem, solver, tol=1e-8)
        warm = solve(problem, solver, tol=1e-8, warm_start=True)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize("solver", installed("SCS", "OSQP"))
def test_a_first_order_solver_started_at_its_solution_takes_fewer_iterations(solver):
    problem = regression(1.0)
    cold = solve(problem, solver, warm_start=True)
    assert known(solve(problem, solver, warm_start=True).iterations) < known(cold.iterations)


def test_a_warm_start_from_another_structure_starts_anew():
    x, a = cp.Variable(2, name="x"), cp.Parameter(2, name="a", value=[1.0, 0.0])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.multiply(a, x) >= 1 - a])
    first = solve(problem, "OSQP", warm_start=True)
    a.value = np.array([0.5, 1.0])
    second = solve(problem, "OSQP", warm_start=True)
    expected = solve(cp.Problem(problem.objective, problem.constraints), "CLARABEL")
    assert first.status in ("infeasible", "optimal", "infeasible_inaccurate")
    assert second.objective == pytest.approx(expected.objective, rel=1e-4)


def test_duals_go_by_label_and_their_signs_are_the_rates_of_the_optimum():
    x, low, total = cp.Variable(2, name="x"), cp.Parameter(value=1.0), cp.Parameter(value=3.0)
    bound = (x[0] >= low).set_label("bound")
    sums: Any = cp.sum(x) == total
    sums.set_label("total")
    for objective, sign in (
        (cp.Minimize(cp.sum_squares(x)), 1),
        (cp.Maximize(-cp.sum_squares(x)), -1),
    ):
        problem = cp.Problem(objective, [bound, sums])
        low.value, total.value = 2.0, 3.0
        solution, step = solve(problem, "CLARABEL", tol=1e-9), 1e-4
        before = known(solution.objective)
        low.value = 2.0 + step
        lowered = (known(solve(problem, "CLARABEL", tol=1e-9).objective) - before) / step
        low.value, total.value = 2.0, 3.0 + step
        raised = (known(solve(problem, "CLARABEL", tol=1e-9).objective) - before) / step
        assert solution.dual["bound"][0] >= 0
        # Raising a lower bound costs its dual: a minimum rises, a maximum falls.
        assert sign * lowered == pytest.approx(solution.dual["bound"][0], abs=1e-2)
        assert raised == pytest.approx(-sign * solution.dual["total"][0], abs=1e-2)


def test_parameters_are_re_solved_without_rebuilding():
    z = cp.Parameter(3, value=[1.0, 0.0, 0.0])
    w = cp.Variable(3, name="w")
    problem = cp.Problem(cp.Maximize(w @ z), [cp.norm(w) <= 1])
    assert solve(problem).primal["w"] == pytest.approx([1, 0, 0], abs=1e-4)
    z.value = np.array([0.0, 0.0, 2.0])
    assert solve(problem).primal["w"] == pytest.approx([0, 0, 1], abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0}, "tol must be a number above 0 and below 1, not 0"),
        ({"tol": "tight"}, "tol must be a number"),
        ({"time_limit": -1}, "time_limit, in seconds, must be a number above 0, not -1"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        solve(problems.linear(), **options)


def test_options_that_are_dicts_are_joined_to_the_time_limit():
    assert merged({"p": {"time": 5}, "q": 1}, {"p": {"gap": 2}}) == {
        "p": {"time": 5, "gap": 2},
        "q": 1,
    }


@pytest.mark.parametrize("name", [name for name, row in BACKENDS.items() if row.installed])
def test_every_solver_takes_its_translated_options(name):
    row = BACKENDS[name]
    build = problems.linear if "QP" not in row.cones else problems.quadratic
    problem = build() if row.cones else problems.integer()
    solution = solve(problem, name, tol=1e-5, time_limit=60.0 if row.limit else None)
    assert solution.status != "error", solution.failure
    assert (row.options(1e-3) != row.options(1e-8)) == bool(row.accuracy(1.0))


def regression(weight, columns=40):
    rows = np.random.default_rng(0).normal(size=(60, columns))
    w = cp.Variable(columns, name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(rows @ w - 1) + weight * cp.norm1(w)))


@pytest.mark.parametrize("name", [n for n, row in BACKENDS.items() if row.installed and row.warm])
def test_a_warm_start_leads_to_the_same_answer(name):
    cold = solve(regression(1.01), name)
    with warm_starts():
        solve(regression(1.0), name)
        warm = solve(regression(1.01), name)
    assert warm.status == "optimal"
    assert warm.objective == pytest.approx(cold.objective, rel=1e-5)
    assert known(warm.iterations) < known(cold.iterations) or name not in ("OSQP", "QPALM")
    assert solve(regression(1.01), name).iterations == cold.iterations


def test_a_warm_start_from_another_structure_is_refused():
    with warm_starts():
        solve(regression(1.0), "SCS")
        with pytest.raises(SolverUnsuitable, match="another structure"):
            solve(regression(1.0, columns=39), "SCS")


def test_setup_and_iterations_are_told_where_a_solver_tells():
    for name in installed("SCS", "OSQP", "QPALM"):
        solution = solve(regression(1.0), name)
        assert 0 < known(solution.setup_seconds) < known(solution.solve_seconds)
        assert known(solution.iterations) > 0
    assert solve(regression(1.0), "CLARABEL").setup_seconds is None


def test_the_problem_knows_that_it_was_infeasible():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])
    solve(problem, "CLARABEL")
    assert problem.status == "infeasible"
    assert problem.value == np.inf


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (cp.Problem(cp.Minimize(3)), "no variables"),
        (
            cp.Problem(cp.Minimize(X), [(X >= 1).set_label("a"), (X >= 0).set_label("a")]),
            "two constraints are named 'a'",
        ),
    ],
)
def test_what_has_no_answer_by_name_is_refused(problem, message):
    with pytest.raises(InputError, match=message):
        solve(problem)


def test_an_option_that_changes_the_program_is_refused():
    with pytest.raises(InputError, match="use_quad_obj changes the program"):
        solve(problems.quadratic(), "CLARABEL", solver_options={"use_quad_obj": False})


def test_a_problem_that_is_not_convex_is_refused_with_the_reason():
    x = cp.Variable(name="x")
    with pytest.raises(InputError, match=r"not convex .*: objective: .* is concave, but what is"):
        solve(cp.Problem(cp.Minimize(cp.sqrt(x))))
    with pytest.raises(
        InputError, match=r"not convex .*: constraint 0: .* is convex, but the larg"
    ):
        solve(cp.Problem(cp.Minimize(x), [cp.square(x) >= 1]))


def test_an_error_shows_no_arrays():
    x, A = cp.Variable(3, name="x"), np.arange(300.0).reshape(100, 3)
    with pytest.raises(InputError) as error:
        solve(cp.Problem(cp.Minimize(-cp.norm(A @ x + np.arange(100.0))), [x <= np.ones(3)]))
    assert "norm(array(100, 3) @ x + array(100,), 2) is convex and has a neg" in str(error.value)
    assert "\n" not in str(error.value)
    long = sum(cp.sqrt(cp.sum(x[[0, 2]] * k)) for k in range(90))
    with pytest.raises(InputError) as error:
        solve(cp.Problem(cp.Minimize(cp.square(long))))
    assert len(str(error.value)) < 900


def test_a_geometric_program_is_not_called_wrong():
    x, y = cp.Variable(name="x", pos=True), cp.Variable(name="y", pos=True)
    with pytest.raises(InputError, match=r"a geometric program, .*solve\(gp=True\)"):
        solve(cp.Problem(cp.Minimize(x / y), [x * y >= 3, x + y <= 5]))
    with pytest.raises(InputError, match=r"as a geometric program, objective: -y has a minus sign"):
        solve(cp.Problem(cp.Minimize(x * y - y)))


def test_what_is_not_a_problem_is_refused():
    with pytest.raises(InputError, match=r"takes a cvxpy.Problem, not list"):
        solve([])  # type: ignore[arg-type]


def test_an_unset_parameter_is_named():
    lam, x = cp.Parameter(name="lam"), cp.Variable()
    with pytest.raises(InputError, match="give parameter lam a value"):
        solve(cp.Problem(cp.Minimize(x + lam), [x >= 0]))
