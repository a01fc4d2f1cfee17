import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import convexfs
from convexfs.selection.methods_text import in_words
from tests.selection.tables import write_genes


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = write_genes(tmp_path_factory.mktemp("data") / "genes.csv", 40, 20)
    return convexfs.load(path, target="status")


def test_a_tested_selection_says_all_that_a_paper_needs(data):
    selection = convexfs.select(data, "relief").with_curve()
    assert selection.judgement is not None
    assert selection.support is not None
    test, curve = selection.judgement.test, selection.judgement.curve
    assert test is not None
    assert curve is not None
    words = in_words(selection)
    for part in (
        f"convexfs {convexfs.__version__}; features standardised)",
        "20 features of 40 samples of 2 classes were weighted by relief",
        "tested against shadow columns (after Kursa and Rudnicki 2010): all columns were copied "
        "with their rows permuted together (200 permutations)",
        "pooled over features and adjusted by Benjamini and Hochberg (1995)",
        f"At a false discovery rate of 10 %, {selection.support.sum()} of 20 features were",
        f"with 95 % confidence at most {test.max_false()} of them are false",
        f"was {curve.held_out_error:.2f} (95 % interval {curve.interval[0]:.2f} to",
    ):
        assert part in words
    assert words in selection.to_html()


@pytest.mark.parametrize(
    ("method", "asked", "said"),
    [
        ("relief", {"top": 3}, "were selected without a test: 3 of 20 features."),
        (
            "relief",
            {"rule": "fwer", "level": 0.01},
            "by max-T .* At a family-wise error rate of 1 %, ",
        ),
        ("relief", {"rule": "curve"}, "the fewest were selected that predicted"),
        (
            "relief",
            {"rule": "stability"},
            "most halves of the samples selected .*Shah and Samworth",
        ),
        ("logo", {}, "those of non-zero weight were selected, single features not tested"),
    ],
)
def test_every_rule_has_its_words(data, method, asked, said):
    assert re.search(said, in_words(convexfs.select(data, method, **asked)))


def test_what_was_missing_is_said(tmp_path):
    path = write_genes(tmp_path / "genes.csv", 40, 20)
    path.write_text(re.sub(r"TCGA-003,[^,]*,", "TCGA-003,,", path.read_text()))
    data = convexfs.load(path, target="status", impute="median")
    words = in_words(convexfs.select(data, "relief", top=2))
    assert "1 of 800 values are missing, and filled by the median of their feature)" in words
    left = convexfs.load(path, target="status", mixed=True)
    assert "1 of 800 values missing, the others compared)" in in_words(
        convexfs.select(left, "relief", top=2)
    )


def test_a_projection_selects_nothing_to_report(data):
    selection = convexfs.select(data, "mmc")
    assert in_words(selection) == ""
    assert "For a paper" not in selection.to_html()


def test_changes_of_the_values_are_named(tmp_path):
    rng = np.random.default_rng(0)
    counts = pd.DataFrame(rng.poisson(30.0, (24, 60)), columns=[f"g{j}" for j in range(60)])
    counts.assign(status=["ill", "well"] * 12).to_csv(tmp_path / "counts.csv", index=False)
    limits = counts.astype(str).assign(g0=["<5", *counts["g0"][1:]], status=["ill", "well"] * 12)
    limits.to_csv(tmp_path / "limits.csv", index=False)
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("counts", {"normalize": "log1p-cpm"}, "counts are normalised: log(1 + counts per million"),
        ("limits", {"limits": "value"}, "1 cells such as '<5' in column 'g0' are read as"),
    ]
    for name, options, part in cases:
        file = tmp_path / f"{name}.csv"
        assert part in in_words(convexfs.select(file, target="status", top=3, **options))
