import cvxpy as cp
import numpy as np
import pytest

from convexfs import certify, solve
from convexfs.errors import InputError
from convexfs.formulations.llfs import (
    allowed_sets,
    llfs_linear,
    llfs_ratio,
    llfs_separation,
    llfs_smooth,
    llfs_tangent_step,
)
from convexfs.formulations.llfs_utility import SATURATION, mean_utility, utility, utility_slope
from convexfs.methods.llfs_convex import ConvexRoad
from convexfs.native.llfs_exact import best_subset
from convexfs.native.llfs_path import local_path, local_point
from tests.llfs_points import BETAS, point_values

ALPHA = 3


def road(seed=0, solver="HIGHS", m=12, **changes):
    return ConvexRoad(**point_values(seed, m=m), max_features=ALPHA, solver=solver, **changes)


def test_four_samples_show_that_eq_7_is_not_quasi_convex():
    """Two strict local minima with a higher value between them."""
    a_same, a_other = np.array([[1.0, 0.0], [0.0, 1.2]]), np.array([[1.0, 1.0]])
    s, lam = SATURATION, 0.005
    eps_max = mean_utility(a_other, np.ones(2), s, lam)
    eps = 0.9331 * eps_max
    line = [np.array([1 - t, t]) for t in np.linspace(0, 1, 101)]
    # On the line the other sample is at distance 1, just far enough.
    assert all(mean_utility(a_other, f, s, lam) >= eps for f in line)
    u1 = np.array([mean_utility(a_same, f, s, lam) for f in line])
    np.testing.assert_allclose(u1[[0, 50, 100]], [0.2375, 0.3727, 0.2454], atol=1e-4)
    assert (np.diff(u1[:40]) > 0).all()
    assert (np.diff(u1[-40:]) < 0).all()
    # Nothing feasible lies below the line, so both ends are strict local minima.
    assert mean_utility(a_other, np.array([0.5, 0.49]), s, lam) < eps


def test_g_is_increasing_concave_and_below_its_tangents():
    z = np.linspace(0, 5, 200)
    g = utility(z, 2.0, 0.01)
    assert (np.diff(g) > 0).all()
    assert (np.diff(g, 2) < 1e-15).all()
    for at in (0.0, 0.7, 3.0):
        line = utility(at, 2.0, 0.01) + utility_slope(at, 2.0, 0.01) * (z - at)
        assert (line >= g - 1e-15).all()


@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL", "ECOS"])
def test_separation_agrees_across_backends_and_with_native(solver):
    for seed in range(3):
        found = road(seed, solver)
        native = local_path(
            local_point(**point_values(seed), max_features=ALPHA), np.array([1.0])
        ).eps_max
        assert found.u2(found.separation()) == pytest.approx(native, rel=1e-6)


def test_one_certified_program_with_a_tangent_at_the_solution_is_exact():
    values = point_values(1)
    path = local_path(local_point(**values, max_features=ALPHA), np.array([1.0]))
    given = {name: values[name] for name in ("a_other", "s", "lam")}
    problem = llfs_separation(**given, max_features=ALPHA, tangents=path.f)
    solution = solve(problem, "HIGHS")
    assert certify(problem, solution).ok
    assert solution.objective == pytest.approx(path.eps_max, rel=1e-9)


def test_compactness_of_native_is_not_above_the_convex_road():
    betas = np.array([0.2, 0.5, 0.8, 1.0])
    for seed in range(3):
        other = road(seed).path(betas)
        native = local_path(local_point(**point_values(seed), max_features=ALPHA), BETAS)
        at = np.searchsorted(BETAS, betas - 1e-9)
        # At beta = 1 there is one point only, as accurate as (6) was solved.
        assert (native.u1[at][:-1] <= other.u1[:-1] * (1 + 1e-6)).all()
        assert (other.u2 >= betas * other.eps_max * (1 - 1e-9)).all()
        assert (other.residual <= 1e-6).all()


def test_bisection_and_majorise_minimise_end_at_the_same_value_from_the_same_start():
    steps, halves = road(0, m=5), road(0, m=5)
    widest = steps.separation()
    eps = 0.6 * steps.u2(widest)
    one, _ = steps.compactness(eps, widest, widest)
    two, _ = halves.bisection(eps, widest, widest)
    assert steps.u1(one) == pytest.approx(steps.u1(two), rel=1e-6)


def test_steps_only_go_down_and_stay_feasible():
    found = road(4)
    widest = found.separation()
    eps = 0.6 * found.u2(widest)
    f, promise = found.compactness(eps, widest, widest)
    assert found.u1(f) < found.u1(widest)
    assert found.u2(f) >= eps
    assert promise <= 1e-9


