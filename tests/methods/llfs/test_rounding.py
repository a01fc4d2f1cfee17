import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexfs.errors import InputError
from convexfs.methods.llfs.rounding import best_rounding, swap_search
from tests.typed import known

seeds = st.integers(0, 2**32 - 1)
S, LAM, ALPHA = 1.3, 0.01, 3


def mean(a, mask):
    z = a[:, mask].sum(axis=1)
    return (1 / (1 + np.exp(-S * z)) - 0.5 + LAM * z).mean()


def problem(seed, m=8):
    rng = np.random.default_rng(seed)
    same, other = rng.random((6, m)), rng.random((7, m))
    f = np.array([1.0, 0.0, 0.7, 0.4, 0.99995, 5e-5, 0.2, 0.5])
    level = mean(other, np.array([1, 0, 0, 1, 1, 0, 0, 0], dtype=bool)) * 0.95
    return f, same, other, level


def neighbours(f):
    """All masks that keep the entries near 0 and 1."""
    open_ = np.flatnonzero((f > 1e-4) & (f < 1 - 1e-4))
    for ups in itertools.product([False, True], repeat=len(open_)):
        mask = f >= 1 - 1e-4
        mask[open_] = ups
        yield mask


@given(seed=seeds)
@settings(deadline=None)
def test_enumeration_is_the_best_of_all_roundings(seed):
    f, same, other, level = problem(seed)
    feasible = [m for m in neighbours(f) if m.sum() <= ALPHA and mean(other, m) >= level]
    mask, value = best_rounding(f, same, other, S, LAM, level, ALPHA)
    best = min(feasible, key=lambda m: mean(same, m))
    np.testing.assert_array_equal(mask, best)
    assert value == pytest.approx(mean(same, best))


@given(seed=seeds)
@settings(deadline=None, max_examples=20)
def test_random_draws_are_feasible_seeded_and_not_better(seed):
    f, same, other, level = problem(seed)
    drawn = [best_rounding(f, same, other, S, LAM, level, ALPHA, "random", 200, 7) for _ in "ab"]
    np.testing.assert_array_equal(drawn[0][0], drawn[1][0])
    assert mean(other, drawn[0][0]) >= level - 1e-12
    assert drawn[0][1] >= best_rounding(f, same, other, S, LAM, level, ALPHA)[1]


def test_many_fractional_entries_are_drawn_and_never_cut_off():
    rng = np.random.default_rng(0)
    same, other = rng.random((5, 40)), rng.random((5, 40))
    f = np.full(40, 0.5)
    mask, _ = best_rounding(f, same, other, S, LAM, 0.2, 40, "enumerate", 500, 3)
    assert known(mask)[13:].any()


def test_no_feasible_rounding_is_said_so():
    f, same, other, _ = problem(0)
    assert best_rounding(f, same, other, S, LAM, 100.0, ALPHA) == (None, np.inf)
    assert best_rounding(np.zeros(8), same, other, S, LAM, 0.0, ALPHA) == (None, np.inf)


def test_steepness_0_is_the_linear_case():
    f, same, other, _ = problem(1)
    mask, value = best_rounding(f, same, other, 0.0, 1.0, 0.0, ALPHA)
    assert value == pytest.approx(same[:, mask].sum(axis=1).mean())


@given(seed=seeds)
@settings(deadline=None, max_examples=25)
def test_no_single_change_improves_a_swapped_set(seed):
    f, same, other, level = problem(seed)
    start, value = best_rounding(f, same, other, S, LAM, level, ALPHA)
    mask, lower = swap_search(known(start), same, other, S, LAM, level, ALPHA)
    assert lower <= value + 1e-12
    assert lower == pytest.approx(mean(same, mask))
    assert mean(other, mask) >= level - 1e-12
    for changes in itertools.chain(
        itertools.combinations(range(8), 1), itertools.combinations(range(8), 2)
    ):
        changed = mask.copy()
        changed[list(changes)] ^= True
        if abs(int(changed.sum()) - int(mask.sum())) > 1 or not 1 <= changed.sum() <= ALPHA:
            continue
        assert mean(other, changed) < level or mean(same, changed) >= lower - 1e-9


def test_an_unknown_way_to_round_gets_the_nearest_name():
    f, same, other, level = problem(0)
    with pytest.raises(InputError, match="did you mean enumerate"):
        best_rounding(f, same, other, S, LAM, level, ALPHA, "enumerat")
