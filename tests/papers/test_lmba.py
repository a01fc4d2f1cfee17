"""The protocols of the Lmba paper, on small data."""

from typing import Any

import numpy as np
import pytest
from papers.experiment import Case
from papers.lmba import curves, table1

from convexfs import load


def ranked(method, row, run=0) -> Any:
    spec = table1.EXPERIMENT.full.sources[row]
    return table1.measure(Case(load(spec), row, method, run, {}))


@pytest.mark.parametrize("row", ["iris", "multi_class"])
@pytest.mark.parametrize("method", ["lmba", "lmba-descent", "simba"])
def test_important_features_come_first(method, row):
    assert ranked(method, row)["all"] == 100.0


def test_the_box_ties_all_features_of_iris():
    """Each weight is 1: what comes first is where a column stands, not what it is worth."""
    with pytest.warns(UserWarning, match="all weights are 1"):
        assert ranked("lmba-box", "iris")["levels"] == 1.0


def test_generated_sets_are_drawn_anew_in_every_run():
    first, second = (table1.DRAWN["s1"](seed=run).X for run in (0, 1))
    assert not np.array_equal(first, second)


def curve(method) -> Any:
    return curves.measure(Case(load("iris"), "iris", method, 0, {"most_rows": 100}))


def test_curves_end_with_all_features():
    assert curves.counts_of(4) == [1, 2, 3, 4]
    assert curves.counts_of(649)[-1] == 649
    numbers, same = curve("relieff"), curve("mitra")
    assert len(numbers["accuracy"]) == 4
    assert numbers["best"] == max(numbers["accuracy"])
    assert numbers["accuracy"][-1] > 90
    assert same["accuracy"][-1] == numbers["accuracy"][-1]
