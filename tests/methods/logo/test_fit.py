from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import FORMULATIONS, load
from convexfs.errors import ConvexfsWarning, InputError, SolverUnsuitable
from convexfs.methods.base.formulation import Solving
from convexfs.methods.logo.fit import fit_logo, logo
from convexfs.methods.logo.fixed_points import candidate_features as logo_certified
from convexfs.methods.logo.fixed_points.algorithm1 import descend
from convexfs.methods.logo.margins import Locality, lam_max
from convexfs.methods.logo.native import logo_constrained, logo_penalised
from convexfs.methods.logo.newton import Penalised
from convexfs.methods.logo.numbers import margin_matrix
from convexfs.methods.logo.settings import LogoRequest, Settings
from tests.solvers import installed
from tests.typed import known

logo_penalised_problem = FORMULATIONS["logo-penalised"].numbers


def brute_margins(X, codes, w, sigma):
    """Eq. 3 sample by sample, without log-sum-exp or kernels."""
    rows = []
    for n in range(len(X)):
        apart = np.abs(X - X[n])
        kernel = np.exp(-(apart @ w) / sigma)
        hits = (codes == codes[n]) & (np.arange(len(X)) != n)
        if hits.any():
            miss = codes != codes[n]
            rows.append(
                kernel[miss] @ apart[miss] / kernel[miss].sum()
                - kernel[hits] @ apart[hits] / kernel[hits].sum()
            )
    return np.array(rows)


def jittered_spiral(seed, n=40, noise=200):
    """Random angles and jitter: here the printed algorithm goes wrong."""
    rng = np.random.default_rng(seed)
    u = np.sort(rng.random(n))
    arm = 10 * np.sqrt(u)[:, None] * np.c_[np.cos(2 * np.pi * u), np.sin(2 * np.pi * u)]
    real = np.r_[arm, -arm] + 0.3 * rng.standard_normal((2 * n, 2))
    return np.c_[real, rng.standard_normal((2 * n, noise))], np.repeat([0, 1], n)


@pytest.fixture(scope="module")
def spiral():
    return load("spiral:noise=50")


@pytest.fixture(scope="module")
def fitted(spiral):
    return logo(spiral.X, spiral.y)


def test_margins_are_those_of_the_formula():
    data = load("iris").scaled()
    w = np.array([0.5, 0.0, 2.0, 1.0])
    expected = brute_margins(data.X, data.y, w, 0.8)
    np.testing.assert_allclose(margin_matrix(data.X, data.y, 0.8, w), expected, atol=1e-10)


def test_a_class_of_one_has_no_row_but_counts_as_a_miss():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((9, 3)), np.array([0] * 4 + [1] * 4 + [2])
    Z = margin_matrix(X, codes, 1.0)
    assert Z.shape == (8, 3)
    np.testing.assert_allclose(Z, brute_margins(X, codes, np.ones(3), 1.0))
    result = logo(X + 2 * codes[:, None], codes, Settings(lam=0.1))
    assert result.certificate.ok
    assert known(result.certificate.gap) < 1e-9


def test_the_spiral_is_found_and_proven(fitted):
    assert np.flatnonzero(fitted.weights).tolist() == [0, 1]
    np.testing.assert_allclose(fitted.weights[:2], [1.9586, 1.8479], atol=1e-3)
    assert fitted.converged
    assert fitted.certificate.ok
    assert "a fixed point" in str(fitted.certificate)
    assert fitted.solution.status == "optimal"


def test_the_answer_is_a_fixed_point_by_another_solver(spiral, fitted):
    """Neighbours by brute force, the convex step by cvxpy, the score of every feature."""
    Z = brute_margins(spiral.X, spiral.y, fitted.weights, 2.0)
    w = cp.Variable(52)
    objective = cp.sum(cp.logistic(-(Z @ w))) + cp.sum(w)
    cp.Problem(cp.Minimize(objective), [w >= 0]).solve(solver=cp.SCS, eps=1e-7)
    np.testing.assert_allclose(known(w.value), fitted.weights, atol=5e-3)
    scores = Z.T @ (1 / (1 + np.exp(Z @ fitted.weights)))
    assert scores[2:].max() < 1
    np.testing.assert_allclose(scores[:2], 1, atol=5e-3)


