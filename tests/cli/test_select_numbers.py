"""``convexfs select`` where the target is a number."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

import convexfs


@pytest.fixture
def run(run):
    return partial(run, "select")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A price that is a product of two features, and an age that follows the first."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((90, 5)), columns=list("abcde"))
    frame["price"] = frame.a * frame.b + 0.05 * rng.standard_normal(90)
    frame["age"] = 20 + np.argsort(np.argsort(frame.a)) // 3
    path = tmp_path_factory.mktemp("numbers") / "table.csv"
    frame.to_csv(path, index=False)
    return path


def as_written(path):
    """The table to the last bit, which not every pandas reads by itself."""
    return pd.read_csv(path, dtype=str).astype(float)


@pytest.mark.parametrize("settings", [["rrelief"], ["rlogo", "--set", "lam=5.0"]])
def test_a_regressor_reads_numbers(run, table, tmp_path, settings):
    out = tmp_path / "few.csv"
    words = [table, "--target", "price", "--drop", "age", "--method", *settings, "--out", out]
    code, printed, _ = run(*words, "--json")
    assert code == 0
    told = json.loads(printed)
    assert told["selected"] == ["a", "b"]
    assert told["certificate"]["ok"]
    again = convexfs.load(out, "price", target_kind="numbers")
    np.testing.assert_array_equal(again.y, as_written(table)["price"])


@pytest.mark.parametrize("settings", [["rrelief"], ["rlogo", "--set", "lam=5.0"]])
def test_text_and_gaps_beside_a_target_of_numbers(run, table, tmp_path, settings):
    frame = pd.read_csv(table)
    frame["site"] = np.where(np.arange(90) % 3, "north", "south")
    frame["price"] += 4.0 * (frame["site"] == "north")
    frame.loc[7, "e"] = np.nan
    frame.to_csv(tmp_path / "sites.csv", index=False)
    words = [tmp_path / "sites.csv", "--target", "price", "--drop", "age", "--method", *settings]
    code, printed, said = run(*words, "--top", 3, "--json")
    assert (code, sorted(json.loads(printed)["selected"])) == (0, ["a", "b", "site"])
    assert "column 'site' holds text, 2 values: taken as a category" in said
    code, _, said = run(*words, "--missing", "class")
    assert code == 2
    assert "unknown missing 'class': choose from error, expected" in said
    assert said.splitlines()[-1].startswith("convexfs: error: ")


def test_numbers_go_into_an_npz_file_and_come_back(run, table, tmp_path):
    out = tmp_path / "few.npz"
    words = [table, "--target", "price", "--drop", "age", "--method", "rrelief", "--out", out]
    assert run(*words)[0] == 0
    again, frame = convexfs.load(out, target_kind="numbers"), as_written(table)
    np.testing.assert_array_equal(again.y, frame["price"])
    np.testing.assert_array_equal(again.X, frame[list(again.feature_names)])
    code, printed, _ = run(out, "--method", "rrelief", "--json")
    assert (code, json.loads(printed)["selected"]) == (0, ["a", "b"])


def test_whole_numbers_are_read_as_what_the_method_takes(run, table):
    words = [table, "--target", "age", "--drop", "price", "--top", 1, "--json"]
    code, printed, _ = run(*words, "--method", "rrelief")
    assert (code, json.loads(printed)["selected"]) == (0, ["a"])
    code, _, said = run(*words)
    assert code == 2
    assert "for numbers there are ReliefRegressor (--method rrelief)" in said
    assert "if these are classes, say --target-kind classes" in said
    assert said.count("\n") == 1
    code, printed, _ = run(*words, "--target-kind", "classes")
    assert (code, json.loads(printed)["selected"]) == (0, ["a"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["TABLE", "--target", "price", "--drop", "age"], "looks continuous (such as"),
        (["friedman"], "friedman has numbers for a target, where classes are needed"),
        (["wine", "--method", "rlogo"], "wine has classes for a target: use a method of classes"),
        (["friedman", "--method", "rlogo", "--knockoffs"], "--knockoffs is of classes, and rlogo"),
        (["friedman", "--method", "simba"], "friedman has numbers for a target"),
    ],
)
def test_a_target_that_does_not_fit_is_one_clear_line(run, table, words, message):
    code, _, said = run(*[table if word == "TABLE" else word for word in words])
    assert code == 2
    assert message in said
    assert said.count("\n") == 1


def test_held_out_errors_say_how_many_features_numbers_need(run):
    words = ["friedman:n=80,noise=5", "--method", "rrelief", "--curve"]
    code, printed, _ = run(*words)
    assert code == 0
    assert "of the variance, chance 1.00" in printed
    found = json.loads(run(*words, "--json")[1])
    assert len(found["selected"]) == found["inference"]["curve"]["chosen"]
    assert found["inference"]["curve"]["measure"] == "squared error, as a share of the variance"


def test_halves_of_numbers_say_what_is_stable(run):
    words = ["friedman:n=80,noise=5", "--method", "rrelief", "--stability", "--top", 2, "--json"]
    code, printed, _ = run(*words)
    assert code == 0
    assert json.loads(printed)["inference"]["rule"] == "stability"
