"""Margins from some samples: what they estimate, and intervals that hold it."""

import numpy as np
import pytest

from convexfs.data.out_of_core import SlicedColumns
from convexfs.errors import InputError
from convexfs.neighbors.anchors import anchored_margin, mean_interval
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


def winnings(mean, x, population, enough):
    """What bets on numbers above a mean have won, draw by draw."""
    t = np.arange(len(x))
    before = np.concatenate([[0], np.cumsum(x)[:-1]])
    centre = np.concatenate([[0.5], (0.5 + np.cumsum(x)) / (t + 2)])
    squares = 0.25 + np.concatenate([[0], np.cumsum((x - centre[1:]) ** 2)[:-1]])
    expected = (population * mean - before) / (population - t)
    stake = np.sqrt(2 * np.log(enough) * (t + 1) / (len(x) * squares))
    return np.cumprod(1 + np.minimum(stake, 0.9 / expected) * (x - expected))


@pytest.mark.parametrize("size", [0.1, 4.0])
def test_an_interval_ends_where_bets_against_its_ends_win_enough(size):
    drawn = np.random.default_rng(0).uniform(-size, size, 60)
    low, high = mean_interval(drawn[:, None], np.array([4.0]), 200, 0.1)
    for end, x in ((low[0], drawn), (-high[0], -drawn)):
        at, inside, scaled = (
            (number + 4) / 8 for number in (end, end + 0.01 * (x.mean() - end), x)
        )
        assert winnings(at, scaled, 200, 20).max() >= 20 - 1e-9
        assert winnings(inside, scaled, 200, 20).max() < 20


@pytest.mark.parametrize("n", [20, 100, 900, 999])
@pytest.mark.parametrize("ones", [0, 3, 10, 500])
def test_intervals_hold_for_populations_of_zeros_and_rare_ones(ones, n):
    """Which a sample may not have seen: nothing is assumed of a population but its ends."""
    rng = np.random.default_rng([ones, n])
    population = (np.arange(1000) < ones).astype(float)
    drawn = np.column_stack([rng.permutation(population)[:n] for _ in range(2000)])
    low, high = mean_interval(drawn, np.ones(2000), 1000, 0.05)
    mean = ones / 1000
    assert ((low > mean + 1e-12) | (high < mean - 1e-12)).mean() <= 0.05


def test_all_of_a_population_leave_no_doubt():
    drawn = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    low, high = mean_interval(drawn, np.ones(3), 50, 0.05)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(low, drawn.mean(axis=0))


def test_intervals_are_near_those_of_the_normal_distribution():
    """Which are right for many numbers, and not proven for any."""
    drawn = np.random.default_rng(0).uniform(-1, 1, (2000, 5))
    normal = 2 * 1.96 * drawn.std(axis=0) / np.sqrt(2000)
    # Small numbers that might have been large: those that were not drawn may be.
    for bound, wide in ((1.0, 1.5), (12.0, 2.0)):
        low, high = mean_interval(drawn, np.full(5, bound), 1_000_000, 0.05)
        assert (high - low < wide * normal).all()
        assert (high - low > normal).all()


@pytest.mark.parametrize(("n_anchors", "options"), [(1, {}), (41, {}), (5, {"level": 1.0})])
def test_what_cannot_be_asked(n_anchors, options):
    X, y = two_classes(j=20)
    with pytest.raises(InputError, match=r"n_anchors, of 40 samples|level"):
        anchored_margin(X, y, n_anchors, **options)
