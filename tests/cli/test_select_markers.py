"""Markers of each class, by the command."""

import json

import pytest

from tests.selection.tables import genes
from tests.selection.test_class_markers import CLASSES


@pytest.fixture
def path(tmp_path):
    genes(80, 40, classes=CLASSES, told=8).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_the_first_line_is_the_answer(run, path):
    code, out, _ = run("select", path, "--target", "status", "--per-class")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("4 of 4 classes have markers (8 of 40 features): relief on")
    assert any("HER2" in line and "GENE2" in line for line in lines)
    assert "error rate         FDR 10 % of each list, on average" in out


def test_json_holds_every_class(run, path):
    words = ("select", path, "--target", "status", "--per-class", "--fwer", 0.05, "--json")
    record = json.loads(run(*words)[1])
    assert sorted(record["per_class"]) == sorted(CLASSES)
    own = record["per_class"]["basal"]
    assert own["samples"] == 20
    assert "GENE1" in own["selected"]
    assert own["max_t_p"]["GENE1"] == pytest.approx(4 / 201)


def test_ranking_and_columns_are_written(run, path, tmp_path):
    words = ("select", path, "--target", "status", "--per-class", "--top", 1)
    code, _, _ = run(*words, "--out", tmp_path / "o.csv", "--ranking", tmp_path / "r.csv")
    assert code == 0
    assert (tmp_path / "r.csv").read_text().startswith("class,name,weight,rank,selected")
    assert len((tmp_path / "o.csv").read_text().splitlines()[0].split(",")) <= 6
