from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import IRelief, Logo, Relief, load
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.inference import KnockoffSelector
from convexfs.inference.knockoffs import knockoff_statistics, knockoff_threshold
from convexfs.methods.knockoffs.fit import knockoffs


def l1_logistic(C=0.5, tol=1e-10):
    return LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", tol=tol, max_iter=1000)


@pytest.fixture(scope="module")
def shifted():
    """200 samples of 30 features, ten of which differ between the classes."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 30)), np.arange(200) % 2
    X[:, :10] += y[:, None]
    return X, y


@pytest.mark.slow(cases=48)
@parametrize_with_checks([KnockoffSelector(), KnockoffSelector(fdr=0.5, s="mvr", force=True)])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def with_copies(n_samples, n_features):
    """Samples whose classes come of a product and of a feature, and their knockoffs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    return X, knockoffs(X, y).copies(X, rng), y


@pytest.mark.parametrize(
    ("estimator", "n_features", "accuracy"),
    [
        (KnockoffSelector()._statistic(), 12, 1e-9),
        (KnockoffSelector()._statistic(), 520, 1e-3),  # over 1000 columns its first step is rough
        (Logo(lam=1.0), 12, 1e-9),
        (l1_logistic(), 12, 1e-9),
        (Relief(n_neighbors=10), 12, 1e-12),
        (IRelief(), 12, 1e-12),
    ],
    ids=["default", "default, wide", "logo", "l1", "relief", "i-relief"],
)
def test_exchanging_a_feature_and_its_knockoff_changes_its_sign_and_nothing_else(
    estimator, n_features, accuracy
):
    X, copies, y = with_copies(120, n_features)
    rng = np.random.default_rng(1)
    W, _ = knockoff_statistics(estimator, X, copies, y, rng)
    assert np.count_nonzero(W) > 5
    heaviest = np.argsort(-np.abs(W))[:2]
    alone = [np.arange(n_features) == j for j in heaviest]
    for exchanged in (*alone, *(rng.random((3, n_features)) < 0.5)):
        pair = np.where(exchanged, copies, X), np.where(exchanged, X, copies)
        again, _ = knockoff_statistics(estimator, *pair, y, rng)
        expected = np.where(exchanged, -W, W)
        np.testing.assert_array_equal(np.sign(again), np.sign(expected))
        np.testing.assert_allclose(again, expected, rtol=0, atol=accuracy * np.abs(W).max())


class Places(np.random.Generator):
    """A random generator whose next numbers are known."""

    def __init__(self, swapped):
        super().__init__(np.random.PCG64(0))
        self.swapped = swapped

    def random(self, *_, **__) -> Any:
        return np.where(self.swapped, 0.0, 1.0)


def test_a_forest_weighs_by_places_and_yet_each_exchange_is_as_likely_as_none():
    X, copies, y = with_copies(80, 12)
    forest = RandomForestClassifier(10, random_state=0)
    rng = np.random.default_rng(2)
    swapped, exchanged = rng.random((2, 12)) < 0.5
    pair = np.where(exchanged, copies, X), np.where(exchanged, X, copies)
    W, _ = knockoff_statistics(forest, X, copies, y, Places(swapped))
    other, _ = knockoff_statistics(forest, X, copies, y, Places(~swapped))
    assert (other != W).any()
    again, _ = knockoff_statistics(forest, *pair, y, Places(swapped ^ exchanged))
    np.testing.assert_array_equal(again, np.where(exchanged, -W, W))


def test_an_estimator_that_takes_the_first_column_favours_neither():
    class First(KNeighborsClassifier):
        def fit(self, X, y):
            self.weights_ = np.arange(X.shape[1], 0.0, -1.0)
            return self

    X = np.random.default_rng(0).standard_normal((20, 400))
    W, _ = knockoff_statistics(First(), X, X, np.arange(20) % 2, np.random.default_rng(0))
    assert 160 < (W > 0).sum() < 240


