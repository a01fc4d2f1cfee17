"""``--shard`` and ``convexfs merge`` as a script of a cluster uses them."""

import pytest

TEXT = """
METHOD = "relief"
DATA = ["iris"]
GRID = {"n_neighbors": [1, 2, 3, 4]}
SOLVERS = ["native"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.py").write_text(TEXT)
    return tmp_path


def test_parts_from_the_line_to_the_whole(here, run):
    for number in (1, 2):
        assert run("solve", "few.py", "--jobs", 1, "--shard", f"{number}/2")[0] == 0
    code, said, _ = run("merge", "runs/few-shard-2-of-2", "--out", "runs/few")
    assert code == 1
    assert "missing: 1/2; run and merge them too" in said
    code, said, _ = run("merge", *sorted(here.glob("runs/few-shard-*")), "--out", "runs/few")
    assert code == 0
    assert said.strip() == "runs/few: 2 of 2 shards, 4 of 4 tasks"
    code, said, _ = run("solve", "few.py", "--jobs", 1)
    assert code == 0
    assert "finished in earlier runs" in said


def test_a_part_without_tasks_is_done_at_once(here, run):
    for number in range(1, 6):  # of the four tasks
        code, _, error = run("solve", "few.py", "--jobs", 1, "--shard", f"{number}/5")
        assert code == 0, error
    assert run("merge", *here.glob("runs/few-shard-*"), "--out", "runs/few")[0] == 0
    assert (
        run("compare", "few.py", "--solvers", "native", "--repeats", 1, "--shard", "9/99")[0] == 0
    )


def test_a_comparison_takes_shards_too(here, run):
    words = ("--solvers", "native", "--repeats", 1, "--no-default", "--tol", "1e-6")
    for number in (1, 2):
        code, said, error = run("compare", "few.py", *words, "--shard", f"{number}/2")
        assert code == 0, error
        # Which part a task falls into goes by its key: one may have none.
        assert f"runs/study-shard-{number}-of-2" in said + error
    assert run("merge", *here.glob("runs/study-shard-*"), "--out", "runs/study")[0] == 0
    code, said, error = run("report", "runs/study", "--out", "page.html")
    assert code == 0, error


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("solve", "few.py", "--shard", "9/8"), "--shard takes a part as 1/8"),
        (("compare", "few.py", "--shard", "x"), "--shard takes a part as 1/8"),
        (("compare", "--from", "x.zip", "--shard", "1/2"), "leave out shard"),
        (("merge", "nowhere", "--out", "runs/few"), "holds no results.sqlite"),
    ],
)
def test_mistakes_are_one_line(here, run, words, error):
    code, _, said = run(*words)
    assert code == 2
    assert error in said
    assert said.count("\n") == 1
