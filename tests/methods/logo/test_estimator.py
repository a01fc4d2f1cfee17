import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import Logo, load
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.methods.base.fixed_point import FixedPointCertificate
from tests.methods.copies import copies_are_neighbors
from tests.typed import known


@pytest.mark.slow(cases=69)
@parametrize_with_checks(
    [Logo(), Logo(beta=2.0, n_jobs=2)], expected_failed_checks=copies_are_neighbors
)
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def spiral():
    return load("spiral:noise=30")


@pytest.fixture(scope="module")
def model(spiral):
    return Logo().fit(spiral.X, spiral.y)


def test_the_two_relevant_features_are_selected(model):
    assert known(model.get_support(indices=True)).tolist() == [0, 1]
    assert model.certificate_.ok
    assert model.converged_
    assert model.n_iter_ == len(model.history_)
    np.testing.assert_array_equal(model.weights_, model.feature_importances_)


def test_frames_keep_their_names(spiral):
    frame = pd.DataFrame(spiral.X, columns=list(spiral.feature_names))
    selector = Logo().set_output(transform="pandas").fit(frame, spiral.labels)
    assert list(selector.transform(frame).columns) == ["x1", "x2"]
    assert set(selector.predict(frame)) == set(spiral.labels)


def test_the_sign_of_the_margin_is_the_class(spiral, model):
    margin = model.decision_function(spiral.X)
    assert margin.shape == (460,)
    np.testing.assert_array_equal(model.predict(spiral.X), (margin > 0).astype(int))
    assert model.score(spiral.X, spiral.y) > 0.95


def test_margins_of_new_samples_follow_the_formula(spiral, model):
    """Against all training samples of a class, the sample itself included if it is one."""
    new = np.random.default_rng(0).standard_normal((3, 32)) * 4
    far = np.abs(new[:, None, :2] - spiral.X[None, :, :2]) @ model.weights_[:2]
    expected = []
    for code in (0, 1):
        own = far[:, spiral.y == code]
        kernel = np.exp(-own / 2.0)
        expected.append((kernel * own).sum(axis=1) / kernel.sum(axis=1))
    np.testing.assert_allclose(model.decision_function(new), expected[0] - expected[1])


@pytest.mark.parametrize(("name", "least"), [("iris", 0.93), ("wine", 0.94)])
def test_several_classes_are_told_apart_amid_noise(name, least):
    data = load(name).scaled()
    noise = np.random.default_rng(0).standard_normal((data.n_samples, 300))
    X = np.hstack([data.X, noise])
    accuracy = cross_val_score(make_pipeline(StandardScaler(), Logo(lam=5.0)), X, data.labels, cv=5)
    assert accuracy.mean() > least
    model = Logo(lam=5.0).fit(X, data.labels)
    assert known(model.get_support(indices=True)).max() < data.n_features
    assert model.decision_function(X).shape == (data.n_samples, 3)
    nearest = model.classes_[model.decision_function(X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), nearest)


@pytest.fixture(scope="module")
def in_float64():
    data = load("spiral:noise=1200,n=60")
    X = np.rint(data.X * 10)
    return X, data.y, Logo(lam=10.0).fit(X, data.y).weights_


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int32])
def test_samples_may_have_any_dtype(dtype, in_float64):
    X, y, expected = in_float64
    model = Logo(lam=10.0).fit(X.astype(dtype), y)
    assert known(model.get_support(indices=True)).tolist() == np.flatnonzero(expected).tolist()
    np.testing.assert_allclose(model.weights_, expected, atol=1e-4)


