import numpy as np
import pytest
from papers.baselines import PROJECTIONS, projection
from papers.baselines.projections import DANN
from scipy.spatial.distance import pdist
from sklearn.neighbors import KNeighborsClassifier

from convexfs import LMNN, MMC, load
from convexfs.errors import InputError
from convexfs.methods.lmnn.fit import lmnn
from tests.papers.baselines.bad_inputs import bad_inputs


@pytest.mark.parametrize("name", PROJECTIONS)
def test_projected_samples_keep_their_classes_apart(name):
    data = load("wine").scaled()
    X, y = data.X[::2], data.y[::2]
    projected = projection(name)(n_components=2).fit(X, y).transform(X)
    assert projected.shape == (89, 2)
    assert KNeighborsClassifier(5).fit(projected, y).score(projected, y) > 0.93


def test_mmc_has_a_direction_less_than_classes_each_of_length_1():
    data = load("iris").scaled()
    model = MMC().fit(data.X, data.y)
    assert len(model.components_) <= 2
    W = model.components_ @ model.components_.T
    np.testing.assert_allclose(W, np.eye(len(W)), atol=1e-9)
    assert (model.eigenvalues_ > 0).all()
    assert len(MMC(n_components=3).fit(data.X, data.y).components_) == 3


def test_lmnn_has_the_distances_of_its_metric():
    data = load("iris").scaled()
    X, y = data.X[::3], data.y[::3]
    model, result = LMNN().fit(X, y), lmnn(X, y)
    projected = model.transform(X[:2])
    difference = X[0] - X[1]
    distance = difference @ result.metric @ difference
    assert ((projected[0] - projected[1]) ** 2).sum() == pytest.approx(distance, rel=1e-3)
    assert model.certificate_.ok
    assert (np.diff(model.eigenvalues_) <= 0).all()


def test_dann_finds_the_plane_in_which_neighbourhoods_differ():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = (X[:, 0] ** 2 + X[:, 3] ** 2 > 1.4).astype(int)
    components = DANN(n_components=2).fit(X, y).components_
    assert (components[:, [0, 3]] ** 2).sum() > 1.6


@pytest.mark.parametrize("name", PROJECTIONS)
def test_bad_input_gets_one_clear_sentence(name):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    for samples, classes, message in bad_inputs(X, y):
        with pytest.raises(InputError, match=message):
            projection(name)().fit(samples, classes)


@pytest.mark.parametrize("model", [MMC, DANN, LMNN])
def test_too_many_components_are_one_clear_sentence(model):
    data = load("iris")
    with pytest.raises(InputError, match="n_components must be an integer"):
        model(n_components=9).fit(data.X, data.y)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_permuted_columns_give_the_same_picture_of_the_samples(name):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 4)), np.arange(60) % 3
    X[:, :2] += np.eye(3)[y, :2] * 3
    order = rng.permutation(4)
    model, moved = (projection(name)(n_components=2) for _ in range(2))
    distances = pdist(model.fit(X, y).transform(X))
    permuted = pdist(moved.fit(X[:, order], y).transform(X[:, order]))
    # NCA starts from principal components and stops early; its path differs by rounding.
    np.testing.assert_allclose(permuted, distances, rtol=1e-2, atol=1e-3 * distances.max())


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(InputError, match="unknown projection 'pcaa': did you mean pca"):
        projection("pcaa")


@pytest.mark.parametrize("name", ["pca", "nca"])
def test_samples_that_do_not_differ_are_one_clear_sentence(name):
    with pytest.raises(InputError, match="samples that differ"):
        projection(name)().fit(np.ones((6, 1)), [0, 1] * 3)


@pytest.mark.parametrize("seed", [0, 8, 29])
def test_directions_of_no_margin_are_certified(seed):
    """The leading eigenvalues of Sb - Sw are 0, or nearly, and the gap is their rounding."""
    flags = np.random.default_rng(seed).integers(0, 2, size=(8, 3))
    assert MMC().fit(flags, np.arange(8) % 2).certificate_.ok
