"""What the comparison with other packages counts, and how it tells a loss."""

import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import bench_peers
from peers.contenders import CONTENDERS, SOUGHT, Contender
from peers.losses import ALONE, AS_GOOD, FOUND, WORSE, losses, losses_part
from peers.page import ends, megabytes, slopes
from peers.rows import ENDS, NOT_TRIED, OVER, READY, mean_of_draws
from peers.summary import in_short, losses_first
from peers.worlds import (
    FIXED_FEATURES,
    FIXED_SAMPLES,
    SIGNALS,
    found,
    nested_errors,
    planted,
    real_sets,
    selected_at_rate,
)


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


def row(contender, seconds, found=1.0, p=100, n=FIXED_SAMPLES):
    blank = dict.fromkeys(bench_peers.COLUMNS, "")
    told = {"contender": contender, "signal": "linear", "n": str(n), "p": str(p), "draw": "0"}
    return blank | told | {"limit": "10", "seconds": str(seconds), "found": str(found)}


CELL = f"linear {FIXED_SAMPLES} x 100"


def test_every_loss_is_named():
    ours = row("convexfs Relief", 1.0)
    assert losses([ours, row("skrebate ReliefF", 2.0)]) == {}
    pair = ("convexfs Relief", "skrebate ReliefF")
    assert losses([ours, row("skrebate ReliefF", 0.5)]) == {pair: {AS_GOOD: [CELL]}}
    assert losses([ours, row("skrebate ReliefF", 0.5, 0.8)]) == {pair: {WORSE: [CELL]}}
    found_less = row("convexfs Relief", 1.0, 0.5)
    assert losses([found_less, row("F test", 0.1, 0.9)]) == {
        ("convexfs Relief", "F test"): {FOUND: [CELL]}
    }
    assert losses([row("convexfs Relief", 1.0, 0.7), row("F test", 0.1, 0.8)]) == {}


def test_the_page_says_by_how_much_a_peer_was_better():
    rows = [row("convexfs Relief", 1.0, 0.5), row("skrebate ReliefF", 0.25, 0.9)]
    told = losses_part(rows)
    assert "| skrebate ReliefF | 1 | 1 | 0 | 0 | 1 | 0 | 0 |" in told
    assert f"- {CELL}: faster, no worse by skrebate ReliefF (4.0 times)" in told
    assert "skrebate ReliefF found 90%, ours 50%" in told


def refusal(contender):
    nothing = {"seconds": "", "found": "", "ended": "refused: too few samples"}
    return row(contender, 0) | nothing


def test_a_refusal_is_not_a_finding_of_nothing():
    rows = [refusal("convexfs KnockoffSelector"), row("knockpy", 1.0)]
    assert losses(rows) == {("convexfs KnockoffSelector", "knockpy"): {ALONE: [CELL]}}


def test_knockoffs_are_counted_at_the_rate():
    lead = np.array([6.0, 5, 4, 3, 2, -1])
    assert selected_at_rate(lead, np.array([0, 1, 2, 3])) == {"selected": 5, "false": 1}
    assert selected_at_rate(-lead, np.array([0])) == {"selected": 0, "false": 0}


def test_sets_of_a_folder_come_besides_those_that_ship(tmp_path):
    X, y = np.random.default_rng(0).random((6, 3)), np.arange(6) % 2
    np.savez(tmp_path / "mine.npz", X=X, y=y)
    np.savez(tmp_path / "three_classes.npz", X=X, y=np.arange(6) % 3)
    assert [*real_sets(str(tmp_path))] == [*real_sets(None), "mine"]


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


def test_a_cell_is_the_mean_of_its_draws():
    drawn = [row("mrmr", 1.0, 0.5), row("mrmr", 3.0, 1.0), refusal("mrmr")]
    (mean,) = mean_of_draws([each | {"draw": str(i)} for i, each in enumerate(drawn)])
    assert (mean["seconds"], mean["found"], mean["draw"]) == ("2.0", "0.75", "2")
    nothing = [each | {"draw": str(i)} for i, each in enumerate([drawn[2]] * 2)]
    assert mean_of_draws(nothing) == nothing[:1]


def drawn(name, seconds, shares, **given):
    """Rows of one contender: a draw of every signal for each share found."""
    return [
        row(name, seconds, share, **given) | {"signal": signal, "draw": draw}
        for signal in SIGNALS
        for draw, share in enumerate(shares)
    ]


def test_the_page_begins_with_a_size_at_a_glance_and_times_within_a_family():
    sized = {"n": FIXED_SAMPLES, "p": FIXED_FEATURES}
    ours = drawn("convexfs Relief", 1.0, [1, 1, 1, 0], **sized)
    theirs = drawn("skrebate ReliefF", 3.0, [0.5, 0.5, 0.5], **sized)
    slow = drawn("skrebate MultiSURF", 9.0, [1], **sized)
    told = in_short([*ours, *theirs, *slow])
    # Draw 3, in which ours found nothing, was not answered by the other.
    assert "| **convexfs Relief** | 100% | 100% | 100% | 1 s |" in told
    assert "n = 3" in told
    assert "too many draws to be compared: skrebate MultiSURF." in told
    assert "| convexfs Relief | skrebate ReliefF | 9 | 3 | 100%, 50% |  |" in told
    assert "| convexfs Relief | skrebate MultiSURF | 3 | 9 | 100%, 100% |  |" in told
    assert in_short([refusal("knockpy")]) == ""


