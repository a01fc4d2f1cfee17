import numpy as np
import pytest
from papers.baselines.kernel_pls import KernelPLS, latent_components
from sklearn.cross_decomposition import PLSRegression
from sklearn.metrics.pairwise import rbf_kernel

from convexfs import load
from convexfs.errors import InputError


@pytest.fixture(scope="module")
def wine():
    return load("wine").scaled()


def indicators(codes):
    Y = np.eye(codes.max() + 1)[codes]
    return Y - Y.mean(axis=0)


def up_to_sign(A, B, **close):
    np.testing.assert_allclose(A * np.sign((A * B).sum(axis=0)), B, **close)


def nipals(K, Y, count):
    """Rosipal and Trejo's iteration, power steps and all."""
    T, eye = [], np.eye(len(K))
    for _ in range(count):
        t = K @ Y[:, 0]
        for _ in range(5000):
            t /= np.linalg.norm(t)
            u = Y @ (Y.T @ t)
            t = K @ u
        t /= np.linalg.norm(t)
        T.append(t)
        away = eye - np.outer(t, t)
        K, Y = away @ K @ away, away @ Y
    return np.array(T).T


def test_components_are_those_of_the_power_iteration(wine):
    model = KernelPLS(3).fit(wine.X, wine.y)
    K = rbf_kernel(wine.X, gamma=1 / 13)
    centre = np.eye(178) - 1 / 178
    T = nipals(centre @ K @ centre, indicators(wine.y), 3)
    up_to_sign(model.transform(wine.X), T, atol=1e-7)


def test_with_a_linear_kernel_they_are_those_of_plain_pls(wine):
    Y = indicators(wine.y)
    T, _ = latent_components(wine.X @ wine.X.T, Y, 3)
    scores = PLSRegression(3, scale=False, max_iter=10_000, tol=1e-14).fit(wine.X, Y).x_scores_
    up_to_sign(T, scores / np.linalg.norm(scores, axis=0), atol=1e-6)


def test_components_are_orthonormal_and_explain_shares(wine):
    model = KernelPLS(4).fit(wine.X, wine.y)
    T = model.transform(wine.X)
    np.testing.assert_allclose(T.T @ T, np.eye(4), atol=1e-9)
    assert (model.explained_ >= 0).all()
    assert 0.8 < model.explained_.sum() <= 1


def test_new_samples_fall_where_old_ones_of_the_same_values_are(wine):
    model = KernelPLS(2).fit(wine.X, wine.y)
    np.testing.assert_allclose(model.transform(wine.X[5:9]), model.transform(wine.X)[5:9])


def test_equal_samples_leave_no_more_components_than_there_are():
    X = np.repeat(np.eye(3), 4, axis=0)
    model = KernelPLS(6).fit(X, np.repeat([0, 1, 1], 4))
    assert len(model.explained_) == 1
    assert model.explained_[0] == pytest.approx(1)


def test_samples_that_leave_no_component_get_one_clear_sentence():
    y = np.arange(6) % 2
    for X in (np.ones((6, 3)), np.full((6, 3), 0.1)):
        with pytest.raises(InputError, match="samples that differ"):
            KernelPLS(2).fit(X, y)
    # Every sample is there once in each class.
    with pytest.raises(InputError, match="no component"):
        KernelPLS(2).fit(np.repeat(np.eye(3), 2, axis=0), y)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_components": 0}, "n_components must be"), ({"gamma": -1.0}, "gamma must be")],
)
def test_bad_settings_get_one_clear_sentence(wine, options, message):
    with pytest.raises(InputError, match=message):
        KernelPLS(**options).fit(wine.X, wine.y)
