import numpy as np
import pytest

from convexfs import FORMULATIONS, certify, load, solve
from convexfs.methods.lfe import native as native
from convexfs.methods.lfe.problem import lfe, lfe_row_sparse, lfe_trace

lfe_problem = FORMULATIONS["lfe"].numbers
lfe_priced_problem = FORMULATIONS["lfe-trace"].numbers

SIZES = {"twonorm": 20, "wdbc": 30, "wine": 13, "waveform:noise=9": 30}


@pytest.mark.parametrize("spec", SIZES)
@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_backends_reach_the_closed_form_and_prove_it(spec, solver):
    data = load(spec).scaled()
    values, _ = lfe_problem(data.X, data.y)
    assert values["Sigma"].shape == (SIZES[spec], SIZES[spec])
    problem = lfe(**values)
    solution, expected = solve(problem, solver), native.lfe(**values)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    np.testing.assert_allclose(solution.primal["W"], expected.primal["W"], atol=1e-4)
    assert certify(problem, solution).ok


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_a_price_on_the_trace_cuts_the_small_eigenvalues(solver):
    data = load("wine").scaled()
    values, hyper = lfe_priced_problem(data.X, data.y, n_neighbors=3, lam_share=0.4)
    solution = solve(lfe_trace(**values, **hyper), solver)
    expected = native.lfe_trace(**values, **hyper)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)
    np.testing.assert_allclose(solution.primal["W"], expected.primal["W"], atol=1e-4)
    kept = np.linalg.eigvalsh(values["Sigma"]) > hyper["lam"]
    assert 0 < kept.sum() < np.linalg.matrix_rank(native.lfe(**values).primal["W"], tol=1e-9)
    assert np.linalg.matrix_rank(expected.primal["W"], tol=1e-9) == kept.sum()


def test_multipliers_are_the_closed_forms():
    Sigma = np.diag([3.0, -1.0, 4.0, 0.5])
    solution = solve(lfe_trace(Sigma, lam=1.0), "CLARABEL", tol=1e-9)
    expected = native.lfe_trace(Sigma, lam=1.0)
    assert solution.dual["norm"] == pytest.approx(expected.dual["norm"], abs=1e-5)
    np.testing.assert_allclose(solution.dual["psd"].reshape(4, 4), expected.dual["psd"], atol=1e-5)


def test_a_price_on_rows_removes_whole_features():
    data = load("twonorm:n=120,noise=6,seed=2").scaled()
    values, hyper = lfe_priced_problem(data.X, data.y, n_neighbors=10, lam_share=0.15)
    answers = {name: solve(lfe_row_sparse(**values, **hyper), name) for name in ("CLARABEL", "SCS")}
    assert answers["SCS"].objective == pytest.approx(answers["CLARABEL"].objective, rel=1e-5)
    rows = np.linalg.norm(answers["SCS"].primal["W"], axis=1)
    gone = np.flatnonzero(rows < 1e-6)
    assert len(gone) > 0
    assert gone.min() >= 20
    assert certify(lfe_row_sparse(**values, **hyper), answers["SCS"]).ok


def test_without_a_price_the_row_sparse_problem_is_lfe():
    data = load("iris").scaled()
    values, hyper = lfe_priced_problem(data.X, data.y)
    solution = solve(lfe_row_sparse(**values, **hyper), "SCS")
    np.testing.assert_allclose(solution.primal["W"], native.lfe(**values).primal["W"], atol=1e-4)


def test_a_price_of_the_largest_eigenvalue_leaves_nothing():
    data = load("iris").scaled()
    values, hyper = lfe_priced_problem(data.X, data.y, lam_share=1.0)
    assert not native.lfe_trace(**values, **hyper).primal["W"].any()
    solution = solve(lfe_row_sparse(**values, lam=1.01 * hyper["lam"]), "CLARABEL")
    np.testing.assert_allclose(solution.primal["W"], 0, atol=1e-4)