def test_threads_change_nothing():
    data = load("spiral:noise=3000,n=40")
    one, two = (Logo(n_jobs=n).fit(data.X, data.y).weights_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_number_of_features_can_be_asked_for(spiral):
    model = Logo(n_features_to_select=1).fit(spiral.X, spiral.y)
    assert known(model.get_support(indices=True)).tolist() == [0]
    with pytest.raises(InputError, match="at most 32, not 33"):
        Logo(n_features_to_select=33).fit(spiral.X, spiral.y)


def test_a_problem_file_may_change_the_step(tmp_path):
    data = load("spiral:noise=2,n=30")
    path = tmp_path / "ridge.py"
    path.write_text(
        '"""Logo plus ridge."""\nimport cvxpy as cp\nMETHOD = "logo"\nDATA = ["iris"]\n'
        'GRID = {"mu": [0.5]}\ndef build(Z, lam, mu):\n'
        '    w = cp.Variable(Z.shape[1], name="w")\n'
        "    loss = cp.sum(cp.logistic(-(Z @ w))) + lam * cp.sum(w) + mu * cp.sum_squares(w)\n"
        "    return cp.Problem(cp.Minimize(loss), [w >= 0])\n"
    )
    changed = Logo(formulation=path).fit(data.X, data.y)
    plain = Logo().fit(data.X, data.y)
    assert changed.certificate_.ok
    assert changed.solution_.solver != "native"
    assert 0 < changed.weights_.sum() < plain.weights_.sum()


def test_weights_of_zero_still_predict(spiral):
    with pytest.warns(ConvexfsWarning, match="all weights are 0"):
        model = Logo(lam=1e4).fit(spiral.X, spiral.y)
    assert np.isfinite(model.decision_function(spiral.X)).all()
    assert not model.weights_.any()


def test_a_class_of_one_is_warned_of(spiral):
    y = spiral.y.copy()
    y[0] = 7
    with pytest.warns(ConvexfsWarning, match="class '7' of one sample only"):
        model = Logo().fit(spiral.X, y)
    assert model.certificate_.ok
    assert model.decision_function(spiral.X).shape == (460, 3)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda X, y: (np.where(np.isclose(X, X[3, 2]), np.inf, X), y), "infinity at data row 4"),
        (lambda X, y: (X, np.zeros(len(X))), "only one class"),
        (lambda X, y: (X, np.linspace(0, 1, len(X))), "[Uu]nknown label type|continuous"),
    ],
)
def test_input_that_cannot_be_used_is_named(bad, message, spiral):
    with pytest.raises((ValueError, TypeError), match=message):
        Logo().fit(*bad(spiral.X, spiral.y))


def test_a_time_limit_ends_the_fit_without_a_proof():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 800)), np.arange(200) % 2
    with pytest.warns(ConvexfsWarning, match="time limit of 0.05 s ended the iteration"):
        model = Logo(lam=0.1, sigma=0.2, tol=0.0, time_limit=0.05).fit(X, y)
    assert not model.converged_
    assert model.certificate_.ok is not True
    assert model.n_iter_ < 100
    assert np.isfinite(model.weights_).all()
    with pytest.raises(InputError, match="time_limit, in seconds, must be a number above 0"):
        Logo(time_limit=0).fit(X, y)


def test_a_fit_without_time_does_not_blame_its_price():
    X, y = np.random.default_rng(0).standard_normal((20, 1200)), np.arange(20) % 2
    with pytest.warns(ConvexfsWarning) as told:
        Logo(lam=0.1, time_limit=1e-9).fit(X, y)
    assert [str(each.message)[:14] for each in told] == ["the time limit"]


def test_a_time_limit_that_is_not_reached_changes_nothing(spiral, model):
    limited = Logo(time_limit=600).fit(spiral.X, spiral.y)
    np.testing.assert_array_equal(limited.weights_, model.weights_)


@pytest.mark.parametrize("solver", ["native", "CLARABEL"])
def test_an_enormous_budget_and_a_tiny_width_end_soon(solver):
    """Hard neighbours and a bound that binds nothing: no fixed point need exist."""
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvexfsWarning)
        model = Logo(beta=1e30, sigma=1e-12, solver=solver, time_limit=60, max_iter=50).fit(X, y)
    assert np.isfinite(model.weights_).all()
    assert model.converged_ == (model.certificate_.ok is True)


def test_starts_are_tried_and_told(spiral):
    model = Logo(lam=1.0, n_starts=3, random_state=0).fit(spiral.X, spiral.y)
    assert [row["start"] for row in model.starts_] == ["ones", "relief", "random"]
    assert isinstance(model.certificate_, FixedPointCertificate)
    assert model.certificate_.n_found == 1
    started = Logo(lam=1.0, start=model.weights_).fit(spiral.X, spiral.y)
    assert started.n_iter_ <= 3
    np.testing.assert_allclose(started.weights_, model.weights_, atol=1e-3)
