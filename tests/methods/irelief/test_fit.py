import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexfs import FORMULATIONS, load
from convexfs.errors import ConvexfsWarning, InputError, SolverUnsuitable
from convexfs.methods.base.formulation import Solving
from convexfs.methods.irelief import fit as module
from convexfs.methods.irelief import numbers
from convexfs.methods.irelief.fit import Settings, irelief
from convexfs.methods.irelief.numbers import inlier_probability, soft_margin

relief_problem = FORMULATIONS["relief"].numbers


@pytest.fixture(scope="module")
def noisy():
    return load("twonorm:n=120,noise=80,seed=0").scaled()


def margin_as_printed(X, y, w, sigma):
    """nu by the formula, over the whole N x N x J tensor."""
    differences = np.abs(X[:, None] - X)
    f = np.exp(-(differences @ w) / sigma)
    np.fill_diagonal(f, 0)
    miss = np.where(np.equal.outer(y, y), 0, f)
    hit = f - miss
    gamma = 1 - miss.sum(axis=1) / f.sum(axis=1)
    signed = miss / miss.sum(axis=1, keepdims=True) - hit / hit.sum(axis=1, keepdims=True)
    return np.einsum("n,ni,nij->j", gamma, signed, differences) / len(X)


def test_the_margin_is_the_printed_one_without_the_tensor():
    data = load("wine").scaled()
    w = np.random.default_rng(0).random(13)
    np.testing.assert_allclose(
        soft_margin(data.X, data.y, w, 1.5), margin_as_printed(data.X, data.y, w, 1.5), rtol=1e-9
    )


def test_the_answer_is_a_fixed_point_and_its_step_is_certified(noisy):
    result = irelief(noisy.X, noisy.y, Settings(tol=1e-8))
    assert result.converged
    assert result.period == 0
    nu = margin_as_printed(noisy.X, noisy.y, result.weights, 2.0)
    rising = np.maximum(nu, 0)
    np.testing.assert_allclose(result.weights, rising / np.linalg.norm(rising), atol=1e-7)
    assert result.certificate.ok


def test_a_backend_reaches_the_same_point(noisy):
    closed = irelief(noisy.X, noisy.y)
    solved = irelief(noisy.X, noisy.y, solving=Solving(solver="CLARABEL"))
    np.testing.assert_allclose(solved.weights, closed.weights, atol=1e-4)
    assert solved.certificate.basis == "cone program"


def test_a_small_sigma_cycles_undamped_and_says_so(noisy):
    with pytest.warns(ConvexfsWarning, match="goes round a cycle of 2 after"):
        result = irelief(noisy.X, noisy.y, Settings(sigma=0.5, damping=0.0))
    assert not result.converged
    assert result.period == 2
    assert result.residual > 0.1


@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_weights_of_0_are_a_fixed_point_only_where_they_lead_back(damping):
    X = np.array([[4.0, 0], [4, 4], [2, 3], [2, 1], [3, 4], [1, 3]])
    y = np.array([0, 0, 0, 1, 1, 1])
    zero = np.zeros(2)
    assert margin_as_printed(X, y, zero, 1.0).max() > 0
    result = irelief(X, y, Settings(sigma=1.0, damping=damping))
    rising = np.maximum(margin_as_printed(X, y, result.weights, 1.0), 0)
    leads_back = np.allclose(
        result.weights, rising / max(np.linalg.norm(rising), 1e-300), atol=1e-3
    )
    assert result.converged == leads_back
    # One label for each of two equal samples: hits are as far as misses at any weights.
    none = irelief(np.repeat(X[:3], 2, axis=0), np.arange(6) % 2, Settings(sigma=1.0))
    assert none.converged
    assert not none.weights.any()
    assert soft_margin(np.repeat(X[:3], 2, axis=0), np.arange(6) % 2, zero, 1.0).max() <= 0


def test_damping_may_cure_the_cycle(noisy):
    assert irelief(noisy.X, noisy.y, Settings(sigma=0.5, damping=0.5)).converged


