"""By columns or by rows: the same neighbours and margins."""

import numpy as np
import pytest

from convexfs.data.out_of_core import SlicedColumns
from convexfs.errors import InputError
from convexfs.neighbors import feature_blocks, hits_misses, margins, out_of_core
from tests.data.columns import Slices, genotypes, two_classes


def both(X, y, **options):
    source = SlicedColumns(Slices(X))
    return (
        hits_misses.signed_neighbors(source, y, **options),
        hits_misses.signed_neighbors(X.astype(float), y, **options),
    )


@pytest.mark.parametrize(
    "options", [{}, {"n_neighbors": 5}, {"n_neighbors": 0.25}, {"n_neighbors": "multisurf"}]
)
@pytest.mark.parametrize("miss", ["nearest", "prior", "uniform"])
def test_neighbours_and_margins_are_those_of_rows(options, miss):
    X, y = two_classes()
    y[::5] = 2
    ours, theirs = both(X, y, miss=miss, **options)
    np.testing.assert_array_equal(ours.index, theirs.index)
    np.testing.assert_array_equal(ours.coefficient, theirs.coefficient)
    z = margins.margin_vector(SlicedColumns(Slices(X)), ours)
    expected = margins.margin_vector(X.astype(float), theirs)
    np.testing.assert_allclose(z, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("j", [30, 2500])
def test_ties_of_genotypes_are_broken_alike(j, monkeypatch):
    """Few columns are held as bits, many as the distances of all pairs."""
    X, y = genotypes(n=60, j=j)
    ours, theirs = both(X, y, n_neighbors=7)
    np.testing.assert_array_equal(ours.index, theirs.index)


def test_bits_are_held_where_they_are_fewer_than_distances(monkeypatch):
    X, y = genotypes(n=200, j=300)
    monkeypatch.setattr(out_of_core, "distances_in", lambda *_: pytest.fail("all distances"))
    hits_misses.signed_neighbors(SlicedColumns(Slices(X)), y)


def test_another_metric_needs_samples_in_memory():
    X, y = two_classes()
    with pytest.raises(InputError, match="takes samples in memory"):
        hits_misses.signed_neighbors(SlicedColumns(Slices(X)), y, metric="sqeuclidean")


def test_weighted_distances_are_those_of_an_array():
    X, _ = two_classes()
    weights = np.where(np.arange(2500) % 700 < 3, np.arange(2500) / 100.0, 0.0)
    expected = feature_blocks.weighted_distances(X.astype(float), weights)
    found = out_of_core.weighted_distances(SlicedColumns(Slices(X)), weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
