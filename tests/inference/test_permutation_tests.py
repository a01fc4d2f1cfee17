import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from convexfs import IRelief, Logo, Relief, load
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.inference import permutation_test


@pytest.fixture(scope="module")
def data():
    return load("twonorm:n=120,noise=30,seed=1").scaled()


def test_true_features_are_found_and_permuted_ones_are_not(data):
    model = Relief(n_neighbors=0.25)
    result = permutation_test(model, data.X, data.labels, n_permutations=199, random_state=0)
    assert result.global_pvalue == 1 / 200
    assert result.selected[:20].mean() > 0.8
    assert result.selected[20:].mean() < 0.2
    shuffled = np.random.default_rng(1).permutation(data.y)
    with pytest.warns(ConvexfsWarning, match="nothing is selected: the best feature has a max-T"):
        empty = permutation_test(model, data.X, shuffled, n_permutations=199, random_state=0)
    assert not empty.selected.any()


def test_the_same_seed_gives_the_same_answer_whatever_the_jobs(data):
    model = Relief(n_neighbors=5)
    results = [
        permutation_test(model, data.X, data.y, n_permutations=39, random_state=s, n_jobs=n)
        for s, n in ((1, None), (1, 2), (2, None))
    ]
    np.testing.assert_array_equal(results[0].null, results[1].null)
    assert (results[0].null != results[2].null).any()


def test_the_estimator_is_judged_by_its_own_statistic(data):
    fitted = IRelief().fit(data.X, data.y)
    result = permutation_test(IRelief(), data.X, data.y, n_permutations=19, random_state=0)
    np.testing.assert_allclose(result.statistic, fitted.margin_, rtol=1e-6)
    with pytest.warns(ConvexfsWarning, match="nothing is selected"):
        kept = permutation_test(
            IRelief(keep=5), data.X, data.y, n_permutations=1, gate=1, random_state=0
        )
    assert (kept.statistic > 0).sum() == 5


def test_logo_is_judged_as_a_whole_by_its_objective(data):
    shuffled = np.random.default_rng(1).permutation(data.y)
    for labels, expected in ((data.y, [1 / 20]), (shuffled, np.arange(2, 21) / 20)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvexfsWarning)
            result = permutation_test(
                Logo(lam=5), data.X, labels, n_permutations=19, random_state=0
            )
        assert result.global_pvalue in np.array(expected)


def test_replicates_need_groups_and_are_warned_about():
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(20), 4)
    X = rng.standard_normal((20, 30))[subject] + 0.05 * rng.standard_normal((80, 30))
    y = rng.permutation(np.arange(20) % 2)[subject]
    settings = {"n_permutations": 99, "random_state": 0, "control": "fwer", "level": 0.05}
    with pytest.warns(ConvexfsWarning, match="of the rows are copies of others"):
        free = permutation_test(Relief(n_neighbors=10), X, y, **settings)
    assert free.selected.any()
    with pytest.warns(ConvexfsWarning, match="nothing is selected"):
        held = permutation_test(Relief(n_neighbors=10), X, y, groups=subject, **settings)
    assert held.global_pvalue > 0.05


def test_a_batch_tied_to_the_labels_is_not_mistaken_for_them():
    rng = np.random.default_rng(1)
    batch = np.repeat([0, 1], 40)
    X = rng.standard_normal((80, 20)) + batch[:, None] * rng.standard_normal(20)
    y = (rng.random(80) < np.where(batch, 0.8, 0.2)).astype(int)
    settings: dict[str, Any] = {"n_permutations": 99, "random_state": 0}
    free = permutation_test(Relief(n_neighbors=0.25), X, y, **settings)
    assert free.global_pvalue == 0.01
    with pytest.warns(ConvexfsWarning, match="nothing is selected"):
        held = permutation_test(Relief(n_neighbors=0.25), X, y, blocks=batch, **settings)
    assert held.global_pvalue > 0.05


def test_frames_and_scores_are_taken(data):
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))

    def gap(X, y):
        X = np.asarray(X)
        return np.abs(X[y == 0].mean(axis=0) - X[y == 1].mean(axis=0))

    for source in (Relief(n_neighbors=0.25), gap):
        result = permutation_test(source, frame, data.labels, n_permutations=39, random_state=0)
        assert result.selected[:20].any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_permutations": 5}, "use at least 19"),
        ({"control": "none"}, "unknown control"),
        ({"groups": [1, 2]}, "groups must have one entry"),
    ],
)
def test_what_cannot_be_asked_is_refused(data, settings, message):
    with pytest.raises(InputError, match=message):
        permutation_test(Relief(), data.X, data.y, **settings)


def test_bad_samples_are_refused_as_in_a_fit(data):
    X = data.X.copy()
    X[3, 2] = np.nan
    with pytest.raises(InputError, match="NaN at data row 4, column 3"):
        permutation_test(Relief(missing="error"), X, data.y)
    with pytest.raises(InputError, match="only one class"):
        permutation_test(lambda X, y: X[0], data.X, np.zeros(120))


def test_it_is_drawn_also_when_nothing_is_selected(data):
    result = permutation_test(Relief(n_neighbors=5), data.X, data.y, n_permutations=19)
    figure = result.plot()
    assert f"{int(result.selected.sum())} of 50 features selected" in figure.axes[0].get_title(
        "left"
    )
    shuffled = np.random.default_rng(1).permutation(data.y)
    with pytest.warns(ConvexfsWarning):
        empty = permutation_test(Relief(), data.X, shuffled, n_permutations=19, random_state=0)
    assert empty.plot().axes[0].get_title("left").startswith("0 of 50 features selected")
