"""Formulations become files of others: read again, each has the optimum the table says."""

import csv

import pytest

from convexfs import read_problem
from convexfs.batch.export_problems import export_problems
from convexfs.cli import main
from convexfs.errors import InputError
from tests.typed import number

SMALL = "subclasses:n=5,noise=2"


@pytest.mark.parametrize(
    ("suffix", "names"),
    [
        (".cbf", ["relief", "logo-penalised", "llfs-exact", "lfe"]),
        (".npz", ["relief", "logo-constrained", "mmc"]),
        (".mps", ["lmba-simplex", "llfs-linear"]),
        (".dat-s", ["llfs-separation", "mmc"]),
    ],
)
def test_the_optimum_of_each_file_is_that_of_its_table(tmp_path, suffix, names):
    found = export_problems(tmp_path, suffix, only=names, data=[SMALL])
    assert [one.formulation for one in found] == names
    with (tmp_path / "problems.csv").open() as file:
        rows = list(csv.DictReader(file))
    for one, row in zip(found, rows, strict=True):
        assert one.agrees
        assert one.proven is not False
        problem = read_problem(tmp_path / row["file"])
        solver = "HIGHS" if problem.is_mixed_integer() else "CLARABEL"
        value = number(problem.solve(solver=solver))
        assert problem.objective.NAME[:3] == row["sense"]
        assert value == pytest.approx(float(row["optimum"]), rel=1e-5, abs=1e-7)
        assert f"| {row['name']} |" in (tmp_path / "problems.md").read_text()


def test_what_a_format_has_no_place_for_is_told(tmp_path, capsys):
    line = ["export-problems", str(tmp_path), "--format", "mps", "--only", "relief,llfs-linear"]
    assert main([*line, "--on", SMALL]) == 0
    out = capsys.readouterr().out
    assert "relief_15x4: not written: .mps files hold linear constraints" in out
    assert "1 files, 1 not written, 0 without a proof, 0 with another optimum" in out
    assert [path.name for path in tmp_path.glob("*.mps")] == ["llfs-linear_15x4.mps"]


@pytest.mark.parametrize(
    ("suffix", "only", "message"),
    [("cbv", None, "unknown format 'cbv': did you mean cbf"), (".cbf", ["releif"], "mean relief")],
)
def test_bad_words(tmp_path, suffix, only, message):
    with pytest.raises(InputError, match=message):
        export_problems(tmp_path / "new", suffix, only=only)
    assert not (tmp_path / "new").exists()
