"""Tables as files: every digit for programs, as shown for papers."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from convexfs.errors import InputError
from convexfs.report.export import MOST_LATEX_ROWS, escape_latex, latex, write_tables
from convexfs.report.table import Table


def test_every_table_is_written_with_every_digit(report, tmp_path):
    files = {path.name for path in write_tables(report.tables, tmp_path / "t")}
    assert {f"{name}.csv" for name in report.tables} <= files
    assert {"summary.tex", "leaders.tex", "told.tex"} <= files
    read = pd.read_csv(tmp_path / "t" / "summary.csv")
    told = report.tables["summary"].frame
    np.testing.assert_array_equal(read["seconds"], told["seconds"])
    assert read["solver"].tolist() == told["solver"].tolist()


def test_a_latex_table_has_the_columns_that_the_page_shows(report):
    table = report.tables["summary"]
    text = latex(table)
    heads = next(line for line in text.splitlines() if line.startswith(("settings", "solver")))
    assert heads.removesuffix(r" \\").split(" & ") == [
        escape_latex(column.heading) for column in table.shown
    ]
    assert text.count(r"\\") == 1 + len(table.frame)
    assert all(line.count("&") == heads.count("&") for line in text.splitlines() if " & " in line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 50% of $x$", r"a\_b \& 50\% of \$x\$"),
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("two\nlines % and a comment", r"two lines \% and a comment"),
        ("× best", r"$\times$ best"),
    ],
)
def test_what_a_run_says_is_text_to_latex(text, expected):
    assert escape_latex(text) == expected


def test_long_tables_are_for_programs(tmp_path):
    long = Table("Long", pd.DataFrame({"x": range(MOST_LATEX_ROWS + 1)}))
    assert [path.name for path in write_tables({"long": long}, tmp_path)] == ["long.csv"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_tables({}, tmp_path / "file")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_takes_them(report, tmp_path):
    write_tables(report.tables, tmp_path)
    body = "\n".join(rf"\input{{{path.stem}}}\newpage" for path in tmp_path.glob("*.tex"))
    page = r"\documentclass{article}\usepackage{booktabs}\begin{document}" + body
    (tmp_path / "page.tex").write_text(page + r"\end{document}")
    command = ["pdflatex", "-interaction=batchmode", "page.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
