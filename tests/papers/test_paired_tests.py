"""Tests are computed from the numbers of single runs as they are exported."""

import numpy as np
import pandas as pd
import pytest
from papers.paired_tests import comparisons, win_tie_loss
from scipy.stats import ttest_1samp


def runs_of(**values):
    return pd.DataFrame(
        [
            ("set", method, run, "error", value)
            for method, own in values.items()
            for run, value in enumerate(own)
        ],
        columns=["data", "method", "run", "measure", "value"],
    )


OTHERS = [("worse", "error"), ("alike", "error"), ("same", "error"), ("better", "error")]


def compared(**options):
    base, steady = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1.1, 0.9, 1])
    turning = np.array([1, -1, 1.2, -1.1])
    others = {"worse": base + steady, "alike": base + turning, "better": base - steady}
    runs = runs_of(ours=base, same=base, **others)
    return comparisons(runs, ("ours", "error"), OTHERS, **options)


def test_win_tie_and_loss_by_the_paired_test():
    found = compared().set_index("method")
    assert found["result"].to_dict() == {
        "worse": "loss", "alike": "tie", "same": "tie", "better": "win",
    }  # fmt: skip
    _, p = ttest_1samp([1, 1.1, 0.9, 1], 0)
    assert found.loc["worse", "p"] == pytest.approx(p)
    assert found.loc["same", "p"] == 1.0
    counts = win_tie_loss(compared())
    assert counts.T["worse", "error"].tolist() == [0, 0, 1]


def test_more_may_be_better():
    found = compared(higher_is_better=True).set_index("method")
    assert found["result"].to_dict()["worse"] == "win"


def test_only_runs_that_both_have_are_paired():
    found = comparisons(
        runs_of(ours=[1.0, 2.0, 3.0], other=[2.0, 3.5]), ("ours", "error"), [("other", "error")]
    )
    assert (found["runs"][0], found["difference"][0]) == (2, 1.25)


def test_one_run_is_no_test():
    found = comparisons(runs_of(ours=[1.0], other=[2.0]), ("ours", "error"), [("other", "error")])
    assert np.isnan(found["p"][0])
    assert found["result"][0] == ""
    assert win_tie_loss(found).empty