def test_the_threshold_is_knockoff_plus():
    rng = np.random.default_rng(0)
    for _ in range(50):
        W = np.round(rng.standard_normal(30) + 0.7, 1)
        for q in (0.1, 0.2, 0.5):
            allowed = [
                t for t in np.abs(W[W != 0])
                if (1 + (t <= -W).sum()) / max((t <= W).sum(), 1) <= q + 1e-12
            ]  # fmt: skip
            assert knockoff_threshold(W, q) == min(allowed, default=np.inf)


@pytest.mark.slow(cases=1)
@pytest.mark.filterwarnings("ignore:nothing is selected")
@pytest.mark.parametrize(
    ("estimator", "covariance"),
    [(None, "known"), (l1_logistic(0.2, 1e-4), "ledoit-wolf")],
    ids=["default", "l1"],
)
def test_the_false_discovery_rate_holds(covariance, estimator):
    at = np.arange(20)
    known = 0.5 ** np.abs(np.subtract.outer(at, at))
    root, shares = np.linalg.cholesky(known), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((160, 20)) @ root.T
        y = (X[:, ::4].sum(axis=1) + rng.standard_normal(160) > 0).astype(int)
        given = known if covariance == "known" else covariance
        selector = KnockoffSelector(estimator, fdr=0.3, covariance=given, random_state=seed)
        selected = selector.fit(X, y).selected_
        shares.append((selected % 4 != 0).sum() / max(len(selected), 1))
    assert 0.05 < np.mean(shares) < 0.3 + 2 * np.std(shares) / np.sqrt(60)


@pytest.mark.parametrize("s", ["me", "mvr", "sdp", "equi"])
def test_signals_are_found_and_s_is_proven(shifted, s):
    selector = KnockoffSelector(l1_logistic(0.2), s=s, random_state=0).fit(*shifted)
    assert selector.certificate_.ok
    assert set(range(10)) <= set(selector.selected_)
    assert len(selector.selected_) < 16
    np.testing.assert_array_equal(selector.get_support(indices=True), selector.selected_)
    assert np.shape(selector.transform(shifted[0])) == (200, len(selector.selected_))


def test_logo_finds_products_that_a_linear_model_cannot():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 12))
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 0).astype(int)
    known = {"covariance": np.eye(12), "fdr": 0.25, "random_state": 0}
    found = set(KnockoffSelector(**known).fit(X, y).selected_)
    assert found >= {0, 1, 2, 3}
    assert len(found) < 6
    with pytest.warns(ConvexfsWarning, match="nothing is selected"):
        KnockoffSelector(l1_logistic(0.05), **known).fit(X, y)


def test_the_same_seed_gives_the_same_answer(shifted):
    forest = KnockoffSelector(RandomForestClassifier(20), covariance=np.eye(30), random_state=5)
    first, second = forest.fit(*shifted).W_, forest.fit(*shifted).W_
    np.testing.assert_array_equal(first, second)
    assert (first != forest.set_params(random_state=6).fit(*shifted).W_).any()


def test_too_few_samples_for_an_estimated_covariance_are_refused_unless_forced(shifted):
    X, y = shifted[0][:50], shifted[1][:50]
    with pytest.raises(InputError, match=r"50 samples are too few .* of 30 features .* force=True"):
        KnockoffSelector(l1_logistic()).fit(X, y)
    KnockoffSelector(l1_logistic(), covariance=np.eye(30), fdr=0.5, random_state=0).fit(X, y)
    with pytest.warns(ConvexfsWarning, match=r"forced, so that fdr=0\.5 may not hold"):
        KnockoffSelector(l1_logistic(), fdr=0.5, force=True, random_state=0).fit(X, y)


