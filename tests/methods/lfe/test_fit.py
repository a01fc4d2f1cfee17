import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs import FORMULATIONS, load
from convexfs.errors import SolverUnsuitable
from convexfs.methods.base.formulation import Solving
from convexfs.methods.lfe import fit as module
from convexfs.methods.lfe.fit import Settings as LfeSettings
from convexfs.methods.lfe.fit import lfe, power_losses
from convexfs.methods.lfe.native import lfe as closed_form
from convexfs.methods.relief.fit import Settings as ReliefSettings
from convexfs.methods.relief.fit import relief

lfe_problem = FORMULATIONS["lfe"].numbers


def wide(seed, n=30, j=80, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, j)) + 2 * y[:, None] * (np.arange(j) < 4), y, rng


def metric(result):
    return result.components.T @ result.components


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 3, "miss": "prior"}], ids=str)
def test_in_the_span_of_the_samples_the_answer_is_the_same(options):
    X, y, _ = wide(0)
    result = lfe(X, y, LfeSettings(**options))
    Sigma = lfe_problem(X, y, **options)[0]["Sigma"]
    whole = np.linalg.eigvalsh(Sigma)[::-1]
    assert len(result.eigenvalues) == (whole > 1e-9).sum()
    np.testing.assert_allclose(result.eigenvalues, whole[: len(result.eigenvalues)], rtol=1e-10)
    np.testing.assert_allclose(metric(result), closed_form(Sigma).primal["W"], atol=1e-10)
    assert result.certificate.ok


def test_duplicate_samples_have_no_direction_of_their_own():
    X, y, _ = wide(1)
    X[1::3] = X[1]
    result = lfe(X, y)
    Sigma = lfe_problem(X, y)[0]["Sigma"]
    np.testing.assert_allclose(metric(result), closed_form(Sigma).primal["W"], atol=1e-10)


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
def test_a_backend_may_solve_the_small_problem(solver):
    X, y, _ = wide(2, n=16)
    np.testing.assert_allclose(
        metric(lfe(X, y, solving=Solving(solver=solver))), metric(lfe(X, y)), atol=1e-4
    )


def test_the_losses_are_the_papers_and_the_rescaled_one():
    data = load("wdbc").scaled()
    result = lfe(data.X, data.y)
    s = result.eigenvalues
    power = float(np.linalg.norm(s))
    assert result.solution.objective == pytest.approx(power)
    for t in (0, 1, 3, len(s)):
        assert result.power_loss[t] == pytest.approx((s[t:] ** 2).sum() / power, abs=1e-9 * power)
        kept = np.linalg.norm(s[:t])
        assert result.renormalised_loss[t] == pytest.approx(power - kept, abs=1e-9 * power)
    W = result.components[:3].T @ result.components[:3]
    Sigma = lfe_problem(data.X, data.y)[0]["Sigma"]
    assert result.power_loss[3] == pytest.approx(power - np.sum(W * Sigma))
    assert result.renormalised_loss[3] == pytest.approx(
        power - np.sum(W * Sigma) / np.linalg.norm(W)
    )


def test_no_components_lose_nothing():
    for loss in power_losses(np.empty(0), np.empty(0)):
        np.testing.assert_array_equal(loss, [0.0])


def test_uncorrelated_features_make_lfe_squared_relief():
    """Held to the diagonal, eq. 8 is RELIEF with squared differences."""
    X, y, _ = wide(3, n=60, j=5, classes=2)
    Sigma = lfe_problem(X, y)[0]["Sigma"]
    w = relief(X, y, ReliefSettings(n_neighbors=1, metric="sqeuclidean")).weights
    diagonal = closed_form(np.diag(Sigma.diagonal())).primal["W"].diagonal()
    np.testing.assert_allclose(diagonal, w, atol=1e-12)


@given(seed=st.integers(0, 10**6))
def test_what_must_not_matter(seed):
    X, y, rng = wide(seed, n=24, j=4, classes=2)
    W = metric(lfe(X, y))
    order = rng.permutation(24)
    np.testing.assert_allclose(metric(lfe(X[order], y[order])), W, atol=1e-8)
    np.testing.assert_allclose(metric(lfe(3 * X - 7, 1 - y)), W, atol=1e-8)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    np.testing.assert_allclose(metric(lfe(X @ Q, y)), Q.T @ W @ Q, atol=1e-7)


def test_an_unsuitable_solver_is_refused_before_the_neighbours_are_sought(monkeypatch):
    monkeypatch.setattr(module, "signed_neighbors", None)
    X, y, _ = wide(0)
    with pytest.raises(SolverUnsuitable):
        lfe(X, y, solving=Solving(solver="HIGHS"))
