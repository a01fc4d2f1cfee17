"""``convexfs select`` into a page, and into a ranking as a file of its own."""

import shlex
import sys

import numpy as np
import pandas as pd
import pytest

from tests.data.kinds import skip_without_packages
from tests.report.pages import frame_of, numbers_in, readable
from tests.selection.tables import genes, write_genes

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


@pytest.mark.parametrize("option", ["--out", "--ranking"])
@pytest.mark.parametrize(
    ("name", "more", "what"),
    [
        ("./genes.csv", [], "the data"),
        ("link.csv", [], "the data"),
        ("second-name.csv", [], "the data"),
        ("labels.csv", ["--labels", "labels.csv"], "the labels"),
        ("labels.csv", ["--labels", "labels.csv:status"], "the labels"),
    ],
)
def test_what_is_read_is_never_overwritten(run, table, tmp_path, option, name, more, what):
    data = tmp_path / "genes.csv"
    (tmp_path / "link.csv").symlink_to(data)
    (tmp_path / "second-name.csv").hardlink_to(data)
    pd.read_csv(data)[["patient", "status"]].to_csv(tmp_path / "labels.csv", index=False)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, _, err = run(*asked("--top", 2, option, name, *more))
    assert code == 2
    shown = name.removeprefix("./")
    assert f"{option} {shown} would overwrite {what}: name another file" in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_data_of_a_folder_are_never_overwritten(run, table, tmp_path):
    words = ("data:genes.csv", "--data", tmp_path, "--target", "status", "--out", "genes.csv")
    code, _, err = run("select", *words)
    assert code == 2
    assert "--out genes.csv would overwrite the data" in err


def test_files_that_are_there_already_are_replaced_and_said(run, table, tmp_path):
    files = {"--out": "few.csv", "--ranking": "r.csv", "--plot": "p.png", "--report": "page.html"}
    words = asked("--top", 2, *(word for pair in files.items() for word in pair))
    assert "already" not in run(*words)[2]
    code, _, err = run(*words)
    assert code == 0
    for name in files.values():
        assert f"convexfs: {name} is there already, and will be replaced\n" in err


@pytest.mark.filterwarnings("always")
def test_where_nothing_is_selected_an_older_file_is_said_to_stay(run, table, tmp_path):
    old = "columns of another run"
    (tmp_path / "few.csv").write_text(old)
    frame = pd.read_csv(tmp_path / "genes.csv")
    rng = np.random.default_rng(4)
    shuffled = frame.assign(status=rng.permutation(frame["status"].to_numpy()))
    shuffled.to_csv(tmp_path / "genes.csv", index=False)
    code, _, err = run(*asked("--out", "few.csv"))
    assert code == 0
    assert "no columns are written to few.csv, which stays as it was" in err
    assert (tmp_path / "few.csv").read_text() == old


def test_a_format_whose_package_is_missing_is_told_before_any_work(run, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    code, _, err = run(*asked("--method", "no-such-method", "--out", "few.xlsx"))
    assert code == 2
    assert "few.xlsx needs a package to be written: pip install 'openpyxl'" in err


@pytest.mark.filterwarnings("always")
def test_what_is_strange_about_the_samples_is_told_once_not_by_every_fold(run, table, tmp_path):
    pd.read_csv(tmp_path / "genes.csv").assign(same=1.0).to_csv(tmp_path / "genes.csv", index=False)
    err = run(*asked("--curve"))[2]
    assert err.count("constant column 'same' kept") == 1


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


@pytest.mark.parametrize("method", ["lfe", "mmc", "simba"])
def test_every_kind_of_method_has_a_page(run, table, tmp_path, method):
    assert run(*asked("--method", method, "--top", 2, "--report", "page.html"))[0] == 0
    assert "features" in numbers_in((tmp_path / "page.html").read_text())["tables"]


def test_knockoffs_have_a_page(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_genes(tmp_path / "genes.csv", 150, 8, told=6)
    assert run(*asked("--knockoffs", "0.3", "--report", "page.html"))[0] == 0
    assert "features that outweigh their knockoffs" in (tmp_path / "page.html").read_text()


def test_a_table_with_holes_and_text_has_a_page(run, tmp_path):
    table = genes(40, 6)
    table.loc[::5, "GENE1"] = None
    table["stage"] = ["I", "II"] * 20
    table.to_csv(tmp_path / "lab.csv", index=False)
    page = tmp_path / "page.html"
    code, said, _ = run("select", tmp_path / "lab.csv", "--target", "status", "--report", page)
    assert code == 0
    assert "balanced, chance 0.50" in said
    text = readable(page.read_text())
    assert "imputed by medians of the training rows" in text
    assert "Errors by class" in text
    assert "as tumour" in text or "as normal" in text
