import numpy as np
import pytest

from convexfs import Lmba, Simba, load
from convexfs.estimators.margin_test import margin_at_labels

scaled = pytest.mark.parametrize("model", [Lmba(), Simba(random_state=0)], ids=str)


@pytest.mark.filterwarnings("ignore:nothing is selected")
@scaled
def test_labels_without_meaning_select_nothing_most_of_the_time(model):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 15)
    kept = [model.fit(rng.normal(size=(30, 8)), labels).get_support().any() for _ in range(10)]
    assert sum(kept) <= 2


@scaled
def test_what_tells_the_classes_apart_is_selected(model):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 20))
    X[:, :2] += 1.5 * labels[:, None]
    model.fit(X, labels)
    support = np.asarray(model.get_support())
    assert support[:2].all()
    assert support[2:].sum() <= 2
    assert model.shadow_test_ is not None
    assert model.shadow_test_.n_permutations == 200


def test_margins_are_those_of_a_quarter_of_each_class():
    data = load("wine").scaled()
    found = margin_at_labels(data.X)(data.y)
    distances = ((data.X[:, None] - data.X) ** 2).sum(axis=2)
    expected = np.zeros(13)
    for i, own in enumerate(data.y):
        others = sum(np.sum(data.y == c) for c in range(3) if c != own)
        for c in range(3):
            rows = np.flatnonzero((data.y == c) & (np.arange(len(data.y)) != i))
            number = int(0.25 * len(rows) + 0.5)
            near = rows[np.argsort(distances[i, rows], kind="stable")[:number]]
            mean = ((data.X[i] - data.X[near]) ** 2).mean(axis=0)
            expected += -mean if c == own else np.sum(data.y == c) / others * mean
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@scaled
def test_no_shadow_reaches_the_margins_of_wine(model):
    data = load("wine").scaled()
    test = model.fit(data.X, data.y).shadow_test_
    assert test is not None
    assert test.global_pvalue == pytest.approx(1 / 201)
