"""A comparison in one file, done again from it; and files that are none, or worse."""

import hashlib
import json
import stat
import zipfile

import numpy as np
import pytest

from convexfs.batch.run import solve_files
from convexfs.cli import main
from convexfs.errors import InputError
from convexfs.study import archive as module
from convexfs.study import rerun
from convexfs.study.archive import MANIFEST, unpack_archive, write_archive
from convexfs.study.compare import compare_files
from convexfs.study.outcomes import outcomes

#: Reads a file of its own, beside it.
PROBLEM = """
from pathlib import Path
import cvxpy as cp
import numpy as np
METHOD = "relief"
DATA = ["own.npz", "iris"]
GRID = {"lam": [0.5, 1.0]}
ROWS = np.load(Path(__file__).parent / "deep" / "rows.npy")
def build(z, lam):
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(w - ROWS[0, 0]) + lam * cp.sum(w)), [w >= 0])
"""
PLAN = {"solvers": ["CLARABEL", "SCS"], "tols": [1e-6], "default": False, "repeats": 1,
        "time_limit": 20.0}  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The folder of a comparison, and its archive."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "problems" / "deep").mkdir(parents=True)
    (folder / "problems" / "own.py").write_text(PROBLEM)
    np.save(folder / "problems" / "deep" / "rows.npy", np.eye(3))
    random = np.random.default_rng(0)
    np.savez(folder / "problems" / "own.npz", X=random.normal(size=(20, 3)), y=[0, 1] * 10)
    compare_files([folder / "problems" / "own.py"], folder / "run", **PLAN)
    beside = [folder / "problems" / "deep" / "rows.npy"]
    return folder, write_archive(folder / "run", folder / "study.zip", beside)


def test_it_holds_what_it_takes(study):
    folder, archive = study
    with zipfile.ZipFile(archive) as opened:
        names, manifest = set(opened.namelist()), json.loads(opened.read(MANIFEST))
        assert "cvxpy==" in opened.read("requirements.txt").decode()
        assert opened.read("problems/own.py").decode() == PROBLEM
    assert names >= {"results.sqlite", "problems/own.py", "problems/deep/rows.npy"}
    assert any(name.startswith("data/") and name.endswith("/own.npz") for name in names)
    assert manifest["studies"][0]["plan"]["tols"] == [1e-6]
    assert manifest["environments"][0]["cores"] >= 1
    assert str(folder) not in json.dumps(manifest["studies"][0]["files"][0]["path"])


def test_done_again_elsewhere_it_comes_out_the_same(study, tmp_path, monkeypatch, capsys):
    folder, archive = study
    hidden = folder.rename(folder.with_name("elsewhere"))
    try:
        here = hidden / archive.name
        line = ["compare", "--from", str(here), "--out", str(tmp_path / "again")]
        assert main(line) == 0
    finally:
        hidden.rename(folder)
    said = capsys.readouterr()
    assert "Done again: 8 of 8 tasks, 0 of them with another outcome" in said.out
    assert "the same machine and versions" in said.out
    assert "runs own.py" in said.err
    before, after = outcomes(folder / "run"), outcomes(tmp_path / "again")
    assert len(before) == len(after) == 2 * 2 * 2
    table = rerun.repeated(before, after)
    assert (table[["tasks", "again"]].to_numpy() == 4).all()
    assert table[["other_outcome", "other_objective"]].to_numpy().sum() == 0
    assert write_archive(tmp_path / "again", tmp_path / "b.zip", [
        tmp_path / "again" / "archive" / "problems" / "deep" / "rows.npy"])  # fmt: skip


