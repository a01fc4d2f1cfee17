"""Tables of other libraries, pickles without samples, and arguments that fit does not take."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest

import convexfs
from convexfs.errors import InputError


def _samples(n_samples=60, n_features=8):
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], n_samples // 2)
    X = rng.normal(size=(n_samples, n_features))
    X[y == "ill", 2] += 3
    return X, y


@pytest.mark.parametrize(
    "estimator", [convexfs.Relief(), convexfs.Simba(random_state=0), convexfs.Logo()]
)
def test_names_of_polars_are_kept(estimator):
    X, y = _samples()
    names = [f"g{j}" for j in range(X.shape[1])]
    model = estimator.fit(polars.DataFrame(X, schema=names), y)
    same = copy.copy(estimator).fit(pd.DataFrame(X, columns=names), y)
    assert list(model.feature_names_in_) == names
    assert "g2" in model.get_feature_names_out()
    np.testing.assert_array_equal(model.weights_, same.weights_)


def test_categorical_columns_of_polars_are_categorical():
    X, y = _samples()
    table = polars.DataFrame(X, schema=[f"g{j}" for j in range(X.shape[1])])
    kinds = polars.Series("kind", np.where(y == "ill", "a", "b")).cast(polars.Categorical)
    model = convexfs.Relief().fit(table.with_columns(kinds), y)
    assert model.ranking()["name"].tolist()[0] == "kind"
    with pytest.raises(InputError, match="text in column 'kind', such as 'a'"):
        convexfs.Simba().fit(table.with_columns(kinds), y)


@pytest.mark.parametrize("name", ["LogoCV", "LLFS", "Lmba", "Simba"])
def test_weights_of_samples_are_refused_by_name(name):
    X, y = _samples()
    model = getattr(convexfs, name)()
    with pytest.raises(InputError, match=f"{name} takes no sample_weight: use Relief, IRelief"):
        model.fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        model.fit(X, y, weights=np.ones(len(y)))


def test_pickles_hold_the_selection_and_not_the_samples():
    X, y = _samples(40, 20_000)
    model: Any = convexfs.Relief().fit(X, y)
    stored = pickle.dumps(model)
    # Ten arrays of one number per feature, and not the samples, which are 40 of them.
    assert len(stored) < 12 * X[0].nbytes
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.get_support(), model.get_support())
    assert again.summary() == model.summary()
    assert again.shadow_test_.max_false(0.9) == model.shadow_test_.max_false(0.9)
    with pytest.raises(InputError, match=r"not pickled: fit again, or pickle .* keep_data=True"):
        again.shadow_test_.plot()
    with pytest.raises(InputError, match="not pickled"):
        again.set_params(n_features_to_select="auto").get_support()
    assert model.shadow_test_.null.shape[1] == X.shape[1]


def test_pickles_keep_the_samples_if_asked():
    X, y = _samples()
    model: Any = convexfs.Relief(keep_data=True).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert not again._held.answered
    np.testing.assert_array_equal(again.shadow_test_.null, model.shadow_test_.null)
    again.set_params(n_features_to_select="auto")
    assert again.get_support()[2]


def test_copies_compute_nothing():
    model: Any = convexfs.Relief().fit(*_samples())
    assert not copy.copy(model)._held.answered
    assert model._repr_mimebundle_()
    assert not model._held.answered
