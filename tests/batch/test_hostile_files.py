"""Damaged, huge and odd files of problems and solutions are one line, and are not waited for."""

import gzip
import os
import random
import zipfile

import numpy as np
import pytest

from convexfs import load
from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store
from tests.batch.problem_texts import program_file


def damaged(content, rng):
    """Bytes with some changed, some missing or some twice, not before the first few."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 3, 30])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    if rng.random() < 0.3:
        del content[rng.randrange(len(content)) :]
    return bytes(content)


def test_damaged_files_of_problems_and_solutions_are_one_line(tmp_path, text_of):
    whole, rng = program_file(tmp_path / "whole.npz"), random.Random(0)
    values = tmp_path / "values.npz"
    np.savez_compressed(values, x=np.linspace(0, 1, 40))
    bad, lines = tmp_path / "bad.npz", set()
    for _ in range(60):
        bad.write_bytes(damaged(whole.read_bytes(), rng))
        code, err = text_of("solve", bad, "--out", tmp_path / "run", "--jobs", 1)
        lines.add((code, len(err.splitlines())))
        bad.write_bytes(damaged(values.read_bytes(), rng))
        code, err = text_of("certify", whole, "--solution", bad)
        lines.add((code, len(err.splitlines())))
    assert (2, 1) in lines
    assert {code for code, _ in lines} <= {0, 1, 2, 3}


def test_compressed_bytes_that_do_not_unpack_are_one_line(tmp_path, text_of):
    """The exact damage: a deflated member whose bytes zlib refuses."""
    whole = program_file(tmp_path / "whole.npz")
    with zipfile.ZipFile(whole) as archive:
        at = archive.getinfo("A_data.npy").header_offset + 60
    content = bytearray(whole.read_bytes())
    content[at : at + 40] = b"\xff" * 40
    whole.write_bytes(content)
    code, err = text_of("solve", whole, "--out", tmp_path / "run")
    assert (code, err.count("\n")) == (2, 1)
    assert "is no archive of a cone program" in err


def test_pipes_are_refused_and_not_waited_for(tmp_path, text_of):
    for name in ("p.mps", "p.py", "p.json", "p.zip", "p.npz", "p.cbf.gz"):
        os.mkfifo(tmp_path / name)
    whole = program_file(tmp_path / "whole.npz")
    for words in (
        ("certify", tmp_path / "p.mps"), ("certify", tmp_path / "p.py"),
        ("certify", whole, "--solution", tmp_path / "p.json"),
        ("certify", whole, "--solution", tmp_path / "p.npz"),
        ("solve", tmp_path / "p.cbf.gz"), ("show", tmp_path / "p.npz"),
        ("compare", "--from", tmp_path / "p.zip", "--out", tmp_path / "study"),
    ):  # fmt: skip
        code, err = text_of(*words)
        assert (code, err.count("\n")) == (2, 1), words


@pytest.mark.parametrize("command", ["solve", "show", "certify"])
def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path, text_of, command):
    bomb = tmp_path / "bomb.mps.gz"
    bomb.write_bytes(gzip.compress(b"* a comment\n" * 4_000_000))
    assert bomb.stat().st_size < 300_000
    code, err = text_of(command, bomb, "--read-limit", "200MB")
    assert (code, err.count("\n")) == (2, 1)
    assert "more than the 200 MB that reading may take" in err


def test_an_archive_of_arrays_that_unpacks_to_much_is_refused(tmp_path, text_of):
    whole, bomb = program_file(tmp_path / "whole.npz"), tmp_path / "bomb.npz"
    np.savez_compressed(bomb, x=np.zeros(30_000_000))
    assert bomb.stat().st_size < 1_000_000
    for words in (("certify", whole, "--solution", bomb), ("show", bomb)):
        code, err = text_of(*words, "--read-limit", "100MB")
        assert (code, err.count("\n")) == (2, 1)
        assert "more than the 100 MB" in err


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"x": ' * 100_000,
        f'{{"x": [{"9" * 401}]}}',
        f'{{"x": {"9" * 5000}}}',
        '{"x": {"y": 1}}',
        '{"x": "\\ud800"}',
        "\ufeff{}",
    ],
)
def test_odd_solutions_are_one_line(tmp_path, text_of, text):
    whole, given = program_file(tmp_path / "whole.npz"), tmp_path / "given.json"
    given.write_text(text)
    code, err = text_of("certify", whole, "--solution", given)
    assert (code, err.count("\n")) == (2, 1)
    assert len(err) < 500


@pytest.mark.parametrize(
    "words",
    [
        ("--seed", 2**63), ("--seed", "9" * 400), ("--jobs", "9" * 20), ("--jobs", 0),
        ("--jobs", -1), ("--time-limit", "1e400"), ("--memory-limit", "9" * 40),
        ("--read-limit", "0"), ("--shard", f"1/{'9' * 30}"),
    ],
)  # fmt: skip
def test_huge_numbers_on_the_line_are_one_line(tmp_path, text_of, plain, words):
    code, err = text_of("solve", plain, "--out", tmp_path / "run", *words)
    assert (code, err.count("\n")) == (2, 1)


def test_the_largest_seed_is_stored(tmp_path):
    file = tmp_path / "few.py"
    file.write_text('METHOD = "relief"\nDATA = ["iris"]')
    solve_files([file], tmp_path / "run", seed=2**63 - 1)
    with Store.read(tmp_path / "run") as store:
        assert store.tasks()["seed"].tolist() == [2**63 - 1]


def test_a_report_on_a_file_whose_name_is_not_utf_8(tmp_path, text_of):
    data = load("iris")
    path = tmp_path / "d\udcff.csv"
    rows = [f"{','.join(map(str, X))},{y}" for X, y in zip(data.X, data.y, strict=True)]
    path.write_text("a,b,c,d,class\n" + "\n".join(rows) + "\n")
    code, err = text_of("select", path, "--report", tmp_path / "page.html")
    assert code == 0, err
    assert b"<html" in (tmp_path / "page.html").read_bytes()[:2000]
