import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from convexfs import load
from convexfs.baselines import PROJECTIONS, projection
from convexfs.baselines.projections import DANN, MMC
from convexfs.errors import InputError


@pytest.mark.parametrize("name", PROJECTIONS)
def test_projected_samples_keep_their_classes_apart(name):
    data = load("wine").scaled()
    model = projection(name)(n_components=2).fit(data.X, data.y)
    projected = model.transform(data.X)
    assert projected.shape == (178, 2)
    assert KNeighborsClassifier(5).fit(projected, data.y).score(projected, data.y) > 0.93


def test_mmc_has_a_direction_less_than_classes_and_maximises_the_trace():
    data = load("iris").scaled()
    model = MMC().fit(data.X, data.y)
    assert len(model.components_) <= 2
    W = model.components_.T @ model.components_
    np.testing.assert_allclose(W, model.solution_.primal["W"], atol=1e-9)
    assert np.linalg.norm(W) == pytest.approx(1)


def test_dann_finds_the_plane_in_which_neighbourhoods_differ():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = (X[:, 0] ** 2 + X[:, 3] ** 2 > 1.4).astype(int)
    components = DANN(n_components=2).fit(X, y).components_
    assert (components[:, [0, 3]] ** 2).sum() > 1.6


@pytest.mark.parametrize("model", [MMC, DANN])
def test_bad_input_gets_one_clear_sentence(model):
    data = load("iris")
    with pytest.raises(InputError, match="n_components must be a whole number"):
        model(n_components=9).fit(data.X, data.y)
    with pytest.raises(InputError, match="single class"):
        model().fit(data.X, np.zeros(150))


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(InputError, match="unknown projection 'pcaa': did you mean pca"):
        projection("pcaa")
