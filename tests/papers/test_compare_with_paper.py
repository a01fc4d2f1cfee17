"""Ours beside the paper's."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from papers import EXPERIMENTS, experiment_named
from papers.compare_with_paper import averages, best, judged, left_out, tally, verdict

from tests.papers import tiny


@pytest.mark.parametrize(
    ("difference", "expected"),
    [(1.0, "within"), (-1.0, "within"), (1.01, "off"), (-1.01, "better"), (np.nan, "")],
)
def test_verdicts(difference, expected):
    assert verdict({"difference": difference}) == expected


def test_more_may_be_better():
    assert verdict({"difference": 2.0}, higher_is_better=True) == "better"


def rows_of(values, missing=("banana",)):
    own = tiny.EXPERIMENT
    numbers = pd.DataFrame(values, columns=["data", "method", "run", "measure", "value"])
    return judged(own, own.tables[0], own.full, numbers, missing)


def test_a_table_has_paper_ours_difference_and_verdict():
    rows = rows_of(
        [("waveform", "ours", run, "error", 9.0 + run) for run in range(3)]
        + [("waveform", "ours", 0, "nested", 11.0)]
    ).set_index(["data", "method", "reading"])
    ours = rows.to_dict("index")["waveform", "Ours", "strict"]
    assert (ours["paper"], ours["paper_sd"], ours["ours"], ours["sd"]) == (9.8, 0.6, 10.0, 1.0)
    assert ours["difference"] == pytest.approx(1 / 3)
    assert (ours["verdict"], ours["runs"], ours["honest"]) == ("within", 3, 11.0)
    assert rows.loc[("waveform", "Worse", ""), "verdict"] == "not run"
    assert rows.loc[("waveform", "Lame", ""), "note"] == "it cannot"
    assert rows.loc[("waveform", "Lame", ""), "verdict"] == "left out"
    assert left_out(rows.reset_index()) == ["Lame on waveform (it cannot)"]


def test_a_set_without_numbers_has_one_row_that_says_so():
    rows = rows_of([("waveform", "ours", 0, "error", 20.0)])
    banana = rows[rows["data"] == "banana"]
    assert banana["verdict"].tolist() == ["no data"]
    there = rows_of([("waveform", "ours", 0, "error", 20.0)], missing=())
    assert there[there["data"] == "banana"]["verdict"].tolist() == ["not run"]
    assert tally(rows) == "Ours: 0 of 1"


def test_the_best_method_of_each_set_is_named():
    rows = rows_of(
        [
            ("waveform", "ours", 0, "error", 9.0),
            ("waveform", "worse", 0, "error", 8.0),
            ("waveform", "ours", 0, "nested", 1.0),
        ]
    )
    assert best(rows) == "waveform Worse 8.0"
    assert best(rows, number="honest") == "waveform Ours 1.0"
    assert best(rows, higher_is_better=True) == "waveform Ours 9.0"
    assert best(rows.assign(contends=rows["method"] != "Worse")) == "waveform Ours 9.0"


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (("waveform",), {"waveform"}),
        (("dna",), {"waveform", "banana"}),
        ((), {"waveform", "banana"}),
    ],
)
def test_a_table_of_some_sets_has_rows_in_quick_runs_on_other_data_too(rows, shown):
    own = tiny.EXPERIMENT
    numbers = pd.DataFrame(columns=["data", "method", "run", "measure", "value"])
    table = replace(own.tables[0], rows=rows)
    assert set(judged(own, table, own.full, numbers)["data"]) == shown


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_table_has_rows_for_quick_data(name):
    own = experiment_named(name)
    numbers = pd.DataFrame(columns=["data", "method", "run", "measure", "value"])
    assert all(len(judged(own, table, own.quick, numbers)) for table in own.tables)


def test_means_are_told_of_columns_that_every_data_set_has():
    rows = pd.DataFrame(
        [
            ("a", "Ours", "strict", 1.0, 2.0), ("a", "Other", "", 5.0, np.nan),
            ("a", "Scarce", "", np.nan, 1.0),
            ("b", "Ours", "strict", 3.0, 6.0), ("b", "Other", "", 6.0, 4.0),
            ("b", "Scarce", "", 7.0, 1.0),
        ],
        columns=["data", "method", "reading", "ours", "paper"],
    )  # fmt: skip
    assert averages(rows) == "Ours: strict 2.0 / 4.0; Other 5.5"
