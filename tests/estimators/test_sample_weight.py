"""Weights of samples in fits: rows written twice, classes that count the same."""

from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from convexfs import IRelief, Logo, Relief
from convexfs.errors import InputError
from convexfs.inference import shadow_test
from convexfs.methods.relief.numbers import margin_at_labels
from convexfs.neighbors.hits_misses import sample_distances
from convexfs.neighbors.sample_weight import counted_neighbors
from tests.typed import known

RNG = np.random.default_rng(8)
N = 40
Y = (np.arange(N) % 4 == 0).astype(int)
X = RNG.standard_normal((N, 6))
X[:, 0] += 1.5 * Y
ROWS = RNG.integers(0, 4, N).astype(float)
MODELS = [
    Relief(n_neighbors=3),
    Relief(n_neighbors=0.25),
    Relief(n_neighbors="surf"),
    IRelief(),
    Logo(),
]


def margins(X, y, codes_of, weights, sigma):
    """nu of I-RELIEF over rows written out, in which copies of one sample are no neighbours."""
    d = np.abs(X[:, None] - X) @ weights
    kernel = np.exp(-d / sigma) * (codes_of[:, None] != codes_of)
    same = y[:, None] == y
    near, far = kernel * same, kernel * ~same
    trust = near.sum(1) / kernel.sum(1)
    signed = far / far.sum(1, keepdims=True) - near / near.sum(1, keepdims=True)
    return np.einsum("n,ni,nij->j", trust / len(X), signed, np.abs(X[:, None] - X))


def test_irelief_of_weights_is_that_of_rows_written_so_often():
    model = IRelief(sigma=3.0).fit(X, Y, sample_weight=ROWS)
    origin = np.repeat(np.arange(N), ROWS.astype(int))
    nu = margins(X[origin], Y[origin], origin, model.weights_, 3.0)
    expected = np.maximum(nu, 0) / np.linalg.norm(np.maximum(nu, 0))
    assert model.certificate_.ok
    np.testing.assert_allclose(model.weights_, expected, atol=1e-3)


@pytest.mark.parametrize("algorithm", ["certified", "paper"])
def test_logo_of_weights_solves_the_problem_of_rows_written_so_often(algorithm):
    lam, sigma = 2.0, 4.0
    model = Logo(lam=lam, sigma=sigma, tol=1e-6, algorithm=algorithm)
    model.fit(X, Y, sample_weight=ROWS)
    assert model.weights_[0] > 0
    origin = np.repeat(np.arange(N), ROWS.astype(int))
    rows, y = X[origin], Y[origin]
    kernel = np.exp(-np.abs(rows[:, None] - rows) @ model.weights_ / sigma)
    kernel *= origin[:, None] != origin
    hits, misses = kernel * (y[:, None] == y), kernel * (y[:, None] != y)
    signed = misses / misses.sum(1, keepdims=True) - hits / hits.sum(1, keepdims=True)
    Z = np.einsum("ni,nij->nj", signed, np.abs(rows[:, None] - rows))
    scores = expit(-Z @ model.weights_) @ Z
    assert scores.max() < lam * (1 + 1e-4)
    np.testing.assert_allclose(scores[model.weights_ > 1e-6], lam, rtol=1e-3)


def test_twice_the_weights_are_half_the_price():
    half = Logo(lam=1.0).fit(X, Y, sample_weight=ROWS).weights_
    twice = Logo(lam=2.0).fit(X, Y, sample_weight=2.0 * ROWS).weights_
    np.testing.assert_allclose(twice, half, atol=1e-6)


def test_logo_counts_samples_at_a_budget_and_at_the_price_of_permuted_labels():
    bounded = Logo(beta=1.0, class_weight="balanced").fit(X, Y, sample_weight=ROWS)
    assert bounded.certificate_.ok
    assert np.isclose(bounded.weights_.sum(), 1.0)
    priced = Logo(lam="null", n_permutations=4, class_weight="balanced", random_state=0).fit(X, Y)
    assert priced.certificate_.ok


