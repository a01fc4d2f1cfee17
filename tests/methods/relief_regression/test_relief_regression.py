import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import FORMULATIONS, ReliefRegressor, certify, load, solve
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.inference import (
    KnockoffSelector,
    StabilitySelector,
    permutation_test,
    selection_curve,
)
from convexfs.methods.relief import numbers as relief_numbers
from tests.typed import known

soft = FORMULATIONS["rrelief-soft"]


@pytest.mark.slow(cases=47)
@parametrize_with_checks([ReliefRegressor(), ReliefRegressor(sigma=2.0, solver="CLARABEL")])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def printed(X, y, k, spread):
    """RReliefF as Fig. 3 of Robnik-Sikonja and Kononenko (2003) has it, every sample drawn once."""

    def diff(column, i, j):
        return abs(column[i] - column[j]) / (column.max() - column.min())

    m, n_features = X.shape
    n_dc, n_da, n_dcda = 0.0, np.zeros(n_features), np.zeros(n_features)
    for i in range(m):
        others = [j for j in range(m) if j != i]
        distance = {j: sum(diff(X[:, a], i, j) for a in range(n_features)) for j in others}
        near = sorted(others, key=lambda j: distance[j])[:k]
        d1 = [np.exp(-(((r + 1) / spread) ** 2)) if spread else 1.0 for r in range(k)]
        for rank, j in enumerate(near):
            d = d1[rank] / sum(d1)
            n_dc += diff(y, i, j) * d
            for a in range(n_features):
                n_da[a] += diff(X[:, a], i, j) * d
                n_dcda[a] += diff(y, i, j) * diff(X[:, a], i, j) * d
    return n_dcda / n_dc - (n_da - n_dcda) / (m - n_dc)


@pytest.mark.parametrize(("k", "spread"), [(5, None), (12, 4.0)])
def test_z_is_what_the_printed_algorithm_counts(k, spread):
    data = load("friedman:n=40,noise=3,seed=2").scaled("minmax")
    model = ReliefRegressor(n_neighbors=k, spread=spread, n_features_to_select=3)
    model.fit(data.X, data.y)
    np.testing.assert_allclose(model.margin_, printed(data.X, data.y, k, spread), atol=1e-14)
    rising = np.maximum(model.margin_, 0)
    np.testing.assert_allclose(model.weights_, rising / np.linalg.norm(rising), atol=1e-14)
    assert model.certificate_.ok


def test_soft_misses_of_classes_with_a_narrow_kernel_are_relief(monkeypatch):
    data = load("wine").scaled()
    apart = (data.y[:, None] != data.y).astype(float)
    monkeypatch.setattr(
        "convexfs.methods.relief_regression.numbers.target_difference", lambda *_: apart
    )
    values, _ = soft.numbers(data.X, data.y, sigma=1e-6)
    settings = {"n_neighbors": 1, "miss": "nearest", "metric": "manhattan", "online": False}
    expected, _ = relief_numbers.relief(data.X, data.y, **settings, n_epochs=1, l1=0.0)
    np.testing.assert_allclose(values["z"], expected["z"], rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("name", ["rrelief", "rrelief-soft"])
def test_cvxpy_reaches_the_closed_form(name):
    data = load("diabetes").scaled()
    row = FORMULATIONS[name]
    values, hyper = row.numbers(data.X, data.y)
    solution = solve(problem := row.build(**values, **hyper), "CLARABEL", tol=1e-9)
    expected = known(row.native)(**values, **hyper)
    np.testing.assert_allclose(solution.primal["w"], expected.primal["w"], atol=1e-4)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-8)
    assert certify(problem, solution).ok


@pytest.mark.parametrize("sigma", [None, 2.0])
def test_a_backend_and_l1_are_taken(sigma):
    data = load("friedman:n=60,noise=5").scaled()
    native, backend = (
        ReliefRegressor(sigma=sigma, l1=0.3, solver=solver).fit(data.X, data.y)
        for solver in ("auto", "CLARABEL")
    )
    np.testing.assert_allclose(native.weights_, backend.weights_, atol=1e-4)
    cut = native.margin_ <= 0.3 * native.margin_.max()
    np.testing.assert_array_equal(native.weights_ == 0, cut)


def test_what_is_significant_against_shadow_columns_is_selected():
    data = load("product:n=200,noise=30,seed=1").scaled()
    model = ReliefRegressor().fit(data.X, data.y)
    np.testing.assert_array_equal(model.get_support(indices=True), [0, 1])
    assert known(model.shadow_test_).n_permutations == 200
    soft = ReliefRegressor(sigma=10.0).fit(data.X, data.y)
    np.testing.assert_array_equal(soft.get_support(indices=True), [0, 1])
    shuffled = np.random.default_rng(1).permutation(data.y)
    nothing = ReliefRegressor().fit(data.X, shuffled)
    with pytest.warns(ConvexfsWarning, match="nothing is selected"):
        assert not known(nothing.get_support()).any()


def test_it_selects_inside_a_pipeline():
    data = load("product:n=200,noise=60,seed=3")
    knn = KNeighborsRegressor(10)
    plain = make_pipeline(StandardScaler(), knn)
    selecting = make_pipeline(StandardScaler(), ReliefRegressor(n_features_to_select=2), knn)
    scores = [cross_val_score(model, data.X, data.y, cv=4).mean() for model in (plain, selecting)]
    assert scores[1] > 0.7 > 0.3 > scores[0]


X = np.random.default_rng(0).standard_normal((12, 3))


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        (["a", "b"] * 6, {}, "holds no numbers, such as .*for classes use a method of classes"),
        (np.ones(12), {}, "single value 1; a regressor needs numbers that differ"),
        (np.full(12, np.inf), {}, "Input y contains infinity"),
        (pd.Series([1.0, None] * 6), {}, r"missing value \(NaN\) at data row 2"),
        (X[:, 0], {"n_features_to_select": "auto"}, "counts errors of classes"),
        (X[:, 0], {"n_neighbors": 0}, "n_neighbors must be an integer"),
        (X[:, 0], {"sigma": -1.0}, "sigma must be a number above 0"),
        (X[:, 0], {"sigma": 1.0, "difference": "rang"}, "did you mean rang?"),
        (X[:, 0], {"l1": 2.0}, "l1, a share of the largest margin"),
    ],
)
def test_bad_input_gets_one_clear_sentence(y, settings, message):
    with pytest.raises(ValueError, match=message):
        ReliefRegressor(**settings).fit(X, y)


def test_inference_takes_numbers_but_for_knockoffs():
    data = load("product:n=80,noise=10").scaled()
    model = ReliefRegressor()
    result = permutation_test(model, data.X, data.y, n_permutations=99, random_state=0)
    assert result.selected[:2].all()
    few = ReliefRegressor(n_features_to_select=2)
    stable = StabilitySelector(few, n_pairs=5, random_state=0).fit(data.X, data.y)
    assert stable.probabilities_[:2].min() > stable.probabilities_[2:].max()
    curve = selection_curve(model, data.X, data.y, random_state=0)
    assert curve.errors.min() < 1
    with pytest.raises(InputError, match="Unknown label type: continuous"):
        KnockoffSelector(model).fit(data.X, data.y)


def test_nothing_positive_is_said():
    model = ReliefRegressor(n_features_to_select=1, n_neighbors=11)
    opposite = np.tile([[0.0], [1.0]], (6, 1))
    with pytest.warns(ConvexfsWarning, match="no feature has a positive margin"):
        model.fit(opposite, np.repeat(np.arange(6.0), 2))
    assert not model.weights_.any()
