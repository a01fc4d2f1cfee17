"""Rules that choose features, of a table with missing values and categories."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Of eight columns 'a' and 'stage' go with the target."""
    rng, y = np.random.default_rng(1), np.arange(80) % 2
    frame = pd.DataFrame(rng.standard_normal((80, 6)), columns=list("abcdef"))
    frame["a"] += 2.5 * y
    frame["site"] = rng.choice(["north", "south", "west"], 80)
    frame["stage"] = np.where(rng.random(80) < 0.9, np.where(y, "late", "early"), "early")
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame["status"] = np.where(y, "ill", "well")
    path = tmp_path_factory.mktemp("holes") / "lab.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def run(run, table):
    return lambda *words: run("select", table, "--target", "status", *words)


@pytest.mark.parametrize("rule", [["--curve"], ["--stability", "--top", 2], ["--fwer", "0.05"]])
def test_every_rule_takes_what_the_method_takes(run, rule):
    code, printed, _ = run(*rule, "--json")
    assert code == 0
    found = json.loads(printed)
    assert {"a", "stage"} & set(found["selected"])
    assert len(found["selected"]) <= 4


def test_what_stands_for_gaps_in_held_out_samples_is_told(run):
    code, printed, _ = run("--curve")
    assert code == 0
    assert "imputed by medians of the training rows" in " ".join(printed.split())


@pytest.mark.parametrize("more", [["--knockoffs"], ["--method", "logo-cv"]])
def test_what_needs_whole_columns_says_how_to_fill_them(run, more):
    code, _, said = run(*more, "--drop", "site,stage")
    assert code == 2
    assert "--impute" in said
    assert said.count("\n") == 1
