import cvxpy as cp
import numpy as np
import pytest

from convexfs import FORMULATIONS, load
from convexfs.errors import ConvexfsWarning, InputError, SolverUnsuitable
from convexfs.methods.base.formulation import Solving
from convexfs.methods.relief import numbers
from convexfs.methods.relief.fit import Settings, relief

relief_problem = FORMULATIONS["relief"].numbers


@pytest.fixture(scope="module")
def wine():
    return load("wine").scaled()


def test_an_l1_threshold_is_a_share_of_the_largest_margin(wine):
    result = relief(wine.X, wine.y, Settings(l1=0.5))
    kept = result.margin > 0.5 * result.margin.max()
    assert 0 < kept.sum() < wine.n_features
    np.testing.assert_array_equal(result.weights > 0, kept)


def test_online_draws_approach_the_batch_margin(wine):
    batch = relief_problem(wine.X, wine.y)[0]["z"]

    def cosine(n_epochs):
        z = relief_problem(wine.X, wine.y, online=True, n_epochs=n_epochs, seed=0)[0]["z"]
        assert np.linalg.norm(z) == pytest.approx(np.linalg.norm(batch), rel=0.2)
        return z @ batch / np.linalg.norm(z) / np.linalg.norm(batch)

    assert cosine(1) > 0.97
    assert cosine(100) > 0.9995


def test_online_draws_depend_on_the_seed_alone(wine):
    def draw(seed):
        return relief(wine.X, wine.y, Settings(online=True), seed=seed).margin

    np.testing.assert_array_equal(draw(3), draw(3))
    assert np.abs(draw(3) - draw(4)).max() > 0


def test_all_margins_negative_means_no_weights_and_a_warning():
    X = np.array([[0.0], [1.0], [0.1], [1.1]])
    with pytest.warns(ConvexfsWarning, match="no feature has a positive margin"):
        result = relief(X, np.array([0, 0, 1, 1]))
    assert not result.weights.any()
    assert result.certificate.ok


def test_squared_euclidean_relief_is_the_diagonal_of_lfe(wine):
    """diag(sum m m' - sum h h') with Euclidean neighbours: LFE restricted to the diagonal."""
    z = relief_problem(wine.X, wine.y, n_neighbors=1, metric="sqeuclidean")[0]["z"]
    from scipy.spatial.distance import cdist

    D = cdist(wine.X, wine.X)
    np.fill_diagonal(D, np.inf)
    same = np.equal.outer(wine.y, wine.y)
    hits = np.where(same, D, np.inf).argmin(axis=1)
    misses = np.where(same, np.inf, D).argmin(axis=1)
    m, h = wine.X - wine.X[misses], wine.X - wine.X[hits]
    np.testing.assert_allclose(z, np.diag(m.T @ m - h.T @ h), rtol=1e-9)


def test_a_changed_problem_must_weigh_every_feature(wine):
    def short(z):
        w = cp.Variable(2, name="w")
        return cp.Problem(cp.Maximize(cp.sum(w)), [cp.norm(w) <= 1])

    with pytest.raises(InputError, match=r"'w' has shape \(2,\): it must have one entry"):
        relief(wine.X, wine.y, solving=Solving(build=short))
    with pytest.raises(InputError, match="l1 has no effect on a changed problem"):
        relief(wine.X, wine.y, Settings(l1=0.2), Solving(build=short))


def test_more_neighbours_than_a_class_has_are_warned_of(wine):
    with pytest.warns(ConvexfsWarning, match="a class has only 47 other members"):
        relief(wine.X, wine.y, Settings(n_neighbors=60))


def test_an_unsuitable_solver_is_refused_before_the_neighbours_are_sought(wine, monkeypatch):
    monkeypatch.setattr(numbers, "signed_neighbors", None)
    with pytest.raises(SolverUnsuitable):
        relief(wine.X, wine.y, solving=Solving(solver="OSQP"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1": -0.1}, "l1, a share of the largest margin, must be a number of at least 0"),
        ({"l1": 1.5}, "and at most 1, not 1.5"),
        ({"n_epochs": 0}, "n_epochs must be an integer of at least 1"),
    ],
)
def test_bad_settings_are_refused(wine, options, message):
    with pytest.raises(InputError, match=message):
        relief(wine.X, wine.y, Settings(**options))
