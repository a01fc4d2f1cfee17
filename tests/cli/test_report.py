"""``convexfs report`` as a user meets it."""

import pytest

from convexfs.batch.run import solve_files
from convexfs.cli import main
from convexfs.errors import InputError
from convexfs.study.page import gather

PLAIN = """
METHOD = "relief"
DATA = ["iris"]
GRID = {"n_neighbors": [1, 2]}
SOLVERS = ["native", "CLARABEL"]
"""


@pytest.fixture(scope="module")
def page(folder):
    return gather(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "plain.py").write_text(PLAIN)
    solve_files([folder / "plain.py"], folder / "out")
    return folder / "out"


def test_the_page_is_in_the_folder(folder, capsys):
    assert main(["report", str(folder)]) == 0
    assert capsys.readouterr().out == f"page: {folder / 'report.html'}\n"
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_page_and_figures_go_where_they_are_told(folder, tmp_path, capsys):
    words = ["report", str(folder), "--out", str(tmp_path / "a.html"), "--png", str(tmp_path / "p")]
    assert main(words) == 0
    files = list((tmp_path / "p").glob("*.png"))
    assert f"figures: {len(files)} files in {tmp_path / 'p'}\n" in capsys.readouterr().out
    assert len(files) > 4
    assert (tmp_path / "a.html").is_file()


@pytest.mark.slow
def test_drawings_and_tables_are_files_too(folder, tmp_path, capsys):
    drawn, tables, page = tmp_path / "s", tmp_path / "t", tmp_path / "a.html"
    words = ["--svg", drawn, "--pdf", drawn, "--tables", tables, "--shift", "0.001", "--out", page]
    assert main(["report", str(folder), *map(str, words)]) == 0
    said = capsys.readouterr().out
    drawings = list((tmp_path / "s").glob("*.svg"))
    assert f"figures: {len(drawings)} files in {tmp_path / 's'}\n" in said
    assert all(b"<svg" in file.read_bytes() for file in drawings)
    assert all(file.read_bytes()[:4] == b"%PDF" for file in (tmp_path / "s").glob("*.pdf"))
    assert "\\toprule" in (tmp_path / "t" / "summary.tex").read_text()
    assert "shifted by 1 ms" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing"], "holds no results.sqlite"),
        ([], "the following arguments are required: DIR"),
    ],
)
def test_bad_input_is_one_line(words, said, capsys):
    try:
        code = main(["report", *words])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_target_that_cannot_be_written_is_one_line(folder, capsys):
    assert main(["report", str(folder), "--out", str(folder)]) == 2
    assert "cannot be written (Is a directory)" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["results.sqlite", "log.txt", "page", "page.html.txt"])
def test_only_pages_are_written(folder, page, name):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=r"a page is written to a file that ends in \.html"):
        page.write(folder / name)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_page_is_never_written_over_something_else(folder, page, tmp_path, capsys):
    (tmp_path / "notes.html").write_text("my notes")
    (tmp_path / "linked.html").symlink_to(folder / "results.sqlite")
    before = (folder / "results.sqlite").read_bytes()
    reasons = {"notes.html": "is there already and is no page", "linked.html": "a symbolic link"}
    for name, reason in reasons.items():
        with pytest.raises(InputError, match=reason):
            page.write(tmp_path / name)
    assert main(["report", str(folder), "--out", str(tmp_path / "linked.html")]) == 2
    assert "a symbolic link" in capsys.readouterr().err
    assert (tmp_path / "notes.html").read_text() == "my notes"
    assert (folder / "results.sqlite").read_bytes() == before
    for _ in range(2):
        page.write(tmp_path / "page.html")