@pytest.mark.parametrize("options", [{"lam": 2.0}, {"beta": 1.0}])
def test_logo_counts_samples_through_any_solver(options):
    native = Logo(**options).fit(X, Y, sample_weight=ROWS)
    backend = Logo(solver="CLARABEL", **options).fit(X, Y, sample_weight=ROWS)
    assert backend.certificate_.ok
    np.testing.assert_allclose(backend.weights_, native.weights_, atol=1e-4)
    plain = Logo(**options).fit(X, Y).weights_
    assert np.abs(plain - native.weights_).max() > 0.01


def counted(Z, lam, counts):
    w = cp.Variable(Z.shape[1], name="w", nonneg=True)
    return cp.Problem(cp.Minimize(counts @ cp.logistic(-(Z @ w)) + lam * cp.sum(w)))


def uncounted(Z, lam):
    return counted(Z, lam, np.ones(len(Z)))


def test_a_changed_logo_is_told_what_samples_count_and_must_ask_for_it():
    for weights in (None, ROWS):
        changed = Logo(lam=2.0, formulation=counted).fit(X, Y, sample_weight=weights)
        printed = Logo(lam=2.0).fit(X, Y, sample_weight=weights)
        np.testing.assert_allclose(changed.weights_, printed.weights_, atol=1e-3)
    with pytest.raises(InputError, match="have build take counts"):
        Logo(formulation=uncounted).fit(X, Y, sample_weight=ROWS)


def test_relief_of_weights_is_that_of_rows_written_so_often():
    model = Relief(n_neighbors=2).fit(X, Y, sample_weight=ROWS)
    origin = np.repeat(np.arange(N), ROWS.astype(int))
    d = np.abs(X[origin][:, None] - X[origin]).sum(2)
    z = np.zeros(6)
    for n in range(len(origin)):
        order = [i for i in np.argsort(d[n], kind="stable") if origin[i] != origin[n]]
        for sign, same in ((-1, True), (1, False)):
            near = [i for i in order if (Y[origin[i]] == Y[origin[n]]) == same][:2]
            z += sign * np.abs(X[origin[n]] - X[origin[near]]).mean(axis=0)
    np.testing.assert_allclose(model.margin_, z, atol=1e-11)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weights_of_1_change_nothing(model):
    plain = model.fit(X, Y).weights_
    np.testing.assert_array_equal(model.fit(X, Y, sample_weight=np.ones(N)).weights_, plain)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_sample_of_weight_0_is_not_there(model):
    kept = ROWS > 0
    without = model.fit(X[kept], Y[kept], sample_weight=ROWS[kept]).weights_
    np.testing.assert_array_equal(model.fit(X, Y, sample_weight=ROWS).weights_, without)


def test_balanced_classes_count_the_same():
    model = Relief(n_neighbors=3, class_weight="balanced").fit(X, Y)
    terms = known(model._weights_of(len(Y), model._sample_weight)).terms(Y)
    assert np.isclose(terms[Y == 0].sum(), terms[Y == 1].sum())
    # z is a sum over samples: that of each class is had by taking the other's off.
    plain = Relief(n_neighbors=3).fit(X, Y)
    shares = [terms[c == Y][0] for c in (0, 1)]
    np.testing.assert_allclose(shares, [N / 2 / 30, N / 2 / 10])
    parts = np.linalg.solve([[1.0, 1.0], shares], [plain.margin_.tolist(), model.margin_.tolist()])
    signed = counted_neighbors(sample_distances(X), Y, np.ones(N), 3, "nearest")
    apart = np.einsum("ni,nij->nj", signed, np.abs(X[:, None] - X))
    np.testing.assert_allclose(parts, [apart[c == Y].sum(axis=0) for c in (0, 1)], atol=1e-10)


def test_weights_go_with_holes_and_into_the_permutation_test():
    holed = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    for rule in ("hybrid", "class"):
        model = Relief(n_neighbors=3, missing=rule).fit(holed, Y, sample_weight=ROWS)
        there = ROWS > 0
        weights = model._weights_of(int(there.sum()), ROWS[there])
        statistic = margin_at_labels(model._samples().X, model, 0, weights)
        np.testing.assert_allclose(statistic(Y[there]), model.margin_, rtol=1e-12)
        weighed = shadow_test(
            model, holed, Y, n_permutations=39, random_state=0, sample_weight=ROWS
        )
        alike = shadow_test(model, holed, Y, n_permutations=39, random_state=0)
        assert (weighed.pvalues != alike.pvalues).any()
    soft = IRelief(sigma=5.0).fit(X, Y, sample_weight=ROWS)
    assert known(soft.shadow_test_).n_permutations == 200


