"""Targets that are numbers, and features that are categories or have gaps."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from convexfs import LogoRegressor, ReliefRegressor
from convexfs.errors import InputError
from convexfs.methods.logo_regression.fit import SoftLocality, SoftMixedLocality
from convexfs.methods.logo_regression.fit import differences as differences_of
from convexfs.neighbors.missing_values import mixed_samples

RNG = np.random.default_rng(1)
N = 80
X = RNG.standard_normal((N, 6))
SITE = RNG.choice(["north", "south", "west"], N)
Y = X[:, 0] * X[:, 1] + 2.0 * (SITE == "north") + 0.1 * RNG.standard_normal(N)
MODELS = [
    ReliefRegressor(n_features_to_select=3),
    ReliefRegressor(sigma=2.0, n_features_to_select=3),
    LogoRegressor(lam=2.0),
]


def table(kind="category"):
    """Numbers, a place that matters and a colour that does not."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)])
    frame["site"] = SITE
    frame["colour"] = ["red", "blue"] * (N // 2)
    return frame.astype({"site": kind, "colour": kind})


def differences(frame):
    """Of all pairs and features: 1 on average, for numbers and categories."""
    apart = np.empty((N, N, frame.shape[1]))
    for j, name in enumerate(frame):
        own = frame[name].to_numpy()
        number = own.dtype.kind == "f"
        apart[:, :, j] = np.abs(own[:, None] - own) if number else own[:, None] != own
    return apart / (apart.sum(axis=(0, 1)) / (N * (N - 1)))


@pytest.mark.parametrize("kind", ["category", "str", object])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_categories_are_features_like_others(model, kind):
    fitted = type(model)(**model.get_params()).fit(table(kind), Y)
    assert set(fitted.ranking()["name"][:3]) == {"site", "x0", "x1"}
    assert fitted.certificate_.ok


def test_rrelief_of_categories_is_the_printed_algorithm():
    phi, k = differences(table()), 10
    delta = np.abs(Y[:, None] - Y) / np.ptp(Y)
    n_dc, n_da, n_dcda = 0.0, np.zeros(8), np.zeros(8)
    for n in range(N):
        others = [i for i in np.argsort(phi[n].sum(axis=1), kind="stable") if i != n][:k]
        n_dc += delta[n, others].sum() / k
        n_da += phi[n, others].sum(axis=0) / k
        n_dcda += delta[n, others] @ phi[n, others] / k
    expected = n_dcda / n_dc - (n_da - n_dcda) / (N - n_dc)
    found = ReliefRegressor(n_neighbors=k).fit(table(), Y).margin_
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_logo_of_categories_solves_the_problem_of_their_differences():
    lam, sigma = 2.0, 2.0
    model = LogoRegressor(lam=lam, sigma=sigma, difference="range", tol=1e-7).fit(table(), Y)
    phi, w = differences(table()), model.weights_
    delta = np.abs(Y[:, None] - Y) / np.ptp(Y)
    kernel = np.exp(-phi @ w / sigma) * ~np.eye(N, dtype=bool)
    miss, hit = kernel * delta, kernel * (1 - delta)
    signed = miss / miss.sum(1, keepdims=True) - hit / hit.sum(1, keepdims=True)
    Z = np.einsum("ni,nij->nj", signed, phi)
    scores = expit(-Z @ w) @ Z
    assert scores.max() < lam * (1 + 1e-6)
    np.testing.assert_allclose(scores[w > 0], lam, rtol=1e-5)
    own = np.exp(-phi @ w / sigma)  # a sample that is asked about is one of the known ones
    np.testing.assert_allclose(model.predict(table()), own @ Y / own.sum(1), rtol=1e-8)


def test_steps_of_mixed_samples_are_those_of_numbers():
    plain = SoftLocality(X, Y, 2.0)
    mixed = SoftMixedLocality(mixed_samples(X, np.zeros(6, dtype=bool), "class"), Y, 2.0)
    w, pulls, every = np.array([1.0, 0.5, 0.0, 0.2, 0.0, 0.1]), np.linspace(0, 1, N), np.arange(6)
    turned = []
    for locality in (plain, mixed):
        columns = locality.take(every)
        distances = locality.distances(columns, w)
        signed = locality.signed_at(distances)
        Z = locality.margins(columns, signed)
        turned.append(locality.turning(columns, w, distances, signed, Z, pulls))
    for one, other in zip(*turned, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def expected_differences(values):
    """Of all pairs and features; where a value is missing, the mean over those there are."""
    apart = np.abs(values[:, None] - values)
    gone = np.isnan(values)
    one = np.nansum(apart, axis=1) / ((~gone).sum(axis=0) - 1)
    both = one.sum(axis=0) / (~gone).sum(axis=0)
    apart = np.where(gone, one[:, None], apart)
    apart = np.where(gone[:, None], np.where(gone, both, one), apart)
    apart[np.arange(N), np.arange(N)] = 0.0
    return apart


HOLED = np.where(np.random.default_rng(3).random(X.shape) < 0.15, np.nan, X)


def test_differences_that_are_not_known_are_expected():
    phi = expected_differences(HOLED)
    samples = mixed_samples(HOLED, np.zeros(6, dtype=bool), "class")
    np.testing.assert_allclose(samples.distances(), phi.sum(axis=2), atol=1e-10)
    delta = np.abs(Y[:, None] - Y) / np.ptp(Y)
    kernel = np.exp(-phi.sum(axis=2) / 2.0) * ~np.eye(N, dtype=bool)
    miss, hit = kernel * delta, kernel * (1 - delta)
    signed = miss / miss.sum(1, keepdims=True) - hit / hit.sum(1, keepdims=True)
    z = np.einsum("ni,nij->j", signed, phi)
    found = ReliefRegressor(sigma=2.0, difference="range").fit(HOLED, Y).margin_
    np.testing.assert_allclose(found, z, atol=1e-10)
    others = np.arange(N) != 4
    np.testing.assert_allclose(differences_of(samples, 4)[others], phi[4, others], atol=1e-10)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_gaps_are_taken_as_they_are(model):
    """A feature that is known of high targets alone does not look relevant by that."""
    holed = HOLED.copy()
    target = 2.0 * X[:, 0] + X[:, 1]
    holed[:, 5] = np.where(np.median(target) < target, X[:, 5], np.nan)
    fitted = type(model)(**model.get_params()).fit(holed, target)
    assert fitted.weights_.argmax() == 0
    assert fitted.weights_[5] < 0.3 * fitted.weights_.max()
    assert fitted.certificate_.ok


def test_a_price_set_by_permuted_labels_takes_gaps():
    fitted = LogoRegressor(lam="null", n_permutations=4, random_state=0).fit(HOLED, Y)
    assert fitted.certificate_.ok


def test_new_samples_may_have_gaps_and_categories_never_seen():
    for known in (table(), table()[["x0", "x1", "x2"]]):
        new = known.iloc[:5].copy()
        new.loc[0, "x0"] = np.nan
        if "site" in new:
            new["site"] = ["moon", *SITE[1:5]]
        model = LogoRegressor(lam=2.0).fit(known, Y)
        assert np.isfinite(model.predict(new)).all()
        np.testing.assert_allclose(model.predict(new)[1:], model.predict(known)[1:5], atol=1e-10)


@pytest.mark.parametrize("model", [ReliefRegressor, LogoRegressor])
def test_what_cannot_be_asked(model):
    with pytest.raises(InputError, match=r"unknown missing 'hybrid': choose from error, expected"):
        model(missing="hybrid").fit(X, Y)
    with pytest.raises(InputError, match=r"NaN at data row 4, column 2.*another rule than 'error'"):
        model(missing="error").fit(np.where(np.arange(N * 6).reshape(N, 6) == 19, np.nan, X), Y)