@pytest.mark.parametrize("noise", [500, 5000])
def test_the_weights_do_not_depend_on_the_number_of_noise_features(noise, fitted):
    data = load(f"spiral:noise={noise}")
    result = logo(data.X.astype(np.float32), data.y)
    assert np.flatnonzero(result.weights).tolist() == [0, 1]
    np.testing.assert_allclose(result.weights[:2], fitted.weights[:2], atol=1e-3)
    assert result.certificate.ok
    assert result.certificate.n_features == noise + 2


def test_streaming_and_holding_all_columns_lead_to_the_same_point(monkeypatch):
    X, codes = jittered_spiral(1)
    held = logo(X, codes, Settings(tol=1e-7))
    monkeypatch.setattr(logo_certified, "MOST_CANDIDATES", 20)
    streamed = logo(X, codes, Settings(tol=1e-7))
    np.testing.assert_allclose(streamed.weights, held.weights, atol=1e-5)
    assert streamed.certificate.ok


def test_features_left_out_are_asked_again(monkeypatch):
    """So few candidates that the true fixed point needs some from outside."""
    X, codes = jittered_spiral(3)
    monkeypatch.setattr(logo_certified, "MOST_CANDIDATES", 4)
    few = logo(X, codes)
    assert few.certificate.ok
    assert np.count_nonzero(few.weights) >= 4
    residuals = [row["residual"] for row in few.history]
    assert any(low < 1e-3 < after for low, after in pairwise(residuals))


@pytest.mark.parametrize("seed", [2, 5, 8])
def test_the_printed_algorithm_pruned_stops_where_features_are_violated(seed):
    X, codes = jittered_spiral(seed)
    with pytest.warns(ConvexfsWarning, match="stopped after .* not proven .* use algorithm='cer"):
        printed = logo(X, codes, Settings(algorithm="paper", prune=True))
    assert printed.certificate.residual <= 1e-3
    assert printed.certificate.n_violated > 10
    assert printed.certificate.ok is False
    assert not printed.converged
    certified = logo(X, codes)
    assert certified.converged
    assert certified.certificate.ok
    # The same verdict by brute force.
    for result, violated in ((printed, True), (certified, False)):
        Z = brute_margins(X, codes, result.weights, 2.0)
        scores = Z.T @ (1 / (1 + np.exp(Z @ result.weights)))
        assert (scores.max() > 1.1) == violated


def test_algorithm_1_as_printed_leaves_nobody_out(spiral):
    printed = logo(spiral.X, spiral.y, Settings(algorithm="paper"))
    assert printed.converged
    assert printed.certificate.ok
    assert np.count_nonzero(printed.weights) > 40
    np.testing.assert_allclose(printed.weights[:2], [1.9586, 1.8479], atol=3e-3)
    pruned = logo(spiral.X, spiral.y, Settings(algorithm="paper", prune=True))
    assert np.count_nonzero(pruned.weights) == 2
    with pytest.raises(InputError, match="prune=True is of algorithm='paper'"):
        logo(spiral.X, spiral.y, Settings(prune=True))
    no_answer: Any = "a"
    with pytest.raises(InputError, match="prune must be True or False, not 'a'"):
        logo(spiral.X, spiral.y, Settings(prune=no_answer))


@pytest.mark.parametrize("seed", range(6))
def test_the_convex_step_from_a_proven_fixed_point_leads_back_to_it(seed):
    """By brute force and another solver."""
    X, codes = jittered_spiral(seed, n=20, noise=60)
    result = logo(X, codes, Settings(sigma=1.0))
    assert result.converged
    assert result.certificate.ok
    Z = brute_margins(X, codes, result.weights, 1.0)
    value = np.logaddexp(0, -(Z @ result.weights)).sum() + result.weights.sum()
    assert value == pytest.approx(logo_penalised(Z, 1.0).objective, rel=1e-3)


@pytest.mark.slow(cases=1)
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_printed_algorithm_claims_no_fixed_point_where_it_finds_none(seed, prune):
    X, codes = jittered_spiral(seed, n=20, noise=60)
    result = logo(X, codes, Settings(sigma=1.0, algorithm="paper", prune=prune))
    assert not result.converged
    assert result.certificate.ok is not True


