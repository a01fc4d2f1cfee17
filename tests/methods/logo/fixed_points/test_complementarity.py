from dataclasses import replace

import numpy as np
import pytest

from convexfs.methods.base.fixed_point import History
from convexfs.methods.base.formulation import Solving
from convexfs.methods.logo.fit import fit_logo
from convexfs.methods.logo.fixed_points import complementarity
from convexfs.methods.logo.fixed_points.complementarity import (
    State,
    complementary,
    newton_fixed_point,
)
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.newton import Constrained, Penalised
from convexfs.methods.logo.settings import LogoRequest, Settings


def mostly_zeros(n_samples, n_features, seed=0, share=0.05):
    """Columns of few nonzeros: flat convex steps, far more features than samples tell apart."""
    rng = np.random.default_rng(seed)
    present = rng.random((n_samples, n_features)) < share
    X = np.where(present, rng.lognormal(0, 1, (n_samples, n_features)), 0.0)
    y = np.arange(n_samples) % 2
    X[:, :10] += rng.random((n_samples, 10)) < 0.3 * y[:, None]
    return X / X.std(axis=0), y


def faint(n_samples, n_features, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = rng.standard_normal((n_samples, n_features))
    X[:, :5] += 0.8 * y[:, None]
    return X, y


def place_of(X, y, sigma=2.0):
    return Locality(X, y, sigma)


@pytest.fixture
def all_pairs(monkeypatch):
    """Slopes of all pairs: far from a fixed point light ones are left out otherwise."""
    monkeypatch.setattr(complementarity, "_DROPPED_SHARE", 0.0)


@pytest.mark.usefixtures("all_pairs")
@pytest.mark.parametrize("objective", [Penalised(1.0), Constrained(2.0)])
def test_the_slope_is_that_of_the_scores(objective):
    X, y = faint(25, 6)
    y[0] = 2  # a class of one has no margin
    w = np.array([0.5, 0.2, 0.7, 0.1, 0.3, 0.2])
    at = State(place_of(X, y, 0.8), objective, X, w)
    np.testing.assert_array_equal(at.free, np.arange(6))
    for j in range(6):
        ahead, behind = (
            State(at.locality, objective, X, w + step * np.eye(6)[j]).scores
            for step in (1e-6, -1e-6)
        )
        np.testing.assert_allclose(at.slope[:, j], (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)


def test_less_is_left_out_of_the_slope_near_a_fixed_point(monkeypatch):
    X, y = faint(60, 200)
    w = fit_logo(X, y, LogoRequest(Settings(lam=1.0, sigma=0.5), Solving())).weights

    def relative_error(weights):
        slopes = []
        for share in (complementarity._DROPPED_SHARE, 0.0):
            monkeypatch.setattr(complementarity, "_DROPPED_SHARE", share)
            slopes.append(State(place_of(X, y, 0.5), Penalised(1.0), X, weights).slope)
            monkeypatch.undo()
        return np.linalg.norm(slopes[0] - slopes[1]) / np.linalg.norm(slopes[1])

    assert relative_error(w) < 1e-6 < relative_error(np.where(w > 0, 2 * w, 0.0)) < 0.5


@pytest.mark.usefixtures("all_pairs")
def test_an_infinite_width_has_the_slope_of_the_convex_step():
    X, y = faint(25, 4)
    at = State(place_of(X, y, np.inf), Penalised(1.0), X, np.full(4, 0.3))
    p = 1 / (1 + np.exp(at.margins))
    np.testing.assert_allclose(at.slope, -(at.Z.T * (p * (1 - p))) @ at.Z)


@pytest.mark.parametrize("total", [None, 0.4], ids=["free", "of a total"])
def test_complementarity_is_solved_by_its_definition(total):
    rng = np.random.default_rng(1)
    root = rng.standard_normal((8, 8))
    matrix = root @ root.T + np.eye(8) + 0.1 * rng.standard_normal((8, 8))
    push, low = rng.standard_normal(8), -rng.random(8) * 0.1
    move = complementary(matrix, push, low, total)
    assert move is not None
    slack = matrix @ move - push
    assert total is None or move.sum() == pytest.approx(total)
    # A total has a price, which every entry off its bound pays.
    slack = slack - (0.0 if total is None else slack[move > low + 1e-12].mean())
    assert (move >= low - 1e-12).all()
    assert (slack > -1e-9).all()
    np.testing.assert_allclose(slack[move > low + 1e-9], 0.0, atol=1e-9)
    assert (move <= low + 1e-12).any()


def test_a_matrix_without_an_answer_gives_none():
    assert complementary(np.zeros((2, 2)), np.ones(2), -np.ones(2)) is None


#: Settings at which the damped iteration alone swung for a thousand steps.
SWINGING = [
    (faint(60, 500), {"lam": 0.3, "sigma": 0.5}),
    (faint(60, 500), {"lam": 1.0, "sigma": 0.5}),
    pytest.param(mostly_zeros(200, 3000), {"lam": 1.0}, marks=pytest.mark.slow),
    (mostly_zeros(200, 3000), {"lam": 3.0}),
]


@pytest.mark.parametrize(("data", "settings"), SWINGING)
def test_rounding_of_the_data_is_not_amplified(data, settings):
    X, y = data
    noise = np.random.default_rng(9).standard_normal(X.shape)
    one, other = (
        fit_logo(moved, y, LogoRequest(Settings(**settings), Solving()))
        for moved in (X, X * (1 + 1e-13 * noise))
    )
    for found in (one, other):
        assert found.converged
        assert found.certificate.ok
    np.testing.assert_allclose(other.weights, one.weights, rtol=0, atol=1e-9 * one.weights.max())


def test_where_newton_ends_repeating_the_convex_step_does_not_stay():
    """The cause: an error of the weights comes back many times larger, with its sign turned."""
    X, y = faint(60, 500)
    request = LogoRequest(Settings(lam=1.0, sigma=0.5), Solving())
    w = fit_logo(X, y, request).weights
    used = np.flatnonzero(w)
    at = State(place_of(X, y, 0.5), Penalised(1.0), X[:, used], w[used])
    p = 1 / (1 + np.exp(at.margins))
    flat = (at.Z.T * (p * (1 - p))) @ at.Z
    step = np.eye(len(used)) + np.linalg.solve(flat, at.slope)
    eigenvalues = np.linalg.eigvals(step)
    assert eigenvalues.real.min() < -10
    assert eigenvalues.real.max() < 1
    # Following the scores, not the convex step, leads here from everywhere near.
    assert np.linalg.eigvals(at.slope).real.max() < 0


def test_a_budget_is_kept_where_the_iteration_swings():
    X, y = faint(60, 200)
    found = fit_logo(X, y, LogoRequest(Settings(beta=20.0, sigma=0.5), Solving()))
    assert found.converged
    assert found.certificate.ok
    assert found.weights.sum() == pytest.approx(20.0)
    at = State(place_of(X, y, 0.5), Constrained(20.0), X, found.weights)
    assert at.residual < 1e-6
    assert at.gap < 1e-9


def rough_state(sigma=1.0, seed=3, n_samples=60):
    X, y = faint(n_samples, 40, seed)
    rng = np.random.default_rng(seed)
    locality = replace(place_of(X, y, sigma), dtype=np.float32)
    return State(locality, Penalised(1.0), locality.take(np.arange(40)), rng.exponential(size=40))


def test_curvatures_are_positive_far_away_in_float32_only():
    rough = rough_state()
    assert rough.residual > 1
    curvatures = np.linalg.eigvalsh(-0.5 * (rough.slope + rough.slope.T))
    assert curvatures[0] < 0
    raised = np.linalg.eigvalsh(0.5 * (rough.stiffness + rough.stiffness.T))
    np.testing.assert_allclose(raised, np.sort(np.abs(curvatures)), rtol=1e-6, atol=1e-6)
    exact = replace(rough, locality=replace(rough.locality, dtype=float))
    np.testing.assert_array_equal(exact.stiffness, -exact.slope)


@pytest.mark.parametrize("objective", [Penalised(1.0), Constrained(2.0)])
def test_the_merit_function_has_the_slope_of_the_fixed_point(objective):
    X, y = faint(40, 6)
    y[0] = 2  # a class of one has no margin
    at = State(place_of(X, y, 0.8), objective, X, np.array([0.5, 0.2, 0.7, 0.1, 0.3, 0.2]))
    ahead, behind = (
        np.array([at.merit(replace(at, w=at.w + d)) for d in step * np.eye(6)])
        for step in (1e-6, -1e-6)
    )
    price = objective.lam if isinstance(objective, Penalised) else 0.0
    np.testing.assert_allclose((ahead - behind) / 2e-6, price - at.scores, atol=1e-6)


def test_steps_along_the_scores_are_taken_and_steps_against_them_are_not():
    at = rough_state()
    along = 1e-3 * (at.scores - at.level) / np.linalg.norm(at.scores - at.level)
    forward, back = (replace(at, w=np.maximum(at.w + d, 0.0)) for d in (along, -along))
    assert at.is_lowered_by(forward)
    assert not at.is_lowered_by(back)


def test_a_search_cut_short_returns_the_best_it_saw():
    X, y = faint(60, 200)
    start = State(place_of(X, y, 0.5), Penalised(1.0), X, np.full(200, 0.05))
    history = History()
    end = newton_fixed_point(start, history, 3)
    assert len(history.rows) == 3
    assert 1e-9 < end.residual < start.residual
    unmoved = newton_fixed_point(start, History(until=0.0), 100)
    np.testing.assert_array_equal(unmoved.w, start.w)
