from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from papers.baselines import SELECTORS, selector
from papers.baselines.clustering import _compression_index, mitra
from papers.baselines.redundancy import mrmr, qpfs
from papers.baselines.statistics import fisher_markov, kolmogorov_smirnov
from scipy.linalg import eigvalsh
from scipy.optimize import minimize
from scipy.stats import ks_2samp
from sklearn.linear_model import LogisticRegression

from convexfs import load
from convexfs.errors import InputError
from tests.papers.baselines.bad_inputs import bad_inputs

SUPERVISED = sorted(set(SELECTORS) - {"mitra"})


def planted(seed, n=120, relevant=3, noise=7, classes=2):
    """Means of a few features differ; columns are permuted."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, relevant + noise))
    X[:, :relevant] += 2.0 * y[:, None]
    order = rng.permutation(relevant + noise)
    return X[:, order], y, set(np.flatnonzero(order < relevant).tolist())


@pytest.mark.slow(cases=6)
@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize("classes", [2, 3])
def test_an_easy_planted_problem_is_ranked_right(name, classes):
    X, y, relevant = planted(3, classes=classes)
    scores = selector(name)(X, np.array(["a", "b", "c"])[y])
    assert scores.shape == (10,)
    assert set(np.argsort(-scores)[:3].tolist()) == relevant


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize("name", [name for name in SELECTORS if name != "random-forest"])
def test_permuted_columns_have_permuted_scores(name):
    X, y, _ = planted(5)
    order = np.random.default_rng(0).permutation(10)
    scores, permuted = selector(name)(X, y), selector(name)(X[:, order], y)
    np.testing.assert_allclose(permuted, scores[order], atol=1e-3 * np.abs(scores).max())


def test_permuted_columns_leave_a_forest_its_choice():
    """Trees draw columns by number, so only what they say of all is the same."""
    X, y, relevant = planted(5)
    order = np.random.default_rng(0).permutation(10)
    permuted = selector("random-forest")(X[:, order], y)
    assert set(order[np.argsort(-permuted)[:3]].tolist()) == relevant


@pytest.mark.parametrize("name", SELECTORS)
def test_bad_input_gets_one_clear_sentence(name):
    X, y, _ = planted(0, n=20)
    for samples, classes, message in bad_inputs(X, y):
        with pytest.raises(InputError, match=message):
            selector(name)(samples, classes)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(InputError, match="unknown selector 'mrrm': did you mean mrmr"):
        selector("mrrm")


def test_kolmogorov_smirnov_is_scipys_also_with_ties():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (50, 4)).astype(float), rng.integers(0, 2, 50)
    tests: list[Any] = [ks_2samp(column[y == 0], column[y == 1]) for column in X.T]
    expected = [test.statistic for test in tests]
    np.testing.assert_allclose(kolmogorov_smirnov(X, y), expected)


def test_fisher_markov_is_the_difference_of_scatters():
    X, y, _ = planted(1, classes=3)
    total = X.var(axis=0)
    within = sum((y == c).mean() * X[y == c].var(axis=0) for c in range(3))
    np.testing.assert_allclose(fisher_markov(X, y, gamma=0.3), total - within - 0.3 * total)


def test_mrmr_prefers_news_to_an_echo():
    X, y, _ = planted(2, relevant=2, noise=0)
    X, y = X[:, :2], y
    rng = np.random.default_rng(0)
    echo = X[:, [0]] + 0.01 * rng.standard_normal((len(X), 1))
    scores = mrmr(np.hstack([X, echo]), y)
    assert sorted(scores) == [0, 1, 2]
    assert scores[1] > min(scores[0], scores[2])


def test_qpfs_solves_its_program():
    X, y, _ = planted(4)
    x = qpfs(X, y)
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1)
    Q = np.abs(np.corrcoef(X.T))
    F = np.sqrt([1 - sum((y == c).mean() * v[y == c].var() for c in (0, 1)) / v.var() for v in X.T])
    assert eigvalsh(Q)[0] > 0
    alpha = Q.mean() / (Q.mean() + F.mean())

    def value(x):
        return 0.5 * (1 - alpha) * x @ Q @ x - alpha * F @ x

    other = minimize(
        value,
        np.full(10, 0.1),
        bounds=[(0, 1)] * 10,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert value(x) == pytest.approx(other.fun, abs=1e-7)


def test_the_compression_index_is_twice_the_smaller_eigenvalue():
    X = np.random.default_rng(0).standard_normal((30, 3)) @ np.array(
        [[1, 0.5, 0], [0, 1, 0], [0, 2, 1]]
    )
    index = _compression_index(X)
    covariance = np.cov(X.T, bias=True)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        smaller = eigvalsh(covariance[np.ix_([a, b], [a, b])])[0]
        assert index[a, b] == pytest.approx(2 * smaller)


def test_mitra_keeps_something_of_every_cluster_and_one_of_the_tightest():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((80, 3))
    X = np.repeat(factors, 3, axis=1) + 0.01 * rng.standard_normal((80, 9))
    scores = mitra(X, np.arange(80) % 2)
    kept = np.flatnonzero(scores)
    assert len(kept) < 9
    assert set(kept // 3) == {0, 1, 2}
    first = scores.argmax() // 3
    assert np.count_nonzero(kept // 3 == first) == 1


def test_relieff_counts_negative_margins_too():
    data = load("waveform:noise=30").scaled()
    assert selector("relieff")(data.X, data.y).min() < 0


@pytest.mark.parametrize("name", SELECTORS)
def test_few_samples_and_copies_get_finite_scores_or_one_clear_sentence(name):
    rank = selector(name)
    flags = np.array([[0, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 1]], dtype=bool)
    for samples, classes in ((flags, [0, 1, 0, 1]), (flags[:3], [0, 1, 0]), (flags[:2], [0, 1])):
        with suppress(InputError):
            assert np.isfinite(rank(samples, classes)).all()


def test_l1_logistic_agrees_with_another_solver_run_to_the_end():
    X, y, _ = planted(2)
    scores = selector("l1-logistic")(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    slow = LogisticRegression(l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000).fit(Z, y)
    np.testing.assert_allclose(scores, np.abs(slow.coef_[0]), atol=1e-3)
