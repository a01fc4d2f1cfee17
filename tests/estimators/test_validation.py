"""Estimators declare what they take, and all are validated in the same way."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest

import convexfs
from convexfs.errors import InputError
from convexfs.estimators.method_estimator import MethodEstimator
from convexfs.estimators.selector import WeightSelector
from convexfs.estimators.validation import Accepts, validate
from convexfs.inference import StabilitySelector
from convexfs.methods import estimator_homes

ESTIMATORS = [home.estimator(name) for name, home in estimator_homes().items()]
X, Y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: own.__name__)
def test_no_estimator_overrides_validation(estimator):
    assert isinstance(estimator._accepts, Accepts)
    assert ("sample_weight" in inspect.signature(estimator.fit).parameters) == (
        estimator._accepts.sample_weight
    )
    # Stability selection takes what the estimator that it fits takes.
    assert estimator._validate is MethodEstimator._validate or estimator is StabilitySelector
    assert estimator._queries is MethodEstimator._queries


def test_classes_of_an_estimator_are_few():
    for estimator in ESTIMATORS:
        own = [base for base in estimator.__mro__ if base.__module__.startswith("convexfs")]
        assert len(own) <= 7, own


def test_the_regressor_declares_its_own_parameters():
    """A parameter that is added to Logo does not become one of LogoRegressor."""
    from convexfs.methods.logo.settings import Settings

    assert not issubclass(convexfs.LogoRegressor, Settings)
    own = set(convexfs.LogoRegressor().get_params()) - set(convexfs.Logo().get_params())
    assert own == {"difference"}


def test_validation_gives_what_methods_take():
    model = WeightSelector()
    samples = validate(X, np.array(["b", "a"] * 6), Accepts(), model)
    assert samples.X is X
    assert samples.y.tolist() == [1, 0] * 6
    assert samples.classes is not None
    assert samples.classes.tolist() == ["a", "b"]
    assert model.n_features_in_ == 3
    assert not samples.constant.any()


def test_what_is_not_accepted_is_refused():
    lone = np.where(np.arange(12) == 4, 7, Y)
    with pytest.raises(InputError, match="'7' has one sample only, at data row 5: WeightSelector"):
        validate(X, lone, Accepts(lone_samples=False), WeightSelector())
    with pytest.raises(InputError, match="where classes are needed"):
        validate(X, X[:, 0], Accepts(), WeightSelector())
    numbers = validate(X, X[:, 0], Accepts(target="numbers"), WeightSelector())
    assert numbers.classes is None
    np.testing.assert_array_equal(numbers.y, X[:, 0])


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint16, bool])
def test_ready_arrays_are_fitted_as_lists_are(kind):
    X = np.random.default_rng(0).normal(size=(30, 6))
    X[:, 2], y = 1.0, np.arange(30) % 2
    with warnings.catch_warnings(record=True) as ready:
        warnings.simplefilter("always")
        model = convexfs.Relief(n_neighbors=3).fit(X, y.astype(kind))
    with warnings.catch_warnings(record=True) as converted:
        warnings.simplefilter("always")
        other = convexfs.Relief(n_neighbors=3).fit(X.tolist(), y.astype(kind).tolist())
    assert [str(each.message) for each in ready] == [str(each.message) for each in converted]
    np.testing.assert_array_equal(model.weights_, other.weights_)
    assert model.n_features_in_ == other.n_features_in_ == 6
    assert model.classes_.tolist() == other.classes_.tolist()


def test_names_of_an_earlier_fit_are_forgotten():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = convexfs.Relief(n_neighbors=2).fit(pd.DataFrame(X, columns=list("abc")), y)
    assert list(vars(model)["feature_names_in_"]) == ["a", "b", "c"]
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(40) * 7, "looks like a quantity"),
        (np.zeros(40, int), "only one class"),
        (np.arange(39) % 2, "inconsistent"),
        (np.eye(40, 2, dtype=int), "1d array"),
    ],
)
def test_integer_targets_that_are_no_classes_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        convexfs.Relief(n_neighbors=2).fit(np.random.default_rng(0).normal(size=(40, 3)), labels)