def test_weights_are_routed_through_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), Relief(n_neighbors=3))
    pipeline.fit(X, Y, relief__sample_weight=ROWS)
    scaled = StandardScaler().fit_transform(X)
    alone = Relief(n_neighbors=3).fit(scaled, Y, sample_weight=pd.Series(ROWS))
    last = pipeline.named_steps["relief"]
    np.testing.assert_array_equal(last.weights_, alone.weights_)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "sample_weight: "),
        (-np.ones(N), "sample_weight: Negative"),
        (np.full(N, np.nan), "sample_weight: .*NaN"),
        (np.zeros(N), "sample_weight.*(is 0 for all|non-zero)"),
    ],
)
def test_weights_that_cannot_be_are_named(weights, message):
    with pytest.raises(InputError, match=message):
        Relief().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weights_of_classes_by_label(model):
    """They count terms, as "balanced" does; a class that is not named counts 1."""
    names, totals = np.where(Y, "ill", "well"), {"well": N / 60, "ill": N / 20}
    own, balanced, one, plain = (
        type(model)(**model.get_params() | {"class_weight": given}).fit(X, names).weights_
        for given in (totals, "balanced", {"ill": 1.0}, None)
    )
    np.testing.assert_allclose(own, balanced, atol=1e-12)
    np.testing.assert_allclose(one, plain, atol=1e-9)
    assert np.abs(own - one).max() > 1e-3


def test_weights_of_classes_are_those_of_their_samples_terms():
    model = Relief(n_neighbors=3, class_weight={1: 2.5, 0: 0}).fit(X, Y, sample_weight=ROWS)
    kept = Y[ROWS > 0]
    expected = np.where(kept == 1, 2.5, 0.0) * ROWS[ROWS > 0]
    np.testing.assert_array_equal(
        known(model._weights_of(len(kept), model._sample_weight)).terms(kept), expected
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("even", "class_weight must be 'balanced', None or a dict .* such as {0: 2.0}, not 'even'"),
        ({2: 1.0}, "class_weight names 2, which is no class"),
        ({0: -1.0}, "class_weight of 0"),
        ({0: np.nan}, "class_weight of 0"),
        ({0: "much"}, "class_weight of 0"),
        ({0: 0.0, 1: 0.0}, "class_weight is 0 for all classes"),
        ([1.0, 2.0], "class_weight must be"),
    ],
)
def test_weights_of_classes_that_cannot_be_are_named(given, message):
    with pytest.raises(InputError, match=message):
        Relief(class_weight=given).fit(X, Y)


def test_a_class_that_a_fold_lacks_may_be_named():
    assert Relief(class_weight={0: 1.0, 1: 2.0, 2: 3.0}).fit(X, Y).certificate_.ok


def fitted(model, *given, **more):
    again: Any = clone(model)
    return again.fit(*given, **more)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("scale", [1 / N, 0.3, 1e-16, 5e-324, 1e308, 2.0**60])
def test_weights_that_are_no_counts_are_relative(model, scale):
    plain = fitted(model, X, Y)
    equal = fitted(model, X, Y, sample_weight=np.full(N, scale))
    np.testing.assert_allclose(equal.weights_, plain.weights_, rtol=1e-9, atol=1e-12)
    assert equal.certificate_.ok == plain.certificate_.ok


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1 / 7, 1e200])
def test_the_scale_of_relative_weights_does_not_matter(model, scale):
    relative = RNG.uniform(0.2, 3.0, N)
    one = fitted(model, X, Y, sample_weight=relative)
    other = fitted(model, X, Y, sample_weight=relative * scale)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-6, atol=1e-9)


def test_a_frame_with_two_columns_of_one_name_is_refused():
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c", "d", "e"])
    for model in MODELS:
        with pytest.raises(InputError, match="has 2 columns named 'a'"):
            fitted(model, frame, Y)
