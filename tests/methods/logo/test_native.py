import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from convexfs import FORMULATIONS, solve
from convexfs.methods.base.solve_step import solve_step
from convexfs.methods.logo.native import (
    lam_max,
    logo_constrained,
    logo_constrained_gap,
    logo_constrained_violation,
    logo_penalised,
    logo_penalised_gap,
    logo_penalised_violation,
)
from convexfs.methods.logo.newton import Constrained, Penalised
from convexfs.methods.logo.working_set import DenseColumns, hyper_of, solve_by_working_set
from tests.solvers import installed
from tests.typed import known

PENALISED, CONSTRAINED = FORMULATIONS["logo-penalised"], FORMULATIONS["logo-constrained"]


def margins_of(seed=0, n=30, j=60, shift=0.3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, j)) + shift * (np.arange(j) < 5)


def loss(Z, w):
    return np.logaddexp(0, -(Z @ w)).sum()


@pytest.mark.parametrize("solver", installed("CLARABEL", "ECOS", "SCS"))
@pytest.mark.parametrize("lam", [0.2, 2.0])
def test_the_price_is_paid_as_cvxpy_pays_it(solver, lam):
    Z = margins_of()
    native = logo_penalised(Z, lam)
    other = solve(PENALISED.build(Z, lam), solver)
    assert native.objective == pytest.approx(other.objective, rel=1e-5)
    np.testing.assert_allclose(Z @ native.primal["w"], Z @ other.primal["w"], atol=1e-2)
    np.testing.assert_allclose(native.dual["sign"], other.dual["sign"], atol=1e-2)


@pytest.mark.parametrize("solver", installed("CLARABEL", "ECOS", "SCS"))
@pytest.mark.parametrize("beta", [0.1, 3.0])
def test_the_budget_is_spent_as_cvxpy_spends_it(solver, beta):
    Z = margins_of()
    native = logo_constrained(Z, beta)
    other = solve(CONSTRAINED.build(Z, beta), solver)
    assert native.objective == pytest.approx(other.objective, rel=1e-5)
    assert native.dual["total"] == pytest.approx(other.dual["total"], rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 25),
    j=st.integers(1, 40),
    share=st.floats(1e-3, 0.999),
)
def test_optimality_conditions_hold(seed, n, j, share):
    """c <= lam, with equality where there is weight; a gap of g allows errors of sqrt(g)."""
    Z = margins_of(seed, n, j)
    lam = share * lam_max(Z)
    if lam == 0:
        return
    w = logo_penalised(Z, lam).primal["w"]
    scores = Z.T @ (1 / (1 + np.exp(Z @ w)))
    assert (w >= 0).all()
    assert scores.max() <= lam * (1 + 1e-4)
    np.testing.assert_allclose(scores[w > 0], lam, rtol=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), j=st.integers(1, 30), beta=st.floats(1e-2, 30))
@example(seed=340, j=20, beta=26.0)
def test_the_budgeted_answer_is_the_priced_one_at_its_multiplier(seed, j, beta):
    Z = margins_of(seed, 20, j)
    answer = logo_constrained(Z, beta)
    w, lam = answer.primal["w"], float(answer.dual["total"][0])
    assert w.sum() <= beta * (1 + 1e-12)
    assert lam * (beta - w.sum()) <= 1e-8 * (1 + known(answer.objective))
    assume(lam > 1e-6)
    priced = logo_penalised(Z, lam).primal["w"]
    # Margins themselves are not determined where the loss is flat; its slopes are.
    one, other = (1 / (1 + np.exp(Z @ own)) for own in (priced, w))
    np.testing.assert_allclose(one, other, atol=1e-5)
    costs = [np.logaddexp(0, -Z @ own).sum() + lam * own.sum() for own in (priced, w)]
    assert costs[1] == pytest.approx(costs[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_from_lam_max_on_all_weights_are_zero(seed):
    Z = margins_of(seed)
    top = lam_max(Z)
    assert top == pytest.approx(0.5 * Z.sum(axis=0).max())
    assert not logo_penalised(Z, top).primal["w"].any()
    assert not logo_penalised(Z, 3 * top).primal["w"].any()
    assert np.count_nonzero(logo_penalised(Z, 0.99 * top).primal["w"]) == 1


def test_margins_that_only_hurt_get_no_weight():
    Z = -np.abs(margins_of())
    assert lam_max(Z) == 0.0
    for answer in (logo_penalised(Z, 1e-3), logo_constrained(Z, 5.0)):
        assert not answer.primal["w"].any()
        assert answer.objective == pytest.approx(30 * np.log(2))
        assert answer.status == "optimal"


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), lam=st.floats(1e-3, 10), beta=st.floats(1e-2, 10))
def test_a_gap_is_never_below_the_true_distance(seed, lam, beta):
    Z = margins_of(seed, 12, 8)
    w = np.random.default_rng(seed).exponential(size=8)
    best = logo_penalised(Z, lam).objective
    distance = loss(Z, w) + lam * w.sum() - best
    assert logo_penalised_gap({"Z": Z}, {"lam": lam}, {"w": w}) >= distance - 1e-9
    w *= beta / w.sum()
    distance = loss(Z, w) - logo_constrained(Z, beta).objective
    assert logo_constrained_gap({"Z": Z}, {"beta": beta}, {"w": w}) >= distance - 1e-9