def test_a_comparison_on_a_target_of_numbers_is_done_again(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    problem = tmp_path / "problems" / "numbers.py"
    problem.parent.mkdir()
    problem.write_text('METHOD = "rrelief"\nDATA = ["measured.npz", "product:n=30,noise=2"]\n')
    np.savez(problem.with_name("measured.npz"), X=X, y=X[:, 0] + 0.1 * X[:, 1])
    compare_files([problem], tmp_path / "run", **PLAN)
    archive = write_archive(tmp_path / "run", tmp_path / "numbers.zip")
    problem.parent.rename(tmp_path / "hidden")
    assert main(["compare", "--from", str(archive), "--out", str(tmp_path / "again")]) == 0
    before, after = outcomes(tmp_path / "run"), outcomes(tmp_path / "again")
    assert set(before["outcome"]) == {"solved"}
    table = rerun.repeated(before, after)
    assert (table[["tasks", "again"]].to_numpy() == 2).all()
    assert table[["other_outcome", "other_objective"]].to_numpy().sum() == 0


def test_what_came_out_otherwise_is_told(study):
    before = outcomes(study[0] / "run")
    after = before.copy()
    after.loc[after["solver"] == "SCS", "objective"] *= 1.1
    after.loc[after["solver"] == "CLARABEL", "outcome"] = "failed"
    after.loc[after["solver"] == "SCS", "solve_seconds"] *= 3
    table = rerun.repeated(before, after[1:]).set_index("solver")
    assert table["other_outcome"]["CLARABEL"] == 3
    assert table["again"]["CLARABEL"] == 3
    assert table["example"]["CLARABEL"].endswith(": solved → failed")
    assert table["other_objective"]["SCS"] == 4
    assert table["times"]["SCS"] == pytest.approx(3.0)


def test_other_versions_are_told():
    then = [{"python": "3.11", "packages": {"scs": "3.2", "cvxpy": "1.9"}, "cores": 2}]
    now = [{"python": "3.12", "packages": {"scs": "3.3", "cvxpy": "1.9"}, "cores": 2}]
    assert list(rerun.environment_differences(then, now)) == [
        "python: 3.11 then, 3.12 now", "packages: scs 3.2 → 3.3",
    ]  # fmt: skip
    assert list(rerun.environment_differences(then, then)) == []


def test_solvers_that_are_not_here_are_left_out():
    plan = PLAN | {"solvers": ["CLARABEL", "MOSEK"], "own_options": {"MOSEK": [{"x": 1}]}}
    assert rerun.missing_solvers(plan) == ["MOSEK"]
    assert rerun._plan(plan).solvers == ["CLARABEL"]
    assert rerun._plan(plan).own_options == {}
    with pytest.raises(InputError, match="none of its solvers is installed here: MOSEK"):
        rerun._plan(plan | {"solvers": ["MOSEK"]})
    with pytest.raises(InputError, match="cannot be understood"):
        rerun._plan({"solvers": ["SCS"], "unheard": 1})


@pytest.mark.parametrize("what", ["own.py", "own.npz"])
def test_what_has_changed_is_not_archived(study, tmp_path, what):
    folder, _ = study
    file = folder / "problems" / what
    kept = file.read_bytes()
    try:
        if what == "own.py":
            file.write_text(PROBLEM + "# changed")
        else:
            np.savez(file, X=np.random.default_rng(1).normal(size=(20, 3)), y=[0, 1] * 10)
        with pytest.raises(InputError, match=r"is not (as it was|the data)"):
            write_archive(folder / "run", tmp_path / "a.zip")
    finally:
        file.write_bytes(kept)


def test_only_comparisons_have_archives(tmp_path):
    (tmp_path / "a.py").write_text('METHOD = "relief"\nDATA = ["iris"]\nSOLVERS = ["native"]\n')
    solve_files([tmp_path / "a.py"], tmp_path / "run")
    with pytest.raises(InputError, match="holds no comparison"):
        write_archive(tmp_path / "run", tmp_path / "a.zip")
    with pytest.raises(InputError, match=r"ends in \.zip"):
        write_archive(tmp_path / "run", tmp_path / "a.tar")


def rewritten(source, target, change):
    """An archive whose members, a dict of bytes by ZipInfo or name, were changed."""
    with zipfile.ZipFile(source) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    made = change(members)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in (made or members).items():
            opened.writestr(name, text)
    return target


def told(members, name, text):
    """Add a member that the manifest tells of."""
    manifest = json.loads(members[MANIFEST])
    manifest["files"][name] = {"sha256": hashlib.sha256(text).hexdigest(), "size": len(text)}
    members[name], members[MANIFEST] = text, json.dumps(manifest).encode()


@pytest.mark.parametrize(
    "name",
    [
        "../evil.py", "problems/../../evil.py", "/tmp/evil.py", "problems//evil.py",
        "problems/./evil.py", "C:/evil.py", "problems\\..\\evil.py", "elsewhere/evil.py",
        "problems/", "problems/a\nb.py", "problems/" + "x" * 200, "report.html",
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(study, tmp_path, name):
    bad = rewritten(study[1], tmp_path / "bad.zip", lambda own: told(own, name, b"raise Evil"))
    with pytest.raises(InputError, match=r"no archive may hold|lists other files"):
        unpack_archive(bad, tmp_path / "out" / "deep")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["bad.zip"]


def test_links_are_refused(study, tmp_path):
    link = zipfile.ZipInfo("problems/link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16

    def add(members):
        told(members, "problems/link.py", b"/etc/passwd")
        text = members.pop("problems/link.py")
        return {**members, link: text}

    bad = rewritten(study[1], tmp_path / "bad.zip", add)
    with pytest.raises(InputError, match=r"'problems/link\.py', which no archive may hold"):
        unpack_archive(bad, tmp_path / "out")


def test_bombs_are_refused_before_they_go_off(study, tmp_path):
    bad = rewritten(
        study[1], tmp_path / "bad.zip", lambda own: told(own, "data/0/zeros.npz", bytes(10**7))
    )
    assert bad.stat().st_size < 10**6
    with pytest.raises(InputError, match="bytes are allowed"):
        unpack_archive(bad, tmp_path / "out", limit=5 * 10**6)
    assert not (tmp_path / "out").exists()
    line = ["compare", "--from", str(bad), "--out", str(tmp_path / "o"), "--read-limit", "5MB"]
    assert main(line) == 2


def test_too_many_files_are_refused(study, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 3)
    with pytest.raises(InputError, match="3 files and"):
        unpack_archive(study[1], tmp_path / "out")


def test_a_size_that_lies_is_found_out(study, tmp_path):
    """The directory of the file says less than its member holds."""
    bad = tmp_path / "bad.zip"
    rewritten(study[1], bad, lambda own: told(own, "data/0/long.txt", bytes(5000)))
    with zipfile.ZipFile(bad) as opened:
        where = opened.getinfo("data/0/long.txt")
    bytes_of = bytearray(bad.read_bytes())
    place = bytes_of.rindex(b"data/0/long.txt") - 46
    assert int.from_bytes(bytes_of[place + 24 : place + 28], "little") == where.file_size == 5000
    bytes_of[place + 24 : place + 28] = (10).to_bytes(4, "little")
    bad.write_bytes(bytes(bytes_of))
    with pytest.raises(InputError, match=r"damaged|is not the file"):
        unpack_archive(bad, tmp_path / "out")
    assert not (tmp_path / "out" / "data" / "0" / "long.txt").exists()


def forged(change):
    """A change of an archive's manifest."""

    def apply(members):
        manifest = json.loads(members[MANIFEST])
        change(manifest)
        members[MANIFEST] = json.dumps(manifest).encode()

    return apply


def elsewhere(manifest):
    manifest["studies"][0]["files"][0]["path"] = "/etc/passwd"


def read_passwords(manifest):
    manifest["studies"][0]["files"][0]["data"] = [["/etc/passwd", ""]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (forged(elsewhere), "'/etc/passwd' is not in the archive"),
        (forged(read_passwords), "data '/etc/passwd' is not in the archive"),
        (forged(lambda own: own.pop("studies")), "cannot be understood"),
        (forged(lambda own: own.update(version=99)), "another version"),
        (forged(lambda own: own.update(files=[])), "cannot be understood"),
        (forged(lambda own: own["files"].pop("requirements.txt")), "lists other files"),
        (lambda own: own.update({MANIFEST: b"[" * 10**5}), "cannot be understood"),
        (lambda own: own.update({MANIFEST: b"\xff{}"}), "cannot be understood"),
        (lambda own: own.update({"problems/own.py": b"raise Evil"}), "does not match"),
        (lambda own: own.update({"problems/more.py": b""}), "lists other files"),
        (lambda own: {"a.txt": b""}, "which no archive may hold"),
        (lambda own: {"requirements.txt": b""}, "no archive of ours"),
    ],
)
def test_forged_archives_are_one_line(study, tmp_path, change, message, capsys):
    bad = rewritten(study[1], tmp_path / "bad.zip", change)
    assert main(["compare", "--from", str(bad), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("text", [b"", b"PK", b"PK\x03\x04" + bytes(100), b"no archive"])
def test_files_that_are_no_archives_are_one_line(tmp_path, text, capsys):
    (tmp_path / "x.zip").write_bytes(text)
    assert main(["compare", "--from", str(tmp_path / "x.zip"), "--out", str(tmp_path / "o")]) == 2
    assert "is no archive of convexfs" in capsys.readouterr().err
    assert main(["compare", "--from", str(tmp_path / "y.zip"), "--out", str(tmp_path / "o")]) == 2
    assert "there is no archive" in capsys.readouterr().err


def test_nothing_is_written_over(study, tmp_path):
    unpack_archive(study[1], tmp_path / "out")
    unpack_archive(study[1], tmp_path / "out")
    (tmp_path / "out" / "problems" / "own.py").write_text("mine")
    with pytest.raises(InputError, match="is there already and is another file"):
        unpack_archive(study[1], tmp_path / "out")
    assert (tmp_path / "out" / "problems" / "own.py").read_text() == "mine"


def test_unpacking_runs_nothing(study, tmp_path):
    mark = tmp_path / "mark"
    evil = f"open({str(mark)!r}, 'w')".encode()
    bad = rewritten(study[1], tmp_path / "e.zip", lambda own: told(own, "problems/own.py", evil))
    unpack_archive(bad, tmp_path / "out")
    outcomes(tmp_path / "out")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tol", "1e-3"], "leave out tol"),
        (["own.py"], "leave out files"),
        (["--warm", "--repeats", "3"], "leave out warm, repeats"),
    ],
)
def test_a_plan_comes_with_the_archive(study, tmp_path, words, message, capsys):
    assert main(["compare", *words, "--from", str(study[1]), "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_the_command_says_where_and_how_to_go_on(study, tmp_path, capsys):
    folder, _ = study
    beside = str(folder / "problems" / "deep" / "rows.npy")
    out = tmp_path / "a.zip"
    assert main(["archive", str(folder / "run"), "--out", str(out), "--with", beside]) == 0
    assert f"convexfs compare --from {out}" in capsys.readouterr().out
    assert main(["archive", str(tmp_path / "nowhere")]) == 2
