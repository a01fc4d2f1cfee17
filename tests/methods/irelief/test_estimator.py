import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import IRelief, load
from tests.methods.copies import copies_are_neighbors
from tests.typed import known


@pytest.mark.slow(cases=55)
@parametrize_with_checks(
    [IRelief(), IRelief(keep=1, damping=0.0)], expected_failed_checks=copies_are_neighbors
)
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_what_a_fit_leaves_behind():
    data = load("wine").scaled()
    model = IRelief(keep=4).fit(data.X, data.y)
    assert model.rounds_ == (13, 6, 4)
    assert model.converged_
    assert model.n_iter_ > 3
    assert model.residual_ < 1e-4
    assert model.margin_.shape == (4,)
    assert model.certificate_.ok
    assert known(model.get_support()).sum() <= 4


def test_threads_change_nothing():
    data = load("wdbc").scaled()
    one, two = (IRelief(n_jobs=n).fit(data.X, data.y).weights_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_class_of_one_sample_is_left_out():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((21, 3)), np.r_[np.arange(20) % 2, 2]
    X[:, 0] += 3 * y
    with pytest.warns(UserWarning, match="of one sample only"):
        assert np.isfinite(IRelief().fit(X, y).weights_).all()


def test_samples_with_gaps_are_fitted_again_to_permuted_labels():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.standard_normal((30, 4))
    X[:, 0] += 4.0 * y
    X[rng.random(X.shape) < 0.05] = np.nan
    selector = IRelief(max_iter=3, tol=1.0).fit(X, y)
    assert known(selector.get_support()).tolist() == [True, False, False, False]