def test_gap_and_violation_vanish_at_the_answer_and_nowhere_near():
    Z = margins_of()
    w = logo_penalised(Z, 0.5).primal["w"]
    assert 0 <= logo_penalised_gap({"Z": Z}, {"lam": 0.5}, {"w": w}) + 1e-12 < 1e-8
    assert logo_penalised_gap({"Z": Z}, {"lam": 0.5}, {"w": 1.1 * w}) > 1e-3
    assert logo_penalised_violation({"Z": Z}, {"lam": 0.5}, {"w": w}) == 0
    assert logo_penalised_violation({"Z": Z}, {"lam": 0.5}, {"w": w - 0.1}) == pytest.approx(0.1)
    assert logo_constrained_violation({"Z": Z}, {"beta": w.sum() / 2}, {"w": w}) == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("row", [PENALISED, CONSTRAINED], ids=["penalised", "constrained"])
def test_a_native_step_is_certified_by_formula(row):
    hyper = {"lam": 0.3} if row is PENALISED else {"beta": 4.0}
    solution, certificate = solve_step(row, {"Z": margins_of()}, hyper)
    assert solution.solver == "native"
    assert certificate.ok, certificate


def test_equal_columns_share_what_one_would_get():
    Z = margins_of()
    one = logo_penalised(Z, 0.5)
    twice = logo_penalised(np.hstack([Z, Z]), 0.5)
    assert twice.objective == pytest.approx(one.objective, rel=1e-9)
    both = twice.primal["w"].reshape(2, -1).sum(axis=0)
    np.testing.assert_allclose(Z @ both, Z @ one.primal["w"], atol=1e-5)


def test_without_a_price_the_answer_is_cvxpys_where_there_is_one():
    Z = margins_of(n=200, j=6, shift=0.2)
    native = logo_penalised(Z, 0.0)
    other = solve(PENALISED.build(Z, 0.0), "CLARABEL")
    assert native.objective == pytest.approx(other.objective, rel=1e-6)
    np.testing.assert_allclose(native.primal["w"], other.primal["w"], atol=1e-3)
    # Nothing but p = 0 is sure to be feasible in the dual, so nothing is claimed.
    assert native.status == "optimal_inaccurate"


def test_without_a_price_separable_samples_drive_the_loss_to_zero():
    Z = np.abs(margins_of())
    answer = logo_penalised(Z, 0.0)
    assert known(answer.objective) < 1e-8
    assert np.isfinite(answer.primal["w"]).all()


def test_a_budget_larger_than_needed_is_not_spent():
    Z = margins_of(n=200, j=6, shift=0.2)
    free = logo_penalised(Z, 1e-9).primal["w"]
    answer = logo_constrained(Z, 10 * free.sum())
    np.testing.assert_allclose(answer.primal["w"], free, atol=1e-4)
    assert answer.status == "optimal"


@pytest.mark.parametrize("objective", [Penalised(1.0), Constrained(2.0)], ids=repr)
@pytest.mark.parametrize("solver", installed("CLARABEL", "ECOS", "SCS"))
def test_any_solver_can_be_driven_by_the_working_set(objective, solver):
    """Restricted problems by cvxpy; the gap is over all columns."""
    Z = margins_of(n=40, j=1500)
    row = PENALISED if isinstance(objective, Penalised) else CONSTRAINED
    seen = []

    def restricted(columns, objective, start, tol):
        seen.append(columns.shape[1])
        w = solve(row.build(columns, **hyper_of(objective)), solver, 1e-8).primal["w"]
        return np.where(w < 1e-7, 0.0, w)

    answer = solve_by_working_set(DenseColumns(Z), objective, restricted, tol=1e-5)
    assert max(seen) < 1000
    assert answer.gap <= 1e-4
    native = known(row.native)(Z, **hyper_of(objective))
    assert answer.value == pytest.approx(native.objective, rel=1e-4)
    assert objective.gap(Z @ answer.w, answer.w, (Z.T @ objective.pull(Z @ answer.w)).max()) <= 1e-2


def test_a_good_start_leaves_nothing_to_do():
    Z = margins_of(j=600)
    w = logo_penalised(Z, 1.0).primal["w"]

    def restricted(*_):
        raise AssertionError("the start was optimal")

    again = solve_by_working_set(DenseColumns(Z), Penalised(1.0), restricted, w, tol=1e-9)
    np.testing.assert_array_equal(again.w, w)
    assert again.sizes == ()
