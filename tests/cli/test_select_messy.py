"""Messy tables: the error says which cells of which column, and the option it prints works."""

import re
import shlex
import subprocess
import sys

import pytest

from convexfs.data.specs import load
from convexfs.errors import InputError
from tests.cli.messy_tables import files, tables
from tests.typed import known

TABLES, FILES = dict(tables()), files()
#: Messages that one table may lead to, one after the other.
MOST_MESSAGES = 2


@pytest.mark.parametrize("name", TABLES)
def test_the_printed_options_read_the_table(run, tmp_path, name):
    table, path = TABLES[name], tmp_path / f"{name}.csv"
    table.frame.to_csv(path, index=False, sep=table.sep)
    words = ["select", path, "--target", "status", "--top", 1]
    code, out, error = run(*words)
    assert (code, out) == (2, "")
    assert table.says in error
    assert ("dates" in error) == ("dates" in table.says)
    printed = known(re.search(r"; add (.*) \(", error)).group(1)
    for option in table.options:
        assert option in printed
    cured, _, said = run(*words, *shlex.split(printed), "--ranking", tmp_path / "ranking.csv")
    assert cured == 0, said
    assert (tmp_path / "ranking.csv").read_text().splitlines()[1].startswith("marker,")


def follow(error, words, path):
    """Do what a message says: add options, correct the target, or edit the file."""
    if printed := re.search(r"; add (.*) \(", error):
        return [*words, *shlex.split(printed.group(1))]
    if near := re.search(r"did you mean (\w+)\?", error):
        return [near.group(1) if word == "status" else word for word in words]
    if "try --transpose" in error:
        return [*words, "--transpose"]
    lines = path.read_text().splitlines()
    if title := re.search(r"delete the (\d+) lines before", error):
        path.write_text("\n".join(lines[int(title.group(1)) :]))
    else:
        assert "name it in the header" in error
        path.write_text("\n".join([f"{lines[0]}other", *lines[1:]]))
    return words


@pytest.mark.filterwarnings("ignore:constant column")
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_as_it_is_or_as_the_message_says(run, tmp_path, name):
    path, ranking = tmp_path / f"{name}.csv", tmp_path / "ranking.csv"
    path.write_bytes(FILES[name])
    words = ["select", path, "--target", "status", "--top", 1, "--ranking", ranking]
    for _ in range(MOST_MESSAGES):
        code, _, error = run(*words)
        if code == 0:
            break
        assert code == 2
        assert len(error.splitlines()) == 1
        words = follow(error, words, path)
    else:
        code, _, error = run(*words)
    assert code == 0, error
    assert ranking.read_text().splitlines()[1].startswith("marker,")


def test_units_are_left_out_only_where_all_cells_have_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("n,a,b,y\nP1,5 mg,1 mg,u\nP2,2 mg,2 ml,v\nP3,3.5 mg,3 mg,u\nP4,1 mg,4 ml,v\n")
    data = load(path, drop=["b"])
    assert data.X.ravel().tolist() == [5, 2, 3.5, 1]
    assert data.ids == ("P1", "P2", "P3", "P4")
    assert "column 'a' is read as numbers, without 'mg' in all cells" in data.told
    with pytest.raises(InputError, match="text in column 'b', such as '1 mg'"):
        load(path)


HEAVY = {"numba", "sklearn", "cvxpy", "matplotlib", "scipy.stats"}
_LOADED = (
    "import sys; from convexfs.cli import main; code = main(sys.argv[1:]); "
    "print(code, *sys.modules, sep='\\n')"
)


@pytest.mark.parametrize(
    ("words", "said", "not_loaded"),
    [
        (["nofile.csv", "--target", "y"], "there is no file", HEAVY | {"numpy", "pandas"}),
        (["iris", "--method", "reliefff"], "did you mean relief?", HEAVY | {"numpy", "pandas"}),
        (["iris", "--fdr", "0.1", "--curve"], "give one of them", HEAVY | {"numpy", "pandas"}),
        (["iris", "--report", "x.txt"], "no known format", HEAVY | {"pandas"}),
        (["spoilt.csv", "--target", "status"], "such as '<2.5'", HEAVY),
    ],
)
def test_errors_come_before_what_is_heavy_is_imported(tmp_path, words, said, not_loaded):
    TABLES["detection-limit"].frame.to_csv(tmp_path / "spoilt.csv", index=False)
    words = [sys.executable, "-c", _LOADED, "select", *words]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    code, *modules = done.stdout.splitlines()
    assert code == "2"
    assert said in done.stderr
    assert not not_loaded & set(modules)


def test_limits_are_numbers_or_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,<0.5,u\n2,3,v\n4,> 1e2,u\n5,6,v\n")
    limits = load(path, limits="value")
    assert limits.X[:, 1].tolist() == [0.5, 3, 100, 6]
    assert "2 cells such as '<0.5' in column 'b' are read as their limits" in limits.told
    missing = load(path, limits="missing", impute="median")
    assert missing.X[:, 1].tolist() == [4.5, 3, 4.5, 6]
    with pytest.raises(InputError, match="unknown --limits 'half'"):
        load(path, limits="half")


def test_listed_texts_and_numbers_are_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n-999,1,u\n2,lost,v\n4,3,u\n6,5,v\n7,7,lost\n")
    data = load(path, na=["-999", "lost"], impute="median")
    assert data.X.tolist() == [[4, 1], [2, 3], [4, 3], [6, 5]]
    assert "3 cells are missing values by --na" in data.told


def test_thousands(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,y\n"12,400",u\n"1,000,000",v\n7.5,u\n')
    assert load(path, thousands=",").X.ravel().tolist() == [12400, 1000000, 7.5]
    with pytest.raises(InputError, match="separated by one of"):
        load(path, thousands="x")
