"""Logo and I-RELIEF of samples with missing values and categories."""

import numpy as np
import pandas as pd
import pytest

from convexfs import IRelief, Logo
from convexfs.inference import permutation_test
from convexfs.methods.logo.fit import logo
from convexfs.methods.logo.fixed_points.complementarity import State
from convexfs.methods.logo.margins import locality_of
from convexfs.methods.logo.newton import Penalised
from convexfs.methods.relief.fit import margin_of
from convexfs.neighbors.missing_values import mixed_samples, of_classes
from tests.typed import known

RULES = ["hybrid", "class", "observed"]
N, J = 70, 15
CATEGORICAL = np.arange(J) >= 12


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    y = np.arange(N) % 2
    X = rng.standard_normal((N, J))
    X[:, :3] += 1.4 * y[:, None]
    X[:, 12:] = rng.integers(0, 3, (N, 3))
    X[:, 12] = np.where(rng.random(N) < 0.85, y, X[:, 12])
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


@pytest.mark.parametrize("rule", RULES)
def test_a_certified_fixed_point_finds_the_true_features(data, rule):
    model = Logo(lam=0.5, missing=rule, categorical_features=CATEGORICAL).fit(*data)
    assert model.certificate_.ok
    assert model.converged_
    assert len({0, 1, 2, 12} & set(np.flatnonzero(model.weights_))) >= 3
    assert model.score(*data) > 0.8


@pytest.mark.parametrize("rule", RULES)
def test_a_backend_solves_the_same_problems(data, rule):
    settings = {"lam": 0.5, "missing": rule, "categorical_features": CATEGORICAL}
    native, backend = Logo(**settings).fit(*data), Logo(**settings, solver="CLARABEL").fit(*data)
    assert backend.certificate_.ok
    np.testing.assert_allclose(backend.weights_, native.weights_, atol=2e-2)


@pytest.mark.parametrize("rule", RULES)
def test_the_slope_of_scores_is_that_of_differences(data, rule):
    X, y = data[0][:40], np.random.default_rng(0).integers(0, 3, 40)
    locality = locality_of(mixed_samples(X[:, 9:], CATEGORICAL[9:], rule), y, 1.3)
    w = np.random.default_rng(1).random(6) + 0.1

    def at(w):
        return State(locality, Penalised(0.5), locality.X, w)

    step = 1e-6 * np.eye(6)
    slope = np.array([(at(w + d).scores - at(w - d).scores) / 2e-6 for d in step]).T
    assert len(at(w).free) == 6
    np.testing.assert_allclose(at(w).slope, slope, atol=1e-7)


def test_many_features_are_asked_as_few_are(data):
    # Beyond a thousand features candidates are sought, and all are asked at the end.
    rng = np.random.default_rng(5)
    noise = np.where(rng.random((N, 1100)) < 0.1, np.nan, rng.standard_normal((N, 1100)))
    model = Logo(lam=3.0).fit(np.hstack([data[0][:, :12], noise]), data[1])
    assert model.certificate_.ok
    assert {0, 1, 2} <= set(np.flatnonzero(model.weights_))


def test_whole_samples_are_what_they_are_without_holes(data):
    X = np.nan_to_num(data[0][:, :12])
    samples = mixed_samples(X, np.zeros(12, bool), "hybrid")
    np.testing.assert_allclose(logo(samples, data[1]).weights, logo(X, data[1]).weights, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_irelief_finds_them_too(data, rule):
    model = IRelief(missing=rule, categorical_features=CATEGORICAL, n_starts=2, keep=5)
    model.fit(*data)
    assert model.certificate_.ok
    assert set(np.argsort(-model.weights_)[:4]) == {0, 1, 2, 12}


def test_starting_from_relief_takes_its_margins(data):
    X, y = data
    samples = of_classes(mixed_samples(X, CATEGORICAL, "class"), y)
    assert margin_of(samples, y)[[0, 1, 2, 12]].min() > 0
    model = Logo(n_starts=2, missing="class", categorical_features=CATEGORICAL).fit(X, y)
    assert [row["start"] for row in model.starts_] == ["ones", "relief"]
    assert model.certificate_.ok


@pytest.mark.parametrize("rule", RULES)
def test_permuted_labels_set_the_price(data, rule):
    X, y = data[0][:, :6], data[1]
    model = Logo(lam="null", n_permutations=5, missing=rule, random_state=0).fit(X, y)
    assert model.certificate_.ok
    assert known(model.get_support()).any()


@pytest.mark.filterwarnings("ignore:nothing is selected")  # Logo speaks for the whole alone
@pytest.mark.parametrize("method", [Logo, IRelief])
def test_permuted_labels_are_fitted_with_the_same_holes(data, method):
    found = permutation_test(
        method(), data[0][:, :6], data[1], n_permutations=19, control="fwer", level=0.05,
        random_state=0,
    )  # fmt: skip
    assert found.global_pvalue == 1 / 20


def test_the_printed_algorithm_ends_at_the_same_point(data):
    X, y = data[0][:, :6], data[1]
    paper = Logo(algorithm="paper", sigma=5.0).fit(X, y)
    certified = Logo(sigma=5.0).fit(X, y)
    np.testing.assert_allclose(paper.weights_, certified.weights_, atol=0.02)


def test_new_samples_may_have_holes_and_unknown_categories(data):
    X, y = data
    frame = pd.DataFrame(X[:, :12], columns=[f"g{j}" for j in range(12)])
    frame["kind"] = pd.Series(X[:, 12]).map({0.0: "a", 1.0: "b", 2.0: "c"})
    model = Logo(lam=0.5).fit(frame, y)
    new = frame.head(6).copy()
    new.loc[0, "kind"], new.loc[1, "g0"] = "unheard of", np.nan
    assert np.isfinite(model.decision_function(new)).all()
    whole = Logo(lam=0.5).fit(np.nan_to_num(X[:, :12]), y)
    assert np.isfinite(whole.decision_function(X[:, :12])).all()
