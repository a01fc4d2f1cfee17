import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from convexfs.methods.llfs.hyperspheres import (
    BLOCK,
    Hyperspheres,
    nearest_agrees,
    sphere_and_score,
    sphere_radius,
    squared_distances,
)

seeds = st.integers(0, 2**32 - 1)


def radius(distances, same, gamma=0.2, normalised=True):
    return sphere_radius(np.array(distances, float), np.array(same, bool), 0, gamma, normalised)


def test_a_sphere_grows_to_halfway_before_the_first_violation():
    assert radius([0, 1, 2, 3, 5], [1, 1, 1, 0, 0]) == 2.5
    # Two of ten others inside are .2, still within .2 of all of the own class.
    assert radius([0, 1, 2, *range(3, 13)], [1, 1, 1, *[0] * 10]) == 4.5
    # Counted raw, one other against two of the own is too many.
    assert radius([0, 1, 2, *range(3, 13)], [1, 1, 1, *[0] * 10], normalised=False) == 2.5


def test_equal_distances_enter_together():
    assert radius([0, 1, 1, 1], [1, 1, 0, 1], gamma=0.1) == 0.5


def test_a_copy_of_the_centre_with_another_label_leaves_no_room():
    assert radius([0, 0, 1], [1, 0, 1]) == 0.0


def test_without_a_violation_all_samples_are_inside():
    assert radius([0, 1, 2, 9], [1, 1, 1, 0], gamma=0.999, normalised=False) == 9.0


@given(seed=seeds)
@settings(deadline=None, max_examples=25)
def test_scores_are_what_their_definition_says(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (20, 5)).astype(float), rng.integers(0, 2, 20)
    y[:2], y[2:4] = 0, 1
    features = np.array([0, 3])
    found, score = sphere_and_score(X, y == y[0], 0, features, 0.2, True)
    part = X[:, features]
    squared = ((part[:, None] - part) ** 2).sum(axis=2)
    detected = alarms = 0
    for j in np.flatnonzero(np.sqrt(squared[0]) <= found):
        others = np.arange(20) != j
        nearest = others & (squared[j] == squared[j][others].min())
        agrees = (y[nearest] == y[0]).mean() > 0.5
        detected += agrees and y[j] == y[0]
        alarms += agrees and y[j] != y[0]
    expected = detected / (y == y[0]).sum() - alarms / (y != y[0]).sum()
    assert score == pytest.approx(expected)