def test_the_printed_algorithm_goes_round_in_circles():
    X, codes = jittered_spiral(2)
    with pytest.warns(ConvexfsWarning, match=r"cycle of \d+ .* use algorithm='certified'"):
        printed = logo(X, codes, Settings(sigma=0.5, algorithm="paper"))
    assert not printed.converged
    assert printed.certificate.residual > 0.1
    certified = logo(X, codes, Settings(sigma=0.5))
    assert certified.converged
    assert certified.certificate.ok


def test_the_printed_descent_reaches_the_minimum_of_a_step():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 15)) + 0.3
    w = descend(Z, Penalised(1.0), np.ones(15)) ** 2
    assert np.logaddexp(0, -(Z @ w)).sum() + w.sum() == pytest.approx(
        logo_penalised(Z, 1.0).objective, rel=1e-5
    )


def test_undamped_iterations_that_cycle_are_damped_further():
    X, codes = jittered_spiral(8)
    result = logo(X, codes, Settings(damping=0.0))
    assert result.certificate.ok


def test_a_loop_cut_short_says_so(spiral):
    with pytest.warns(ConvexfsWarning, match=r"has not converged after 3 iterations"):
        result = logo(spiral.X, spiral.y, Settings(max_iter=3))
    assert not result.converged
    assert result.certificate.ok is False
    assert len(result.history) == 3
    assert result.solution.status == "optimal_inaccurate"


def test_history_tells_how_the_loop_went(fitted):
    rows = fitted.history
    assert rows[0]["support"] > rows[-1]["support"] == 2
    assert rows[-1]["residual"] <= 1e-3 < rows[-2]["residual"]
    assert all(row["gap"] <= 1e-9 for row in rows)
    assert 0 < rows[-1]["contraction"] < 1
    assert rows[-1]["error_bound"] < 1e-2


def test_an_infinite_width_needs_one_step(spiral):
    result = logo(spiral.X, spiral.y, Settings(sigma=np.inf))
    assert len(result.history) == 2
    Z = margin_matrix(spiral.X, spiral.y, np.inf)
    expected = logo_penalised(Z, 1.0).primal["w"]
    np.testing.assert_allclose(result.weights, expected, atol=1e-6)


def test_a_budget_replaces_the_price(spiral, fitted):
    """At the total the price leads to, eq. 8 has the same fixed point."""
    result = logo(spiral.X, spiral.y, Settings(beta=fitted.weights.sum()))
    assert result.certificate.ok
    np.testing.assert_allclose(result.weights, fitted.weights, atol=3e-3)
    Z = margin_matrix(spiral.X, spiral.y, 2.0, result.weights)
    step = logo_constrained(Z, fitted.weights.sum())
    assert step.dual["total"][0] == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize("solver", installed("CLARABEL", "ECOS", "SCS"))
def test_any_solver_may_take_the_convex_steps(solver):
    data = load("spiral:noise=30,n=40")
    native, other = logo(data.X, data.y), logo(data.X, data.y, solving=Solving(solver=solver))
    assert other.certificate.ok
    assert other.solution.solver == solver
    np.testing.assert_allclose(other.weights, native.weights, atol=1e-3)


def test_a_cvxpy_solver_gets_only_the_features_that_matter(monkeypatch):
    X, codes = jittered_spiral(1, n=20, noise=3000)
    sizes = []
    monkeypatch.setattr(
        "convexfs.solving.solve.solve",
        _spy(sizes, __import__("convexfs.solving.solve", fromlist=["solve"]).solve),
    )
    result = logo(X, codes, solving=Solving(solver="CLARABEL"))
    assert result.certificate.ok
    assert 0 < max(sizes) < 1000


def _spy(sizes, solve):
    def recorded(problem, *arguments):
        sizes.append(problem.variables()[0].size)
        return solve(problem, *arguments)

    return recorded


def test_a_changed_problem_is_iterated_too():
    data = load("spiral:noise=10,n=40")

    def ridge(Z, lam, mu=0.1):
        w = cp.Variable(Z.shape[1], name="w")
        loss = cp.sum(cp.logistic(-(Z @ w))) + lam * cp.sum(w) + mu * cp.sum_squares(w)
        return cp.Problem(cp.Minimize(loss), [w >= 0])

    result = logo(data.X, data.y, solving=Solving(build=ridge))
    assert result.certificate.ok
    plain = logo(data.X, data.y)
    assert 0 < np.linalg.norm(result.weights) < np.linalg.norm(plain.weights)


