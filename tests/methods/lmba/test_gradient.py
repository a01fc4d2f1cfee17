"""The paper's descent, against its formula written out."""

import numpy as np
import pytest

from convexfs import Lmba, load
from convexfs.errors import InputError
from convexfs.methods.lmba.gradient import descend
from convexfs.methods.lmba.numbers import lmba_simplex


@pytest.fixture(scope="module")
def iris():
    data = load("iris").scaled()
    return data.X[::5], data.y[::5]


def by_formula(X, codes, targets, theta, c, betas, order):
    w = np.ones(X.shape[1])
    for beta, i in zip(betas, order, strict=True):
        d = ((X - X[i]) ** 2 * w**2).sum(axis=1)
        V = np.zeros(len(w))
        for j in targets[i]:
            V += 2 * w * (X[i] - X[j]) ** 2
            for p in np.flatnonzero(codes != codes[i]):
                if theta[i] + d[j] - d[p] > 0:
                    V += 2 * c * w * ((X[i] - X[j]) ** 2 - (X[i] - X[p]) ** 2)
        w = w - beta * V / np.linalg.norm(V)
    return w


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_each_visit_is_the_papers_step_with_its_own_length(decay):
    X, y = np.random.default_rng(0).standard_normal((12, 5)), np.arange(12) % 2
    values, hyper = lmba_simplex(X, y, c=0.7, n_neighbors=3)
    found = descend(**values, **hyper, step=0.1, decay=decay, n_epochs=2, seed=5)
    rng = np.random.default_rng(5)
    order = np.concatenate([rng.permutation(12) for _ in range(2)])
    betas = 0.1 / np.arange(1, 25) ** decay
    expected = by_formula(**values, **hyper, betas=betas, order=order)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_estimator_hands_over_all_four_parameters(iris):
    X, y = iris
    asked = {"c": 0.5, "n_neighbors": 2, "n_epochs": 3, "step": 0.2, "decay": 0.5}
    model = Lmba(form="gradient", random_state=0, **asked).fit(X, y)
    usual = Lmba(form="gradient", random_state=0)
    for name, value in asked.items():
        other = Lmba(form="gradient", random_state=0, **asked | {name: getattr(usual, name)})
        changed = other.fit(X, y).weights_
        assert not np.array_equal(changed, model.weights_), (name, value)


@pytest.mark.parametrize(("name", "value"), [("step", 0.0), ("step", -1.0), ("decay", -0.1)])
def test_a_step_that_leads_nowhere_is_refused(iris, name, value):
    with pytest.raises(InputError, match=name):
        Lmba(form="gradient", **{name: value}).fit(*iris)
