from collections.abc import Sequence
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from convexfs import LLFS, load
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.methods.base.formulation import Solving
from convexfs.methods.llfs.backend import path as backend_path_module
from convexfs.methods.llfs.backend.path import BackendPath
from convexfs.methods.llfs.backend.point import PointUtilities, exact_positive_root
from convexfs.methods.llfs.backend.subproblems import Subproblems
from convexfs.methods.llfs.fit import Settings, llfs
from convexfs.methods.llfs.native.local_path import local_path, local_point
from convexfs.methods.llfs.numbers import checked_max_features, local_values
from convexfs.methods.llfs.problem import llfs_ratio, llfs_tangent_step
from convexfs.methods.llfs.problem_steps import program
from convexfs.methods.llfs.relaxation import candidates, path_solver, relaxed_path
from convexfs.methods.llfs.rounding import best_subset
from convexfs.methods.llfs.settings import PointSettings
from convexfs.methods.llfs.utility import mean_utility_gradient
from convexfs.solving.backends import BACKENDS
from convexfs.solving.box_program import BoxProgram
from convexfs.solving.parametrized import Answer, CompiledProblem
from convexfs.solving.solve import solve
from tests.methods.llfs.points import BETAS, point_values, sample
from tests.solvers import installed
from tests.typed import constraints, known, number

ALPHA = 3
#: For tests that any solver would do for.
ANY = installed("ECOS", "CLARABEL")[0]
SOLVING = ("tol", "options", "time_limit", "build")
SOLVERS = [
    pytest.param(
        name, marks=pytest.mark.skipif(not BACKENDS[name].installed, reason=f"{name} is missing")
    )
    for name in ("CLARABEL", "ECOS", "PIQP", "QOCO", "SCS", "OSQP", "HIGHS")
]


def settings(
    solver=ANY, form="compactness", betas: Sequence[float] | np.ndarray = BETAS, **changes
):
    own = {name: changes.pop(name) for name in SOLVING if name in changes}
    solving = Solving(solver=solver, **own)
    return PointSettings(
        max_features=ALPHA, betas=np.asarray(betas), form=form, solving=solving, **changes
    )


def backend_path(values, settings) -> BackendPath:
    """As relaxed_path, for settings whose solver is a backend."""
    path = relaxed_path(values, settings)
    assert isinstance(path, BackendPath)
    return path


def native(values, alpha=ALPHA, betas=BETAS):
    return local_path(local_point(**values, max_features=alpha), betas)


def some_points(count=2):
    """Of three data sets, with their budgets."""
    for name in ("wine", "iris", "subclasses:noise=20"):
        data = load(name).scaled()
        alpha = checked_max_features(None, data.X.shape[1])
        for i in np.linspace(0, len(data.y) - 1, count).astype(int).tolist():
            yield local_values(data.X, data.y, i, alpha), alpha


