from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL

from convexfs import FORMULATIONS, Relief, certify, load, solve
from convexfs.errors import InputError
from convexfs.records import ConePoint
from convexfs.solving.backends import needs_of, suitable
from tests.solvers import installed
from tests.solving import problems
from tests.typed import constraints, known

SLOW = pytest.mark.slow
#: PROXQP calls the program infeasible; SCIP's point violates a cone by 2e-5.
EXCEPTIONS = {("linear", "PROXQP"), ("many_second_order", "SCIP")}
PAIRS = [
    (name, solver)
    for name, build in problems.CONVEX.items()
    for solver in suitable(needs_of(build()))
    if (name, solver) not in EXCEPTIONS
]


@pytest.mark.parametrize(("name", "solver"), PAIRS)
def test_answers_of_every_solver_are_proven(name, solver):
    problem = problems.CONVEX[name]()
    certificate = certify(problem, solve(problem, solver, tol=1e-6))
    assert certificate.ok, certificate.explained()
    assert certificate.worst <= 1e-5


@pytest.mark.parametrize("solver", installed("HIGHS", "SCIP", "GLPK_MI", "SCIPY", "ECOS_BB"))
def test_integer_answers_of_every_solver_are_proven(solver):
    problem = problems.integer()
    certificate = certify(problem, solve(problem, solver))
    assert certificate.ok, certificate.explained()
    assert certificate.by.startswith("branch and bound")


def test_an_infeasible_integer_answer_is_refused():
    problem = problems.integer()
    solution = solve(problem, "HIGHS")
    assert certify(problem, replace(solution, primal={"f": np.ones(8)})).ok is False
    assert certify(problem, replace(solution, primal={"f": np.full(8, 0.2)})).ok is False


def refuses_moved(problem, solution, step, positions):
    """Move single numbers of an answer; return whether each of these answers is refused."""
    symbol, value = next(iter(solution.primal.items()))
    for position in positions:
        moved = value.copy()
        moved[position] += step
        if certify(problem, replace(solution, primal={symbol: moved})).ok is not False:
            return False
    return True


@pytest.mark.parametrize("step", [1e-2, -1e-2])
@pytest.mark.parametrize(
    "name", ["second_order", "entropy", "quadratic_in_a_ball", pytest.param("logistic", marks=SLOW)]
)
def test_a_wrong_answer_is_refused_wherever_it_is_wrong(name, step):
    problem = problems.CONVEX[name]()
    solution = solve(problem, "CLARABEL", tol=1e-7)
    assert refuses_moved(problem, solution, step, range(8))


@pytest.mark.parametrize("solver", installed("CLARABEL", "ECOS", "SCS"))
@pytest.mark.parametrize(
    "name", ["second_order", "entropy", "quadratic_in_a_ball", pytest.param("logistic", marks=SLOW)]
)
def test_a_wrong_answer_of_any_solver_is_refused(name, solver):
    problem = problems.CONVEX[name]()
    assert refuses_moved(problem, solve(problem, solver, tol=1e-7), 1e-2, [3])


def test_a_matrix_answer_moved_is_refused():
    problem = problems.semidefinite_in_a_ball()
    solution = solve(problem, "SCS", tol=1e-7)
    moved = solution.primal["W"] + 1e-2 * np.eye(5)
    assert certify(problem, replace(solution, primal={"W": moved})).ok is False


@pytest.mark.parametrize("name", problems.CONVEX)
def test_wrong_multipliers_prove_nothing_and_harm_nothing(name):
    problem = problems.CONVEX[name]()
    solution = solve(problem, "SCS", tol=1e-7)
    cone = known(solution.cone)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(known(cone.y).size)
    wrong = replace(solution, cone=ConePoint(cone.x, noise))
    alone = certify(problem, wrong, search=False)
    optimum = known(certify(problem, solution).objective)
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    assert sign * known(alone.bound) <= sign * optimum + 1e-6
    assert certify(problem, wrong).ok


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_verdict_does_not_depend_on_the_scale_of_the_objective(scale):
    """A wrong answer is refused and a right one accepted, in millionths and in millions."""
    z = scale * problems.z
    w = cp.Variable(8, name="w")
    problem = cp.Problem(cp.Maximize(w @ z), [cp.norm(w, 2) <= 1, w >= 0])
    exact = solve(problem, "SCS", tol=1e-12)
    assert exact.cone is not None
    assert certify(problem, exact, tol=1e-5).ok
    wrong = replace(exact, primal={"w": 0.99 * exact.primal["w"]})
    assert certify(problem, wrong, tol=1e-5).ok is False


