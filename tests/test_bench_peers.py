"""What the comparison with other packages counts, and how it tells a loss."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import bench_peers
from peers.contenders import CONTENDERS, SOUGHT, Contender
from peers.page import ENDS, ends, losses, megabytes, slopes
from peers.worlds import SIGNALS, found, nested_errors, planted


def test_planted_features_are_found_by_a_perfect_ranking_only():
    true = np.array([1, 3])
    assert found(np.array([0.0, 2, 0, 1]), true) == 1
    assert found(np.array([2.0, 0, 1, 0]), true) == 0
    assert found(np.zeros(4), true) == 0.5


@pytest.mark.parametrize("signal", SIGNALS)
def test_columns_are_shuffled_and_the_same_each_time(signal):
    X, y, true = planted(signal, 60, 300)
    again = planted(signal, 60, 300)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(true, again[2])
    assert set(y) == {0, 1}
    assert true.max() >= len(true)


@pytest.mark.parametrize("signal", SIGNALS)
def test_every_contender_is_given_standardised_columns(signal):
    X, _, _ = planted(signal, 60, 30)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_real_data_are_standardised_on_the_training_samples():
    rng = np.random.default_rng(0)
    given = []

    def score(X, y, sought):
        given.append(X)
        return np.arange(X.shape[1])

    nested_errors(score, 7 + 3 * rng.standard_normal((60, 6)), np.arange(60) % 2)
    for X in given:
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(X.std(axis=0), 1)


def test_settings_that_are_shown_are_those_that_are_used():
    asked = {}

    def rank(X, y, **settings):
        asked.update(settings)
        return X[0]

    who = Contender(rank, "sparse", "new", "none", {"size": SOUGHT, "C": 1.0})
    who.score(np.zeros((4, 3)), np.zeros(4), 2)
    assert asked == {"size": 2, "C": 1.0}
    assert who.told() == "size = number sought, C = 1.0"


def row(contender, seconds, found=1.0, p=100):
    blank = dict.fromkeys(bench_peers.COLUMNS, "")
    told = {"contender": contender, "signal": "linear", "n": "100", "p": str(p)}
    return blank | told | {"seconds": str(seconds), "found": str(found)}


def test_every_loss_is_named():
    assert losses([row("convexfs Relief", 1.0), row("skrebate ReliefF", 2.0)]) == []
    (faster,) = losses([row("convexfs Relief", 1.0), row("skrebate ReliefF", 0.5)])
    assert "skrebate ReliefF" in faster
    assert "faster in 1 of 1 cells" in faster
    (more,) = losses([row("convexfs Relief", 1.0, 0.5), row("F test", 0.1, 0.9)])
    assert "found more" in more
    assert "faster" not in more
    assert losses([row("convexfs Relief", 1.0, 0.7), row("F test", 0.1, 0.8)]) == []


def refusal(contender):
    nothing = {"seconds": "", "found": "", "ended": "refused: too few samples"}
    return row(contender, 0) | nothing


def test_a_refusal_is_not_a_finding_of_nothing():
    rows = [refusal("convexfs KnockoffSelector"), row("knockpy", 1.0)]
    (told,) = losses(rows)
    assert "answered (ours: refused) in 1 of 1 cells" in told
    assert "found more" not in told
    assert "faster" not in told


def test_how_cells_ended_is_counted_and_what_is_missing():
    counts = ends([refusal("convexfs KnockoffSelector"), row("knockpy", 1.0)])
    told = {name: dict(zip(ENDS, ways, strict=True)) for name, ways in counts.items()}
    assert told["convexfs KnockoffSelector"]["refused"] == 1
    assert told["knockpy"]["measured"] == 1
    assert told["LFSpy"]["not run"] == 1
    assert {sum(ways) for ways in counts.values()} == {1}


def test_memory_under_the_resolution_is_no_number():
    assert megabytes(4096) == "< 1 MB"
    assert megabytes(5 * 2**20) == "5 MB"


def test_growth_is_the_fitted_power():
    rows = [row("mrmr", (p / 100) ** 2, p=p) for p in (100, 1000, 10_000)]
    assert slopes(rows, "mrmr", "p") == pytest.approx(2)
    assert slopes(rows[:2], "mrmr", "p") is None


def test_larger_cells_than_one_over_the_limit_are_not_tried():
    over = [{"signal": "xor", "n": 100, "p": 500}]
    assert bench_peers.hopeless({"signal": "xor", "n": 100, "p": 5000}, over)
    assert not bench_peers.hopeless({"signal": "xor", "n": 200, "p": 100}, over)
    assert not bench_peers.hopeless({"signal": "local", "n": 100, "p": 5000}, over)


def test_each_family_with_a_method_of_ours_is_compared():
    families = {who.family for who in CONTENDERS.values() if who.environment == "convexfs"}
    assert families == {"neighbours", "sparse", "knockoffs", "local"}
