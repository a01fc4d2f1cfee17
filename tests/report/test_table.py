"""Columns and tables: how values are written, and that they survive the page."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs.report.columns import Column
from convexfs.report.table import encoded
from tests.report.pages import decoded


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("share", 0.5, "50.0%"),
        ("seconds", 0.012345, "0.0123"),
        ("residual", 2.4e-9, "2e-09"),
        ("count", 7, "7"),
        ("flag", False, "no"),
        ("number", float("nan"), "-"),
        ("text", None, "-"),
    ],
)
def test_the_kind_is_the_format(kind, value, text):
    assert Column("x", kind).printed(value) == text


@given(st.lists(st.none() | st.floats(allow_nan=False)), st.sampled_from(["number", "seconds"]))
def test_numbers_survive_the_page(values, kind):
    column = {"kind": kind, **encoded(pd.Series(values, dtype="float64"), kind)}
    assert decoded(json.loads(json.dumps(column))) == values


@given(st.lists(st.none() | st.text(max_size=3)))
def test_words_survive_the_page(values):
    column = {"kind": "text", **encoded(pd.Series(values, dtype="string"), "text")}
    assert decoded(json.loads(json.dumps(column))) == values