def test_the_ratio_is_quasi_convex_and_dinkelbach_finds_its_least_value():
    found = road(2)
    widest = found.separation()
    eps = 0.5 * found.u2(widest)
    c1 = found.a_same.mean(axis=0)

    def ratio(f):
        return c1 @ f / found.u2(f)

    rng = np.random.default_rng(0)
    points = [p for p in rng.dirichlet(np.ones(12), 300) * 2 if p.max() <= 1]
    for one, other in zip(points[:100], points[100:200], strict=False):
        assert ratio(0.5 * (one + other)) <= max(ratio(one), ratio(other)) + 1e-12
    f, least = found.ratio(eps, widest, widest)
    assert found.u2(f) >= eps
    assert least == pytest.approx(ratio(f))
    assert least <= min(ratio(p) for p in [*points, widest] if found.u2(p) >= eps) + 1e-9
    # F changes its sign there: the question a bisection on t would ask.
    values = {name: getattr(found, name) for name in ("a_same", "a_other", "s", "lam")}
    t = cp.Parameter(nonneg=True)
    problem = llfs_ratio(
        **values, eps=eps, max_features=ALPHA, ratio=t, tangents=np.array(found.tangents)
    )
    assert problem.is_dpp()
    for t.value, sign in ((0.99 * least, 1), (1.01 * least, -1)):
        assert sign * solve(problem, "HIGHS").objective > 0


def test_the_mixed_integer_program_finds_what_the_search_finds():
    for seed in range(2):
        found = road(seed, m=8)
        eps = 0.6 * found.u2(found.separation())
        mask, value, _ = best_subset(**point_values(seed, m=8), eps=eps, max_features=ALPHA)
        f = found.exact(eps)
        assert found.u1(f) == pytest.approx(value, rel=1e-6)
        np.testing.assert_array_equal(f > 0.5, mask)


def test_slopes_and_levels_may_be_parameters():
    values = point_values(0)
    slope, eps = cp.Parameter(12), cp.Parameter(nonneg=True)
    given = {name: values[name] for name in ("a_other", "s", "lam")}
    step = llfs_tangent_step(
        slope, **given, eps=eps, max_features=ALPHA, tangents=np.full((1, 12), 0.25)
    )
    beta = cp.Parameter(nonneg=True)
    linear = llfs_linear(values["a_same"], values["a_other"], beta, ALPHA)
    assert step.is_dpp()
    assert linear.is_dpp()


def test_other_constraints_hold_in_every_stage():
    def whole_budget(f, max_features):
        return [f >= 0, f <= 1, cp.sum(f) == max_features, f[2] == 0]

    path = road(0, feasible=whole_budget).path(np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(path.f.sum(axis=1), ALPHA, atol=1e-6)
    np.testing.assert_allclose(path.f[:, 2], 0, atol=1e-9)


def cost_limit(price, limit):
    """The paper's constraints and a linear one."""
    return lambda f, alpha: [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= alpha, price @ f <= limit]


def test_allowed_sets_are_those_that_keep_every_constraint():
    rng = np.random.default_rng(0)
    sets, price = rng.random((40, 6)) < 0.4, np.arange(1.0, 7.0)

    def mixed(f, max_features):
        return [*cost_limit(price, 9)(f, max_features), f[0] + f[5] == 1, cp.norm(f, 2) <= 1.5]

    by_hand = (
        (sets.sum(axis=1) >= 1) & (sets.sum(axis=1) <= 3) & (sets @ price <= 9)
        & (sets[:, 0] ^ sets[:, 5]) & (sets.sum(axis=1) <= 2)
    )  # fmt: skip
    assert 0 < by_hand.sum() < 40
    np.testing.assert_array_equal(allowed_sets(sets, mixed, 3), by_hand)
    with pytest.raises(InputError, match="variables of its own"):
        allowed_sets(sets, lambda f, _: [f <= cp.Variable(6)], 3)


def test_the_linear_form_reaches_what_changed_constraints_allow():
    values, price = point_values(0), np.arange(1.0, 13.0)
    found = ConvexRoad(
        **values, max_features=ALPHA, feasible=cost_limit(price, 4.0), solver="HIGHS"
    )
    path = found.path(np.array([0.5, 1.0]), "linear")
    c2 = values["a_other"].mean(axis=0)
    f = cp.Variable(12)
    most = cp.Problem(cp.Maximize(c2 @ f), cost_limit(price, 4.0)(f, ALPHA)).solve("HIGHS")
    assert path.u2[-1] == pytest.approx(most, rel=1e-6)
    assert path.u2[0] >= 0.5 * most * (1 - 1e-6)
    assert (path.f @ price <= 4 + 1e-6).all()


def test_the_last_step_under_changed_constraints_is_solved_by_its_own_iterate():
    found = road(0, feasible=cost_limit(np.arange(1.0, 13.0), 4.0))
    problem = found.last_step(0.5)
    iterate = found.path(np.array([0.5]))
    solution = solve(problem, "HIGHS")
    assert certify(problem, solution).ok
    assert solution.objective == pytest.approx(iterate.u1[0], rel=1e-5)


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
def test_a_general_solver_of_the_smooth_problem_agrees_with_native(beta):
    pytest.importorskip("unopy", reason="needs the extra nlp")
    for seed in range(3):
        values = point_values(seed)
        path = local_path(local_point(**values, max_features=ALPHA), np.array([0.0, beta, 1.0]))
        problem = llfs_smooth(**values, eps=beta * path.eps_max, max_features=ALPHA)
        problem.solve(nlp=True, solver="UNO")
        assert path.u1[1] <= problem.value * (1 + 1e-6)
        # Started at native's answer it finds nothing better nearby.
        problem.var_dict["f"].value = path.f[1]
        problem.solve(nlp=True, solver="UNO")
        assert problem.value == pytest.approx(path.u1[1], rel=1e-6)
