"""Permuted labels against definitions spelled out one feature at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from convexfs.errors import InputError
from convexfs.inference import label_permutations
from convexfs.inference.label_permutations import check_rule, copied_rows, permutation_result
from convexfs.methods.base.row_permutations import permuted_labels, permuted_rows

CODES = np.array([0, 1, 0, 1, 1, 0, 2, 0, 1, 1, 2, 0])


def example(n_permutations=60, n_features=9, seed=0):
    """A statistic of which the first two features stand out; the last is always 0."""
    rng = np.random.default_rng(seed)
    null = rng.standard_normal((n_permutations, n_features)) * np.arange(1, n_features + 1)
    statistic = rng.standard_normal(n_features)
    statistic[:2] = [6.0, 9.0]
    null[:, -1] = statistic[-1] = 0.0
    return statistic, null


def test_every_row_has_the_same_labels_in_another_order():
    drawn = permuted_labels(CODES, 50, seed=3)
    assert drawn.shape == (50, 12)
    assert (np.sort(drawn, axis=1) == np.sort(CODES)).all()
    assert len({row.tobytes() for row in drawn}) > 40


def test_a_permutation_depends_on_its_number_and_the_seed_alone():
    few, many = permuted_labels(CODES, 5, seed=3), permuted_labels(CODES, 20, seed=3)
    np.testing.assert_array_equal(few, many[:5])
    assert (permuted_labels(CODES, 5, seed=4) != few).any()


def test_within_blocks_each_block_keeps_its_labels():
    blocks = np.repeat(["b", "a", "c"], 4)
    drawn = permuted_labels(CODES, 30, 0, blocks=blocks)
    for block in "abc":
        at = blocks == block
        assert (np.sort(drawn[:, at], axis=1) == np.sort(CODES[at])).all()
    assert (drawn != CODES).any()


def test_whole_groups_are_permuted():
    groups, codes = np.repeat(np.arange(6), 3), np.repeat([0, 1, 0, 1, 1, 0], 3)
    drawn = permuted_labels(codes, 30, 0, groups=groups).reshape(30, 6, 3)
    assert (drawn == drawn[:, :, :1]).all()
    assert (drawn[:, :, 0].sum(axis=1) == 3).all()
    assert len({row.tobytes() for row in drawn}) > 5


def test_groups_are_permuted_within_blocks():
    groups, codes = np.repeat(np.arange(6), 2), np.repeat([0, 1, 0, 1, 1, 0], 2)
    blocks = np.repeat([0, 0, 1, 1, 1, 1], 2)
    drawn = permuted_labels(codes, 40, 0, groups=groups, blocks=blocks)
    assert (drawn[:, :4].sum(axis=1) == 2).all()
    assert (drawn[:, ::2] == drawn[:, 1::2]).all()


def test_permuted_rows_are_those_of_the_permuted_labels():
    rows = permuted_rows(CODES, 20, seed=3)
    assert (np.sort(rows, axis=1) == np.arange(12)).all()
    np.testing.assert_array_equal(CODES[rows], permuted_labels(CODES, 20, seed=3))
    blocks = np.repeat(["b", "a", "c"], 4)
    within = permuted_rows(CODES, 20, 3, blocks=blocks)
    assert (blocks[within] == blocks).all()


def test_whole_groups_take_the_rows_of_another_group():
    groups = np.array([0, 0, 0, 1, 2, 2, 3, 3])
    codes = np.array([0, 0, 0, 1, 0, 0, 1, 1])
    for rows in permuted_rows(codes, 30, 0, groups=groups):
        source = groups[rows]
        for group in range(4):
            assert len(set(source[groups == group])) == 1
        # Rows of a group of the same size or larger are not repeated.
        for group in range(4):
            own, drawn = rows[groups == group], (groups == source[groups == group][0]).sum()
            assert len(set(own)) == min(len(own), drawn)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": np.zeros(12)}, "a group has rows of several labels"),
        ({"groups": np.zeros(3)}, "groups must have one entry for each of the 12 rows"),
        ({"blocks": CODES}, "labels do not differ within any block"),
        ({"groups": np.arange(12) // 2, "blocks": CODES}, "a group has rows of several labels"),
    ],
)
def test_labels_that_cannot_be_permuted_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        permuted_labels(CODES, 5, 0, **settings)


def test_a_group_in_two_blocks_is_refused():
    with pytest.raises(InputError, match="a group lies in several blocks"):
        permuted_labels(np.array([0, 0, 1, 1]), 5, 0, groups=[1, 1, 2, 2], blocks=[1, 2, 1, 2])


def test_numbers_are_what_the_definitions_say():
    statistic, null = example()
    result = permutation_result(statistic, null)
    both = np.vstack([statistic, null]).astype(np.float32).astype(float)
    spread = both.std(axis=0)
    t = np.divide(both - both.mean(0), spread, out=np.zeros_like(both), where=spread > 0)
    np.testing.assert_allclose(result.centred, t[0], atol=1e-6)
    n_features = len(statistic)
    varied = t[1:, : n_features - 1].ravel()
    pooled = [(1 + (varied >= t[0, j]).sum()) / (1 + varied.size) for j in range(n_features - 1)]
    np.testing.assert_allclose(result.pvalues, [*pooled, 1.0])
    np.testing.assert_allclose(result.qvalues, false_discovery_control([*pooled, 1.0]))
    order = np.argsort(-t[0], kind="stable")
    adjusted, largest = np.empty(n_features), 0.0
    for rank, j in enumerate(order):
        rivals = t[:, order[rank:]].max(axis=1)
        largest = max(largest, float((rivals >= t[0, j] - 1e-12).mean()))
        adjusted[j] = largest
    np.testing.assert_allclose(result.max_t_pvalues, np.maximum(adjusted, [*pooled, 1.0]))
    assert result.global_pvalue == adjusted.min()


def test_working_in_blocks_changes_nothing(monkeypatch):
    statistic, null = example()
    whole = permutation_result(statistic, null)
    monkeypatch.setattr(label_permutations, "_BLOCK", 25)
    parts = permutation_result(statistic, null)
    for name in ("centred", "pvalues", "max_t_pvalues", "qvalues"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-12)
    assert parts.max_false() == whole.max_false()


def test_what_is_selected_follows_the_rule_and_the_gate():
    statistic, null = example(200)
    fdr = permutation_result(statistic, null, level=0.1)
    np.testing.assert_array_equal(fdr.selected, fdr.qvalues <= 0.1)
    assert fdr.selected[:2].all()
    fwer = permutation_result(statistic, null, control="fwer", level=0.05)
    np.testing.assert_array_equal(fwer.selected, fwer.max_t_pvalues <= 0.05)
    closed = permutation_result(statistic, null, level=0.1, gate=0.001)
    assert not closed.selected.any()
    assert "max-T p-value of 0.005, above 0.001" in closed.why_empty()
    assert closed.max_false() == 0


def test_labels_as_good_as_the_true_ones_count_against_them():
    statistic, null = example()
    null[7] = statistic
    result = permutation_result(statistic, null)
    assert result.max_t_pvalues.min() == 2 / 61


def test_a_number_for_the_whole_gives_the_global_pvalue():
    statistic, null = example(9)
    result = permutation_result(statistic, null, whole=np.array([5.0, 1, 2, 6, 3, 1, 5, 2, 0, 1]))
    assert result.global_pvalue == pytest.approx(0.3)


@given(st.integers(0, 10_000), st.integers(19, 120), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=40, deadline=None)
def test_the_bound_on_false_ones_is_the_calibrated_simes_bound(seed, number, confidence):
    statistic, null = example(number, seed=seed)
    result = permutation_result(statistic, null)
    t = np.vstack(list(result.centred_null()))[:, :-1]
    p = (1 + (t.ravel()[:, None, None] >= t).sum(axis=0)) / (1 + t.size)
    J = t.shape[1]
    pivots = np.sort([min(J * x / (i + 1) for i, x in enumerate(sorted(row))) for row in p])
    place = int(round((1 - confidence) * (number + 1), 9))
    level = pivots[place - 1] / J
    order, before = np.argsort(result.pvalues), 0
    for m in range(1, J + 1):
        among = np.isin(np.arange(len(statistic)), order[:m])
        own = result.pvalues[among]
        bound = result.max_false(confidence, among)
        assert bound == min(min((own > level * i).sum() + i - 1 for i in range(1, m + 1)), m)
        assert before <= bound <= before + 1
        before = bound


def test_too_few_permutations_bound_nothing():
    result = permutation_result(*example(18))
    assert result.max_false(0.95, np.arange(9) < 3) == 3
    with pytest.raises(InputError, match="confidence must be a number above 0 and below 1"):
        result.max_false(1.0)


@given(st.integers(0, 10_000), st.sampled_from([1e-300, 1e-50, 1.0, 1e50]))
@settings(max_examples=20, deadline=None)
def test_adjusted_values_are_monotone_at_any_scale(seed, scale):
    statistic, null = example(seed=seed)
    result = permutation_result(statistic * scale, null * scale)
    np.testing.assert_array_equal(result.selected, permutation_result(statistic, null).selected)
    assert (result.qvalues >= result.pvalues).all()
    assert (result.max_t_pvalues >= result.pvalues).all()
    order = np.argsort(-result.centred[:-1])  # the last never varies
    for name in ("pvalues", "qvalues", "max_t_pvalues"):
        assert (np.diff(getattr(result, name)[order]) >= 0).all()
    np.testing.assert_allclose(result.null, null * scale, rtol=1e-6)


def test_its_text_says_how_sure_it_is():
    result = permutation_result(*example(199))
    lines = result.lines()
    assert lines["permuted labels"] == "p = 0.005 (199 permutations; smallest possible 0.005)"
    assert lines["selected"].startswith("2 of 9 at FDR 10 %, of which with 95 % confidence at most")
    assert repr(result) == str(result)
    assert "permuted labels" in str(result)
    empty = permutation_result(np.zeros(3), np.random.default_rng(0).standard_normal((99, 3)))
    assert "0 of 3 at FDR 10 %" in str(empty)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (("fdp", 0.1, 0.05, 99), "unknown control 'fdp'"),
        (("fdr", 0.0, 0.05, 99), "level must be a number above 0"),
        (("fdr", 0.1, 0.05, 9), "so nothing could pass 0.05: use at least 19"),
        (("fwer", 0.01, 0.05, 39), "use at least 99"),
        (("fdr", 0.1, 0.05, 0), "n_permutations must be an integer of at least 1"),
    ],
)
def test_rules_that_nothing_could_pass_are_refused(rule, message):
    with pytest.raises(InputError, match=message):
        check_rule(*rule)


def test_copies_of_rows_are_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    assert copied_rows(X) == ""
    assert copied_rows(np.ones((5, 3))) == ""
    near = X[np.arange(60) // 3] + 0.05 * rng.standard_normal((60, 30))
    assert copied_rows(near).startswith("100% of the rows are copies of others")
    few = X[:, :2].copy()
    assert copied_rows(few) == ""
    few[:10] = few[10:20]
    assert copied_rows(few).startswith("33% of the rows are copies")
