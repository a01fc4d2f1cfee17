"""The command as a user meets it: exit codes, tables, files, and every kind of bad input."""

import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import convexfs
from convexfs.cli import COMMANDS, _parser
from convexfs.kernels import MESSAGE


def test_version(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out == f"convexfs {convexfs.__version__}\n"


def test_list_names_everything(run):
    code, out, _ = run("list")
    assert code == 0
    for word in ("relief", "Relief", "logo-penalised", "spiral", "wdbc"):
        assert word in out
    assert max(map(len, out.splitlines())) < 80


def test_list_prints_equations_on_request(run):
    code, out, _ = run("list", "--verbose")
    assert code == 0
    for word in ("norm2(w) <= 1", "Sun & Wu", "Fermat's spiral"):
        assert word in out


def test_the_command_alone_prints_its_help(run):
    code, out, _ = run()
    assert code == 0
    assert out.startswith("usage: convexfs")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_its_examples_parse(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(command, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    examples = re.findall(r"^  convexfs (.*)$", out.partition("examples:")[2], re.M)
    assert examples
    for example in examples:
        words = shlex.split(example.partition(">")[0])
        assert _parser(words).parse_args(words).command == words[0]


def test_a_misspelt_command_is_corrected(run):
    code, _, err = run("lst")
    assert code == 2
    assert err == "convexfs: error: unknown command 'lst': did you mean list?\n"


def test_show_states_the_problem_and_its_solvers(run):
    code, out, _ = run("show", "relief", "--on", "wdbc")
    assert code == 0
    for word in ("maximize", "norm", "w (30,)", "needs        SOC", "CLARABEL"):
        assert word in out


def test_solvers_shows_problem_classes_and_licences(run):
    code, out, _ = run("solvers")
    assert code == 0
    for word in ("ECOS", "GPL-3.0", "EXP LP POW QP SDP SOC"):
        assert word in out
    assert max(map(len, out.splitlines())) < 80


def test_solvers_describes_those_that_are_named(run):
    code, out, _ = run("solvers", "scs", "MOSEK")
    assert code == 0
    for word in ("iteration or time limit", "untested", "pip install"):
        assert word in out
    code, _, err = run("solvers", "CLARABELL")
    assert code == 2
    assert "did you mean CLARABEL?" in err


def test_select_prints_a_table_with_a_certificate(run):
    code, out, err = run("select", "wdbc", "--top", 5, "--set", "n_neighbors=10")
    assert code == 0
    assert err in ("", f"{MESSAGE}\n")  # the latter where no test before it compiled the kernels
    assert "5 of 30 features" in out
    assert "certificate        proven" in out
    assert "worst radius" in out
    assert "and 20 more" in out


def test_select_as_json_has_every_weight(run):
    code, out, _ = run("select", "iris", "--json", "--solver", "SCS", "--seed", 4)
    record = json.loads(out)
    assert code == 0
    assert len(record["weights"]) == 4
    assert record["solver"] == "SCS"
    assert record["certificate"]["ok"] is True
    assert record["parameters"]["random_state"] == 4
    assert record["scale"] == "zscore"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npz"])
def test_the_reduced_data_can_be_loaded_again(run, tmp_path, suffix):
    out = tmp_path / f"few{suffix}"
    assert run("select", "wine", "--top", 3, "--out", out)[0] == 0
    few, wine = convexfs.load(out), convexfs.load("wine")
    assert few.n_features == 3
    columns = [wine.feature_names.index(name) for name in few.feature_names]
    np.testing.assert_array_equal(few.X, wine.X[:, columns])
    np.testing.assert_array_equal(few.labels, wine.labels)


@pytest.mark.parametrize("words", [["wine", "--top", 3], ["twonorm:noise=60"]])
def test_plots_are_pictures(run, tmp_path, words):
    picture = tmp_path / "weights.png"
    assert run("select", *words, "--plot", picture)[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scaling_changes_the_weights(run):
    weights = [
        json.loads(run("select", "wine", "--top", 3, "--json", "--scale", scale)[1])["weights"]
        for scale in ("none", "zscore", "minmax")
    ]
    assert weights[0] != weights[1] != weights[2]


def test_a_data_folder_serves_data_names(run, tmp_path, monkeypatch):
    monkeypatch.delenv("CONVEXFS_DATA", raising=False)
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "mine.npz", X=rng.standard_normal((20, 3)), y=np.arange(20) % 2)
    code, out, _ = run("select", "data:mine", "--data", tmp_path)
    assert code == 0
    assert "of 3 features" in out
    assert "CONVEXFS_DATA" not in os.environ


CSV = "a,b,kind\n1,2,x\n2,3,y\n3,5,x\n4,1,y\n5,2,x\n6,3,y\n"
BAD_FILES = {
    "inf.csv": (CSV.replace("3,5,x", "inf,5,x"), "contains infinity at data row 3, column 'a'"),
    "text.csv": (CSV.replace("3,5,x", "3,red,x"), "text in column 'b', such as 'red'"),
    "oneclass.csv": (CSV.replace("y\n", "x\n"), "only one class, 'x'"),
    "empty.csv": ("", "is an empty file"),
    "headeronly.csv": ("a,b,kind\n", "has no rows"),
    "unknown.xyz": (CSV, "has no known format"),
    "broken.parquet": (CSV, "cannot be read as .parquet"),
    "broken.npz": (CSV, "cannot be read as .npz"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_get_one_line_and_exit_code_2(run, tmp_path, name):
    content, message = BAD_FILES[name]
    (tmp_path / name).write_text(content)
    code, out, err = run("select", tmp_path / name, "--target", "kind")
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("convexfs: error: ")
    assert err.count("\n") == 1


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.csv"
    path.write_text(CSV)
    return path


BAD_LINES = [
    (["select", "GOOD"], "say which column holds the classes"),
    (["select", "GOOD", "--target", "kin"], "no column 'kin'; did you mean kind?"),
    (["select", "GOOD", "--target", "kind", "--set", "n_neighbors=6"], "use at most 5"),
    (["select", "missing.csv"], "there is no file missing.csv"),
    (["select", "spirale"], "did you mean spiral?"),
    (["select", "spiral:nose=3"], "unknown parameter 'nose'"),
    (["select", "spiral:noise=-3"], "noise"),
    (["select", "data:colon"], "needs the data folder"),
    (["select", "iris", "--method", "releif"], "unknown method 'releif': did you mean relief?"),
    (["select", "iris", "--method", "LogoRegressor"], "the command calls it rlogo"),
    (["select", "iris", "--solver", "CLARABLE"], "unknown solver 'CLARABLE': did you mean"),
    (["select", "iris", "--solver", "MOSEK"], "MOSEK is not installed: pip install mosek"),
    (["select", "iris", "--solver", "HIGHS"], "HIGHS cannot take SOC"),
    (["select", "iris", "--set", "n_neighbours=3"], "did you mean n_neighbors?"),
    (["select", "iris", "--set", "n_neighbors"], "--set takes name=value"),
    (["select", "iris", "--set", "n_neighbors=ten"], "must be an integer"),
    (
        ["select", "iris", "--set", "n_neighbors=" + 400 * "9"],
        "999 asks for more neighbours than",
    ),
    (["select", "iris", "--set", "n_neighbors=" + 5000 * "9"], "n_neighbors must be an integer"),
    (["select", "iris", "--set", "n_neighbors=" + 5000 * "["], "n_neighbors must be an integer"),
    (["select", "iris", "--seed", 400 * "9"], "--seed must be an integer"),
    (["select", "data:" + 300 * "a", "--data", "."], "has no 'aaa"),
    (["select", "data:../x", "--data", "."], "leaves the data folder"),
    (["select", 300 * "a"], "no data set is called"),
    (["select", 300 * "a" + ".csv"], "there is no file aaa"),
    (["select", "iris", "--out", 300 * "a" + ".csv"], "cannot be used (File name too long)"),
    (["select", "spiral:n=1e300"], "would need over 1000 TB"),
    (["select", "spiral:n=1e9", "--read-limit", "4GB"], "the 4 GB that reading may take"),
    (["select", "spiral", "--read-limit", "x"], "a read limit is a size such as 4GB"),
    (["show", 300 * "a"], "unknown method or formulation"),
    (["show", 300 * "a" + ".py"], "there is no problem file"),
    (["solve", 300 * "a"], "no file problems/aaa"),
    (["select", "iris", "--top", "9"], "at most 4, not 9"),
    (["select", "iris", "--drop", "new\nline"], "cannot be read as names between commas"),
    (["select", "iris", "--out", "x.xls"], "has no known format"),
    (["select", "iris", "--out", "nowhere/x.csv"], "there is no folder nowhere"),
    (["select", "iris", "--plot", "x.bmp"], "has no known format"),
    (["select", "iris", "--scale", "log"], "invalid choice: 'log'"),
    (["show", "releif"], "unknown method or formulation 'releif': did you mean relief?"),
    (["selekt"], "unknown command 'selekt': did you mean select?"),
]


@pytest.mark.parametrize(("words", "message"), BAD_LINES, ids=lambda v: " ".join(v)[:40])
def test_bad_lines_get_one_line_and_exit_code_2(run, good, monkeypatch, words, message):
    monkeypatch.delenv("CONVEXFS_DATA", raising=False)
    code, out, err = run(*[good if word == "GOOD" else word for word in words])
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("convexfs: error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_batches_read_no_more_than_they_may(run, tmp_path, command):
    (tmp_path / "file.py").write_text('METHOD, DATA = "relief", ["spiral"]\n')
    code, out, err = run(command, tmp_path / "file.py", "--read-limit", "1kB")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the 1 kB that reading may take" in err


def test_the_data_are_not_overwritten(run, good):
    code, _, err = run("select", good, "--target", "kind", "--out", good)
    assert code == 2
    assert "would overwrite the data" in err
    assert good.read_text() == CSV


def test_an_unreadable_file_is_named(run, good, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(pd, "read_csv", refuse)
    code, _, err = run("select", good, "--target", "kind")
    assert code == 2
    assert "may not be read" in err


@pytest.mark.filterwarnings("always")
def test_warnings_are_one_line_each(run, tmp_path):
    path = tmp_path / "constant.csv"
    path.write_text("a,c,kind\n1,7,x\n2,7,y\n3,7,x\n4,7,y\n5,7,z\n")
    code, _, err = run("select", path, "--target", "kind")
    assert code == 0
    lines = err.splitlines()
    assert "convexfs: warning: class 'z' of one sample only" in lines[0]
    assert "convexfs: warning: constant column 'c'" in lines[1]
    assert len(lines) == len([line for line in lines if line.startswith("convexfs: warning")])


def test_a_refuted_certificate_is_exit_code_1(run, monkeypatch):
    from convexfs.methods.base import solve_step

    monkeypatch.setattr(solve_step.certify_by_formula, "__defaults__", (-1.0,))
    code, out, err = run("select", "iris")
    assert code == 1
    assert "of 4 features" in out
    assert "the certificate is refuted" in err


def test_a_picture_that_cannot_be_written_is_one_line(run, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", refuse)
    code, _, err = run("select", "iris", "--plot", tmp_path / "x.png")
    assert code == 2
    assert "cannot be written (No space left on device)" in err


def test_json_has_no_words_for_what_is_no_number(run, monkeypatch):
    from dataclasses import replace

    from convexfs.selection import fit_by_name

    def prepare_with_nan(*words):
        fit = whole(*words)

        def with_nan(data, judge):
            outcome = fit(data, judge)
            return replace(outcome, weights=np.array([np.nan, np.inf, 1.0, 0.5]))

        return with_nan

    whole = fit_by_name.prepare_fit
    monkeypatch.setattr(fit_by_name, "prepare_fit", prepare_with_nan)
    code, out, _ = run("select", "iris", "--json")
    assert list(json.loads(out, parse_constant=pytest.fail)["weights"].values()) == [
        None,
        None,
        1.0,
        0.5,
    ]
    assert run("select", "iris")[0] == code == 0


HEAVY = {"pandas", "sklearn", "numba", "cvxpy", "matplotlib"}
#: Commands that one process runs, one after the other, and what none of them has imported then.
LIGHT_LINES = [
    {
        "--version": {"numpy", "scipy", "rich"} | HEAVY,
        "--help": {"numpy", "scipy", "rich"} | HEAVY,
        "list": {"numpy", "scipy"} | HEAVY,
        "select --help": HEAVY,
        "select nosuch.csv": HEAVY,
        "select wdbc --method nosuch": HEAVY,
        "solve nosuch.py": HEAVY,
        "show nosuch": HEAVY,
    },
    {"show relief": {"pandas", "sklearn", "matplotlib", "pyarrow"}},
    {"select iris": {"cvxpy", "matplotlib", "sqlite3", "IPython"}},
]
IMPORTED = """
import sys
from convexfs.cli import main
for line in sys.argv[1:]:
    main(line.split())
    print("imported", *sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("lines", LIGHT_LINES, ids=" ".join)
def test_commands_import_only_what_they_need(lines):
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTED, *lines], capture_output=True, text=True, check=True
    )
    imported = re.findall(r"^imported (.*)$", ran.stderr, re.M)
    for modules, (line, heavy) in zip(imported, lines.items(), strict=True):
        assert not heavy & set(modules.split()), line