@pytest.mark.parametrize("estimator", [Relief(n_neighbors=10), RandomForestClassifier(50)])
def test_dense_weights_are_refused_where_the_covariance_is_estimated(shifted, estimator):
    name = type(estimator).__name__
    with pytest.raises(InputError, match=f"{name} gives dense weights"):
        KnockoffSelector(estimator, random_state=0).fit(*shifted)
    with pytest.warns(ConvexfsWarning, match=f"{name} gives dense weights"):
        KnockoffSelector(estimator, force=True, random_state=0).fit(*shifted)
    KnockoffSelector(estimator, covariance=np.eye(30), random_state=0).fit(*shifted)


def test_a_level_that_cannot_select_says_so(shifted):
    X, y = shifted
    with pytest.warns(ConvexfsWarning, match=r"fdr=0\.1 cannot select fewer than 10 .* only 8"):
        selector = KnockoffSelector(l1_logistic(), fdr=0.1, random_state=0).fit(X[:, :8], y)
    assert (selector.threshold_, len(selector.selected_)) == (np.inf, 0)
    noise = np.random.default_rng(1).standard_normal(X.shape)
    with pytest.warns(ConvexfsWarning, match=r"nothing is selected: fdr=0\.1 .* fewer than 10"):
        KnockoffSelector(l1_logistic(), fdr=0.1, random_state=0).fit(noise, y)


def test_a_constant_column_has_no_knockoff_and_is_never_selected(shifted):
    X, y = shifted[0].copy(), shifted[1]
    X[:, 4] = 7.0
    for covariance in ("ledoit-wolf", np.eye(30)):
        selector = KnockoffSelector(l1_logistic(), covariance=covariance, random_state=0)
        with pytest.warns(ConvexfsWarning, match="constant"):
            selector.fit(X, y)
        assert selector.W_[4] == 0
        assert 4 not in selector.selected_
        assert selector.s_.shape == (29,)
    with pytest.warns(ConvexfsWarning), pytest.raises(InputError, match="all columns are constant"):
        KnockoffSelector(l1_logistic()).fit(np.ones((20, 3)), y[:20])


def test_a_pipeline_and_several_classes_will_do():
    data = load("wine")
    scaled = make_pipeline(
        StandardScaler(), LogisticRegression(l1_ratio=1.0, solver="saga", C=0.1, tol=0.01)
    )
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    selector = KnockoffSelector(scaled, fdr=0.3, random_state=0)
    selector.set_output(transform="pandas").fit(frame, data.labels)
    assert selector.W_.shape == (13,)
    kept = selector.transform(frame)
    assert isinstance(kept, pd.DataFrame)
    assert set(kept.columns) <= set(frame.columns)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fdr": 0.0}, "fdr must be a number above 0 and below 1"),
        ({"fdr": 1.0}, "fdr must be a number above 0 and below 1"),
        ({"force": "yes"}, "force must be True or False"),
        ({"s": "sdpp"}, "did you mean sdp"),
        ({"covariance": np.eye(3)}, "must be 'ledoit-wolf' or a matrix of 30 x 30"),
        ({"estimator": KNeighborsClassifier()}, "KNeighborsClassifier has none of weights_"),
        ({"solver": "OSQP", "s": "sdp"}, "OSQP"),
    ],
)
def test_what_cannot_be_is_one_clear_sentence(shifted, settings, message):
    with pytest.raises(InputError, match=message):
        KnockoffSelector(**{"estimator": l1_logistic(), **settings}).fit(*shifted)


def test_its_words_and_picture_say_what_was_shown(shifted):
    selector = KnockoffSelector(l1_logistic(), random_state=0).fit(*shifted)
    words = selector.summary()
    assert "false discovery rate of 0.2 (knockoff+; none or at least 5)" in words
    assert "covariance estimated" in words
    assert "says nothing about the features" in words
    assert repr(KnockoffSelector(fdr=0.1)) == "KnockoffSelector(fdr=0.1)"
    axes = selector.plot().axes[0]
    assert len(axes.patches) == 30
    assert "minus that of its knockoff" in axes.get_xlabel()