def test_steps_of_the_right_curvature_take_few_programs():
    values, alpha = next(some_points())
    chosen = replace(settings(solver="CLARABEL"), max_features=alpha)
    # It takes 61 programs with the curvature of both utilities, and 190 with that of one.
    assert backend_path(values, chosen).iterations.sum() <= 110


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("form", ["compactness", "bisection"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_ends_where_native_does(solver, form):
    worse, gaps, short = [], [], []
    for values, alpha in some_points():
        known = native(values, alpha)
        path = backend_path(values, replace(settings(solver, form), max_features=alpha))
        # At beta = 1 U1 is fixed only to the root of the gap of (6).
        worse.extend((path.u1 / known.u1 - 1)[:-1])
        short.extend(path.betas * path.eps_max * (1 - 1e-11) - path.u2)
        gaps.append(path.max_residual)
        assert path.eps_max == pytest.approx(known.eps_max, rel=1e-8)
        assert (path.ended == "").all()
    assert (np.array(worse) <= 1e-6).mean() >= 0.98
    assert max(worse) <= 1e-2
    assert max(short) <= 0
    assert max(gaps) <= 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_beta_is_proven_where_descents_give_up(solver):
    data = load("subclasses:noise=5,n=4").scaled()
    alpha = checked_max_features(None, data.X.shape[1])
    values = local_values(data.X, data.y, 3, alpha)
    wanted = replace(settings(solver, betas=np.linspace(0, 1, 21)), max_features=alpha)
    assert relaxed_path(values, wanted).residual.max() <= 1e-6


def test_curvature_is_spent_on_features_inside_their_bounds_not_on_dust():
    values = point_values(0, m=6)
    point = PointUtilities(**values, max_features=ALPHA)
    place = point.at(np.array([1e-5, 0.5, 2e-5, 0.7, 1 - 1e-5, 1e-5]))
    R = point.curvature(place, np.full(6, 0.1), 1.0, False, 2)
    assert np.flatnonzero(np.abs(R).sum(axis=0)).tolist() == [1, 3]


@pytest.mark.parametrize("solver", installed("ECOS", "HIGHS"))
def test_a_residual_bounds_what_a_step_could_gain(solver):
    values = point_values(1)
    path = relaxed_path(values, settings(solver))
    s, lam = values["s"], values["lam"]
    for b in (4, 10, 16):
        f = path.f[b]
        g1 = mean_utility_gradient(values["a_same"], f, s, lam)
        step = llfs_tangent_step(
            g1, values["a_other"], s, lam, BETAS[b] * path.eps_max, ALPHA, path.f
        )
        gain = float(g1 @ f) - known(solve(step, "CLARABEL", 1e-9).objective)
        assert gain <= (path.residual[b] + 1e-6) * path.u1[b]


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_point_depends_on_the_points_before_it(solver):
    values, others = point_values(0), point_values(1)
    alone = relaxed_path(values, settings(solver, betas=[0.3, 0.6]))
    relaxed_path(others, settings(solver, betas=[0.3, 0.6]))
    again = relaxed_path(values, settings(solver, betas=[0.3, 0.6]))
    np.testing.assert_array_equal(alone.f, again.f)


def replace_solve(monkeypatch, fails):
    """Let programs for which ``fails(program)`` holds be answered by a solver error."""
    for program_class in (CompiledProblem, BoxProgram):

        def solve(program, *given, original=program_class.solve):
            return Answer("solver_error", {}) if fails(program) else original(program, *given)

        monkeypatch.setattr(program_class, "solve", solve)


class Unreliable:
    """A solver that gives no point for every n-th program."""

    def __init__(self, monkeypatch, every):
        self.calls, self.every = 0, every
        replace_solve(monkeypatch, self._fails)

    def _fails(self, program):
        self.calls += 1
        return self.calls % self.every == 0


@pytest.mark.parametrize("form", ["compactness", "bisection", "linear", "ratio"])
def test_a_solver_that_fails_every_third_program_ends_no_fit(form, monkeypatch):
    X, y = sample(0, n=8, m=6)
    given = {"max_features": 2, "betas": [0.0, 0.4, 0.8, 1.0], "form": form}
    solving = Solving(solver=ANY)
    sound = llfs(X, y, Settings(**given), solving)
    solver = Unreliable(monkeypatch, every=3)
    found = llfs(X, y, Settings(**given), solving)
    tables = [np.array([point.table for point in result.points]) for result in (sound, found)]
    assert solver.calls > 0
    assert tables[0]["failures"].sum() == 0
    # Every failure is a program that was tried once more; those of (6) belong to no beta.
    assert 0 < tables[1]["failures"].sum() <= solver.calls // 3
    assert set(tables[1]["status"].ravel()) <= {"local", "linear", "ratio", "unconverged"}
    np.testing.assert_allclose(tables[1]["u1"], tables[0]["u1"], rtol=1e-3)


def test_a_solver_that_always_fails_is_replaced_and_counted(monkeypatch):
    if not BACKENDS["PIQP"].installed:
        pytest.skip("PIQP is missing")
    replace_solve(monkeypatch, lambda program: program.row.name == "PIQP")
    values = point_values(0, m=6)
    path = backend_path(values, settings("PIQP", betas=[0.3, 0.7]))
    assert path.u1 == pytest.approx(native(values, betas=np.array([0.3, 0.7])).u1, rel=1e-6)
    # Twice by the solver itself, then once by the next.
    assert path.failures.sum() * 3 == path.iterations.sum() * 2


def test_without_any_solver_betas_are_dropped_and_counted(monkeypatch):
    replace_solve(monkeypatch, lambda program: True)
    X, y = sample(0, n=12, m=12)
    with pytest.warns(ConvexfsWarning, match="pairs of sample and beta are dropped"):
        result = llfs(X, y, Settings(max_features=3, betas=[0.0, 0.5, 0.9]), Solving(solver=ANY))
    tables = np.array([point.table for point in result.points])
    dropped = tables["status"] == "failed"
    assert dropped.any()
    assert np.isinf(tables["rounded_u1"][dropped]).all()
    assert (tables["failures"][dropped] > 0).all()
    assert result.solution.status == "optimal_inaccurate"
    assert f"{dropped.sum()} of {dropped.size}" in result.solution.failure
    assert all(len(point.features) >= 1 for point in result.points)


@pytest.mark.filterwarnings("ignore:.*are dropped")
def test_time_is_limited_a_point():
    X, y = sample(0, n=8, m=6)
    model = LLFS(max_features=2, betas=5, solver=ANY, time_limit=1e-9).fit(X, y)
    assert set(model.points_["status"].ravel()) == {"timeout"}
    assert model.points_["programs"].sum() == 0
    unlimited = LLFS(max_features=2, betas=5, solver=ANY, time_limit=1e9).fit(X, y)
    assert "timeout" not in unlimited.points_["status"]
    with pytest.raises(InputError, match="time_limit, in seconds"):
        LLFS(max_features=2, time_limit=0).fit(X, y)


@pytest.mark.parametrize("form", ["bisection", "ratio"])
def test_forms_for_backends_say_so(form):
    with pytest.raises(InputError, match=rf"form='{form}' needs a solver .* solver='ECOS'"):
        settings("native", form)


@pytest.mark.parametrize("solver", installed("ECOS", "HIGHS"))
def test_the_linear_form_is_that_of_native(solver):
    values = point_values(2)
    one, other = (relaxed_path(values, settings(name, "linear")) for name in (solver, "native"))
    assert one.u1 == pytest.approx(other.u1, rel=1e-9)
    assert one.eps_max == pytest.approx(other.eps_max)
    assert (one.residual <= 1e-9).all()


@pytest.mark.parametrize("solver", installed("ECOS", "HIGHS", "SCS"))
def test_the_least_ratio_is_found_and_proven(solver):
    values = point_values(2)
    betas = np.array([0.0, 0.5, 0.8])
    way = path_solver(values, settings(solver, "ratio"))
    path = way.path(betas)
    c1, point = values["a_same"].mean(axis=0), way.point
    rng = np.random.default_rng(0)
    tried = [p for p in rng.dirichlet(np.ones(12), 400) * rng.uniform(1, 3) if p.max() <= 1]
    for b, f in enumerate(path.f):
        eps, least = betas[b] * path.eps_max, c1 @ f / point.u2(f)
        assert point.u2(f) >= eps * (1 - 1e-11)
        assert path.residual[b] <= 1e-4
        attained = [c1 @ p / point.u2(p) for p in tried if point.u2(p) >= eps]
        assert least <= min(attained, default=np.inf) * (1 + 1e-6)
    # At the last least ratio F changes its sign: the question a bisection on t would ask.
    eps = betas[-1] * path.eps_max
    least = c1 @ path.f[-1] / point.u2(path.f[-1])
    t = cp.Parameter(nonneg=True)
    problem = llfs_ratio(
        **values, eps=eps, max_features=ALPHA, ratio=t, tangents=np.vstack([path.f, *tried[:20]])
    )
    assert problem.is_dpp()
    for t.value, sign in ((0.95 * least, 1), (1.05 * least, -1)):
        assert sign * known(solve(problem, "HIGHS").objective) > 0


def test_ratios_between_two_points_are_below_the_larger():
    values = point_values(2)
    point, c1 = path_solver(values, settings(form="ratio")).point, values["a_same"].mean(axis=0)
    points = np.random.default_rng(0).dirichlet(np.ones(12), 200)
    for one, other in zip(points[:100], points[100:], strict=True):
        ratios = [c1 @ f / point.u2(f) for f in (one, other, 0.5 * (one + other))]
        assert ratios[2] <= max(ratios[:2]) + 1e-12


@pytest.mark.slow
def test_the_mixed_integer_program_finds_what_the_search_finds():
    for seed in range(2):
        values = point_values(seed, m=8)
        found = candidates(values, settings("HIGHS", "exact", betas=[0.6]), 0)
        eps = found.table["level"][0]
        mask, value, _ = best_subset(**values, eps=eps, max_features=ALPHA)
        assert found.table["u1"][0] == pytest.approx(value, rel=1e-6)
        np.testing.assert_array_equal(found.masks[0], mask)


def whole_budget(f, max_features):
    return [f >= 0, f <= 1, cp.sum(f) == max_features, f[2] == 0]


def cost_limit(f, max_features):
    price = np.arange(1.0, 13.0)
    return [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= max_features, price @ f <= 4.0]


@pytest.mark.parametrize("form", ["compactness", "bisection", "linear", "ratio"])
@pytest.mark.parametrize("solver", ["auto", *installed("HIGHS", "ECOS")])
def test_other_constraints_hold_in_every_stage(solver, form):
    betas = [0.0, 0.5, 1.0]
    path = relaxed_path(point_values(0), settings(solver, form, betas, feasible=whole_budget))
    np.testing.assert_allclose(path.f.sum(axis=1), ALPHA, atol=1e-6)
    np.testing.assert_allclose(path.f[:, 2], 0, atol=1e-6)
    assert (path.u2 >= path.betas * path.eps_max * (1 - 1e-9)).all()


def test_the_linear_form_reaches_what_changed_constraints_allow():
    values = point_values(0)
    path = relaxed_path(values, settings("HIGHS", "linear", [0.5, 1.0], feasible=cost_limit))
    c2, f = values["a_other"].mean(axis=0), cp.Variable(12)
    most = number(cp.Problem(cp.Maximize(c2 @ f), cost_limit(f, ALPHA)).solve("HIGHS"))
    assert path.u2[-1] == pytest.approx(most, rel=1e-6)
    assert path.u2[0] >= 0.5 * most * (1 - 1e-6)
    assert (path.f @ np.arange(1.0, 13.0) <= 4 + 1e-6).all()


def test_constraints_that_change_nothing_end_where_native_does():
    def same(f, max_features):
        return [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= max_features]

    betas = np.array([0.2, 0.5, 0.8])
    for seed in range(3):
        values = point_values(seed)
        path = relaxed_path(values, settings("auto", betas=betas, feasible=same))
        # Local optima may differ: fewer repairs keep constraints that are not known.
        assert (path.u1 <= native(values, betas=betas).u1 * (1 + 1e-2)).all()


def test_a_changed_build_is_what_is_solved():
    def without_three(a_other, s, lam, eps, max_features, iterate, a_same, tangents):
        slope = mean_utility_gradient(a_same, iterate, s, lam)
        offset = slope @ iterate
        problem = llfs_tangent_step(slope, a_other, s, lam, eps, max_features, tangents)
        f = problem.var_dict["f"]
        u1 = float(np.mean(1 / (1 + np.exp(-s * a_same @ iterate)) - 0.5 + lam * a_same @ iterate))
        objective = cp.Minimize(problem.objective.expr + u1 - offset)
        return cp.Problem(objective, constraints(*problem.constraints, cp.sum(f[:3]) <= 0.5))

    betas = [0.2, 0.4]
    path = relaxed_path(point_values(0), settings("HIGHS", betas=betas, build=without_three))
    assert (path.f[:, :3].sum(axis=1) <= 0.5 + 1e-6).all()
    assert (path.u2 >= np.array(betas) * path.eps_max * (1 - 1e-9)).all()
    assert (path.iterations > 0).all()


def test_solvers_that_fail_on_curvature_are_given_none(monkeypatch):
    given, original = set(), Subproblems._program

    def noted(self, kind, solver, shape):
        given.add((kind, solver))
        return original(self, kind, solver, shape)

    monkeypatch.setattr(Subproblems, "_program", noted)
    for solver in ("HIGHS", "CLARABEL"):
        path_solver(point_values(0), settings(solver)).path(np.array([0.3, 0.6]))
    assert ("linear", "HIGHS") in given
    assert ("curved", "HIGHS") not in given
    assert ("curved", "CLARABEL") in given


def test_large_points_are_solved_over_a_working_set(monkeypatch):
    values = point_values(0, n=40, m=120)
    path = relaxed_path(values, settings(betas=BETAS[::4]))
    assert (path.u1 <= native(values, betas=BETAS[::4]).u1 * (1 + 1e-6))[:-1].all()
    sizes, original = set(), Subproblems._program

    def noted(self, kind, solver, shape):
        sizes.add(shape[1])
        return original(self, kind, solver, shape)

    monkeypatch.setattr(Subproblems, "_program", noted)
    path_solver(point_values(3, n=40, m=120), settings()).path(np.array([0.5]))
    assert sizes == {40}


@pytest.mark.parametrize("solver", installed("PIQP", "CLARABEL"))
def test_steps_given_directly_have_the_optimum_of_those_given_by_cvxpy(solver):
    steps = []
    path_solver(point_values(0, m=12), settings(solver), steps).path(np.array([0.2, 0.5, 0.8]))
    options = BACKENDS[solver].options(1e-9)
    for step in [step for step in steps if step.kind in ("linear", "curved")]:
        compiled = CompiledProblem(
            program(step.kind, 12, len(step.numbers["h"]), 16, ALPHA), solver
        )
        values = [
            compiled.problem.objective.value
            for each in (BoxProgram(solver, ALPHA), compiled)
            if _hold(compiled.problem, step.numbers, each.solve(step.numbers, options).primal["f"])
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-8)


def _hold(problem, numbers, f):
    """Set a problem's values; return whether its constraints hold."""
    for parameter in problem.parameters():
        parameter.value = numbers[parameter.name()]
    problem.var_dict["f"].value = f
    return all(row.violation().max() <= 1e-7 for row in problem.constraints)


def test_options_of_the_user_reach_the_solver_by_cvxpy():
    if not BACKENDS["PIQP"].installed:
        pytest.skip("PIQP is missing")
    path = backend_path(point_values(0, m=6), settings("PIQP", options={"backend": "dense"}))
    assert path.failures.sum() == 0


def test_curvature_is_exact_along_the_fractional_features():
    rng = np.random.default_rng(0)
    root, slope = rng.standard_normal((6, 6)), rng.random(3)
    hessian = root + root.T
    hessian[:3, :3] += 10.0 * np.eye(3)
    R = exact_positive_root(hessian, slope, np.ones(3))
    move = np.zeros(6)
    move[:3] = np.cross(slope, np.ones(3))
    assert move @ R.T @ R @ move == pytest.approx(move @ hessian @ move)


def test_one_pass_down_leaves_out_no_better_optimum(monkeypatch):
    """Betas whose solutions lie on one face are not visited twice: all are, here."""
    values = point_values(0, n=30, m=20)
    quick = backend_path(values, settings(betas=np.linspace(0, 1, 21)))
    monkeypatch.setattr(backend_path_module, "_on_one_face", lambda *_: False)
    slow = backend_path(values, settings(betas=np.linspace(0, 1, 21)))
    assert quick.iterations.sum() < slow.iterations.sum()
    np.testing.assert_allclose(quick.u1, slow.u1, rtol=1e-6)


@pytest.mark.slow(cases=4)
@pytest.mark.parametrize("form", ["compactness", "bisection"])
@pytest.mark.parametrize("solver", installed("CLARABEL", "HIGHS", "ECOS", "SCS"))
def test_random_roundings_by_any_solver_give_a_model_that_is_proven(solver, form):
    data = load("subclasses:noise=5,n=4").scaled()
    settings = {"rounding": "random", "max_features": 2, "betas": 5, "random_state": 0}
    model = LLFS(solver=solver, form=form, **settings).fit(data.X, data.y)
    assert model.certificate_.ok is not False
    native = LLFS(**settings).fit(data.X, data.y)
    assert model.solution_.objective == pytest.approx(native.solution_.objective, rel=1e-3)


def test_what_tangents_alone_leave_is_ended_by_curvature_and_recorded():
    data = load("subclasses:noise=5,n=4").scaled()
    model = LLFS(solver="HIGHS", max_features=2, betas=5).fit(data.X, data.y)
    assert model.points_["failures"].sum() > 0
    assert model.points_["residual"].max() <= 1e-6