def test_a_problem_without_an_objective_is_certified_feasible():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(0), constraints(cp.sum(x) == 1, x >= 0))
    for solver in ("CLARABEL", "HIGHS", "SCS"):
        assert certify(problem, solve(problem, solver)).ok, solver


def test_an_optimum_of_zero_is_certified():
    x = cp.Variable(8, name="x")
    for objective in (cp.sum_squares(x), cp.norm1(problems.A @ x), cp.norm(x)):
        problem = cp.Problem(cp.Minimize(objective))
        for solver in installed("CLARABEL", "ECOS"):
            assert certify(problem, solve(problem, solver)).ok, (objective, solver)


def minimum(objective, constraints):
    return cp.Problem(cp.Minimize(objective), constraints)


X, Y = cp.Variable(name="x"), cp.Variable(name="y")
W = cp.Variable(3, name="w")
#: A problem with very different numbers in it, and a point that is clearly wrong.
BADLY_SCALED = {
    "costs": (minimum(1e6 * Y + X, [Y >= 0, X >= 1]), {"x": 9.0, "y": 0.0}),
    "an unrelated variable": (minimum(cp.sum(W), [W >= 1, X == 1e6]), {"w": 2.0, "x": 1e6}),
    "bounds": (minimum(X + Y, [X >= 1, Y >= 1e7]), {"x": -20.0, "y": 1e7}),
    "rows": (
        minimum(-cp.sum(W), [W >= 0, cp.sum(W) <= 1, 1e6 * W[0] <= 1e6]),
        {"w": 8.5 / 3},
    ),
}


@pytest.mark.parametrize("name", BADLY_SCALED)
def test_a_large_number_elsewhere_hides_no_error(name):
    problem, wrong = BADLY_SCALED[name]
    for solver in installed("CLARABEL", "HIGHS", "ECOS"):
        solution = solve(problem, solver, tol=1e-8)
        assert certify(problem, solution, tol=1e-5).ok, (solver, certify(problem, solution))
        moved = {
            symbol: np.full_like(value, wrong[symbol]) for symbol, value in solution.primal.items()
        }
        assert certify(problem, replace(solution, primal=moved), tol=1e-5).ok is False


def test_a_small_dual_residual_at_a_large_point_is_no_proof():
    """CLARABEL stops early on variables in millions: the bound is then off by r'x."""
    x = cp.Variable(3, name="x")
    A, c, million = np.array([[1.0, 1, 1], [2, -1, 0]]), np.array([3.0, -1, 2]), 1e6
    loss = 0.1 * cp.sum_squares(x / million - c)
    problem = minimum(loss, [A @ x <= million * np.array([2.0, 1.0]), x >= 0])
    proven, wrong = proven_and_wrong(problem, 0.75, suitable(needs_of(problem)))
    assert "CLARABEL" in wrong
    assert {*installed("PIQP", "CVXOPT")} <= proven
    assert not proven & wrong


def proven_and_wrong(problem, best, solvers):
    """Solvers whose answer is certified, and those whose answer is not the known best."""
    answers = {solver: solve(problem, solver) for solver in solvers}
    proven = {solver for solver, answer in answers.items() if certify(problem, answer).ok}
    near = pytest.approx(best, rel=1e-3)
    return proven, {solver for solver, answer in answers.items() if answer.objective != near}


