import cvxpy as cp
import numpy as np
import pytest

from convexfs import certify, solve
from convexfs.errors import InputError
from convexfs.methods.llfs.native.local_path import local_path, local_point
from convexfs.methods.llfs.problem import (
    allowed_sets,
    llfs_compactness,
    llfs_linear,
    llfs_separation,
    llfs_tangent_step,
)
from convexfs.methods.llfs.problem_steps import PROGRAMS, feasible, program
from convexfs.methods.llfs.utility import SATURATION, mean_utility, utility, utility_slope
from tests.methods.llfs.points import point_values
from tests.typed import number

ALPHA = 3


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
    for at in np.array([0.0, 0.7, 3.0]):
        line = utility(at, 2.0, 0.01) + utility_slope(at, 2.0, 0.01) * (z - at)
        assert (line >= g - 1e-15).all()


def test_one_certified_program_with_a_tangent_at_the_solution_is_exact():
    values = point_values(1)
    path = local_path(local_point(**values, max_features=ALPHA), np.array([1.0]))
    given = {name: values[name] for name in ("a_other", "s", "lam")}
    problem = llfs_separation(**given, max_features=ALPHA, tangents=path.f)
    solution = solve(problem, "HIGHS")
    assert certify(problem, solution).ok
    assert solution.objective == pytest.approx(path.eps_max, rel=1e-9)


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


def test_a_step_has_both_tangents_at_its_iterate():
    values, iterate = point_values(0), np.full(12, 0.25)
    s, lam = values["s"], values["lam"]
    problem = llfs_compactness(**values, eps=0.3, max_features=ALPHA, iterate=iterate)
    problem.var_dict["f"].value = iterate
    assert problem.objective.value == pytest.approx(mean_utility(values["a_same"], iterate, s, lam))
    # The tangent of the concave U2 lies above it, and meets it at the iterate.
    (level,) = [c for c in problem.constraints if c.label == "tangents"]
    u2 = mean_utility(values["a_other"], iterate, s, lam)
    assert level.violation() == pytest.approx(max(0.3 - u2, 0))
    f = np.eye(12)[3]
    problem.var_dict["f"].value = f
    assert level.violation() <= max(0.3 - mean_utility(values["a_other"], f, s, lam), 0)
    assert number(problem.objective.value) >= mean_utility(values["a_same"], f, s, lam)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_every_program_of_the_road_is_dpp(kind):
    problem = program(kind, n_features=6, n_tangents=3, rank=2, max_features=2)
    assert problem.is_dpp()
    assert problem.var_dict["f"].shape == (6,)


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
    with pytest.raises(InputError, match="feasible adds variables"):
        allowed_sets(sets, lambda f, _: [f <= cp.Variable(6)], 3)


def smooth_problem(a_same, a_other, s, lam, eps, max_features):
    """(7) as it is, for cvxpy's interface to nonlinear solvers: G(z) = tanh(sz/2)/2 + lam z."""
    f = cp.Variable(a_other.shape[1], name="f", bounds=[0, 1])
    f.value = np.full(f.size, max_features / f.size)

    def mean(a):
        z = a @ f
        return cp.sum(0.5 * cp.nlp.tanh(0.5 * s * z) + lam * z) / len(a)

    return cp.Problem(cp.Minimize(mean(a_same)), [mean(a_other) >= eps, *feasible(f, max_features)])


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
def test_a_general_solver_of_the_smooth_problem_agrees_with_native(beta):
    pytest.importorskip("unopy", reason="needs the extra nlp")
    for seed in range(3):
        values = point_values(seed)
        path = local_path(local_point(**values, max_features=ALPHA), np.array([0.0, beta, 1.0]))
        problem = smooth_problem(**values, eps=beta * path.eps_max, max_features=ALPHA)
        problem.solve(nlp=True, solver="UNO")
        assert path.u1[1] <= number(problem.value) * (1 + 1e-6)
        # Started at native's answer it finds nothing better nearby.
        problem.var_dict["f"].value = path.f[1]
        problem.solve(nlp=True, solver="UNO")
        assert problem.value == pytest.approx(path.u1[1], rel=1e-6)
