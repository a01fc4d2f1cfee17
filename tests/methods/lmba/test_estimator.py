from typing import Any

import numpy as np
import pytest
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import Lmba, load
from convexfs.methods.lmba.estimator import LmbaCriterion


@pytest.mark.slow(cases=48)
@parametrize_with_checks(
    [
        Lmba(),
        Lmba(form="box", n_neighbors=1, n_features_to_select=1),
        Lmba(form="gradient", n_features_to_select=1),
    ]
)
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_weights_are_the_roots_of_what_is_solved_for():
    data = load("wine").scaled()
    model = Lmba().fit(data.X, data.y)
    np.testing.assert_allclose(model.weights_**2, model.solution_.primal["u"], atol=1e-12)
    assert (model.weights_**2).sum() == pytest.approx(13)
    assert model.certificate_.ok
    assert model.loss_ == pytest.approx(model.solution_.objective)


def test_the_loss_guides_a_sequential_search():
    for seed in range(3):
        data = load(f"sign_bits:seed={seed}").scaled()
        order = np.random.default_rng(seed).permutation(10)
        rows = np.arange(len(data.X))
        options: dict[str, Any] = {"n_features_to_select": 2, "cv": [(rows, rows)]}
        search = SequentialFeatureSelector(LmbaCriterion(), **options)
        found = search.fit(data.X[:, order], data.y).get_support(indices=True)
        assert set(order[found]) == {0, 1}


def test_a_changed_problem_can_be_fitted():
    import cvxpy as cp

    from convexfs.methods.lmba.problem import lmba_simplex

    def capped(X, codes, targets, theta, c):
        problem = lmba_simplex(X, codes, targets, theta, c)
        u = next(v for v in problem.variables() if v.name() == "u")
        return cp.Problem(problem.objective, [*problem.constraints, u <= 1.2])

    data = load("iris").scaled()
    model = Lmba(formulation=capped).fit(data.X[::3], data.y[::3])
    assert model.weights_.max() <= np.sqrt(1.2) + 1e-6
    assert model.certificate_.ok
