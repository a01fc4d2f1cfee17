from typing import Any

import numpy as np
import pytest

from convexfs import FORMULATIONS, load
from convexfs.errors import ConvexfsWarning, InputError
from convexfs.methods.base.fixed_point import (
    End,
    n_distinct,
    relief_weights,
    start_rows,
    starting_points,
)
from convexfs.methods.irelief.fit import Settings as IreliefSettings
from convexfs.methods.irelief.fit import irelief
from convexfs.methods.logo.fit import logo
from convexfs.methods.logo.margins import Locality, relief_margin
from convexfs.methods.logo.native import logo_penalised
from convexfs.methods.logo.numbers import margin_matrix
from convexfs.methods.logo.settings import Settings as LogoSettings
from tests.typed import known

relief_problem = FORMULATIONS["relief"].numbers


def end(weights, objective=1.0, certified=True):
    return End("ones", np.array(weights, dtype=float), objective, certified)


@pytest.fixture(scope="module")
def faint():
    """Few samples, a weak signal and a narrow kernel: several fixed points."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 500))
    X[:, :5] += 0.8 * y[:, None]
    return X, y


@pytest.mark.parametrize(
    ("method", "settings"),
    [(logo, LogoSettings), (irelief, IreliefSettings)],
    ids=["logo", "irelief"],
)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": np.ones(3)}, "start must be 4 numbers, one a feature, not 3"),
        ({"start": 1.0}, "one a feature, not a single number"),
        ({"start": ["a", "b", "c", "d"]}, "start must be 4 numbers"),
        ({"start": [1, 1, 1, 10**400]}, "start must be 4 numbers"),
        ({"start": [1, 1, 1, -1]}, "weights between 0 and 1e\\+60"),
        ({"start": [1, 1, 1, np.nan]}, "weights between 0 and 1e\\+60"),
        ({"start": [1, 1, 1, 1e308]}, "weights between 0 and 1e\\+60"),
        ({"start": [1, 1, 1, np.inf]}, "weights between 0 and 1e\\+60"),
        ({"start": np.zeros(4)}, "not all of them 0"),
        ({"n_starts": 0}, "n_starts must be an integer of at least 1"),
        ({"n_starts": 1.5}, "n_starts must be an integer"),
    ],
)
def test_starts_that_cannot_be_used_are_named(method, settings, options, message):
    data = load("iris").scaled()
    with pytest.raises(InputError, match=message):
        method(data.X, data.y, settings(**options))


def test_starts_come_in_order_and_are_seeded():
    def points(seed):
        return list(starting_points(None, 4, lambda: np.arange(30.0), 30, seed))

    names = [name for name, _ in points(0)]
    assert names == ["ones", "relief", "random", "random"]
    for (_, one), (_, same) in zip(points(5)[1:], points(5)[1:], strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(known(points(1)[3][1]), known(points(2)[3][1]))
    assert np.count_nonzero(known(points(0)[2][1])) == 5
    nothing = list(starting_points(np.ones(30), 2, lambda: np.zeros(30), 30, 0))
    assert [name for name, _ in nothing] == ["given"]


def test_reliefs_margin_is_that_of_relief():
    data = load("wine").scaled()
    found = relief_margin(Locality(data.X, data.y, 2.0))
    np.testing.assert_allclose(
        found, relief_problem(data.X, data.y, n_neighbors=1)[0]["z"], rtol=1e-4
    )
    weights = relief_weights(np.r_[np.linspace(1, 2, 300), -1.0])
    assert np.flatnonzero(weights).tolist() == list(range(200, 300))
    assert weights.max() == 1.0
    assert not relief_weights(-np.ones(3)).any()


def test_ends_are_told_apart_and_counted_once():
    ends = [end([1, 0]), end([0, 1], 0.5), end([1e-6, 1], 0.5), end([1, 1], 0.1, certified=False)]
    rows = start_rows(ends, 1, 1e-3)
    assert [row["elsewhere"] for row in rows] == [True, False, False, False]
    assert rows[0]["difference"] == pytest.approx(2**0.5)
    assert n_distinct(ends, 1e-3) == 2
    assert n_distinct([end([0, 0]), end([0, 0])], 1e-3) == 1


def test_logo_says_when_another_start_ends_elsewhere(faint):
    X, y = faint
    settings: dict[str, Any] = {"sigma": 0.5, "lam": 1.0}
    alone = logo(X, y, LogoSettings(**settings))
    assert alone.certificate.ok
    assert str(alone.certificate).startswith("proven: a fixed point (")
    assert len(alone.starts) == 1
    with pytest.warns(ConvexfsWarning, match="ends at another fixed point .* one of several"):
        several = logo(X, y, LogoSettings(n_starts=4, **settings), seed=0)
    certified = [row for row in several.starts if row["certified"]]
    assert several.solution.objective == min(row["objective"] for row in certified)
    assert known(several.solution.objective) < known(alone.solution.objective)
    assert f"one of {several.certificate.n_found} found" in str(several.certificate)
    # Both are fixed points by their definition: the convex step cannot better them.
    for result in (alone, several):
        Z = margin_matrix(X, y, 0.5, result.weights)
        value = np.logaddexp(0, -(Z @ result.weights)).sum() + result.weights.sum()
        assert value == pytest.approx(logo_penalised(Z, 1.0).objective, rel=1e-6)
    again = logo(X, y, LogoSettings(start=several.weights, **settings))
    np.testing.assert_allclose(again.weights, several.weights, atol=1e-6)
    assert again.starts[0]["start"] == "given"


def test_waveform_amid_noise_has_two_certified_fixed_points():
    data = load("waveform:n=120,noise=1200").scaled()
    with pytest.warns(ConvexfsWarning, match="another fixed point"):
        result = logo(data.X, data.y, LogoSettings(n_starts=2))
    assert all(row["certified"] for row in result.starts)
    assert result.certificate.n_found == 2
    assert max(row["difference"] for row in result.starts) > 0.1


def test_starts_agree_where_there_is_one_fixed_point():
    data = load("spiral:noise=10")
    result = logo(data.X, data.y, LogoSettings(n_starts=3), seed=1)
    assert [row["elsewhere"] for row in result.starts] == [False] * 3
    assert result.certificate.n_found == 1


def test_irelief_takes_starts_and_keeps_the_largest_margin():
    data = load("twonorm:n=60,noise=20").scaled()
    once = irelief(data.X, data.y)
    result = irelief(data.X, data.y, IreliefSettings(n_starts=3), seed=0)
    np.testing.assert_allclose(result.weights, once.weights, atol=1e-3)
    assert [row["start"] for row in result.starts] == ["ones", "relief", "random"]
    given = irelief(data.X, data.y, IreliefSettings(start=once.weights))
    assert given.n_iter <= 2
    assert given.starts[0]["start"] == "given"


def test_irelief_says_when_another_start_ends_elsewhere():
    """With a narrow kernel each of two equally good features holds on to its own neighbours."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 60))
    X[:, :2] += y[:, None]
    with pytest.warns(ConvexfsWarning, match="ends at another fixed point"):
        result = irelief(
            X, y, IreliefSettings(sigma=0.3, damping=0.8, max_iter=2000, n_starts=6), seed=0
        )
    proven = [row["objective"] for row in result.starts if row["certified"]]
    assert len(proven) > 1
    assert result.starts[[row["difference"] for row in result.starts].index(0.0)][
        "objective"
    ] == min(proven)


def test_an_iteration_that_does_not_end_is_not_certified():
    data = load("twonorm:n=120,noise=80,seed=0").scaled()
    with pytest.warns(ConvexfsWarning, match="cycle of 2"):
        result = irelief(data.X, data.y, IreliefSettings(sigma=0.5, damping=0.0))
    assert not result.converged
    assert result.certificate.ok is False
