import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import LFE, load
from convexfs.errors import ConvexfsWarning
from convexfs.methods.lfe.estimator import choose_components, knn_mistakes
from tests.typed import constraints


@pytest.mark.slow(cases=48)
@parametrize_with_checks([LFE(), LFE(n_components=1, form="trace", lam=0.1, solver="SCS")])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def noisy():
    return load("twonorm:n=200,noise=10,seed=3").scaled()


def test_projected_distances_are_those_of_the_metric(noisy):
    model = LFE(n_neighbors=5).fit(noisy.X, noisy.y)
    a, b = noisy.X[3] - noisy.X[8], model.transform(noisy.X[[3, 8]])
    assert a @ model.metric_ @ a == pytest.approx(((b[0] - b[1]) ** 2).sum())
    assert np.linalg.norm(model.metric_) == pytest.approx(1)
    assert model.certificate_.ok


def test_frames_get_named_components(noisy):
    frame = pd.DataFrame(noisy.X, columns=list(noisy.feature_names))
    model = LFE(n_components=3).set_output(transform="pandas").fit(frame, noisy.y)
    assert list(model.transform(frame).columns) == ["lfe0", "lfe1", "lfe2"]
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)


def test_added_noise_is_held_down(noisy):
    relevance = LFE(n_neighbors=10).fit(noisy.X, noisy.y).metric_.diagonal()
    assert relevance[:20].mean() > 3 * relevance[20:].mean()


def test_cross_validation_chooses_few_components_where_one_direction_tells_all(noisy):
    model = LFE(n_components="cv", n_neighbors=10).fit(noisy.X, noisy.y)
    assert model.n_components_ == model.choice_.n_components <= 5
    assert model.choice_.errors.shape == (model.choice_.errors.shape[0], 16)
    assert model.choice_.error < 0.06
    held_out = load("twonorm:n=1000,noise=10,seed=4").scaled()
    knn = KNeighborsClassifier(model.choice_.n_neighbors)
    knn.fit(model.transform(noisy.X), noisy.y)
    assert knn.score(model.transform(held_out.X), held_out.y) > 0.93


def test_a_small_class_means_fewer_folds():
    data = load("iris").scaled()
    rows = np.r_[0:50, 50:53]
    choice = choose_components(data.X[rows], data.y[rows], LFE(), tried=[1, 3])
    assert choice.errors.shape[1] == 2


def test_mistakes_by_components_are_those_of_scikit_learns_classifier():
    rng = np.random.default_rng(0)
    known, new = rng.standard_normal((40, 3)), rng.standard_normal((15, 3))
    codes, truth = rng.integers(3, size=40), rng.integers(3, size=15)
    mistakes = knn_mistakes(known, codes, new, truth, [1, 4, 9])
    for t in (1, 2, 3):
        for column, k in enumerate((1, 4, 9)):
            knn = KNeighborsClassifier(k).fit(known[:, :t], codes)
            wrong = (knn.predict(new[:, :t]) != truth).sum()
            assert mistakes[t - 1, column] == wrong


def test_a_changed_problem_can_be_fitted(noisy):
    import cvxpy as cp

    def few_directions(Sigma):
        W = cp.Variable(Sigma.shape, name="W", symmetric=True)
        return cp.Problem(cp.Maximize(cp.trace(W @ Sigma)), constraints(W >> 0, cp.trace(W) <= 1))

    model = LFE(formulation=few_directions, solver="CLARABEL").fit(noisy.X, noisy.y)
    assert model.n_components_ == 1
    assert model.certificate_.ok


X = np.random.default_rng(0).standard_normal((12, 3))
Y = np.arange(12) % 2


@pytest.mark.parametrize(
    ("labels", "settings", "message"),
    [
        (np.zeros(12), {}, "only one class, '0.0'"),
        (Y, {"n_components": 4}, "n_components must be an integer of at least 1 and at most 3"),
        (Y, {"n_components": "all"}, "must be a number, None or 'cv', not 'all'"),
        (Y, {"form": "rowsparse"}, "did you mean row-sparse"),
        (Y, {"lam": 0.5}, "lam is a penalty of form='trace' or 'row-sparse'"),
        (Y, {"form": "trace", "lam": 1.5}, "lam, a share of the largest eigenvalue, must be"),
        (Y, {"solver": "HIGHS"}, "HIGHS cannot take SDP"),
        (Y, {"n_neighbors": 12}, "more neighbours than the 12 rows have"),
    ],
)
def test_bad_input_gets_one_clear_sentence(labels, settings, message):
    with pytest.raises(ValueError, match=message):
        LFE(**settings).fit(X, labels)


def test_a_bad_cell_is_named():
    bad = X.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN at data row 5, column 2"):
        LFE().fit(bad, Y)


def test_sparse_matrices_are_refused_with_the_cure():
    with pytest.raises(TypeError, match="toarray"):
        LFE().fit(csr_array(X), Y)


def test_no_positive_direction_is_warned_of():
    crossed = np.array([[0.0], [1.0], [0.1], [1.1]])
    with pytest.warns(ConvexfsWarning, match="no direction has a positive margin"):
        model = LFE().fit(crossed, np.array([0, 0, 1, 1]))
    assert model.transform(crossed).shape == (4, 0)
    assert not model.metric_.any()