def test_threads_change_nothing():
    data = load("spiral:noise=6000,n=40")
    with ThreadPoolExecutor(3) as pool:
        threaded = logo(data.X, data.y, map=pool.map)
    np.testing.assert_array_equal(threaded.weights, logo(data.X, data.y).weights)


def test_a_file_stays_in_the_file(tmp_path):
    data = load("spiral:noise=1500,n=120")
    scaled = np.clip(data.X * 10, -127, 127).astype(np.int8)
    on_disk = np.memmap(tmp_path / "X.bin", np.int8, "w+", 0, scaled.shape)
    on_disk[:] = scaled
    held, mapped = (logo(X, data.y, Settings(lam=10.0)) for X in (scaled, on_disk))
    np.testing.assert_array_equal(held.weights, mapped.weights)
    assert np.flatnonzero(mapped.weights).tolist() == [0, 1]


def test_a_start_leads_to_the_same_point(spiral, fitted):
    request = LogoRequest(Settings(), Solving())
    warm = fit_logo(spiral.X, spiral.y, request, start=fitted.weights)
    assert len(warm.history) < 5
    np.testing.assert_allclose(warm.weights, fitted.weights, atol=3e-3)


def test_too_high_a_price_is_explained(spiral):
    top = lam_max(Locality(spiral.X, spiral.y, 2.0))
    uniform = margin_matrix(spiral.X, spiral.y, np.inf)
    assert top == pytest.approx(uniform.sum(axis=0).max() / 2, rel=1e-5)
    with pytest.warns(ConvexfsWarning, match=f"not below lam_max={top:.4g}: use a smaller lam"):
        result = logo(spiral.X, spiral.y, Settings(lam=5 * top))
    assert not result.weights.any()
    assert result.converged
    assert result.certificate.ok


def test_no_price_is_explained():
    data = load("twonorm:n=60").scaled()
    with pytest.warns(ConvexfsWarning) as caught:
        result = logo(data.X, data.y, Settings(lam=0.0, max_iter=5))
    assert "lam=0 (eq. 6) has no bound to certify by" in str(caught[0].message)
    assert np.isfinite(result.weights).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sigma": 0.0}, "sigma must be a number above 0"),
        ({"sigma": -1}, "sigma"),
        ({"sigma": np.nan}, "sigma"),
        ({"lam": -0.1}, "lam must be a number of at least 0"),
        ({"lam": np.inf}, "lam"),
        ({"beta": 0.0}, "beta must be a number above 0"),
        ({"damping": 1.0}, "damping"),
        ({"tol": -1}, "tol"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"algorithm": "papper"}, "did you mean paper"),
        ({"algorithm": "paper", "beta": 1.0}, "printed for eq. 7 only"),
    ],
)
def test_values_that_cannot_be_used_are_named(settings, message, spiral):
    with pytest.raises(InputError, match=message):
        logo(spiral.X, spiral.y, Settings(**settings))
    with pytest.raises(InputError, match="solver_tol"):
        logo(spiral.X, spiral.y, solving=Solving(tol=0))


def test_a_solver_without_exponential_cones_is_refused_at_once(spiral):
    with pytest.raises(SolverUnsuitable, match="HIGHS"):
        logo(spiral.X, spiral.y, solving=Solving(solver="HIGHS"))


def test_float32_overflow_is_an_error(spiral):
    X = spiral.X.copy()
    X[0, 0], X[1, 0] = 3e38, -3e38
    with pytest.raises(InputError, match="scale the features first"):
        logo(np.hstack([X] * 30), spiral.y)


def test_the_numeric_half_offers_what_build_takes(spiral):
    values, hyper = logo_penalised_problem(spiral.X, spiral.y, sigma=2.0, lam=0.5)
    assert values["Z"].shape == (460, 52)
    assert hyper == {"lam": 0.5}
    with pytest.raises(InputError, match="one a feature"):
        logo_penalised_problem(spiral.X, spiral.y, weights=np.ones(3))