def with_rows_times(scale):
    """A linear program whose rows are multiplied by a number, which changes nothing."""
    rng = np.random.default_rng(0)
    A = rng.random((8, 5))
    b, c = A @ np.ones(5) + 1, -rng.random(5)
    x = cp.Variable(5, name="x")
    return minimum(c @ x, [scale * A @ x <= scale * b, x >= 0])


LINEAR_SOLVERS = installed("HIGHS", "CLARABEL", "ECOS", "SCS")


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_rows_in_millions_are_certified(scale):
    best = solve(with_rows_times(1.0), "HIGHS").objective
    proven, wrong = proven_and_wrong(with_rows_times(scale), best, LINEAR_SOLVERS)
    assert proven == set(LINEAR_SOLVERS)
    assert not wrong


def test_where_rows_in_billions_mislead_solvers_nothing_wrong_is_certified():
    best = solve(with_rows_times(1.0), "HIGHS").objective
    proven, wrong = proven_and_wrong(with_rows_times(1e9), best, LINEAR_SOLVERS)
    assert wrong
    assert not proven & wrong


def test_the_reported_objective_is_judged_too():
    problem = problems.second_order()
    solution = solve(problem, "CLARABEL")
    assert certify(problem, replace(solution, objective=999.0)).ok is False


@pytest.mark.parametrize("solver", installed("QOCO", "OSQP", "QPALM", "DAQP", "CLARABEL"))
def test_an_unbounded_problem_is_never_certified_optimal(solver):
    problem = minimum(1e6 * Y - X, [Y >= 1])
    certificate = certify(problem, solve(problem, solver))
    assert certificate.claim == "unbounded" or certificate.ok is not True


def test_a_quadratic_that_is_only_assumed_convex_is_not_certified():
    x = cp.Variable(2, name="x")
    P = np.array([[1.0, 0.0], [0.0, -1.0]])
    problem = minimum(cp.quad_form(x, P, assume_PSD=True), [x >= -1, x <= 1])
    for solver in installed("CLARABEL", "PIQP"):
        assert certify(problem, solve(problem, solver)).ok is not True


def test_not_a_number_anywhere_is_refused():
    problem = problems.integer()
    solution = solve(problem, "HIGHS")
    spoiled = solution.primal["f"].copy()
    spoiled[3] = np.nan
    assert certify(problem, replace(solution, primal={"f": spoiled})).ok is False


@pytest.mark.parametrize("objective", [np.nan, np.inf, None])
@pytest.mark.parametrize(
    ("build", "solver"), [(problems.integer, "HIGHS"), (problems.CONVEX["linear"], "CLARABEL")]
)
def test_an_objective_that_is_no_number_is_refused(build, solver, objective):
    problem = build()
    solution = solve(problem, solver)
    assert certify(problem, replace(solution, objective=objective)).ok is False


@pytest.mark.parametrize("name", ["linear", "second_order", "entropy", "semidefinite"])
@pytest.mark.parametrize("vector", ["x", "y"])
def test_a_cone_point_that_is_no_number_is_refused(name, vector):
    problem = problems.CONVEX[name]()
    solution = solve(problem, "CLARABEL")
    assert solution.cone is not None
    broken = replace(solution.cone, **{vector: np.nan * getattr(solution.cone, vector)})
    assert certify(problem, replace(solution, cone=broken)).ok is False


@pytest.mark.parametrize("change", [lambda y: y[:-1], lambda y: np.append(y, 1.0)])
@pytest.mark.parametrize("vector", ["x", "y"])
def test_vectors_of_another_size_prove_nothing_and_harm_nothing(vector, change):
    problem = problems.CONVEX["second_order"]()
    solution = solve(problem, "CLARABEL")
    assert solution.cone is not None
    resized = replace(solution.cone, **{vector: change(getattr(solution.cone, vector))})
    changed = replace(solution, cone=resized)
    assert certify(problem, changed).ok
    assert certify(problem, changed, search=False).ok is not False


@pytest.mark.parametrize("solver", ["nosuch", "HIGHS", "MOSEK"])
def test_the_name_of_the_solver_does_not_matter(solver):
    problem = problems.CONVEX["second_order"]()
    renamed = replace(solve(problem, "CLARABEL"), solver=solver)
    assert certify(problem, renamed).ok