def test_those_who_are_better_are_named_first():
    ours, theirs = drawn("convexfs Relief", 3.0, [0.5]), drawn("skrebate ReliefF", 1.0, [0.8])
    assert losses_first([*ours, *theirs]) == (
        "- **convexfs Relief**: skrebate ReliefF is 3 times as fast; skrebate ReliefF finds 80% "
        "of the planted features, ours 50%."
    )
    assert "in no pair" in losses_first([*drawn("convexfs Relief", 1.0, [1]), *theirs])


def cell(signal="xor", n=100, p=500, limit=3.0, draw=0):
    return {"signal": signal, "n": n, "p": p, "draw": draw, "limit": limit}


def test_larger_cells_than_one_over_the_limit_are_not_tried():
    over = [bench_peers.row_of("mrmr", cell(), OVER)]
    assert bench_peers.hopeless(cell(p=5000), over)
    assert not bench_peers.hopeless(cell("local", p=5000), over)
    assert not bench_peers.hopeless(cell(n=200, p=100), over)
    assert not bench_peers.hopeless(cell(p=5000, limit=9.0), over)


def test_samples_are_drawn_again_only_where_that_takes_little_time():
    asked = Namespace(size="quick", limit=10.0, data=None)
    first, second = (bench_peers.cells(asked, draw) for draw in (0, 1))
    planted = [each for each in first if "signal" in each]
    assert [{**each, "draw": 1} for each in planted] == [{**each, "limit": 10.0} for each in second]
    fixed = (FIXED_SAMPLES, FIXED_FEATURES)
    assert all(
        each["limit"] == (10.0 if (each["n"], each["p"]) == fixed else 2.0) for each in second
    )
    slow = [bench_peers.row_of("mrmr", first[0], seconds="3.0")]
    assert bench_peers.hopeless(second[0], slow)
    assert not bench_peers.hopeless(second[0], [slow[0] | {"seconds": "1.0"}])
    assert not bench_peers.hopeless(first[0], slow)


def test_what_was_over_a_smaller_limit_is_tried_again():
    measured, over = row("mrmr", 1.0), row("mrmr", "", n=50) | {"ended": OVER}
    cells = [cell("linear", FIXED_SAMPLES, 100, 20.0), cell("linear", 50, 100, 20.0)]
    assert bench_peers.todo("mrmr", cells, [measured, over]) == cells[1:]
    assert bench_peers.todo("mrmr", cells, [measured, over | {"limit": "20"}]) == []
    assert bench_peers.todo("celer", cells, [measured, over]) == cells


def said_by(monkeypatch, *processes):
    left = [*processes]
    monkeypatch.setattr(bench_peers, "answers", lambda name, cells: iter(left.pop(0)))


def ends_of(cells):
    return [(row["p"], row["ended"]) for row in bench_peers.run("mrmr", cells, [])]


def test_a_cell_that_is_ended_is_over_and_a_new_process_goes_on(monkeypatch):
    small, large, huge = cell(p=50), cell(p=500), cell(p=5000)
    said_by(
        monkeypatch,
        [READY, {"begins": large}, {"ended": OVER}],
        [READY, {"begins": small}, {"cell": small, "seconds": 1.0}, {"ended": ""}],
    )
    assert ends_of([large, small, huge]) == [(500, OVER), (5000, NOT_TRIED), (50, "")]


def test_one_that_cannot_start_says_why_for_every_cell(monkeypatch):
    said_by(monkeypatch, [{"ended": "failed: no module"}])
    assert ends_of([cell(p=50), cell(p=500)]) == [
        (50, "failed: no module"),
        (500, "failed: no module"),
    ]


def test_a_process_that_runs_out_of_memory_is_not_given_larger_cells(monkeypatch):
    large, huge = cell(p=500), cell(p=5000)
    no_memory = {"cell": large, "ended": f"{OVER}: 6 GB"}
    said_by(monkeypatch, [READY, {"begins": large}, no_memory, {"ended": ""}])
    assert ends_of([large, huge]) == [(500, f"{OVER}: 6 GB"), (5000, NOT_TRIED)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted by /proc")
def test_a_contender_answers_a_cell_in_a_process_of_its_own():
    small = cell("linear", 20, 10)
    said = [*bench_peers.answers("convexfs Relief", [small])]
    assert said[:2] == [READY, {"begins": small}]
    assert said[2]["found"] > 0
    assert said[2]["seconds"] > 0


def test_each_family_with_a_method_of_ours_is_compared():
    families = {who.family for who in CONTENDERS.values() if who.environment == "convexfs"}
    assert families == {"neighbours", "sparse", "knockoffs", "local"}
