import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import FORMULATIONS, Logo, LogoRegressor, certify, load, solve
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.methods.logo.fixed_points import complementarity
from convexfs.methods.logo.fixed_points.complementarity import State
from convexfs.methods.logo.newton import Penalised
from convexfs.methods.logo_regression.fit import SoftLocality
from tests.typed import known


@pytest.mark.slow(cases=57)
@parametrize_with_checks([LogoRegressor(), LogoRegressor(beta=2.0, difference="range", n_jobs=2)])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def product():
    return load("product:n=120,noise=40,seed=1").scaled()


def test_two_values_over_their_range_are_logo():
    data = load("twonorm:n=80,noise=20,seed=1").scaled()
    classes = Logo(tol=1e-8).fit(data.X, data.y)
    numbers = LogoRegressor(tol=1e-8, difference="range").fit(data.X, data.y)
    np.testing.assert_allclose(numbers.weights_, classes.weights_, rtol=1e-9, atol=1e-12)
    assert numbers.solution_.objective == pytest.approx(classes.solution_.objective, rel=1e-12)


@pytest.mark.parametrize("name", ["rlogo", "rlogo-constrained"])
def test_cvxpy_reaches_the_native_optimum_and_proves_it(name, product):
    row = FORMULATIONS[name]
    values, hyper = row.numbers(product.X[:60], product.y[:60])
    problem = row.build(**values, **hyper)
    solution = solve(problem, "CLARABEL", tol=1e-9)
    expected = known(row.native)(**values, **hyper)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-7)
    assert certify(problem, solution).ok


def test_a_backend_finds_the_same_fixed_point(product):
    native, backend = (
        LogoRegressor(lam=4.0, tol=1e-4, solver=solver).fit(product.X, product.y)
        for solver in ("auto", "CLARABEL")
    )
    np.testing.assert_allclose(backend.weights_, native.weights_, atol=2e-3)
    assert native.certificate_.ok
    assert backend.certificate_.ok


@pytest.mark.parametrize("difference", ["rank", "range"])
def test_a_fixed_point_is_proven_and_finds_what_matters(difference, product):
    model = LogoRegressor(difference=difference).fit(product.X, product.y)
    assert model.converged_
    assert model.certificate_.ok
    assert set(np.argsort(-model.weights_)[:2]) == {0, 1}
    assert model.score(product.X, product.y) > 0.8


def test_not_to_have_converged_is_said(product):
    with pytest.warns(ConvexfsWarning, match="has not converged after 2 iterations"):
        model = LogoRegressor(max_iter=2).fit(product.X, product.y)
    assert not model.converged_
    assert model.certificate_.ok is False


def test_permuted_targets_set_the_price(product):
    model = LogoRegressor(lam="null", n_permutations=9, random_state=0).fit(product.X, product.y)
    assert set(known(model.get_support(indices=True))) == {0, 1}


def test_the_slope_is_that_of_differences(product, monkeypatch):
    """Neighbours move with the weights: central differences of c(w) against the formula."""
    monkeypatch.setattr(complementarity, "_DROPPED_SHARE", 0.0)
    X = product.X[:30, :5]
    locality = SoftLocality(X, product.y[:30], 1.5)
    w = np.array([0.7, 0.4, 0.2, 0.5, 0.3])

    def state(w):
        return State(locality, Penalised(1.0), X - X.mean(axis=0), w)

    h = 1e-6
    moved = [(state(w + h * e).scores - state(w - h * e).scores) / (2 * h) for e in np.eye(5)]
    np.testing.assert_allclose(state(w).slope, np.transpose(moved), rtol=1e-5, atol=1e-6)


def test_predictions_are_means_of_the_near(product):
    model = LogoRegressor(sigma=0.5).fit(product.X, product.y)
    used = np.flatnonzero(model.weights_)
    scaled = product.X[:, used] * model.weights_[used]
    kernel = np.exp(-np.abs(scaled[:5, None] - scaled).sum(axis=2) / 0.5)
    expected = kernel @ product.y / kernel.sum(axis=1)
    np.testing.assert_allclose(model.predict(product.X[:5]), expected)


def test_a_difference_must_be_known(product):
    with pytest.raises(InputError, match="unknown difference of targets 'ranks': did you mean"):
        LogoRegressor(difference="ranks").fit(product.X, product.y)