@given(seed=seeds, features=st.integers(1, 4), values=st.sampled_from([3, 50, 10**9]))
@settings(deadline=None, max_examples=25)
def test_blocks_have_the_neighbours_that_a_scan_finds(seed, features, values):
    """With many ties, some and none; deep enough to have several leaves."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 * BLOCK, 10 * BLOCK))
    X, same = rng.integers(0, values, (n, 5)) / 7.0, rng.random(n) < 0.5
    same[:2] = True, False
    chosen = rng.permutation(5)[:features]
    radius, score = sphere_and_score(X, same, 0, chosen, 0.9, True)
    inside = np.flatnonzero(squared_distances(X, X[0], chosen) <= radius**2)
    agree = np.array([nearest_agrees(X, j, X[j], chosen, same, np.inf) for j in inside])
    expected = agree[same[inside]].sum() / same.sum() - agree[~same[inside]].sum() / (~same).sum()
    assert score == pytest.approx(expected, abs=1e-12)


def spheres(seed, **settings):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 10)
    X = rng.standard_normal((30, 4)) + 2.0 * y[:, None]
    support = rng.random((30, 4)) < 0.5
    support[:, 0] = True
    return Hyperspheres(X, y, support, rng.random(30) + 0.5, **settings), rng


@pytest.mark.parametrize("neighbor_vote", [True, False])
@pytest.mark.parametrize("normalised", [True, False])
def test_votes_are_what_their_definition_says(neighbor_vote, normalised):
    found, rng = spheres(3, neighbor_vote=neighbor_vote, normalised=normalised)
    sizes = np.bincount(found.codes) if normalised else np.ones(3)
    checked = 0
    for x in rng.standard_normal((40, 4)) + 2:
        votes = np.zeros(3)
        for i in range(30):
            on = found.support[i]
            squared = ((found.X[:, on] - x[on]) ** 2).sum(axis=1)
            agrees = found.codes[squared.argmin()] == found.codes[i]
            if squared[i] <= found.radii[i] ** 2 and (agrees or not neighbor_vote):
                votes[found.codes[i]] += 1 / sizes[found.codes[i]]
        ordered = np.sort(votes)
        if ordered[-1] > ordered[-2]:
            np.testing.assert_allclose(found.votes(x[None])[0], votes)
            checked += 1
        voters = found.voters(x)
        counted = np.bincount(found.codes[voters], minlength=3) / sizes
        np.testing.assert_allclose(counted, votes)
    assert checked > 10


def test_a_query_in_no_sphere_asks_the_nearest_sample_of_every_frame():
    found, _ = spheres(4)
    votes = found.votes(np.full((1, 4), 100.0))
    assert votes.sum() == pytest.approx(30 / 10)
    assert votes.argmax() == 2
    assert not len(found.voters(np.full(4, 100.0)))


def test_tied_nearest_samples_need_a_strict_majority():
    X, features = np.array([[0.0], [1.0], [-1.0]]), np.array([0])
    for labels, expected in (([0, 1, 0], False), ([0, 1, 1], True)):
        same = np.array(labels) == 1
        assert nearest_agrees(X, 0, X[0], features, same, np.inf) == expected


def test_tied_nearest_classes_share_the_vote_of_a_query_in_no_sphere():
    X, codes = np.array([[-1.0], [-2.0], [1.0], [2.0], [1.0]]), np.array([0, 0, 1, 1, 2])
    found = Hyperspheres(X, codes, np.ones((5, 1), bool), np.full(5, 0.1), normalised=False)
    np.testing.assert_allclose(found.votes(np.array([[0.0]])), [[5 / 3] * 3])
    # Of more than one nearest sample the class with most of them has the whole vote.
    X[4], codes[4] = -1.0, 0
    np.testing.assert_allclose(found.votes(np.array([[0.0]])), [[5.0, 0.0]])


@given(seed=seeds, normalised=st.booleans())
@settings(deadline=None, max_examples=50)
def test_predictions_do_not_depend_on_the_names_of_classes(seed, normalised):
    """Samples on a coarse grid, so that there are ties of every kind."""
    rng = np.random.default_rng(seed)
    X, codes = rng.integers(0, 3, (12, 2)).astype(float), rng.integers(0, 3, 12)
    codes[:6] = np.repeat([0, 1, 2], 2)
    support = np.column_stack([np.ones(12, bool), rng.random(12) < 0.5])
    names, radii = rng.permutation(3), rng.random(12)
    Q = rng.integers(-1, 8, (20, 2)) / 2.0
    one, other = (
        Hyperspheres(X, y, support, radii, normalised=normalised) for y in (codes, names[codes])
    )
    np.testing.assert_array_equal(other.votes(Q)[:, names], one.votes(Q))
    np.testing.assert_array_equal(other.classify(Q), names[one.classify(Q)])


def test_a_tied_vote_goes_to_the_larger_class_then_to_the_first_in_the_data():
    X, middle = np.array([[1.0], [-1.0], [-2.0], [3.0], [4.0]]), np.array([[0.0]])
    settings = np.ones((5, 1), bool), np.full(5, 0.1)
    for codes in ([0, 1, 1, 2, 2], [2, 1, 1, 0, 0]):
        found = Hyperspheres(X, np.array(codes), *settings, normalised=False)
        votes = found.votes(middle)[0]
        assert votes[codes[0]] == votes[1] == votes.max()
        assert found.classify(middle) == [1]
    for codes in ([0, 1, 1, 0, 2], [1, 0, 0, 1, 2]):
        found = Hyperspheres(X, np.array(codes), *settings, normalised=False)
        assert found.classify(middle) == [codes[0]]


@given(seed=seeds, features=st.integers(1, 20))
@settings(deadline=None, max_examples=50)
def test_a_sphere_that_holds_everything_holds_its_farthest_sample(seed, features):
    rng = np.random.default_rng(seed)
    X, codes = rng.standard_normal((12, features)), np.repeat([0, 1], [10, 2])
    X[10:] *= 0.9
    chosen = np.arange(features)
    radius, score = sphere_and_score(X, codes == 0, 0, chosen, 0.999, False)
    distance = np.sqrt(squared_distances(X, X[0], chosen))
    assume(radius == distance.max())
    agree = np.array([nearest_agrees(X, j, X[j], chosen, codes == 0, np.inf) for j in range(12)])
    assert score == pytest.approx(agree[:10].mean() - agree[10:].mean())
    found = Hyperspheres(
        X, codes, np.ones((12, features), bool), np.r_[radius, np.zeros(11)], False, False
    )
    farthest = distance.argmax()
    own = np.bincount(codes[[0, farthest]], minlength=2)
    np.testing.assert_allclose(found.votes(X[[farthest]])[0], own, atol=1e-4)
    np.testing.assert_array_equal(found.voters(X[farthest]), [0, farthest])