def test_a_limit_on_iterations_is_reported(noisy):
    with pytest.warns(ConvexfsWarning, match="has not converged after 2 iterations"):
        result = irelief(noisy.X, noisy.y, Settings(max_iter=2))
    assert (result.converged, result.n_iter) == (False, 2)


def test_back_selection_halves_down_to_what_is_kept(noisy):
    result = irelief(noisy.X, noisy.y, Settings(keep=30))
    assert result.rounds == (100, 50, 30)
    assert np.count_nonzero(result.weights) <= 30
    order = np.random.default_rng(1).permutation(100)
    permuted = irelief(noisy.X[:, order], noisy.y, Settings(keep=30)).weights
    np.testing.assert_allclose(permuted, result.weights[order], atol=1e-6)
    assert set(np.argsort(-result.weights)[:20]) == set(range(20))


def test_a_tiny_sigma_is_relief_with_outliers_left_out():
    """All mass on the nearest neighbour: gamma is 1 or 0, as the nearest is a hit or a miss."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 2
    X[:, 0] += 2 * y
    d = np.abs(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(d, np.inf)
    inlier = y[d.argmin(axis=1)] == y
    finite = np.where(np.isfinite(d), d, 0.0)
    np.testing.assert_allclose(inlier_probability(finite, y, 1e-4), inlier, atol=1e-6)
    nu = soft_margin(X, y, np.ones(4), 1e-4)
    same = np.equal.outer(y, y)
    hits = np.where(same, d, np.inf).argmin(axis=1)
    misses = np.where(same, np.inf, d).argmin(axis=1)
    z = (np.abs(X - X[misses]) - np.abs(X - X[hits]))[inlier].sum(axis=0) / 40
    np.testing.assert_allclose(nu, z, atol=1e-9)
    assert not np.allclose(nu, relief_problem(X, y)[0]["z"] / 40)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_what_must_not_matter(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 3
    X = rng.standard_normal((30, 4)) + y[:, None] * (np.arange(4) < 2)
    w = irelief(X, y).weights
    rows, columns = rng.permutation(30), rng.permutation(4)
    np.testing.assert_allclose(irelief(X[rows], y[rows]).weights, w, atol=1e-9)
    np.testing.assert_allclose(irelief(X[:, columns], y).weights, w[columns], atol=1e-9)
    np.testing.assert_allclose(irelief(5 * X + 3, y, Settings(sigma=10.0)).weights, w, atol=1e-9)


def test_no_positive_margin_means_no_weights_and_a_warning():
    X = np.array([[0.0], [5.0], [0.1], [5.1]])
    with pytest.warns(ConvexfsWarning, match="no feature has a positive margin"):
        result = irelief(X, np.array([0, 0, 1, 1]))
    assert not result.weights.any()


def test_an_unsuitable_solver_is_refused_before_any_distance(noisy, monkeypatch):
    monkeypatch.setattr(numbers, "soft_margin", None)
    with pytest.raises(SolverUnsuitable):
        irelief(noisy.X, noisy.y, solving=Solving(solver="OSQP"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": 0}, "sigma must be a number above 0"),
        ({"damping": 1}, "damping must be a number of at least 0 and at most 0.999"),
        ({"keep": 101}, "keep=101 must lie between 1 and the 100 features"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_bad_settings_are_refused(noisy, options, message):
    with pytest.raises(InputError, match=message):
        irelief(noisy.X, noisy.y, Settings(**options))


def test_seconds_are_those_of_all_steps(noisy, monkeypatch):
    took, solve_step = [], module.solve_step

    def timed(*args, **kwargs):
        solution, certificate = solve_step(*args, **kwargs)
        took.append(solution.solve_seconds)
        return solution, certificate

    monkeypatch.setattr(module, "solve_step", timed)
    result = irelief(noisy.X, noisy.y, solving=Solving(solver="CLARABEL"))
    assert len(took) > 1
    assert result.solution.solve_seconds == pytest.approx(sum(took))
