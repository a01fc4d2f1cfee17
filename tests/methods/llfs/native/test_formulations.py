import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from convexfs import solve
from convexfs.errors import InputError
from convexfs.methods import FORMULATIONS
from convexfs.methods.llfs.native import (
    llfs_compactness_gap,
    llfs_linear,
    llfs_separation_gap,
    violation,
)
from convexfs.methods.llfs.native.linear_program import dual_value, priced_minimum
from convexfs.methods.llfs.native.local_path import local_path, local_point
from convexfs.methods.llfs.numbers import local_values, secant_bound
from convexfs.methods.llfs.rounding import best_subset
from convexfs.methods.llfs.utility import mean_utility, mean_utility_gradient
from tests.methods.llfs.points import BETAS, point_values, sample
from tests.typed import known

seeds = st.integers(0, 2**32 - 1)


def solved(values, alpha, betas=BETAS, both_ways=True):
    return local_path(local_point(**values, max_features=alpha), betas, both_ways)


def kkt_residual(values, alpha, f, mu):
    """From the definition: no exchange of features, or with the unspent budget, lowers r'f."""
    s, lam = values["s"], values["lam"]
    g1 = mean_utility_gradient(values["a_same"], f, s, lam)
    g2 = mean_utility_gradient(values["a_other"], f, s, lam)
    r = g1 - mu * g2
    can_rise, can_fall = f < 1, f > 0
    rise = [r[can_rise].min()] if can_rise.any() else []
    fall = [r[can_fall].max()]
    if f.sum() < alpha - 1e-9:
        fall.append(0.0)
    if f.sum() > 1 + 1e-9:
        rise.append(0.0)
    if not rise:
        return 0.0
    return max(max(fall) - min(rise), 0.0) / max(np.abs(g1).max(), mu * g2.max())


def assert_local_optima(values, alpha, path):
    s, lam = values["s"], values["lam"]
    assert path.max_residual <= 1e-6
    for beta, f, u1, u2 in zip(path.betas, path.f, path.u1, path.u2, strict=True):
        at_level = {**values, "eps": beta * path.eps_max}
        assert violation(at_level, {"max_features": alpha}, {"f": f}) <= 1e-9
        assert u1 == pytest.approx(mean_utility(values["a_same"], f, s, lam), abs=1e-12)
        assert u2 == pytest.approx(mean_utility(values["a_other"], f, s, lam), abs=1e-12)
    for b in np.flatnonzero((path.betas > 0) & (path.betas < 1)):
        at_level = {**values, "eps": path.betas[b] * path.eps_max}
        assert kkt_residual(values, alpha, path.f[b], path.mu[b]) <= 1e-6
        gap = llfs_compactness_gap(at_level, {"max_features": alpha}, {"f": path.f[b]})
        assert gap <= 1e-6 * path.u1[b]
    assert (path.residual <= 1e-6).all()
    assert (np.diff(path.u1) >= -1e-9).all()


@pytest.mark.parametrize("sigma_init", ["feasible", "literal"])
@pytest.mark.parametrize(("m", "alpha"), [(12, 3), (40, 6), (5, 5), (8, 1), (2, 2)])
def test_every_beta_is_a_feasible_kkt_point(m, alpha, sigma_init):
    for seed in range(5):
        values = point_values(seed, m=m, alpha=alpha, sigma_init=sigma_init)
        assert_local_optima(values, alpha, solved(values, alpha))


def awkward(kind, rng):
    binary = (rng.random((40, 8)) < 0.15).astype(float)
    return {
        "sparse binary columns three times": np.tile(binary, (1, 3)),
        "heavy tails": rng.standard_cauchy((40, 15)),
        "three values": rng.integers(0, 3, (40, 15)).astype(float),
        "mostly constant": np.hstack([rng.standard_normal((40, 4)), np.ones((40, 10))]),
        "twins": np.repeat(rng.standard_normal((40, 6)), 2, axis=1),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "sparse binary columns three times",
        "heavy tails",
        "three values",
        "mostly constant",
        "twins",
    ],
)
def test_awkward_columns_converge_at_every_beta(kind):
    for seed in range(6):
        X, y = awkward(kind, np.random.default_rng(seed)), np.arange(40) % 2
        for point in (0, 7):
            values = local_values(X, y, point, 4)
            path = solved(values, 4)
            assert (path.residual <= 1e-6).all()
            assert (path.u2 >= path.betas * path.eps_max * (1 - 1e-9)).all()


