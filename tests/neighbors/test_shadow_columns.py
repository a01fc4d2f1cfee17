"""Margins beside shadow columns, against fits to the columns and their shadows."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from convexfs import Relief, ReliefRegressor
from convexfs.methods.base.row_permutations import permuted_rows
from convexfs.neighbors.hits_misses import signed_neighbors, signed_neighbors_at
from convexfs.neighbors.shadow_columns import ShadowDraws, feature_deviations

RNG = np.random.default_rng(0)
X = RNG.standard_normal((36, 5)) + 0.5 * (np.arange(36) % 3 == 0)[:, None]
Y = np.arange(36) % 3
ROWS = permuted_rows(Y, 7, 0)


def compared(model, data, target, rows, fit_data=None):
    """Margins beside shadows, and those of fits to the columns and their shadows."""
    checked, codes = type(model)(**model.get_params())._validate(data, target)
    found = model._shadow_margins(checked, codes, ShadowDraws(rows))
    assert found is not None
    data = data if fit_data is None else fit_data
    both = []
    for order in rows:
        if hasattr(data, "iloc"):
            shadow = data.iloc[order].set_axis(data.index).add_prefix("s")
            wide = data.join(shadow)
        else:
            wide = np.hstack([data, data[order]])
        both.append(model.fit(wide, target).margin_)
    n = data.shape[1]
    return found, (np.mean(both, axis=0)[:n], np.array(both)[:, n:])


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"n_neighbors": 1}, {"n_neighbors": 3, "miss": "uniform"}, {"n_neighbors": "surf"},
        {"n_neighbors": "multisurf", "miss": "prior"}, {"metric": "sqeuclidean"},
        {"class_weight": "balanced"}, {"n_neighbors": 0.9},
    ],
    ids=str,
)  # fmt: skip
def test_margins_are_those_of_a_fit_to_columns_and_shadows(settings):
    found, expected = compared(Relief(**settings), X, Y, ROWS)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", ["hybrid", "class", "observed"])
def test_missing_values_and_categories_go_with_their_rows(rule):
    values = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
    frame = pd.DataFrame(values).add_prefix("x")
    frame["kind"] = pd.Categorical(np.array(["a", "b", "c"])[RNG.integers(0, 3, 36)])
    found, expected = compared(Relief(missing=rule), frame, Y, ROWS)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


def test_sparse_samples_have_the_margins_of_dense_ones():
    thin = np.where(RNG.random(X.shape) < 0.6, 0.0, X)
    found, expected = compared(Relief(), csr_array(thin), Y, ROWS, fit_data=thin)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"spread": 3.0, "n_neighbors": 0.5}, {"sigma": 2.0}])
def test_numeric_targets_have_the_margins_of_a_fit(settings):
    target = X[:, 0] + RNG.standard_normal(36)
    found, expected = compared(ReliefRegressor(**settings), X, target, ROWS)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12)


def test_unequal_groups_may_repeat_rows():
    groups = np.repeat(np.arange(12), [1, 2, 3, 4, 5, 3, 3, 3, 3, 3, 3, 3])
    labels = (np.arange(12) % 2)[groups]
    rows = permuted_rows(labels, 5, 1, groups=groups)
    assert any(len(set(row)) < 36 for row in rows)
    found, expected = compared(Relief(), X, labels, rows)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_neighbors", [1, 4, 0.01, 0.25, 0.99, "surf", "multisurf"])
@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
def test_neighbours_at_distances_are_those_of_the_samples(n_neighbors, miss):
    rounded = np.round(X)  # equal distances: the first rows count as nearer
    distances = np.abs(rounded[:, None] - rounded).sum(axis=2)
    for codes in (Y, (np.arange(36) < 2) * 1, np.r_[0, np.ones(35, int)]):
        matrices = []
        for found in (
            signed_neighbors(rounded, codes, n_neighbors, "manhattan", miss),
            signed_neighbors_at(distances, codes, n_neighbors, miss),
        ):
            matrix = np.zeros((36, 37))
            np.add.at(
                matrix,
                (np.arange(36)[:, None, None], found.index),
                np.where(found.index < 0, 0.0, found.coefficient),
            )
            matrices.append(matrix)
        np.testing.assert_allclose(matrices[0], matrices[1], atol=1e-15)


def test_deviations_are_in_the_units_of_differences():
    np.testing.assert_allclose(feature_deviations(X), X.std(axis=0))
    np.testing.assert_allclose(feature_deviations(1e-200 * X), 1e-200 * X.std(axis=0))
    np.testing.assert_allclose(feature_deviations(csr_array(X)), X.std(axis=0))
    assert feature_deviations(np.full((5, 1), 0.1)) == 0.0
    values = np.column_stack([X[:, 0], Y == 0, Y])
    values[3, 0] = np.nan
    model = Relief(categorical_features=[1])
    mixed, _ = model._validate(values, np.arange(36) % 2)
    expected = np.array([np.nanstd(values[:, 0]), np.std(Y == 0), np.std(Y)]) * mixed.scale
    np.testing.assert_allclose(feature_deviations(mixed), expected)
