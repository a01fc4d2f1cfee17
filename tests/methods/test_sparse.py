"""Sparse samples give what dense ones give, and are never made dense as a whole."""

import numpy as np
import pytest
from scipy import sparse

from convexfs import (
    LFE,
    IRelief,
    Lmba,
    Logo,
    LogoCV,
    LogoRegressor,
    Relief,
    ReliefRegressor,
    Simba,
)
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.neighbors.sparse import SparseSamples

RNG = np.random.default_rng(0)
Y = np.arange(50) % 2
DENSE = np.where(RNG.random((50, 1300)) < 0.05, RNG.poisson(3.0, (50, 1300)) + 1.0, 0.0)
DENSE[Y == 1, :3] += RNG.poisson(2.0, (25, 3))
DENSE[:, 7] = 0.5
NUMBERS = DENSE[:, 0] + DENSE[:, 1] * DENSE[:, 2] + RNG.standard_normal(50)
SPARSE = sparse.csr_array(DENSE)
TAKERS = [
    Relief(n_neighbors=5),
    Relief(n_neighbors=0.25, metric="sqeuclidean", miss="prior"),
    Relief(online=True, random_state=0, n_features_to_select=3),
    IRelief(sigma=10.0),
    IRelief(sigma=20.0, keep=20),
    Logo(tol=1e-8),
    Logo(tol=1e-8, beta=2.0, n_starts=2),
    ReliefRegressor(),
    ReliefRegressor(sigma=5.0, n_features_to_select=2),
    LogoRegressor(tol=1e-8, lam=5.0),
]
pytestmark = pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")


def target_of(model):
    return NUMBERS if isinstance(model, ReliefRegressor | LogoRegressor) else Y


@pytest.mark.parametrize("model", TAKERS, ids=str)
def test_the_fit_is_that_of_dense_samples(model):
    y = target_of(model)
    dense = model.fit(DENSE, y)
    weights, support, proof = dense.weights_.copy(), dense.get_support(), str(dense.certificate_)
    model.fit(SPARSE, y)
    np.testing.assert_allclose(model.weights_, weights, atol=1e-12 * weights.max())
    np.testing.assert_array_equal(model.get_support(), support)
    assert model.certificate_.ok
    assert "proven" in proof or "a fixed point" in proof
    model.set_params(n_features_to_select=3).fit(SPARSE, y)
    assert sparse.issparse(model.transform(SPARSE))
    model.set_params(n_features_to_select=None)


@pytest.mark.parametrize("model", TAKERS[:2], ids=str)
@pytest.mark.parametrize("made", [sparse.csc_matrix, sparse.coo_array])
def test_every_layout_of_sparse_samples_is_taken(model, made):
    weights = model.fit(SPARSE, Y).weights_.copy()
    np.testing.assert_array_equal(model.fit(made(DENSE), Y).weights_, weights)


def test_no_tile_is_wider_than_what_is_worked_on(monkeypatch):
    taken = []
    tile = SparseSamples.__getitem__

    def counted(self, key):
        found = tile(self, key)
        taken.append(found.shape[1])
        return found

    monkeypatch.setattr(SparseSamples, "__getitem__", counted)
    for model in TAKERS:
        model.fit(SPARSE, target_of(model))
    assert taken
    assert max(taken) < 1300


def test_predictions_are_taken_from_sparse_samples_too():
    logo = Logo().fit(SPARSE, Y)
    np.testing.assert_allclose(logo.decision_function(SPARSE), logo.decision_function(DENSE))
    numbers = LogoRegressor(lam=5.0).fit(SPARSE, NUMBERS)
    np.testing.assert_allclose(numbers.predict(SPARSE), numbers.predict(DENSE))


def test_threads_change_nothing():
    for make in (Relief, IRelief, Logo):
        one, two = (make(n_jobs=n).fit(SPARSE, Y).weights_ for n in (1, 2))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("model", [LFE(), Lmba(), LogoCV(), Simba()], ids=str)
def test_others_say_what_to_do(model):
    with pytest.raises(TypeError, match=r"dense data is required\. Use '\.toarray"):
        model.fit(SPARSE, Y)


def test_what_is_damaged_is_named():
    bad = DENSE.copy()
    bad[4, 1], bad[6, 0] = np.nan, np.inf
    with pytest.raises(InputError, match=r"contains NaN at data row 5, column 2 .*\(2 such cells"):
        Relief().fit(sparse.csc_array(bad), Y)
    bad[4, 1], bad[6, 0] = 1e70, 0.0
    with pytest.raises(InputError, match="holds values of up to"):
        Relief().fit(sparse.csc_array(bad), Y)
    with pytest.raises(InputError, match="'auto' classifies held-out samples and needs dense"):
        Relief(n_features_to_select="auto").fit(SPARSE, Y)


def test_constant_columns_are_warned_of_and_weigh_nothing():
    with pytest.warns(ConvexfsWarning, match="constant columns '8', "):
        model = Relief().fit(SPARSE, Y)
    assert model.weights_[7] == 0


def test_copies_of_rows_are_noticed():
    twice = sparse.vstack([SPARSE, SPARSE])
    model = Relief(n_neighbors=3).fit(twice, np.tile(Y, 2))
    with pytest.warns(ConvexfsWarning, match="100% of the rows are copies of others"):
        model.get_support()