@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_separation_is_the_maximum_by_its_tangent(seed):
    values = point_values(seed, alpha=3)
    path = solved(values, 3, np.array([1.0]))
    gap = llfs_separation_gap(values, {"max_features": 3}, {"f": path.f[0]})
    assert gap <= 1e-7 * path.eps_max
    f = np.random.default_rng(seed).dirichlet(np.ones(12), 200) * 3
    f = f[f.max(axis=1) <= 1]
    best = max(mean_utility(values["a_other"], g, values["s"], values["lam"]) for g in f)
    assert best <= path.eps_max + 1e-12


def test_beta_0_is_the_feature_of_least_u1():
    values = point_values(3)
    singles = [mean_utility(values["a_same"], e, values["s"], values["lam"]) for e in np.eye(12)]
    f = solved(values, 3).f[0]
    np.testing.assert_array_equal(f, np.eye(12)[np.argmin(singles)])


def test_at_beta_1_the_maximiser_of_least_u1_is_taken():
    """Columns 0 and 1 are equal for the other class; only column 1 is small for the own."""
    rng = np.random.default_rng(1)
    values = point_values(1, m=6, alpha=1)
    far = rng.random(len(values["a_other"])) + 3
    values["a_other"][:, 0] = values["a_other"][:, 1] = far
    values["a_same"][:, 0], values["a_same"][:, 1] = 2.0, 0.1
    path = solved(values, 1, np.array([1.0]))
    np.testing.assert_allclose(path.f[0], np.eye(6)[1])


def test_the_way_back_never_ends_higher():
    for seed in range(10):
        values = point_values(seed, m=30, alpha=4)
        one, two = (solved(values, 4, both_ways=both) for both in (False, True))
        assert (two.u1 <= one.u1 + 1e-12).all()


def test_a_general_solver_started_there_finds_nothing_lower():
    values = point_values(5)
    s, lam = values["s"], values["lam"]
    path = solved(values, 3)
    for b in (5, 10, 15):
        eps = path.betas[b] * path.eps_max
        found = minimize(
            lambda f: mean_utility(values["a_same"], f, s, lam),
            path.f[b],
            jac=lambda f: mean_utility_gradient(values["a_same"], f, s, lam),
            method="SLSQP",
            bounds=[(0, 1)] * 12,
            constraints=[
                {"type": "ineq", "fun": lambda f: 3 - f.sum()},
                {"type": "ineq", "fun": lambda f: f.sum() - 1},
                {
                    "type": "ineq",
                    "fun": lambda f, eps=eps: mean_utility(values["a_other"], f, s, lam) - eps,
                },
            ],
        )
        assert found.fun >= path.u1[b] - 1e-7


@given(seed=seeds)
@settings(deadline=None, max_examples=20)
def test_permuted_features_permute_the_solution(seed):
    values = point_values(seed, m=10)
    order = np.random.default_rng(seed).permutation(10)
    moved = {
        name: value[:, order] if name.startswith("a_") else value for name, value in values.items()
    }
    np.testing.assert_allclose(solved(moved, 3).u1, solved(values, 3).u1, rtol=1e-3)
    assert solved(moved, 3).eps_max == pytest.approx(solved(values, 3).eps_max, rel=1e-9)


@given(seed=seeds, scale=st.floats(1e-3, 1e3))
@settings(deadline=None, max_examples=20)
def test_one_scale_for_all_features_changes_the_sigmoid_part_only(seed, scale):
    X, y = sample(seed)
    one, other = (local_values(c * X, y, 0, 3) for c in (1.0, scale))
    assert other["s"] * scale == pytest.approx(one["s"])
    one["lam"], other["lam"] = 0.01, 0.01 / scale
    np.testing.assert_allclose(solved(other, 3).f, solved(one, 3).f, atol=1e-5)


def subsets(m, alpha):
    for size in range(1, alpha + 1):
        for chosen in itertools.combinations(range(m), size):
            f = np.zeros(m)
            f[list(chosen)] = 1
            yield f


@given(seed=seeds, beta=st.floats(0.05, 0.95))
@settings(deadline=None, max_examples=20)
def test_the_search_finds_the_best_subset_and_the_bound_is_below_it(seed, beta):
    values = point_values(seed, m=8)
    s, lam = values["s"], values["lam"]
    path = solved(values, 3, np.array([beta, 1.0]))
    eps = beta * path.eps_max
    feasible = [f for f in subsets(8, 3) if mean_utility(values["a_other"], f, s, lam) >= eps]
    mask, value, _ = best_subset(**values, eps=eps, max_features=3)
    assert (mask is None) == (not feasible)
    best = min((mean_utility(values["a_same"], f, s, lam) for f in feasible), default=np.inf)
    assert value == pytest.approx(best, rel=1e-12, abs=0)
    bound = secant_bound(**values, eps=eps, max_features=3, tangent=path.f[0])
    assert bound <= min(best, path.u1[0]) + 1e-9