@pytest.mark.parametrize(
    "status",
    ["unbounded", "unbounded_inaccurate", "infeasible_or_unbounded", "infeasible_inaccurate"],
)
def test_a_solved_problem_that_is_said_to_have_no_optimum_is_refused(status):
    problem = problems.CONVEX["linear"]()
    assert certify(problem, replace(solve(problem, "HIGHS"), status=status)).ok is False


def test_nameless_variables_go_by_their_position():
    def build():
        x, t = cp.Variable(), cp.Variable(name="t")
        return minimum(t, [t >= x, x >= 1])

    solution = solve(build(), "CLARABEL")
    assert set(solution.primal) == {"t", "var[1]"}
    assert certify(build(), solution).ok


def test_matrices_with_structure_are_judged_too():
    D = cp.Variable((3, 3), diag=True, name="D")
    problem = minimum(cp.trace(D), [cp.diag(D) >= [1, 2, 3]])
    assert certify(problem, solve(problem, "CLARABEL")).ok


def test_native_solutions_are_verified_like_any_others():
    data = load("iris").scaled()
    model = Relief(n_neighbors=5).fit(data.X, data.y)
    problem = FORMULATIONS["relief"].build(z=model.margin_)
    assert model.solution_.solver == "native"
    assert certify(problem, model.solution_, tol=1e-6).ok
    wrong = replace(model.solution_, primal={"w": 0.99 * model.solution_.primal["w"]})
    assert certify(problem, wrong, tol=1e-6).ok is False


def test_two_variables_of_one_name_are_refused():
    x, y = cp.Variable(name="x"), cp.Variable(name="x")
    with pytest.raises(InputError, match="two variables are named 'x'"):
        solve(cp.Problem(cp.Minimize(x + y), [x >= 0, y >= 1]))


def test_a_kink_does_not_fool_the_certificate():
    """At a hinge's corner no gradient vanishes, yet the cone program proves the optimum."""
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(cp.abs(x - 1) + 0.5 * x))
    for solver in installed("CLARABEL", "ECOS", "SCS", "HIGHS"):
        solution = solve(problem, solver)
        assert solution.primal["x"] == pytest.approx(1, abs=1e-5)
        assert certify(problem, solution).ok


def test_a_failed_solve_is_undecided():
    problem = problems.second_order()
    failed = solve(problem, "CLARABEL", solver_options={"max_iter": "many"})
    certificate = certify(problem, failed)
    assert certificate.ok is None
    assert str(certificate) == "undecided: no solution to verify: error"


def test_a_solution_of_another_problem_is_an_error():
    with pytest.raises(InputError, match="no value for variable 'x'"):
        certify(problems.linear(), solve(problems.second_order()))


def test_a_lying_solver_is_caught(monkeypatch):
    """A backend that stops far too early and still says optimal."""

    def early(self, data, warm_start, verbose, solver_opts, solver_cache=None):
        return honest(self, data, warm_start, verbose, solver_opts | {"max_iter": 2}, solver_cache)

    honest = CLARABEL.solve_via_data
    monkeypatch.setattr(CLARABEL, "solve_via_data", early)
    monkeypatch.setitem(CLARABEL.STATUS_MAP, "MaxIterations", "optimal")
    problem = problems.logistic()
    solution = solve(problem, "CLARABEL")
    assert solution.status == "optimal"
    assert certify(problem, solution).ok is False


def test_a_certificate_can_be_had_from_a_problem_built_again():
    solution = solve(problems.logistic(), "CLARABEL")
    assert certify(problems.logistic(), solution).ok


def test_the_tolerance_is_stated_and_can_be_chosen():
    problem = problems.logistic()
    solution = solve(problem, "SCS", tol=1e-4)
    assert certify(problem, solution).tol == pytest.approx(1e-3)
    assert certify(problem, solution, tol=1e-14).ok is not True
