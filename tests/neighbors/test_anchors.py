"""Margins from some samples: what they estimate, and intervals that hold it."""

import numpy as np
import pytest

from convexfs.data.columns import SlicedColumns
from convexfs.errors import InputError
from convexfs.neighbors.anchors import anchored_margin, interval_radius
from convexfs.neighbors.hits_misses import margin_vector, signed_neighbors
from tests.data.columns import Slices, genotypes, two_classes


def exact(X, y, **options):
    X = X.astype(float)
    return margin_vector(X, signed_neighbors(X, y, **options))


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 4, "miss": "prior"}, {"n_neighbors": 0.2}])
@pytest.mark.parametrize("make", [two_classes, genotypes])
def test_all_samples_give_the_margin_itself(make, options):
    X, y = make(n=41, j=1300)
    y[::4] = 2
    found = anchored_margin(SlicedColumns(Slices(X)), y, 41, **options)
    expected = exact(X, y, **options)
    np.testing.assert_allclose(found.margin, expected, atol=1e-10)
    np.testing.assert_array_equal(found.low, found.high)


def test_the_mean_over_draws_is_the_margin():
    X, y = two_classes(n=60, j=20)
    draws = [anchored_margin(X.astype(float), y, 20, seed=seed).margin for seed in range(400)]
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - exact(X, y)) < 5 * error).all()


@pytest.mark.parametrize("make", [two_classes, genotypes])
def test_intervals_hold_the_margin(make):
    """And are not so wide that they always would: fewer anchors make them wider."""
    X, y = make(n=500, j=300)
    z = exact(X, y, n_neighbors=3)
    widths = []
    for n_anchors in (50, 200, 400):
        found = anchored_margin(X, y, n_anchors, n_neighbors=3, seed=1)
        assert ((found.low <= z) & (z <= found.high)).mean() >= 0.95
        assert np.abs(found.margin - z).max() > 0
        widths.append((found.high - found.low).mean())
    assert widths[0] > widths[1] > widths[2] > 0


def test_a_bound_is_what_the_formulas_say():
    deviation, width = np.array([0.1, 3.0]), np.array([10.0, 10.0])
    radius = interval_radius(deviation, width, 1000, 20_000, 0.05)
    left, rare = 1 - 999 / 20_000, np.log(400)
    assert radius[1] == pytest.approx(10 * np.sqrt(left * np.log(80) / 2000))
    small = interval_radius(deviation, width, 15_000, 20_000, 0.05)
    left = (1 - 15 / 20) * (1 + 1 / 15_000)
    bernstein = 0.1 * np.sqrt(2 * left * rare / 15_000) + (7 / 3 + 3 / 2**0.5) * 10 * rare / 15_000
    assert small[0] == pytest.approx(bernstein)
    assert (interval_radius(deviation, width, 20_000, 20_000, 0.05) == 0).all()


def test_bounds_hold_for_the_worst_of_populations():
    """Rare large numbers, which a sample may not have seen."""
    rng = np.random.default_rng(0)
    population = (np.arange(1000) < 10).astype(float)
    missed = 0
    for _ in range(2000):
        drawn = rng.choice(population, 100, replace=False)
        radius = interval_radius(drawn.std(keepdims=True), np.ones(1), 100, 1000, 0.05)
        missed += abs(drawn.mean() - population.mean()) > radius[0]
    assert missed <= 0.05 * 2000


@pytest.mark.parametrize(("n_anchors", "options"), [(1, {}), (41, {}), (5, {"level": 1.0})])
def test_what_cannot_be_asked(n_anchors, options):
    X, y = two_classes(j=20)
    with pytest.raises(InputError, match=r"n_anchors, of 40 samples|level"):
        anchored_margin(X, y, n_anchors, **options)