@given(seed=seeds, beta=st.floats(0, 1))
@settings(deadline=None, max_examples=30)
def test_the_linear_form_meets_its_dual_bound(seed, beta):
    values = point_values(seed)
    solution = llfs_linear(values["a_same"], values["a_other"], beta, 3)
    c1, c2 = values["a_same"].mean(axis=0), values["a_other"].mean(axis=0)
    level = beta * np.sort(c2)[-3:].sum()
    mu = float(solution.dual["level"][0])
    assert solution.objective == pytest.approx(dual_value(c1, c2, level, 3, mu), abs=1e-9)
    given = {"a_same": values["a_same"], "a_other": values["a_other"]}
    assert violation(given, {"beta": beta, "max_features": 3}, solution.primal) <= 1e-9


def test_a_level_out_of_reach_is_lowered_to_the_most_there_is():
    c, d = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0])
    np.testing.assert_allclose(priced_minimum(c, d, 100.0, 2).f, [1, 0, 1])


def test_of_entries_equal_up_to_rounding_the_cheaper_one_is_taken():
    d = np.array([0.3, 0.1 + 0.2, 0.1])
    assert d[1] > d[0]
    priced = priced_minimum(np.array([0.0, 1.0, 0.0]), d, d[1], 1)
    np.testing.assert_array_equal(priced.f, [1, 0, 0])
    assert priced.bound == pytest.approx(0.0, abs=1e-12)


@given(seeds, st.integers(1, 5), st.booleans())
def test_priced_minimum_is_the_optimum_of_the_linear_program(seed, alpha, ties):
    rng = np.random.default_rng(seed)
    c, d = rng.normal(size=(2, 6))
    if ties:
        c, d = np.round(c), np.round(d)
    level = rng.uniform(-2.0, 3.0)
    rows = np.array([-d, np.ones(6), -np.ones(6)])
    reached = linprog(-d, rows[1:], [alpha, -1.0], bounds=(0, 1))
    level = min(level, -reached.fun)
    best = linprog(c, rows, [1e-12 - level, alpha, -1.0], bounds=(0, 1))
    found = priced_minimum(c, d, level, alpha)
    assert found.bound == pytest.approx(best.fun, abs=1e-7)
    assert c @ found.f == pytest.approx(best.fun, abs=1e-7)
    assert d @ found.f >= level - 1e-9
    assert dual_value(c, d, level, alpha, found.mu) == pytest.approx(found.bound, abs=1e-9)


@pytest.mark.parametrize("name", ["llfs-separation", "llfs-compactness", "llfs-linear"])
@pytest.mark.parametrize("point", [-1, 12, 13])
def test_a_point_must_be_one_of_the_samples(name, point):
    with pytest.raises(InputError, match=f"at least 0 and at most 11, not {point}"):
        FORMULATIONS[name].numbers(*sample(3, n=12), point=point)


def native_step(beta, step):
    """The numbers of a step, and native's answer to it."""
    row = FORMULATIONS["llfs-compactness"]
    values, hyper = row.numbers(*sample(3), point=2, beta=beta, max_features=3, step=step)
    return values, hyper, known(row.native)(**values, **hyper)


@pytest.mark.parametrize("step", ["first", "last"])
@pytest.mark.parametrize("beta", [0.0, 0.35, 0.8, 1.0])
def test_the_native_step_is_the_problem_that_backends_solve(beta, step):
    values, hyper, native = native_step(beta, step)
    assert violation(values, hyper, native.primal) <= 1e-12
    assert llfs_compactness_gap(values, hyper, native.primal) <= 1e-12
    build = FORMULATIONS["llfs-compactness"].build
    backend = solve(build(**values, **hyper), "HIGHS", 1e-9)
    assert native.objective == pytest.approx(backend.objective, rel=1e-9, abs=1e-12)
    price, its_price = native.dual["tangents"][0], backend.dual["tangents"][0]
    # At the ends many prices will do.
    assert beta in (0, 1) or price == pytest.approx(its_price, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("beta", [0.0, 0.35, 0.8])
def test_the_last_step_gains_nothing(beta):
    values, _, native = native_step(beta, "last")
    u1 = mean_utility(values["a_same"], values["iterate"], values["s"], values["lam"])
    assert native.objective == pytest.approx(u1, rel=1e-6)
