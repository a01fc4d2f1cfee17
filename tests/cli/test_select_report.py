"""``convexfs select`` into a page, and into a ranking as a file of its own."""

import shlex

import pandas as pd
import pytest

from tests.data.kinds import skip_without_packages
from tests.selection.tables import genes, write_genes
from tests.study.pages import frame_of, numbers_in

READERS = {
    ".csv": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".parquet": pd.read_parquet,
    ".xlsx": pd.read_excel,
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_genes(tmp_path / "genes.csv", 40, 30)


def asked(*words):
    return ("select", "genes.csv", "--target", "status", "--id", "patient", *words)


@pytest.mark.parametrize("suffix", READERS)
def test_the_ranking_is_a_file_of_features_and_out_one_of_samples(run, table, tmp_path, suffix):
    skip_without_packages(f"few{suffix}")
    words = asked("--top", 3, "--ranking", f"ranking{suffix}", "--out", f"few{suffix}")
    code, printed, _ = run(*words)
    assert code == 0
    assert f"ranking of the features: ranking{suffix}" in printed
    assert f"selected columns: few{suffix}" in printed
    ranking, few = (READERS[suffix](tmp_path / f"{name}{suffix}") for name in ("ranking", "few"))
    assert len(ranking) == 30
    assert list(ranking)[:4] == ["name", "weight", "rank", "selected"]
    chosen = ranking.loc[ranking["selected"], "name"].tolist()
    assert ranking["name"].tolist()[:3] == chosen
    assert set(few) == {"patient", "status", *chosen}
    assert few["patient"].tolist()[:2] == ["TCGA-000", "TCGA-001"]


def test_the_page_says_how_it_was_made_and_that_line_makes_it_again(run, table, tmp_path):
    words = asked("--top", 2, "--report", "page.html")
    assert run(*words)[0] == 0
    page = (tmp_path / "page.html").read_text()
    line = "convexfs select genes.csv --target status --id patient --top 2 --report page.html"
    assert f"<pre>{line}</pre>" in page
    before = frame_of(numbers_in(page)["tables"]["features"])
    assert run(*shlex.split(line)[1:])[0] == 0
    after = frame_of(numbers_in((tmp_path / "page.html").read_text())["tables"]["features"])
    pd.testing.assert_frame_equal(before, after)


def test_the_page_is_named_in_what_is_printed(run, table):
    assert "page: page.html" in run(*asked("--top", 2, "--report", "page.html"))[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--report", "nowhere/page.html"], "there is no folder nowhere to write page.html in"),
        (["--report", "page.txt"], "page.txt has no known format; name it by one of .html, .htm"),
        (["--report", "folder.html"], "folder.html is a folder"),
        (["--report", "notes.html"], "notes.html: is there already and is no page"),
        (["--ranking", "ranking.html"], "ranking.html has no known format"),
        (["--ranking", "genes.csv"], "--ranking genes.csv would overwrite the data"),
        (
            ["--ranking", "same.csv", "--out", "same.csv"],
            "--ranking same.csv would overwrite the file of --out",
        ),
    ],
)
def test_a_file_that_cannot_be_is_told_before_any_work(run, table, tmp_path, words, said):
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "notes.html").write_text("my notes")
    # The method is wrong too, which is found out later.
    code, _, err = run(*asked("--method", "no-such-method", *words))
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert (tmp_path / "notes.html").read_text() == "my notes"


def test_a_full_disk_is_told_in_one_line(run, table, tmp_path):
    (tmp_path / "ranking.csv").symlink_to("/dev/full")
    code, _, err = run(*asked("--top", 2, "--ranking", "ranking.csv"))
    assert code == 2
    assert err == "convexfs: error: ranking.csv cannot be written (No space left on device)\n"


def test_a_file_without_permission_is_told_before_any_work(run, table, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != ".")
    code, _, err = run(*asked("--method", "no-such-method", "--report", "page.html"))
    assert code == 2
    assert "page.html cannot be written: you have no permission; name another file" in err


@pytest.mark.parametrize("method", ["ks", "mrmr", "pca", "kernel-pls", "lfe", "simba"])
def test_every_kind_of_method_has_a_page(run, table, tmp_path, method):
    assert run(*asked("--method", method, "--top", 2, "--report", "page.html"))[0] == 0
    assert "features" in numbers_in((tmp_path / "page.html").read_text())["tables"]


def test_knockoffs_have_a_page(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_genes(tmp_path / "genes.csv", 150, 8, told=6)
    assert run(*asked("--knockoffs", "0.3", "--report", "page.html"))[0] == 0
    assert "those that outweigh their knockoffs" in (tmp_path / "page.html").read_text()


def test_a_table_with_holes_and_text_has_a_page(run, tmp_path):
    table = genes(40, 6)
    table.loc[::5, "GENE1"] = None
    table["stage"] = ["I", "II"] * 20
    table.to_csv(tmp_path / "lab.csv", index=False)
    page = tmp_path / "page.html"
    code, said, _ = run("select", tmp_path / "lab.csv", "--target", "status", "--report", page)
    assert code == 0
    assert "balanced (chance 0.50)" in said
    assert "for its judge gaps are medians of the training rows" in page.read_text()
