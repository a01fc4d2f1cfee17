import numpy as np
import pytest

from convexfs import FORMULATIONS, certify, solve
from convexfs.methods.base.solve_step import certify_by_formula
from tests.typed import known

SMOOTH = ("knockoffs-me", "knockoffs-mvr")
NATIVE = (*SMOOTH, "knockoffs-equi")


def autoregressive(n, rho=0.5):
    at = np.arange(n)
    return rho ** np.abs(np.subtract.outer(at, at))


def equicorrelated(n, rho):
    return np.full((n, n), rho) + (1 - rho) * np.eye(n)


def random_correlations(n, seed=0):
    root = np.random.default_rng(seed).standard_normal((n, n + 2))
    covariance = root @ root.T
    spread = np.sqrt(covariance.diagonal())
    return covariance / np.outer(spread, spread)


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("Sigma", [autoregressive(6), random_correlations(6)], ids=["ar", "random"])
def test_the_native_answer_is_clarabels(name, Sigma):
    row = FORMULATIONS[name]
    problem = row.build(Sigma=Sigma)
    backend = solve(problem, "CLARABEL", tol=1e-8)
    assert certify(problem, backend, tol=1e-5).ok
    native = known(row.native)(Sigma=Sigma)
    assert native.objective == pytest.approx(backend.objective, rel=1e-6)
    np.testing.assert_allclose(native.primal["s"], backend.primal["s"], rtol=1e-3)
    problem.var_dict["s"].value = native.primal["s"]
    assert native.objective == pytest.approx(problem.objective.value, rel=1e-12)
    assert certify_by_formula(row, {"Sigma": Sigma}, {}, native).ok


@pytest.mark.parametrize(
    "Sigma",
    [autoregressive(60), autoregressive(200, 0.9), equicorrelated(20, 0.9999),
     random_correlations(40), np.eye(1)],
    ids=["ar", "strong ar", "nearly copies", "random", "one feature"],
)  # fmt: skip
@pytest.mark.parametrize("name", SMOOTH)
def test_newton_reaches_the_optimum_of_large_and_hard_correlations(name, Sigma):
    row = FORMULATIONS[name]
    native = known(row.native)(Sigma=Sigma)
    assert native.solved
    assert certify_by_formula(row, {"Sigma": Sigma}, {}, native, tol=1e-11).ok


def test_entropy_is_largest_where_each_s_is_one_over_its_entry_of_the_inverse():
    Sigma = autoregressive(30)
    s = known(FORMULATIONS["knockoffs-me"].native)(Sigma=Sigma).primal["s"]
    inverse = np.linalg.inv(2 * Sigma - np.diag(s))
    assert np.abs(1 - s * inverse.diagonal()).max() < 1e-6


@pytest.mark.parametrize("name", SMOOTH)
def test_the_gap_is_a_dual_value_minus_the_objective(name):
    Sigma = random_correlations(5)
    s = np.full(5, np.linalg.eigvalsh(Sigma)[0]) * np.linspace(0.5, 1.0, 5)
    A = 2 * Sigma - np.diag(s)
    inverse = np.linalg.inv(A)
    if name == "knockoffs-me":
        Y = inverse
        dual = 2 * np.trace(Y @ Sigma) - np.linalg.slogdet(Y)[1] - np.log(Y.diagonal()).sum() - 10
        expected = dual - (np.log(s).sum() + np.linalg.slogdet(A)[1])
    else:
        Y = inverse @ inverse
        dual = 2 * np.sqrt(Y.diagonal()).sum() + 2 * np.trace(inverse) - 2 * np.trace(Y @ Sigma)
        expected = (1 / s).sum() + np.trace(inverse) - dual
    assert expected > 0.1
    assert FORMULATIONS[name].gap({"Sigma": Sigma}, {}, {"s": s}) == pytest.approx(expected)


@pytest.mark.parametrize("name", SMOOTH)
def test_outside_there_is_no_bound(name):
    values = {"Sigma": equicorrelated(4, 0.5)}
    assert FORMULATIONS[name].gap(values, {}, {"s": np.full(4, 1.5)}) == np.inf
    assert FORMULATIONS[name].violation(values, {}, {"s": np.full(4, 1.5)}) == pytest.approx(0.5)


@pytest.mark.parametrize("name", NATIVE)
def test_unrelated_features_have_unrelated_knockoffs(name):
    s = known(FORMULATIONS[name].native)(Sigma=np.eye(5)).primal["s"]
    np.testing.assert_allclose(s, 1.0, rtol=1e-6)


def test_equal_s_is_twice_the_least_eigenvalue_or_one():
    native = known(FORMULATIONS["knockoffs-equi"].native)
    np.testing.assert_allclose(native(Sigma=equicorrelated(5, 0.8)).primal["s"], 0.4)
    np.testing.assert_allclose(native(Sigma=equicorrelated(5, 0.2)).primal["s"], 1.0)
    row, values = FORMULATIONS["knockoffs-equi"], {"Sigma": np.eye(3)}
    assert row.violation(values, {}, {"s": np.array([0.5, 0.6, 0.5])}) == pytest.approx(0.1)


def test_the_semidefinite_program_has_the_largest_sum():
    Sigma = random_correlations(6)
    problem = FORMULATIONS["knockoffs-sdp"].build(Sigma=Sigma)
    best = solve(problem, "CLARABEL")
    assert certify(problem, best).ok
    for name in NATIVE:
        s = np.minimum(known(FORMULATIONS[name].native)(Sigma=Sigma).primal["s"], 1.0)
        assert s.sum() <= known(best.objective) + 1e-6
