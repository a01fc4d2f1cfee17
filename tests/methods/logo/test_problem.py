import cvxpy as cp
import numpy as np
import pytest

from convexfs import certify, solve
from convexfs.errors import ConvexfsWarning
from convexfs.methods.logo.native import logo_penalised as native_penalised
from convexfs.methods.logo.problem import logo_constrained, logo_penalised
from tests.kkt import assert_kkt

Z = np.random.default_rng(3).standard_normal((25, 12)) + 0.2


def dual_of_eq_7(Z, lam):
    r"""The dual of eq. 7, with H the binary entropy in nats.

    .. math::
        \max_p\; \sum_n H(p_n) \quad\text{s.t.}\quad Z^T p \le \lambda 1,\; 0 \le p \le 1

    The multipliers of the first constraint are w.
    """
    p = cp.Variable(Z.shape[0], name="p")
    return cp.Problem(cp.Maximize(_entropy(p)), [(Z.T @ p <= lam).set_label("w")])


def dual_of_eq_8(Z, beta):
    r"""The dual of eq. 8; t is the multiplier of the budget.

    .. math::
        \max_{p,t}\; \sum_n H(p_n) - \beta t
        \quad\text{s.t.}\quad Z^T p \le t 1,\; t \ge 0,\; 0 \le p \le 1
    """
    p, t = cp.Variable(Z.shape[0], name="p"), cp.Variable(name="t")
    below = (Z.T @ p <= t).set_label("w")
    return cp.Problem(cp.Maximize(_entropy(p) - beta * t), [below, t >= 0])


def _entropy(p):
    """``sum H(p)``, whose domain is 0 <= p <= 1."""
    return cp.sum(cp.entr(p) + cp.entr(1 - p))


@pytest.mark.parametrize("problem", [logo_penalised(Z, 0.7), logo_constrained(Z, 1.5)])
def test_solved_problems_satisfy_kkt_and_are_certified(problem):
    solution = solve(problem, "CLARABEL", 1e-8)
    assert_kkt(problem, 1e-4)
    assert certify(problem, solution).ok


@pytest.mark.parametrize(
    ("problem", "dual"),
    [
        (logo_penalised(Z, 0.7), dual_of_eq_7(Z, 0.7)),
        (logo_constrained(Z, 1.5), dual_of_eq_8(Z, 1.5)),
    ],
)
def test_the_dual_has_the_same_value_and_the_weights_as_multipliers(problem, dual):
    primal, mirrored = solve(problem, "CLARABEL", 1e-8), solve(dual, "CLARABEL", 1e-8)
    assert primal.objective == pytest.approx(mirrored.objective, rel=1e-6)
    np.testing.assert_allclose(mirrored.dual["w"], primal.primal["w"], atol=1e-3)
    p = 1 / (1 + np.exp(Z @ primal.primal["w"]))
    np.testing.assert_allclose(mirrored.primal["p"], p, atol=1e-3)


def test_prices_and_budgets_may_be_parameters():
    lam, beta = cp.Parameter(nonneg=True), cp.Parameter(nonneg=True)
    path, garrote = logo_penalised(Z, lam), logo_constrained(Z, beta)
    assert path.is_dpp()
    assert garrote.is_dpp()
    for lam.value in (0.5, 2.0):
        expected = native_penalised(Z, lam.value)
        assert solve(path, "CLARABEL").objective == pytest.approx(expected.objective, rel=1e-6)
        beta.value = expected.primal["w"].sum()
        spent = solve(garrote, "CLARABEL")
        assert spent.primal["w"] == pytest.approx(expected.primal["w"], abs=1e-3)


@pytest.mark.parametrize("build", [logo_penalised, logo_constrained])
def test_a_problem_too_large_to_be_given_as_a_whole_says_so(build):
    with pytest.warns(ConvexfsWarning, match="2000 x 1001 margins takes a cvxpy solver minutes"):
        build(np.zeros((2000, 1001)), 1.0)
